// SPDX-License-Identifier: Apache-2.0
#include "models/forecast/internal/slower_step.hpp"

#include <algorithm>

#include "models/step/step_costs.hpp"
#include "models/step/step_time.hpp"

namespace foretrain {
namespace {

constexpr double slow_network = 0.5;  // of the rate expected where nobody measured
// All-reduce of 512 MiB by four and eight GPUs of a host without peer-to-peer transfers: 5.2 and
// 1.45 GB/s, where pairs have 20 (nccl_sweeps.csv, ar_l40sx*_half_aic).
constexpr double slow_pcie_four = 0.22;
constexpr double slow_pcie_eight = 0.06;
constexpr double slow_host = 2.0;     // launches: one generation of processors
constexpr double slow_routing = 1.5;  // kernels around experts, fused or not
constexpr double slow_grouped = 1.1;  // products of few tokens per expert

}  // namespace

SlowerStep::SlowerStep(const Job& job)
    : job_{job}, layout_{stage_layout(job.model, job.parallel)}, expected_{seconds(job)} {}

double SlowerStep::network() const {
  Job slow = job_;
  for (double* share : {&slow.site.across.share, &slow.site.lone_share, &slow.site.send_share})
    *share *= slow_network;
  return longer(slow);
}

double SlowerStep::pcie() const {
  const Host& host = job_.cluster.host;
  if (host.scale_up != ScaleUpKind::pcie || host.gpus <= 2) return 0.0;
  Job slow = job_;
  slow.cluster.host.gpu_link.bandwidth *= host.gpus <= 4 ? slow_pcie_four : slow_pcie_eight;
  return longer(slow);
}

double SlowerStep::launches() const {
  Job slow = job_;
  StackTimes& times = slow.stack.times;
  for (Seconds* time : {&times.launch_forward, &times.launch_backward, &times.launch_tensor,
                        &times.layer_fixed, &times.head_fixed, &times.expert_latency})
    *time *= slow_host;
  return longer(slow);
}

double SlowerStep::experts() const {
  if (!job_.model.moe) return 0.0;
  Job slow = job_;
  slow.stack.times.expert_elementwise *= slow_routing;
  slow.stack.times.grouped_product *= slow_grouped;
  return longer(slow);
}

double SlowerStep::routing() const {
  if (!job_.model.moe) return 0.0;
  Job forced = job_;
  forced.training.moe_imbalance = 1.0;
  return std::max(0.0, 1.0 - seconds(forced) / expected_);
}

Seconds SlowerStep::seconds(const Job& job) const { return step_seconds(step_costs(job, layout_)); }

double SlowerStep::longer(const Job& slow) const {
  return std::max(0.0, seconds(slow) / expected_ - 1.0);
}

}  // namespace foretrain
