// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>

#include "models/inputs/recipe.hpp"
#include "models/layers/adapter_layers.hpp"
#include "models/rules/internal/reasons.hpp"

namespace foretrain {
namespace {

/// Layers that one adapter may stand beside together, or several one by one.
struct FusedTarget {
  AdapterTarget whole;
  EnumSet<AdapterTarget> parts;
  std::string_view rule;
  std::string_view example;
};

using enum AdapterTarget;
constexpr auto fused_targets = std::to_array<FusedTarget>(
    {{qkv,
      {query, key, value},
      "qkv is one adapter beside query, key and value together; the others are one each",
      "fine_tuning.targets: [qkv], or [query, key, value]"},
     {fc1,
      {gate, up},
      "fc1 is one adapter beside gate and up together; the others are one each",
      "fine_tuning.targets: [fc1], or [gate, up]"},
     {mixer_in,
      {mixer_qkvz, mixer_ba},
      "mixer-in is one adapter beside all that a mixer starts from; the others are one each",
      "fine_tuning.targets: [mixer-in], or [mixer-qkvz, mixer-ba]"}});

constexpr std::string_view targets_path = "fine_tuning.targets";

/// A linear layer has one kind of adapter.
void check_fused(const EnumSet<AdapterTarget>& targets, Reasons& reasons) {
  for (const FusedTarget& fused : fused_targets)
    if (targets.has(fused.whole) && targets.any_of(fused.parts))
      break_rule(reasons, "adapter-targets", targets_path, std::string{fused.rule},
                 std::string{fused.example});
}

std::string existing_layers(const LlmShape& model) {
  std::string names;
  for (const auto& [target, name] : EnumNames<AdapterTarget>::names)
    if (has_layers(model, target)) names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  return names;
}

void check_existing(const Job& job, Reasons& reasons) {
  for (const auto& [target, name] : EnumNames<AdapterTarget>::names)
    if (job.fine_tuning.targets.has(target) && !has_layers(job.model, target))
      break_rule(reasons, "adapter-targets", targets_path,
                 fmt::format("{} has no layer {}", job.model.name, name),
                 fmt::format("fine_tuning.targets: some of [{}]", existing_layers(job.model)));
}

bool any_adapter(const Job& job) {
  const LlmShape& model = job.model;
  const EnumSet<AdapterTarget>& targets = job.fine_tuning.targets;
  const EnumSet<AdapterTarget> mlps{fc1, gate, up, fc2};
  EnumSet<AdapterTarget> others;
  for (const auto& [target, name] : EnumNames<AdapterTarget>::names)
    if (targets.has(target) && !mlps.has(target)) others.add(target);
  if (others.any() || adapts_experts(model, job.fine_tuning)) return true;
  const bool dense = has_dense_layers(model) || (model.moe && model.moe->shared_ffn_hidden > 0);
  return targets.any_of(mlps) && dense;
}

/// A part that is trained whole has no adapters.
void check_targets(const Job& job, Reasons& reasons) {
  const FineTuning& tuning = job.fine_tuning;
  const EnumSet<AdapterTarget>& targets = tuning.targets;
  if (!any_adapter(job))
    break_rule(reasons, "adapter-targets", targets_path, "adapters stand beside no linear layer",
               "fine_tuning.targets: [qkv, projection]");
  check_fused(targets, reasons);
  check_existing(job, reasons);
  const auto doubled = [&](ModelPart part, const EnumSet<AdapterTarget>& of) {
    return tuning.trains(part) && targets.any_of(of);
  };
  const EnumSet<AdapterTarget> attention{qkv,          query,      key,        value,
                                         projection,   query_down, query_up,   key_value_down,
                                         key_value_up, mixer_in,   mixer_qkvz, mixer_ba,
                                         mixer_out};
  const bool experts = tuning.trains(ModelPart::experts) && adapts_experts(job.model, tuning);
  if (doubled(ModelPart::attention, attention) || experts ||
      doubled(ModelPart::mlp, {fc1, gate, up, fc2, shared_gate}) ||
      doubled(ModelPart::router, {router}))
    break_rule(reasons, "adapter-targets", "fine_tuning.trained",
               "adapters stand beside matrices that are trained themselves",
               "leave the part out of fine_tuning.trained, or its layers out of "
               "fine_tuning.targets");
}

/// Ranks that cut adapters have equal columns of them.
void check_rank(const Job& job, Reasons& reasons) {
  const auto divides = [&](int ranks, std::string_view key) {
    if (job.fine_tuning.rank % ranks == 0) return;
    break_rule(reasons, "rank-divides-tensor", "fine_tuning.rank",
               fmt::format("rank {} of the adapters is not divisible by {} {}, which cuts them",
                           job.fine_tuning.rank, key, ranks),
               fmt::format("fine_tuning.rank: a multiple of {}", ranks));
  };
  divides(job.parallel.tensor, "parallel.tensor");
  if (adapts_experts(job.model, job.fine_tuning))
    divides(job.parallel.expert_tensor_size(), "parallel.expert_tensor");
}

void check_trained(const Job& job, Reasons& reasons) {
  const FineTuning& tuning = job.fine_tuning;
  const bool nothing = tuning.trained && !tuning.trained->any() && !tuning.adapts();
  if (nothing && tuning.objective != Objective::reward)
    break_rule(reasons, "something-learns", "fine_tuning.trained",
               "nothing of the model is trained",
               "fine_tuning.trained: parts of the model, or fine_tuning.adapter: lora");
  if (tuning.frozen_format != FrozenFormat::as_computed && !tuning.freezes())
    break_rule(reasons, "frozen-weights", "fine_tuning.frozen_format",
               "is about frozen weights, and nothing is frozen", "fine_tuning.adapter: lora");
  if (tuning.has_reference() && tuning.reference == ReferenceKind::without_adapters &&
      !tuning.adapts())
    break_rule(reasons, "reference-adapters", "fine_tuning.reference",
               "the model without its adapters is no reference where it has none",
               "fine_tuning.reference: copy, or fine_tuning.adapter: lora");
}

/// No gradient goes through frozen layers, so that nothing before them is trained.
void check_frozen_layers(const Job& job, Reasons& reasons) {
  const FineTuning& tuning = job.fine_tuning;
  constexpr std::string_view key = "fine_tuning.frozen_layers";
  if (tuning.frozen_layers == 0) return;
  if (tuning.frozen_layers > job.model.layers)
    break_rule(reasons, "layers-exist", key,
               fmt::format("{} layers are frozen, and {} has {}", tuning.frozen_layers,
                           job.model.name, job.model.layers),
               fmt::format("fine_tuning.frozen_layers: {}", job.model.layers / 2));
  const bool embeds = tuning.trained && tuning.trained->has(ModelPart::embedding);
  const bool tied = job.model.tied_embeddings && tuning.trains(ModelPart::output) &&
                    tuning.objective != Objective::reward;
  if (embeds || tied)
    break_rule(reasons, "nothing-below-frozen-layers", key,
               tied ? "the output projection is the embedding, whose gradient goes through all "
                      "layers"
                    : "the embedding is trained, and its gradient goes through all layers",
               "fine_tuning.trained: parts of layers, without embedding and tied output");
}

/// Both answers to a question are in one micro-batch (TRL and Megatron-Bridge concatenate them).
void check_pairs(const Job& job, Reasons& reasons) {
  if (!job.fine_tuning.pairs() || job.training.micro_batch % 2 == 0) return;
  break_rule(reasons, "answers-in-pairs", "training.micro_batch",
             fmt::format("the two answers of a pair are two sequences of a micro-batch, which has "
                         "{}",
                         job.training.micro_batch),
             fmt::format("training.micro_batch: {}", job.training.micro_batch + 1));
}

/// Adapters that are added to the experts' parameter, as PEFT does it.
void refuse_merged(const Job& job, Reasons& reasons) {
  const FineTuning& tuning = job.fine_tuning;
  constexpr std::string_view key = "fine_tuning.expert_adapters";
  if (tuning.dropout > 0.0)
    refuse(reasons, "fine_tuning.dropout",
           "dropout before adapters that are merged into experts is not modelled: PEFT has none",
           "fine_tuning.dropout: 0");
  if (job.parallel.expert_tensor_size() > 1)
    refuse(reasons, key, "adapters merged into experts that tensor ranks share are not modelled",
           "fine_tuning.expert_adapters: per-expert");
  if (!job.training.grouped_experts)
    refuse(reasons, "training.grouped_experts",
           "adapters merged anew for every expert of a loop are not modelled",
           "training.grouped_experts: true");
  if (tuning.packs_experts())
    refuse(reasons, "fine_tuning.packed_experts",
           "adapters merged into packed experts are not modelled: experts of one parameter stay "
           "in 16 bits",
           "fine_tuning.packed_experts: false");
}

void refuse_expert_adapters(const Job& job, Reasons& reasons) {
  const FineTuning& tuning = job.fine_tuning;
  if (!adapts_experts(job.model, tuning)) return;
  const bool pairs = tuning.expert_adapters == ExpertAdapters::per_expert;
  if (tuning.adapter == AdapterKind::dora && !pairs)
    refuse(reasons, "fine_tuning.adapter",
           fmt::format("magnitudes (DoRA) beside {} adapters of experts are not modelled",
                       name_of(tuning.expert_adapters)),
           "fine_tuning.expert_adapters: per-expert or none, or fine_tuning.adapter: lora");
  if (tuning.expert_adapters == ExpertAdapters::merged) refuse_merged(job, reasons);
}

void refuse_adapters(const Job& job, Reasons& reasons) {
  refuse_expert_adapters(job, reasons);
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
  const bool cut = job.parallel.zero >= 3 ||
                   (job.parallel.zero == 2 && job.stack.memory.compute_weight_bytes > 0.0);
  if (tuning.frozen_layers > 0 && (tuning.adapts() || job.parallel.pipeline > 1 || cut))
    refuse(
        reasons, "fine_tuning.frozen_layers",
        "frozen layers are modelled without adapters, pipelines and sharded weights (ZeRO-3, FSDP)",
        "fine_tuning.adapter: none, parallel.pipeline: 1, parallel.zero: 1 or less");
  const bool casts = job.stack.memory.compute_weight_bytes > 0.0 && !job.training.narrow_weights();
  if (tuning.frozen_format == FrozenFormat::fp32 && !casts)
    refuse(
        reasons, "fine_tuning.frozen_format",
        "frozen weights in 32 bits are modelled where shards are cast as they are gathered (FSDP)",
        "fine_tuning.frozen_format: as-computed");
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
  check_frozen_layers(job, reasons);
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
