// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "models/run/goodput.hpp"
#include "planner/answer/answer.hpp"
#include "planner/forecast/report.hpp"
#include "sim/lives/run_simulation.hpp"

namespace foretrain {

struct Scene;
struct SceneSpace;

/// Goodput with another time between checkpoints.
struct IntervalRow {
  std::string name;  ///< "as given", "Young", "Daly", "best", "half of the best", ...
  Seconds every;
  double closed_form = 0.0;  ///< goodput
  double simulated = 0.0;    ///< mean over the trials, step time as forecast
};

/// A state of the machine in which the job runs on, slower.
struct DegradedState {
  std::string name;   ///< "2 NICs out", "leaf0 out"
  int out = 0;        ///< parts
  Seconds step;       ///< as played
  double pace = 1.0;  ///< step of the whole machine over this one
};

/// A run's life: what is lost to what, how sure that is, and one life as an example.
struct GoodputStudy {
  Report report;
  std::vector<std::string> missing;    ///< keys without which goodput stays unknown
  bool stopped = false;                ///< from outside: fewer trials, or none
  std::optional<RunModel> model;       ///< absent: unknown, or not simulated
  RunSpread spread;                    ///< with doubt about the step time
  std::optional<RunSpread> steady;     ///< step time as forecast; absent when stopped before
  RunTrial life;                       ///< recorded, step time as forecast
  std::vector<IntervalRow> intervals;  ///< fewer when stopped
  std::vector<DegradedState> states;   ///< that the event engine played; empty for other engines
};

struct GoodputOptions {
  int trials = 400;
  int threads = 0;
  std::optional<std::uint64_t> seed;        ///< absent: the scenario's
  const std::atomic<bool>* stop = nullptr;  ///< set from outside to end early
  EngineKind engine = EngineKind::closed_form;
};

/// @pre trials >= 1
[[nodiscard]] GoodputStudy study_goodput(const Scenario& scenario, const GoodputOptions& options);
/// The same of a scenario that was forecast.
[[nodiscard]] GoodputStudy study_goodput(Report report, const GoodputOptions& options);

/// Why goodput is known in closed form but not simulated; empty where it is, or where it is
/// unknown.
[[nodiscard]] std::string why_not_simulated(const GoodputStudy& study);

/// @param source as report_head() takes it
/// @return where the time goes, what another checkpoint interval would give, one run week by week
[[nodiscard]] Answer goodput_answer(const GoodputStudy& study, const std::string& source = {});
[[nodiscard]] const ValueTable<IntervalRow>& interval_values();
[[nodiscard]] const ValueTable<DegradedState>& state_values();
/// Schema goodput/1.
[[nodiscard]] const ValueRows& goodput_document();
[[nodiscard]] std::string goodput_json(const GoodputStudy& study);

/// A row of the picture and of the text chart.
struct LifeRow {
  Seconds from;
  Seconds to;
  Seconds down;  ///< without steps
  Seconds lost;  ///< lost work, counted where the stop begins
  int interruptions = 0;
};
/// Equal stretches that cover the life: weeks, or as many weeks as keep it to sixty rows.
[[nodiscard]] std::vector<LifeRow> life_rows(const RunTrial& life);

/// One simulated run, week by week: steps, stops, lost work, stragglers; as high as its rows are.
/// @pre study.model
[[nodiscard]] Scene life_chart(const GoodputStudy& study, const SceneSpace& space);

}  // namespace foretrain
