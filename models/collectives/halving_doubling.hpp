// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/collectives/scheme.hpp"

namespace foretrain {

/// All-reduce by recursive halving and doubling: partners at distance 1, 2, 4, ... swap halves,
/// quarters, eighths and add, then hand them back the same way. What is beyond a power of two
/// gives its data to a partner before and gets the sum after (Rabenseifner, ICCS 2004; Thakur,
/// Rabenseifner, Gropp, IJHPCA 2005, section 4.5).
namespace halving_doubling {

[[nodiscard]] std::string refusal(const CollectiveProblem& problem);
[[nodiscard]] std::vector<CollectivePhase> phases(const CollectiveProblem& problem);
void emit(const CollectiveProblem& problem, int phase, const TransferSink& sink);
[[nodiscard]] StepPlan steps(const CollectiveProblem& problem, int chunks);

}  // namespace halving_doubling

inline constexpr CollectiveScheme halving_doubling_scheme{"halving-doubling",
                                                          "halving",
                                                          "recursive halving, then doubling",
                                                          halving_doubling::refusal,
                                                          halving_doubling::phases,
                                                          halving_doubling::emit,
                                                          halving_doubling::steps};

}  // namespace foretrain
