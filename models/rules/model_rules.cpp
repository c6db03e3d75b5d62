// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "models/data/single_process.hpp"
#include "models/grid/process_grid.hpp"
#include "models/memory/internal/memory_context.hpp"
#include "models/rules/internal/reasons.hpp"
#include "models/rules/plan_rules.hpp"

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

namespace {

constexpr std::string_view images_path = "training.images.per_sequence";

void check_tower_parts(const Job& job, Reasons& reasons) {
  const FineTuning& tuning = job.fine_tuning;
  const auto named = [&](ModelPart part) { return tuning.trained && tuning.trained->has(part); };
  if (!named(ModelPart::vision) && !named(ModelPart::projector)) return;
  if (!job.training.images.any())
    break_rule(reasons, "images-where-towers-learn", "fine_tuning.trained",
               "names a vision tower or its projector, but no images are stated",
               "training.images.per_sequence: 1, or parts of the language model alone");
  else if (tuning.frozen_layers > 0)
    break_rule(reasons, "nothing-below-frozen-layers", "fine_tuning.frozen_layers",
               "the vision tower or its projector is trained, and its gradient goes through all "
               "layers",
               "fine_tuning.trained: parts of layers, without vision and projector");
}

}  // namespace

std::vector<Infeasible> broken_image_rules(const Job& job) {
  Reasons reasons;
  check_tower_parts(job, reasons);
  const Images& images = job.training.images;
  if (!images.any()) return reasons;
  if (!job.model.vision) {
    break_rule(reasons, "images-have-a-tower", images_path,
               fmt::format("{} has no vision tower that could read images", job.model.name),
               "leave training.images out, or write model.vision");
    return reasons;
  }
  const int tokens = job.image_tokens();
  if (tokens == 0) {
    break_rule(reasons, "images-have-tokens", images_path,
               fmt::format("the images of {} have no fixed size", job.model.name),
               "training.images.tokens: patches of an image / vision.merge squared");
    return reasons;
  }
  if (images.per_sequence * tokens > job.training.sequence)
    break_rule(reasons, image_tokens_rule, "training.sequence",
               fmt::format("{:g} images of {} tokens are longer than a sequence of {} tokens, "
                           "which they are part of",
                           images.per_sequence, tokens, job.training.sequence),
               fmt::format("training.sequence: at least {:.0f}", images.per_sequence * tokens));
  return reasons;
}

void refuse_images(const Job& job, Reasons& reasons) {
  if (job.has_tower() && job.parallel.single_process())
    refuse(reasons, "parallel.processes",
           "vision towers under torch.nn.DataParallel are not modelled",
           "parallel.processes: per-gpu");
}

namespace {

constexpr std::string_view who = "torch.nn.DataParallel (parallel.processes: per-host)";

void refuse_degrees(const Job& job, Reasons& reasons) {
  const Parallel& plan = job.parallel;
  if (job.cluster.hosts > 1)
    break_rule(reasons, "one-process-one-host", "cluster.hosts",
               fmt::format("{} is one process, whose threads reach the GPUs of one host, not of "
                           "{}",
                           who, job.cluster.hosts),
               "cluster.hosts: 1, or parallel.processes: per-gpu");
  for (const auto& [key, degree] :
       {std::pair{"parallel.tensor", plan.tensor}, std::pair{"parallel.context", plan.context},
        std::pair{"parallel.pipeline", plan.pipeline}, std::pair{"parallel.expert", plan.expert}})
    if (degree > 1)
      break_rule(reasons, "replicas-are-whole", key,
                 fmt::format("{} copies the whole model to every GPU and cannot split it over {}",
                             who, degree),
                 fmt::format("{}: 1, or parallel.processes: per-gpu", key));
  if (plan.zero > 0)
    break_rule(reasons, "replicas-are-whole", "parallel.zero",
               fmt::format("{} shards nothing: weights, gradients and optimizer states are whole "
                           "on GPU 0",
                           who),
               "parallel.zero: 0, or parallel.processes: per-gpu");
}

void refuse_software(const Job& job, Reasons& reasons) {
  if (!job.stack.eager_torch)
    break_rule(reasons, "eager-torch", "stack",
               fmt::format("{} wraps modules of eager PyTorch, not {} ({})", who, job.stack.name,
                           job.stack.title),
               "stack: fsdp2 (its kernels are those of eager PyTorch)");
  if (job.communication.backend != Backend::nccl)
    break_rule(reasons, "replicas-use-nccl", "communication.backend",
               fmt::format("{} moves weights and gradients with NCCL, not {}", who,
                           name_of(job.communication.backend)),
               "communication.backend: nccl");
  const bool half = !full_precision(job.communication.gradient_dtype);
  if (half && job.stack.memory.weight_bytes == 4.0)
    break_rule(reasons, "gradients-like-weights", "communication.gradient_dtype",
               fmt::format("{} sums gradients in the type of the weights, fp32 in stack {}", who,
                           job.stack.name),
               "communication.gradient_dtype: fp32");
  if (job.memory.fused_loss && job.parallel.gather == GatherKind::outputs)
    break_rule(reasons, "logits-are-gathered", "memory.fused_loss",
               "a fused loss never makes the logits that parallel.gather: outputs brings to GPU "
               "0",
               "parallel.gather: loss, or memory.fused_loss: false");
}

}  // namespace

