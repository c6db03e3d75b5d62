// SPDX-License-Identifier: Apache-2.0
#include "tests/planner/diagnosis/fault_cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "calibration/diagnosis/diagnose.hpp"
#include "calibration/diagnosis/hypotheses.hpp"
#include "calibration/training_logs/read_training_log.hpp"
#include "scenarios/resolve/scenario.hpp"

namespace foretrain::test {
namespace {

constexpr std::array faults{
    "fewer-nics",   "tcp-fallback",      "no-overlap",          "slow-clock", "older-attention",
    "straggler",    "expert-imbalance",  "other-recomputation", "paging",     "host-bound",
    "data-loading", "checkpoint-stalls", "garbage-collection"};

struct Base {
  const char* scenario;
  std::vector<std::string> overrides;
};

/// Plans of all kinds: within a host, across hosts, with many micro-batches and with few, of which
/// the exchange of gradients is a larger part, dense ones and mixtures of experts.
const std::vector<Job>& jobs() {
  static const std::vector<Job> all = [] {
    const std::vector<std::string> many_replicas{
        "cluster.hosts=32", "cluster.fabric.kind=rail-optimized", "training.global_batch=256"};
    std::vector<Job> made;
    for (const auto& [name, overrides] :
         std::vector<Base>{{"llama3-8b-8xh100", {}},
                           {"llama3-8b-8xh100", many_replicas},
                           {"llama2-70b-256xa100", {}},
                           {"llama3.1-70b-1024xh100", {"training.global_batch=256"}},
                           {"llama3.1-70b-1024xh100", {}},
                           {"llama2-70b-1024xh100", {"training.global_batch=256"}},
                           {"gpt3-175b-1024xa100", {}},
                           {"qwen3-235b-256xgb200", {}}}) {
      LoadOptions options;
      options.overrides = overrides;
      made.push_back(
          load_scenario(fmt::format("{}/scenarios/{}.yaml", FORETRAIN_SOURCE_DIR, name), options)
              .job);
    }
    return made;
  }();
  return all;
}

/// A run with the cause, on the first scenario from `turn` on that can have it.
std::pair<PlayedRun, const Job*> drawn_run(std::string_view cause, LogDetail detail,
                                           std::uint64_t seed, std::size_t turn) {
  constexpr std::size_t tries = 200;
  constexpr double least = 0.12;
  for (std::size_t i = 0; i < tries; ++i) {
    const Job& job = jobs()[(turn + i) % jobs().size()];
    if (auto run = play_run(job, cause, detail, seed * 1000 + i, least))
      return {std::move(*run), &job};
  }
  throw std::runtime_error("no scenario shows " + std::string(cause));
}

void count(const PlayedRun& run, const Job& job, FaultScore& score) {
  Diagnostics diagnostics;
  const TrainingLog log = read_training_log_text(run.log, "run.log", diagnostics);
  diagnostics.throw_if_any();
  const Diagnosis found = diagnose(log, job);
  ++score.runs;
  // What is no cause is the likeliest explanation, and never leads the causes.
  const bool clean = run.cause == as_forecast_id;
  const std::string& first =
      clean ? found.explanations.front().causes.front() : found.causes.front().id;
  const auto end = found.explanations.begin() + static_cast<std::ptrdiff_t>(found.tied);
  const bool tied = std::any_of(found.explanations.begin(), end, [&](const StepExplanation& one) {
    return std::find(one.causes.begin(), one.causes.end(), run.cause) != one.causes.end();
  });
  score.first += first == run.cause ? 1 : 0;
  score.tied += first == run.cause || tied ? 1 : 0;
  if (first != run.cause) ++score.instead[first];
}

}  // namespace

FaultScores score_faults(int runs, LogDetail detail, std::uint64_t seed) {
  FaultScores scores;
  constexpr int clean_every = 5;
  std::size_t fault = 0;
  for (int i = 0; i < runs; ++i) {
    const bool clean = i % clean_every == clean_every - 1;
    const std::string_view cause = clean ? "as-forecast" : faults[fault++ % faults.size()];
    const auto number = static_cast<std::uint64_t>(i);
    const auto [run, job] =
        drawn_run(cause, detail, seed + number, static_cast<std::size_t>(i / 3));
    count(run, *job, scores[std::string(cause)]);
  }
  FaultScore all;
  for (const auto& [cause, score] : scores) {
    if (cause == "as-forecast") continue;
    all.runs += score.runs;
    all.first += score.first;
    all.tied += score.tied;
  }
  scores["all faults"] = all;
  return scores;
}

std::string scores_text(const FaultScores& scores) {
  std::string text = fmt::format("{:22} {:>5} {:>6} {:>6}  {}\n", "cause", "runs", "first", "tied",
                                 "first in its place");
  for (const auto& [cause, score] : scores) {
    std::string instead;
    for (const auto& [other, times] : score.instead)
      instead += fmt::format("{}{} {}", instead.empty() ? "" : ", ", times, other);
    const double runs = std::max(1, score.runs);
    text += fmt::format("{:22} {:5} {:5.0f}% {:5.0f}%  {}\n", cause, score.runs,
                        100.0 * score.first / runs, 100.0 * score.tied / runs, instead);
  }
  return text;
}

}  // namespace foretrain::test
