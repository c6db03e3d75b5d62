// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
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

/// Context ranks share out the heads of a tensor rank.
void require_swap(const Job& job, const Cut& cut, std::vector<Infeasible>& reasons) {
  const int context = job.parallel.context;
  const int heads = cut.number / std::max(1, job.parallel.tensor);
  if (context == 1 || heads % context == 0) return;
  reasons.push_back({"mixers-divide-context", "parallel.context",
                     fmt::format("{} {} of a tensor rank are not divisible by parallel.context {}",
                                 heads, cut.what, context),
                     fmt::format("parallel.context: a divisor of {}", heads)});
}

/// What of the model's attention has no forecast with this plan.
void refuse_attention(const Job& job, std::vector<Infeasible>& reasons) {
  const LlmShape& model = job.model;
  const bool chooses = model.indexer || model.compression;
  if (chooses && job.memory.attention == AttentionKind::unfused)
    refuse(reasons, "memory.attention", "unfused sparse attention is not modelled",
           "memory.attention: flash");
  if (model.compression && job.fine_tuning.adapter != AdapterKind::none)
    refuse(reasons, "fine_tuning",
           "adapters beside compressed attention are not modelled: which of its projections have "
           "one is not known",
           "full fine-tuning");
}

}  // namespace

void check_mixers(const Job& job, std::vector<Infeasible>& reasons) {
  const LlmShape& model = job.model;
  if (model.has_mixer(MixerKind::mamba) || model.mamba_beside) {
    require_cut(job, {model.mamba->heads, "Mamba heads"}, reasons);
    if (model.mamba->step_rank == 0)
      require_cut(job, {model.mamba->groups, "Mamba groups"}, reasons);
    require_swap(job, {model.mamba->heads, "Mamba heads"}, reasons);
  }
  if (model.has_mixer(MixerKind::delta)) {
    require_cut(job, {model.delta->key_heads, "key heads of delta mixers"}, reasons);
    require_cut(job, {model.delta->value_heads, "value heads of delta mixers"}, reasons);
    require_swap(job, {model.delta->key_heads, "key heads of delta mixers"}, reasons);
  }
  if (model.compression)
    require_cut(job, {model.compression->o_groups, "groups of the output projection"}, reasons);
}

void refuse_hybrids(const Job& job, std::vector<Infeasible>& reasons) {
  const LlmShape& model = job.model;
  refuse_attention(job, reasons);
  if (!model.is_hybrid()) return;
  if (job.memory.recompute.kind == RecomputeKind::selective &&
      job.memory.recompute.every_second_matmul)
    refuse(reasons, "memory.recompute",
           "operator-wise recomputation of hybrid layers is not modelled: which of a scan's "
           "operators it keeps is not known",
           "memory.recompute: none or full");
  // Nemotron 3's modules are attention and experts, as a whole layer is.
  if (!model.layer_pattern.empty() && model.mtp_layers > 0 && !model.moe)
    refuse(reasons, "model",
           "prediction modules of models whose layers are one half alone are modelled with experts "
           "alone (attention and experts each): which halves this one's has is not given",
           "a model without mtp_layers");
}

}  // namespace foretrain
