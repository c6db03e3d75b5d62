// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "planner/cli/answer_output.hpp"
#include "scenarios/resolve/scenario.hpp"

namespace foretrain {

/// What is searched among layouts of a deployment.
enum class ServingQuestion {
  fewest,  ///< the fewest GPUs that keep the goals
  pareto   ///< latency against throughput
};

/// Searches until Ctrl-C and prints. @return the exit code
[[nodiscard]] int show_serving_search(const Scenario& scenario, ServingQuestion question,
                                      const AnswerOutput& output);

}  // namespace foretrain
