// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/collectives/scheme.hpp"

namespace foretrain {

/// Every member speaks to every other, or to the root. `direct` starts all transfers at once, as
/// NCCL's send and receive groups do; `pairwise` goes in members - 1 rounds, in round k from member
/// i to member i + k (Thakur, Rabenseifner, Gropp, IJHPCA 2005).
namespace exchange {

[[nodiscard]] std::string direct_refusal(const CollectiveProblem& problem);
[[nodiscard]] std::vector<CollectivePhase> direct_phases(const CollectiveProblem& problem);
void direct_emit(const CollectiveProblem& problem, int phase, const TransferSink& sink);
[[nodiscard]] StepPlan direct_steps(const CollectiveProblem& problem, int chunks);

[[nodiscard]] std::string pairwise_refusal(const CollectiveProblem& problem);
[[nodiscard]] std::vector<CollectivePhase> pairwise_phases(const CollectiveProblem& problem);
void pairwise_emit(const CollectiveProblem& problem, int phase, const TransferSink& sink);
[[nodiscard]] StepPlan pairwise_steps(const CollectiveProblem& problem, int chunks);

}  // namespace exchange

inline constexpr CollectiveScheme direct_scheme{"direct",
                                                "direct",
                                                "everyone sends to everyone, or the root, at once",
                                                exchange::direct_refusal,
                                                exchange::direct_phases,
                                                exchange::direct_emit,
                                                exchange::direct_steps};
inline constexpr CollectiveScheme pairwise_scheme{"pairwise",
                                                  "pairwise",
                                                  "all-to-all in rounds of one partner each",
                                                  exchange::pairwise_refusal,
                                                  exchange::pairwise_phases,
                                                  exchange::pairwise_emit,
                                                  exchange::pairwise_steps};

}  // namespace foretrain
