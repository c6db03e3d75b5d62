// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "planner/answer/answer.hpp"
#include "planner/serving/serving_study.hpp"

namespace foretrain {

/// One deployment that was simulated.
struct ServingPoint {
  ServingPlan plan;  ///< of the scenario but for what was searched
  int hosts = 1;
  int gpus = 1;
  bool keeps_goals = false;
  bool whole = false;  ///< under the whole load, as `foretrain serve` does it, not a part of it
  ServingSummary summary;
  std::vector<GoalVerdict> goals;
  std::optional<ServingCost> cost;
  bool on_front = false;  ///< of --pareto: no other is better in both

  /// Tokens that one user gets per second.
  [[nodiscard]] double user_tokens_per_s() const {
    return summary.tpot.mean > 0.0 ? 1.0 / summary.tpot.mean : 0.0;
  }
  [[nodiscard]] double gpu_tokens_per_s() const { return summary.output_tokens_per_s / gpus; }
};

/// A layout that was looked at and cannot be, with the first reason.
struct RefusedLayout {
  ServingLayout layout;
  std::string reason;
};

struct ServingSearch {
  std::string name;
  std::vector<ServingPoint> points;  ///< fewest: one per layout, best first; pareto: by layout
  std::vector<RefusedLayout> refused;
  bool stopped = false;  ///< from outside
  /// Of the best layout: GPUs that keep the goals at the fast and at the slow end of the band;
  /// nothing where that takes more than are looked for, or was not reached.
  std::optional<int> fewest_fast{};
  std::optional<int> fewest_slow{};
};

/// Larger deployments than that are not looked for.
inline constexpr int most_serving_gpus = 4096;

/// The fewest GPUs that keep the scenario's goals, over layouts of one replica: tensor parallel
/// within a scale-up domain, experts spread, attention data parallel, and where nothing else fits
/// pipelines. Where the scenario has replicas that only prefill, its two layouts are kept and their
/// numbers searched. cluster.hosts is not a limit. Screened with the first 6,000 requests; the best
/// are then simulated under the whole load.
/// @pre scenario.serving->goals.any()
[[nodiscard]] ServingSearch fewest_gpus(const Scenario& scenario,
                                        const std::atomic<bool>* stop = nullptr);

/// Latency against throughput: every layout of one replica with 1, 2, 4, ... clients that each wait
/// for their answer, four requests per client.
[[nodiscard]] ServingSearch serving_pareto(const Scenario& scenario,
                                           const std::atomic<bool>* stop = nullptr);

/// The overrides of `foretrain serve FILE` that give the point's figures.
[[nodiscard]] std::vector<std::string> overrides_of(const ServingPoint& point,
                                                    const ServingPlan& scenario);

[[nodiscard]] Answer fewest_answer(const Scenario& scenario, const ServingSearch& search);
[[nodiscard]] Answer pareto_answer(const Scenario& scenario, const ServingSearch& search);
[[nodiscard]] std::string serving_search_json(const Scenario& scenario, const ServingSearch& search,
                                              const std::string& question);
[[nodiscard]] const ValueRows& serving_search_document();

}  // namespace foretrain
