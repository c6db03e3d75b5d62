// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/collectives/scheme.hpp"

namespace foretrain {

/// Chains inside hosts, their heads joined by binary trees between hosts, one set per NIC.
/// `tree` is NCCL's: two complementary trees that carry half of the payload each, every host inner
/// in one and leaf in the other (Sanders, Speck, Traff, Parallel Computing 35, 2009). `single-tree`
/// is one tree with everything, rooted at the root's host.
namespace tree {

/// Parent of a host in the in-order binary tree over `hosts` hosts, -1 at its root, host 0. The
/// second tree is the first mirrored (even number of hosts) or shifted by one.
[[nodiscard]] int parent(int host, int hosts, bool second);

[[nodiscard]] std::string refusal(const CollectiveProblem& problem);
[[nodiscard]] std::vector<CollectivePhase> phases(const CollectiveProblem& problem);
void emit(const CollectiveProblem& problem, int phase, const TransferSink& sink);
[[nodiscard]] StepPlan steps(const CollectiveProblem& problem, int chunks);

[[nodiscard]] std::string single_refusal(const CollectiveProblem& problem);
void single_emit(const CollectiveProblem& problem, int phase, const TransferSink& sink);
[[nodiscard]] StepPlan single_steps(const CollectiveProblem& problem, int chunks);

/// The transfers between hosts of `tree`, both ways: what in-switch reduction climbs too.
void emit_between_hosts(const Seats& seats, const TransferSink& sink);

}  // namespace tree

inline constexpr CollectiveScheme tree_scheme{
    "tree",        "tree",       "double binary tree between hosts, chains inside",
    tree::refusal, tree::phases, tree::emit,
    tree::steps};
inline constexpr CollectiveScheme single_tree_scheme{
    "single-tree",        "1-tree",     "one binary tree between hosts",
    tree::single_refusal, tree::phases, tree::single_emit,
    tree::single_steps};

}  // namespace foretrain
