// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string_view>

#include "models/grid/process_grid.hpp"
#include "models/rules/internal/reasons.hpp"

namespace foretrain {
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
