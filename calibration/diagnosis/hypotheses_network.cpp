// SPDX-License-Identifier: Apache-2.0
// Causes in the network between hosts, and in what hides its traffic.
#include <fmt/format.h>

#include <array>

#include "calibration/diagnosis/hypothesis.hpp"

namespace foretrain {
namespace {

std::vector<Variation> fewer_nics(const DiagnosisCase& of) {
  if (of.job.cluster.hosts < 2) return {};
  std::vector<Variation> all;
  for (const double share : {0.875, 0.75, 0.5, 0.25, 0.125}) {
    Job job = of.job;
    job.cluster.network.nic_link.bandwidth *= share;
    for (Variation& one : variation_of(job, fmt::format("{:.3g} of the NICs' rate", share)))
      all.push_back(std::move(one));
  }
  return all;
}

/// What sockets reach of a NIC's rate is not modelled: two guesses that are far apart.
std::vector<Variation> sockets(const DiagnosisCase& of) {
  if (of.job.cluster.hosts < 2 || of.job.communication.transport == Transport::tcp) return {};
  std::vector<Variation> all;
  for (const double share : {0.3, 0.1}) {
    Job job = of.job;
    job.cluster.network.nic_link.bandwidth *= share;
    job.cluster.network.step_latency += 30.0 * us;
    for (Variation& one : variation_of(job, fmt::format("TCP at {:.1g} of the NICs' rate", share)))
      all.push_back(std::move(one));
  }
  return all;
}

std::vector<Variation> no_overlap(const DiagnosisCase& of) {
  std::vector<Variation> all;
  const Overlap planned = of.job.communication.overlap;
  const auto without = [&](Overlap overlap, const char* setting) {
    Job job = of.job;
    job.communication.overlap = overlap;
    for (Variation& one : variation_of(job, setting)) all.push_back(std::move(one));
  };
  Overlap overlap = planned;
  overlap.gradients = overlap.parameters = false;
  if (planned.gradients || planned.parameters)
    without(overlap, "gradients and weights travel after the passes");
  overlap = planned;
  overlap.gradients = false;
  if (planned.gradients && planned.parameters)
    without(overlap, "gradients travel after the passes");
  overlap = planned;
  overlap.tensor = false;
  if (planned.tensor) without(overlap, "tensor-parallel exchanges wait");
  return all;
}

constexpr std::array fewer_signs{SignRate{Sign::fewer_nics, 0.6}, SignRate{Sign::level_shift, 0.1}};
constexpr std::array socket_signs{SignRate{Sign::sockets, 0.95}, SignRate{Sign::wide_spread, 0.3}};
constexpr std::array overlap_signs{SignRate{Sign::overlap_off, 0.6}};

constexpr std::array network_causes{
    Hypothesis{"fewer-nics", "NICs are missing or run at a lower rate", 0.06, fewer_nics,
               fewer_signs,
               "NCCL_DEBUG=INFO lists the NICs that are used (NET/IB : Using ...); ibstat "
               "shows their rate, all_reduce_perf of nccl-tests over all hosts the bus bandwidth"},
    Hypothesis{"tcp-fallback", "NCCL falls back to TCP", 0.02, sockets, socket_signs,
               "NCCL_DEBUG=INFO says NET/IB or NET/Socket"},
    Hypothesis{"no-overlap", "Exchanges do not run beside the passes", 0.06, no_overlap,
               overlap_signs,
               "the dump of arguments (overlap_grad_reduce, overlap_param_gather, "
               "tp_comm_overlap), or a trace: do NCCL kernels run beside the backward pass"},
};

}  // namespace

std::span<const Hypothesis> network_hypotheses() { return network_causes; }

}  // namespace foretrain
