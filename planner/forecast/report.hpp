// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "models/base/prediction.hpp"
#include "models/forecast/closed_form.hpp"
#include "models/forecast/path_forecast.hpp"
#include "models/run/power_course.hpp"
#include "planner/answer/study.hpp"
#include "scenarios/resolve/scenario.hpp"

namespace foretrain {

/// A change of settings that makes a plan fit, evaluated.
struct Change {
  std::vector<std::string>
      settings;                 ///< as for --set, e.g. {"parallel.tensor=16", "parallel.data=8"}
  Bytes peak;                   ///< of the heaviest stage after the change
  std::optional<Seconds> step;  ///< after the change; absent where its time is not modelled
  std::string gives_up{};       ///< of what is learnt, in words; empty: nothing

  /// The settings in one line, separated by blanks.
  [[nodiscard]] std::string text() const;
};

/// One budget line after the forecast.
struct BudgetVerdict {
  BudgetLine line;
  std::optional<double> value;  ///< absent: the forecast does not know it
  bool pass = false;            ///< an unknown value does not pass
};

/// All that the reports show about one scenario.
struct Report {
  Scenario scenario;
  Prediction prediction;
  std::vector<Change> changes;  ///< for plans that run out of memory, fastest first
  std::vector<BudgetVerdict> budget;
  std::vector<PowerLever> power_levers;  ///< what limits of power cost; none without a step
  /// Of a scenario that serves or post-trains: then `prediction` has its reasons and nothing else.
  std::optional<Study> study{};
};

/// Forecasts a scenario and completes the answer: a plan that runs out of memory gets the changes
/// that fit, its remedy and what its step would take (Prediction::if_it_fit), and whatever stays
/// unknown gets a warning.
/// Serving and post-training have engines of their own, which `stop` ends from outside.
/// The budget is not judged here: see run_end.hpp. @pre engine is closed_form or path
[[nodiscard]] Report evaluate(const Scenario& scenario,
                              AttentionFlops convention = AttentionFlops::full,
                              EngineKind engine = EngineKind::closed_form,
                              const std::atomic<bool>* stop = nullptr);

/// A report on a forecast that an engine has made; completed as evaluate() does.
/// @param played the step as an engine played it; null: its critical path
[[nodiscard]] Report report_on(const Scenario& scenario, Prediction prediction,
                               const StepPath* played = nullptr);

/// The job, without its run, on GPUs that hold its plan; absent unless memory, and nothing else, is
/// in the way.
[[nodiscard]] std::optional<Job> on_larger_gpus(const Job& job, const Prediction& prediction);
/// Prediction::if_it_fit from a forecast of that job, with its warnings and one that marks it.
void add_if_it_fit(const Prediction& larger, Prediction& prediction);
/// For displays that mark it: the forecast with if_it_fit as its step. Reasons stay.
[[nodiscard]] Prediction as_if_it_fit(Prediction prediction);

/// Adds a warning ("unknown-...") for whatever the JSON shows as null: absent input or absent
/// model.
void warn_of_unknowns(const Job& job, Prediction& prediction);

/// Percentiles of the duration and the chance to meet the deadline, from simulated lives of the job
/// (sim/lives/run_simulation.hpp) where goodput is known; nothing otherwise.
void add_percentiles(const Job& job, Prediction& prediction);

/// True for warnings that say that a number lies outside what was measured: under --strict they
/// fail the command.
[[nodiscard]] bool outside_calibration(const Warning& warning);

}  // namespace foretrain