std::vector<Infeasible> single_process_rules(const Job& job) {
  Reasons reasons;
  if (job.parallel.processes != ProcessKind::per_host) return reasons;
  refuse_degrees(job, reasons);
  refuse_software(job, reasons);
  return reasons;
}

namespace {

void refuse_muon(const Job& job, Reasons& reasons) {
  if (job.fine_tuning.freezes())
    refuse(reasons, "training.optimizer", "Muon with frozen weights or adapters is not modelled",
           "training.optimizer: adamw");
  if (job.parallel.zero >= 2)
    refuse(reasons, "parallel.zero",
           "Muon over gradients or weights that are cut (ZeRO-2, ZeRO-3) is not modelled: it "
           "orthogonalises whole matrices",
           "parallel.zero: 1 (whole matrices on the ranks of a data group), or 0");
}

/// The key that asks for updates in the backward pass.
std::string_view stepping_key(const Training& training) {
  return training.optimizer_in_backward ? "training.optimizer_in_backward" : "training.optimizer";
}

/// Gradients that live in buckets or buffers until the step cannot be freed one by one.
void refuse_in_backward(const Job& job, Reasons& reasons) {
  const std::string_view key = stepping_key(job.training);
  const Parallel& plan = job.parallel;
  const auto refuse_here = [&](std::string_view message, std::string_view remedy) {
    refuse(reasons, key, std::string(message), std::string(remedy));
  };
  if (job.stack.memory.gradients_resident)
    refuse_here(fmt::format("{} keeps gradients in buffers: weights cannot be updated in the "
                            "backward pass",
                            job.stack.name),
                "training.optimizer_in_backward: false");
  if (plan.zero < 2 && ProcessGrid{plan}.group(GroupKind::data_context).ranks() > 1)
    refuse_here(
        "updates in the backward pass of replicas that sum whole gradients (DDP, ZeRO-1) "
        "are not modelled: buckets hold gradients until the step",
        "parallel.zero: 3, or one GPU");
  if (plan.pipeline > 1 || plan.single_process())
    refuse_here(
        "updates in the backward pass are modelled without pipelines and "
        "torch.nn.DataParallel",
        "parallel.pipeline: 1, parallel.processes: per-gpu");
  if (host_updates(job.memory.offload))
    refuse_here("updates in the backward pass on the host's processors are not modelled",
                "memory.offload: none");
}

/// Projections need whole matrices where their gradients are.
void refuse_projection(const Job& job, Reasons& reasons) {
  constexpr std::string_view key = "training.gradient_projection";
  const Parallel& plan = job.parallel;
  if (plan.zero > 0 || plan.tensor > 1 || plan.pipeline > 1 || plan.expert > 1 ||
      plan.single_process())
    refuse(reasons, key,
           "projected gradients are modelled on whole matrices, on one GPU or on replicas (DDP)",
           "parallel.zero: 0, without tensor, pipeline and expert ranks");
  if (job.training.optimizer == OptimizerKind::muon)
    refuse(reasons, key, "projected gradients with Muon are not modelled",
           "training.optimizer: adamw, adam8bit or adafactor");
  if (job.fine_tuning.adapts())
    refuse(reasons, key, "projected gradients of adapters are not modelled: they are small",
           "fine_tuning.adapter: none");
  if (host_updates(job.memory.offload))
    refuse(reasons, key, "projections on the host's processors are not modelled",
           "memory.offload: none");
}

}  // namespace

void check_accumulation(const Job& job, Reasons& reasons) {
  if (!job.training.steps_in_backward() || job.microbatches() <= 1) return;
  break_rule(reasons, "one-microbatch-in-backward", stepping_key(job.training),
             fmt::format("weights that are updated in the backward pass have no gradients to sum "
                         "over {} micro-batches",
                         job.microbatches()),
             fmt::format("training.global_batch: {}, or another optimizer",
                         job.training.micro_batch * job.parallel.data));
}

void refuse_optimizers(const Job& job, Reasons& reasons) {
  if (job.training.optimizer == OptimizerKind::muon) refuse_muon(job, reasons);
  if (job.training.steps_in_backward()) refuse_in_backward(job, reasons);
  if (job.training.projection.projects()) refuse_projection(job, reasons);
}

}  // namespace foretrain
