// SPDX-License-Identifier: Apache-2.0
// What a plan may ask for that has no forecast of its time: refused by name.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "models/inputs/recipe.hpp"
#include "models/kernels/kernel_cost.hpp"
#include "models/layers/context_kinds.hpp"
#include "models/layers/eight_bit_weights.hpp"
#include "models/rules/internal/reasons.hpp"
#include "models/rules/plan_rules.hpp"

namespace foretrain {
namespace {

/// bitsandbytes' PagedAdam(W), PagedLion and PagedAdEMAMix (bitsandbytes/optim).
void refuse_paged_states(const Job& job, Reasons& reasons) {
  using enum OptimizerKind;
  const OptimizerKind kind = job.training.optimizer;
  if (kind == adamw || kind == adam8bit || kind == lion || kind == ademamix) return;
  refuse(reasons, "memory.offload",
         fmt::format("paged states of {} are not modelled", name_of(kind)),
         "training.optimizer: adamw, adam8bit, lion or ademamix");
}

void refuse_offloaded_states(const Job& job, Reasons& reasons) {
  if (job.memory.offload == OffloadKind::paged) return refuse_paged_states(job, reasons);
  if (!host_updates(job.memory.offload)) return;
  if (job.memory.offload == OffloadKind::optimizer_and_parameters && job.parallel.zero < 3)
    return refuse(reasons, "memory.offload",
                  "offloaded parameters below ZeRO-3 are not modelled: frameworks offload shards",
                  "parallel.zero: 3, or memory.offload: optimizer");
  if (job.training.optimizer != OptimizerKind::adamw)
    refuse(
        reasons, "memory.offload",
        fmt::format("{} on the host's processors is not modelled", name_of(job.training.optimizer)),
        "training.optimizer: adamw");
  if (job.cluster.host.pcie.bandwidth <= BytesPerSecond{})
    refuse(
        reasons, "memory.offload",
        fmt::format("the link between GPUs and host memory of {} is not known, and gradients and "
                    "weights travel over it",
                    job.cluster.host.name),
        "memory.offload: none, or give the host's pcie link");
}

void refuse_plan(const Job& job, Reasons& reasons) {
  const Parallel& plan = job.parallel;
  if (plan.context > 1 && job.memory.attention == AttentionKind::unfused)
    refuse(reasons, "memory.attention",
           "unfused attention over a ring of context ranks is not modelled",
           "memory.attention: flash");
  const bool away =
      job.memory.offloaded_layers > 0 || !(job.memory.activation_offload == LayerModules{});
  if (away && job.cluster.host.pcie.bandwidth <= BytesPerSecond{})
    refuse(reasons, "memory.activation_offload",
           fmt::format("the link between GPUs and host memory of {} is not known, and offloaded "
                       "activations travel over it",
                       job.cluster.host.name),
           "leave memory.activation_offload out, or give the host's pcie link");
  if (job.memory.offloaded_layers > 0 && plan.pipeline > 1)
    refuse(reasons, "memory.offloaded_layers",
           "offloading whole layers under a pipeline is not modelled: Megatron-Core refuses it",
           "memory.activation_offload, or parallel.pipeline: 1");
  refuse_offloaded_states(job, reasons);
}

void refuse_experts(const Job& job, Reasons& reasons) {
  if (job.model.moe && job.parallel.tensor > 1 && !job.parallel.sequence)
    refuse(reasons, "parallel.sequence",
           "a mixture of experts with tensor parallelism, but without sequence parallelism, is not "
           "modelled: every tensor rank would route all tokens",
           "parallel.sequence: true");
}

/// The formats that a job multiplies in: quantised training computes the model's ends in bf16.
std::vector<Precision> product_precisions(const Job& job) {
  if (quantised(job.training.precision)) return {job.training.precision, Precision::bf16};
  return {job.training.precision};
}

/// MXFP8 and NVFP4 on a device whose tensor cores know neither.
bool lacks_block_scales(const Job& job) {
  const Precision asked = job.training.precision;
  if (asked != Precision::mxfp8 && asked != Precision::nvfp4) return false;
  return job.cluster.host.device.peak_of(asked) <= FlopPerSecond{};
}

std::string sixteen_bit_remedy(const Job& job) {
  const bool eight = job.cluster.host.device.peak_of(Precision::fp8) > FlopPerSecond{};
  return eight ? "fp8, or fp8-block" : "bf16";
}

/// The formats that the device is known to train in: "fp16, bf16".
std::string trained_formats(const Job& job) {
  std::string formats;
  for (const auto& [precision, name] : EnumNames<Precision>::names) {
    if (!has_gemm_profile({job.cluster.host.device, job.device_profile, precision})) continue;
    formats += (formats.empty() ? "" : ", ") + std::string(name);
  }
  return formats;
}

void refuse_machine(const Job& job, Reasons& reasons) {
  if (job.parallel.single_process() && quantised(job.training.precision))
    refuse(reasons, "training.precision",
           fmt::format("the scaling factors of {} under torch.nn.DataParallel are not modelled",
                       name_of(job.training.precision)),
           "bf16");
  if (lacks_block_scales(job)) {
    refuse(reasons, "training.precision",
           fmt::format("{} needs tensor cores that scale blocks, which {} has not: NVIDIA's have "
                       "them since Blackwell",
                       name_of(job.training.precision), job.cluster.host.device.name),
           sixteen_bit_remedy(job));
    return;
  }
  const Device& device = job.cluster.host.device;
  for (const Precision precision : product_precisions(job)) {
    if (has_gemm_profile({device, job.device_profile, precision})) continue;
    const std::string format(name_of(precision));
    const bool known = device.peak_of(precision) > FlopPerSecond{};
    refuse(reasons, "training.precision",
           known ? "there is no kernel profile for " + format + " on " + device.name
                 : "the tensor cores of " + device.name + " do not multiply " + format,
           trained_formats(job));
  }
}

/// Libraries other than NCCL: gloo where nothing but the sum of gradients goes through it.
void refuse_library(const Job& job, Reasons& reasons) {
  const Backend backend = job.communication.backend;
  if (backend == Backend::nccl) return;
  const Parallel& plan = job.parallel;
  const bool replicas_only = plan.tensor == 1 && plan.context == 1 && plan.pipeline == 1 &&
                             plan.expert == 1 && plan.zero == 0;
  if (backend == Backend::gloo && replicas_only) return;
  refuse(reasons, "communication.backend",
         backend == Backend::gloo
             ? "of gloo only the sum of gradients between replicas is modelled (DDP: tensor, "
               "context, pipeline and expert 1, zero 0)"
             : fmt::format("steps whose collectives are {}'s are not modelled", name_of(backend)),
         "communication.backend: nccl");
}

void refuse_attention_library(const Job& job, Reasons& reasons) {
  const Architecture architecture = job.cluster.host.device.architecture;
  if (job.memory.attention_library == AttentionLibrary::flash3 &&
      architecture != Architecture::hopper)
    refuse(reasons, "memory.attention_library",
           fmt::format("FlashAttention-3 is written for Hopper, and {} is {}",
                       job.cluster.host.device.name, name_of(architecture)),
           "memory.attention_library: flash-2");
}

}  // namespace

std::vector<Infeasible> not_modelled(const Job& job) {
  Reasons reasons;
  refuse_experts(job, reasons);
  refuse_hybrids(job, reasons);
  refuse_plan(job, reasons);
  refuse_optimizers(job, reasons);
  if (auto refused = refuse_eight_bit_weights(job)) reasons.push_back(*std::move(refused));
  if (auto refused = refuse_context_exchange(job)) reasons.push_back(*std::move(refused));
  if (auto refused = refuse_sinks(job)) reasons.push_back(*std::move(refused));
  refuse_attention_library(job, reasons);
  for (Infeasible& reason : fine_tuning_not_modelled(job)) reasons.push_back(std::move(reason));
  refuse_images(job, reasons);
  refuse_machine(job, reasons);
  refuse_library(job, reasons);
  return reasons;
}

std::vector<Infeasible> refusals(const Job& job) {
  std::vector<Infeasible> broken = broken_rules(job);
  return broken.empty() ? not_modelled(job) : broken;
}

}  // namespace foretrain
