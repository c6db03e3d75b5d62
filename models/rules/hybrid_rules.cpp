// SPDX-License-Identifier: Apache-2.0

#include <string>

#include <fmt/format.h>

#include "models/rules/internal/reasons.hpp"

namespace foretrain {
namespace {

struct Cut {
  int number;
  const char* what;
};

void require_cut(const Job& job, const Cut& cut, std::vector<Infeasible>& reasons) {
  const int tensor = job.parallel.tensor;
  if (cut.number % tensor == 0) return;
  reasons.push_back(
      {"mixers-divide-tensor", "parallel.tensor",
       fmt::format("{} {} are not divisible by parallel.tensor {}", cut.number, cut.what, tensor),
       fmt::format("parallel.tensor: a divisor of {}", cut.number)});
}

}  // namespace

void check_mixers(const Job& job, std::vector<Infeasible>& reasons) {
  const LlmShape& model = job.model;
  if (model.has_mixer(MixerKind::mamba)) {
    require_cut(job, {model.mamba->heads, "Mamba heads"}, reasons);
    require_cut(job, {model.mamba->groups, "Mamba groups"}, reasons);
  }
  if (model.has_mixer(MixerKind::delta)) {
    require_cut(job, {model.delta->key_heads, "key heads of delta mixers"}, reasons);
    require_cut(job, {model.delta->value_heads, "value heads of delta mixers"}, reasons);
  }
}

void refuse_hybrids(const Job& job, std::vector<Infeasible>& reasons) {
  const LlmShape& model = job.model;
  if (model.indexer && job.parallel.context > 1)
    refuse(reasons, "parallel.context",
           "sparse attention over context ranks is not modelled: which keys a rank chooses decides "
           "what is exchanged",
           "parallel.context: 1");
  if (model.indexer && job.memory.attention == AttentionKind::unfused)
    refuse(reasons, "memory.attention", "unfused sparse attention is not modelled",
           "memory.attention: flash");
  if (!model.is_hybrid()) return;
  const bool scans = model.has_mixer(MixerKind::mamba) || model.has_mixer(MixerKind::delta);
  if (scans && job.parallel.context > 1)
    refuse(reasons, "parallel.context",
           "state-space mixers over context ranks are not modelled: how their states or heads are "
           "exchanged (all-to-all in Megatron-Core) is not counted",
           "parallel.context: 1");
  if (job.memory.recompute.kind == RecomputeKind::selective &&
      job.memory.recompute.every_second_matmul)
    refuse(reasons, "memory.recompute",
           "operator-wise recomputation of hybrid layers is not modelled: which of a scan's "
           "operators it keeps is not known",
           "memory.recompute: none or full");
  if (!model.layer_pattern.empty() && model.mtp_layers > 0)
    refuse(reasons, "model",
           "prediction modules of models whose layers are one half alone are not modelled: which "
           "halves a module has is not given",
           "a model without mtp_layers");
}

}  // namespace foretrain
