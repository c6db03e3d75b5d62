// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/collectives/scheme.hpp"

namespace foretrain {

/// Rings, one per NIC of a host: each enters a host at another member and leaves it at the one
/// before, so that every link inside and every NIC carries its part (NCCL's rings on rails).
/// All-reduce, all-gather and reduce-scatter go around; a broadcast leaves out the edge into the
/// root, a reduce the one out of it. Source of steps: Thakur, Rabenseifner, Gropp, IJHPCA 2005.
namespace ring {

[[nodiscard]] std::string refusal(const CollectiveProblem& problem);
[[nodiscard]] std::vector<CollectivePhase> phases(const CollectiveProblem& problem);
void emit(const CollectiveProblem& problem, int phase, const TransferSink& sink);
[[nodiscard]] StepPlan steps(const CollectiveProblem& problem, int chunks);

}  // namespace ring

inline constexpr CollectiveScheme ring_scheme{
    "ring",        "ring",       "one ring per NIC of a host, members in order",
    ring::refusal, ring::phases, ring::emit,
    ring::steps};

}  // namespace foretrain
