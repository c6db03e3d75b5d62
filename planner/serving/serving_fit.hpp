// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "planner/answer/answer.hpp"
#include "planner/answer/value_rows.hpp"
#include "planner/serving/serving_deployment.hpp"
#include "planner/serving/serving_study.hpp"

namespace foretrain::serving_words {

/// "2 x 8 GPUs (TP 8)".
[[nodiscard]] std::string replicas_text(const ServingLayout& layout);
/// "fp8 weights, fp8 cache".
[[nodiscard]] std::string precision_text(const ServingPrecision& precision);
/// A line per reason why something cannot run.
[[nodiscard]] AnswerSection reasons_section(const std::vector<Infeasible>& reasons);

/// A line per warning.
[[nodiscard]] AnswerSection warnings_section(const std::vector<Warning>& warnings);

[[nodiscard]] const ValueTable<ServingLayout>& layout_values();
[[nodiscard]] const ValueTable<ServingCost>& cost_values();

}  // namespace foretrain::serving_words

namespace foretrain {

/// Requests of one length that a replica holds at once.
struct ServingRoom {
  double tokens = 0.0;
  double requests = 0.0;
};

/// What replicas of one kind keep in memory.
struct PoolFit {
  std::string name;  ///< "serve", "prefill" or "decode"
  ReadyPool pool;
  ServingMemory memory;   ///< with as many mean requests as fit
  double requests = 0.0;  ///< of the mean length, of a replica
  double longest = 0.0;   ///< tokens of one request alone
  std::vector<ServingRoom> rooms;
};

struct ServingFit {
  std::string name;
  std::string model;
  double request = 0.0;  ///< tokens of the mean request
  std::vector<Infeasible> reasons;
  std::vector<PoolFit> pools;  ///< empty where there are reasons
};

/// Weights, cache, graphs and workspace of the heaviest GPU, and what concurrency fits.
/// @pre scenario.serving and scenario.engine
[[nodiscard]] ServingFit judge_serving_fit(const Scenario& scenario);

/// The same of an engine that is ready for another load than requests of users.
[[nodiscard]] ServingFit judge_serving_fit(const Scenario& scenario, const ReadyServing& ready);

[[nodiscard]] Answer serving_fit_answer(const ServingFit& fit);
/// Schema serving-memory/1.
[[nodiscard]] std::string serving_fit_json(const ServingFit& fit);
[[nodiscard]] const ValueRows& serving_fit_document();

}  // namespace foretrain
