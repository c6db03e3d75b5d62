// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "models/inputs/recipe.hpp"
#include "models/rules/internal/reasons.hpp"

namespace foretrain {
namespace {

bool targets_any(const EnumSet<AdapterTarget>& targets, std::initializer_list<AdapterTarget> of) {
  bool found = false;
  for (const AdapterTarget target : of) found = found || targets.has(target);
  return found;
}

/// A linear layer has one kind of adapter; a part that is trained whole has none.
void check_targets(const Job& job, Reasons& reasons) {
  using enum AdapterTarget;
  const FineTuning& tuning = job.fine_tuning;
  const EnumSet<AdapterTarget>& targets = tuning.targets;
  constexpr std::string_view path = "fine_tuning.targets";
  if (!targets.any())
    break_rule(reasons, "adapter-targets", path, "adapters stand beside no linear layer",
               "fine_tuning.targets: [qkv, projection]");
  if (targets.has(qkv) && targets_any(targets, {query, key, value}))
    break_rule(reasons, "adapter-targets", path,
               "qkv is one adapter beside query, key and value together; the others are one each",
               "fine_tuning.targets: [qkv], or [query, key, value]");
  if (targets.has(fc1) && targets_any(targets, {gate, up}))
    break_rule(reasons, "adapter-targets", path,
               "fc1 is one adapter beside gate and up together; the others are one each",
               "fine_tuning.targets: [fc1], or [gate, up]");
  if (targets.has(gate) && !job.model.gated_mlp)
    break_rule(reasons, "adapter-targets", path,
               fmt::format("{} has no gate in its MLP", job.model.name),
               "fine_tuning.targets: [up]");
  const bool attention = targets_any(targets, {qkv, query, key, value, projection});
  const bool mlp = targets_any(targets, {fc1, gate, up, fc2});
  if ((attention && tuning.trains(ModelPart::attention)) || (mlp && tuning.trains(ModelPart::mlp)))
    break_rule(reasons, "adapter-targets", "fine_tuning.trained",
               "adapters stand beside matrices that are trained themselves",
               "leave the part out of fine_tuning.trained, or its layers out of "
               "fine_tuning.targets");
}

void check_rank(const Job& job, Reasons& reasons) {
  if (job.fine_tuning.rank % job.parallel.tensor == 0) return;
  break_rule(reasons, "rank-divides-tensor", "fine_tuning.rank",
             fmt::format("rank {} of the adapters is not divisible by parallel.tensor {}, which "
                         "cuts them",
                         job.fine_tuning.rank, job.parallel.tensor),
             fmt::format("fine_tuning.rank: a multiple of {}", job.parallel.tensor));
}

void check_trained(const Job& job, Reasons& reasons) {
  const FineTuning& tuning = job.fine_tuning;
  const bool nothing = tuning.trained && !tuning.trained->any() && !tuning.adapts();
  if (nothing && tuning.objective != Objective::reward)
    break_rule(reasons, "something-learns", "fine_tuning.trained",
               "nothing of the model is trained",
               "fine_tuning.trained: parts of the model, or fine_tuning.adapter: lora");
  if (tuning.packs_frozen() && !tuning.freezes())
    break_rule(reasons, "frozen-weights", "fine_tuning.frozen_format",
               "packed weights cannot be trained, and nothing is frozen",
               "fine_tuning.adapter: lora");
  if (tuning.has_reference() && tuning.reference == ReferenceKind::without_adapters &&
      !tuning.adapts())
    break_rule(reasons, "reference-adapters", "fine_tuning.reference",
               "the model without its adapters is no reference where it has none",
               "fine_tuning.reference: copy, or fine_tuning.adapter: lora");
}

/// Both answers to a question are in one micro-batch (TRL and Megatron-Bridge concatenate them).
void check_pairs(const Job& job, Reasons& reasons) {
  if (job.fine_tuning.objective == Objective::next_token || job.training.micro_batch % 2 == 0)
    return;
  break_rule(reasons, "answers-in-pairs", "training.micro_batch",
             fmt::format("the two answers of a pair are two sequences of a micro-batch, which has "
                         "{}",
                         job.training.micro_batch),
             fmt::format("training.micro_batch: {}", job.training.micro_batch + 1));
}

void refuse_adapters(const Job& job, Reasons& reasons) {
  using enum AdapterTarget;
  const FineTuning& tuning = job.fine_tuning;
  if (job.model.mla && targets_any(tuning.targets, {qkv, query, key, value}))
    refuse(reasons, "fine_tuning.targets",
           "adapters beside the projections of latent attention are not modelled",
           "fine_tuning.targets: [projection]");
  if (job.model.is_hybrid())
    refuse(reasons, "fine_tuning.adapter",
           "adapters of hybrid models are not modelled: what stands beside the projections "
           "of their mixers is the framework's choice",
           "leave fine_tuning out");
  if (job.model.moe && targets_any(tuning.targets, {fc1, gate, up, fc2}))
    refuse(reasons, "fine_tuning.targets",
           "adapters beside experts are not modelled: every expert has its own, or all of "
           "a rank share one",
           "fine_tuning.targets: [qkv, projection]");
  if (tuning.adapter == AdapterKind::dora && job.parallel.tensor > 1)
    refuse(reasons, "fine_tuning.adapter",
           "norms of weights that tensor ranks share (DoRA) are not modelled",
           "fine_tuning.adapter: lora, or parallel.tensor: 1");
  if (job.memory.recompute.kind == RecomputeKind::selective &&
      job.memory.recompute.every_second_matmul)
    refuse(reasons, "memory.recompute.every_second_matmul",
           "which results of GEMMs beside adapters are kept is not modelled",
           "memory.recompute: none, selective or full");
}

void refuse_frozen(const Job& job, Reasons& reasons) {
  const FineTuning& tuning = job.fine_tuning;
  if (job.parallel.single_process())
    refuse(reasons, "parallel.processes",
           "frozen weights under torch.nn.DataParallel are not modelled",
           "parallel.processes: per-gpu");
  if (job.model.mtp_layers > 0)
    refuse(reasons, "fine_tuning", "frozen weights beside multi-token prediction are not modelled",
           "a model without prediction modules");
  if (!tuning.packs_frozen()) return;
  const bool wide =
      job.training.precision == Precision::bf16 || job.training.precision == Precision::fp16;
  if (!wide || job.parallel.tensor > 1 || job.parallel.expert > 1)
    refuse(reasons, "fine_tuning.frozen_format",
           "packed weights are modelled in bf16 and fp16 with parallel.tensor 1 and "
           "parallel.expert 1, as bitsandbytes has them",
           "fine_tuning.frozen_format: as-computed");
}

void refuse_objective(const Job& job, Reasons& reasons) {
  const FineTuning& tuning = job.fine_tuning;
  if (tuning.has_reference() && job.parallel.pipeline > 1)
    refuse(reasons, "parallel.pipeline",
           "passes of a reference through a pipeline are not modelled",
           "parallel.pipeline: 1, or fine_tuning.reference: precomputed");
  if (tuning.objective != Objective::next_token && job.model.mtp_layers > 0)
    refuse(reasons, "fine_tuning.objective",
           fmt::format("{} with multi-token prediction is not modelled", name_of(tuning.objective)),
           "fine_tuning.objective: next-token");
  const bool ends = tuning.freezes() || tuning.objective != Objective::next_token;
  if (ends && job.parallel.vocabulary != VocabularyKind::ends)
    refuse(reasons, "parallel.vocabulary",
           "a vocabulary over all stages is modelled for pre-training alone", "leave it out");
}

void refuse_samples(const Job& job, Reasons& reasons) {
  const Samples& samples = job.training.samples;
  if (!samples.vary()) return;
  if (job.model.mtp_layers > 0)
    refuse(reasons, "training.samples",
           "samples of different lengths with multi-token prediction are not modelled",
           "leave training.samples out");
  if (samples.layout != SampleLayout::padded) return;
  if (job.parallel.pipeline > 1 || job.parallel.context > 1 || job.parallel.single_process())
    refuse(reasons, "training.samples.layout",
           "micro-batches of different lengths are modelled without pipeline, context "
           "ranks and torch.nn.DataParallel",
           "training.samples.layout: packed or fixed");
}

}  // namespace

std::vector<Infeasible> broken_fine_tuning_rules(const Job& job) {
  Reasons reasons;
  if (job.fine_tuning.adapts()) {
    check_targets(job, reasons);
    check_rank(job, reasons);
  }
  check_trained(job, reasons);
  check_pairs(job, reasons);
  return reasons;
}

std::vector<Infeasible> fine_tuning_not_modelled(const Job& job) {
  Reasons reasons;
  if (job.fine_tuning.adapts()) refuse_adapters(job, reasons);
  if (job.fine_tuning.freezes()) refuse_frozen(job, reasons);
  refuse_objective(job, reasons);
  refuse_samples(job, reasons);
  return reasons;
}

}  // namespace foretrain
