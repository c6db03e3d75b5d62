// SPDX-License-Identifier: Apache-2.0
#include "models/collectives/registry.hpp"

#include <cmath>

#include "models/collectives/scheme.hpp"

namespace foretrain {
namespace in_switch {
namespace {

std::string adds(const CollectiveProblem& problem) {
  if (problem.op != CollectiveOp::all_reduce) return "reduction in switches does all-reduce";
  return problem.seats.fewest_on_a_host() > 1 ? "" : "every host needs two members or more";
}

/// Read by the switch: every part of everybody's payload; written: the reduced part of each. The
/// same comes back: the reduced part, then all parts by multicast.
void emit_hosts(const Seats& seats, const TransferSink& sink) {
  for (const std::vector<int>& members : seats.hosts)
    for (const int member : members) {
      const double share = 1.0 + 1.0 / static_cast<double>(members.size());
      sink({member, Transfer::host_switch, share, 0});
      sink({Transfer::host_switch, member, share, 0});
    }
}

std::string nvls_refusal(const CollectiveProblem& problem) {
  if (problem.seats.host_count() > 1) return "an NVSwitch adds within one host; see nvls-tree";
  return adds(problem);
}

std::vector<CollectivePhase> nvls_phases(const CollectiveProblem& /*problem*/) {
  return {{2.0, 0.0, 0.0}};
}

void nvls_emit(const CollectiveProblem& problem, int /*phase*/, const TransferSink& sink) {
  emit_hosts(problem.seats, sink);
}

std::string tree_refusal(const CollectiveProblem& problem) {
  if (problem.seats.host_count() < 2) return "this is one host; see nvls";
  return adds(problem);
}

std::vector<CollectivePhase> tree_phases(const CollectiveProblem& problem) {
  return {{2.0, 2.0 * std::log2(static_cast<double>(problem.seats.host_count())), 0.0}};
}

void tree_emit(const CollectiveProblem& problem, int /*phase*/, const TransferSink& sink) {
  emit_hosts(problem.seats, sink);
  tree::emit_between_hosts(problem.seats, sink);
}

std::string collnet_refusal(const CollectiveProblem& problem) {
  if (problem.seats.host_count() < 2) return "this is one host: no network switch takes part";
  return adds(problem);
}

std::vector<CollectivePhase> collnet_phases(const CollectiveProblem& problem) {
  return {{2.0, 2.0, 1.0 / problem.seats.fewest_on_a_host()}};
}

void collnet_emit(const CollectiveProblem& problem, int /*phase*/, const TransferSink& sink) {
  emit_hosts(problem.seats, sink);
}

}  // namespace
}  // namespace in_switch

// All-reduce by switches that add. `nvls`: the NVSwitch of one host; every member sends all of the
// payload and its reduced part once more, and receives as much (NVIDIA's NVLink SHARP as the CUDA
// multicast instructions use it). `nvls-tree`: the same in every host, with the double binary tree
// between hosts. `collnet`: the same in every host, and the switches of the network add what
// the NICs send (SHARP: Graham et al., COMHPC 2016).
constinit const CollectiveScheme nvls_scheme{"nvls",
                                             "nvls",
                                             "NVSwitch of one host adds",
                                             in_switch::nvls_refusal,
                                             in_switch::nvls_phases,
                                             in_switch::nvls_emit,
                                             nullptr};
constinit const CollectiveScheme nvls_tree_scheme{"nvls-tree",
                                                  "nvls-tree",
                                                  "NVSwitches add, double binary tree between",
                                                  in_switch::tree_refusal,
                                                  in_switch::tree_phases,
                                                  in_switch::tree_emit,
                                                  nullptr};
constinit const CollectiveScheme collnet_scheme{"collnet",
                                                "collnet",
                                                "switches of host and network add (SHARP)",
                                                in_switch::collnet_refusal,
                                                in_switch::collnet_phases,
                                                in_switch::collnet_emit,
                                                nullptr};

}  // namespace foretrain
