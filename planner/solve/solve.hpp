// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "models/base/names.hpp"
#include "planner/answer/answer.hpp"
#include "planner/forecast/search_limits.hpp"
#include "scenarios/resolve/scenario.hpp"

namespace foretrain {

/// Questions that run backwards: from what is wanted to what it takes.
enum class SolveFor {
  gpus,
  rate,
  model,
  sequence,
  bandwidth,
  headroom,
  change,
  price,
  batch,
  hosts
};
FORETRAIN_ENUM_NAMES(SolveFor, {SolveFor::gpus, "gpus"}, {SolveFor::rate, "rate"},
                     {SolveFor::model, "model"}, {SolveFor::sequence, "sequence"},
                     {SolveFor::bandwidth, "bandwidth"}, {SolveFor::headroom, "headroom"},
                     {SolveFor::change, "change"}, {SolveFor::price, "price"},
                     {SolveFor::batch, "batch"}, {SolveFor::hosts, "hosts"});

/// A number of an answer.
struct SolveValue {
  std::string key;               ///< of the JSON, with its unit
  std::string label;             ///< for people; of a cell: empty
  std::string text;              ///< value for people
  std::optional<double> number;  ///< absent: unknown, or no number (then `text` is its value)
};

/// An answer, with the trials that led to it where they tell something.
struct SolveAnswer {
  SolveFor question = SolveFor::gpus;
  std::string name;                           ///< of the scenario
  bool found = false;                         ///< false: nothing of what was tried is an answer
  std::string sentence;                       ///< the answer in one sentence
  std::vector<SolveValue> values;             ///< what the sentence says and what belongs to it
  std::vector<std::string> settings;          ///< that lead there, as for --set; may be empty
  std::vector<std::string> heads;             ///< of the table
  std::vector<std::vector<SolveValue>> rows;  ///< each as long as `heads`
  std::vector<std::string> notes;             ///< what it rests on
};

struct SolveOptions {
  SearchLimits limits{};
  int most_gpus = 0;      ///< 0: sixteen times the scenario's machine
  double exposed = 0.01;  ///< share of a step below which waiting counts as none
  int threads = 2;
  std::optional<Seconds> time_limit{};      ///< of fewest_gpus(), which then tells what it has
  const std::atomic<bool>* stop = nullptr;  ///< set from outside: likewise
};

/// Fewest GPUs on which some plan keeps the limits. Every machine size is searched, from the least
/// that peak FLOP/s allow, so nothing is assumed about the sizes in between.
/// @pre limits.max_run or limits.max_price is given and limit_problem() is empty
[[nodiscard]] SolveAnswer fewest_gpus(const Scenario& scenario, const SolveOptions& options);

/// Of serving: the fewest GPUs that keep serving.goals under the scenario's load.
/// @pre scenario.serving->goals.any()
[[nodiscard]] SolveAnswer fewest_serving_gpus(const Scenario& scenario,
                                              const std::atomic<bool>* stop);

/// Of serving: most requests per second under which the deployment keeps its goals, to 2 %.
/// Requests come at random. @pre scenario.serving->goals.any()
[[nodiscard]] SolveAnswer most_requests(const Scenario& scenario, const std::atomic<bool>* stop);

/// Of post-training: the fewest GPUs on which some division between generation and training takes
/// `step` at most. @param most_gpus 0: sixteen times the scenario's machine
[[nodiscard]] SolveAnswer fewest_post_training_gpus(const Scenario& scenario, Seconds step,
                                                    int most_gpus, const std::atomic<bool>* stop);

/// Largest model that fits into the machine: more layers of the same shape with the plan as it is
/// and with any plan, and layers and width in proportion with any plan.
[[nodiscard]] SolveAnswer largest_model(const Scenario& scenario, const SolveOptions& options);

/// Longest sequence that fits, with the plan as it is and with any plan.
[[nodiscard]] SolveAnswer longest_sequence(const Scenario& scenario, const SolveOptions& options);

/// Bandwidth between hosts from which on the step is no more than `exposed` longer than with links
/// of any speed. @throws UsageError for plans that cannot run, and for a single host
[[nodiscard]] SolveAnswer needed_bandwidth(const Scenario& scenario, const SolveOptions& options);

/// Memory that is free at the peak of a step, and how far micro-batch, sequence and layers can grow
/// into it.
[[nodiscard]] SolveAnswer memory_headroom(const Scenario& scenario, const SolveOptions& options);

/// Smallest change that makes a plan fit into memory.
[[nodiscard]] SolveAnswer fitting_change(const Scenario& scenario, const SolveOptions& options);

/// Price per GPU-hour of `other` at which its run costs as much as that of `scenario`.
/// @throws UsageError without a price of `scenario`, without training.tokens, or where one of them
///   cannot run
[[nodiscard]] SolveAnswer break_even_price(const Scenario& scenario, const Scenario& other);

/// How far the batch can grow: the micro-batch by memory, the global batch by what it gains.
[[nodiscard]] SolveAnswer batch_growth(const Scenario& scenario, const SolveOptions& options);

/// @param source what stands behind a command's name to read the scenario again
[[nodiscard]] Answer solve_answer(const SolveAnswer& solved, const std::string& source = {});
/// Schema solve/1: planner/README.md, "Output".
[[nodiscard]] std::string solve_json(const SolveAnswer& answer);

}  // namespace foretrain
