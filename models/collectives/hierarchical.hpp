// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/collectives/scheme.hpp"

namespace foretrain {

/// One call per level: rings inside hosts, then rings between members of equal index on all hosts,
/// then inside again. As 2D all-reduces of frameworks do (Mikami et al., arXiv 1811.05233).
namespace hierarchical {

[[nodiscard]] std::string refusal(const CollectiveProblem& problem);
[[nodiscard]] std::vector<CollectivePhase> phases(const CollectiveProblem& problem);
void emit(const CollectiveProblem& problem, int phase, const TransferSink& sink);
[[nodiscard]] StepPlan steps(const CollectiveProblem& problem, int chunks);

}  // namespace hierarchical

inline constexpr CollectiveScheme hierarchical_scheme{
    "hierarchical",        "hierarch.",          "rings inside hosts, then between, then in",
    hierarchical::refusal, hierarchical::phases, hierarchical::emit,
    hierarchical::steps};

}  // namespace foretrain
