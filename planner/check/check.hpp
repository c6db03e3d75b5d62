// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/answer/answer.hpp"
#include "planner/forecast/report.hpp"

namespace foretrain {

/// What a forecast said when somebody last agreed with it: kept in a file beside the scenario.
struct Baseline {
  std::string engine;
  std::vector<std::string> rules;  ///< that the plan broke; empty: it was feasible
  /// Numbers by their paths in the JSON of a forecast; absent: it was unknown.
  std::vector<std::pair<std::string, std::optional<double>>> values;
};

/// Memory of the heaviest stage, the step with its parts, efficiency, run and cost.
[[nodiscard]] Baseline baseline_of(const Report& report);
/// Schema baseline/1, a line per number, so that reviews show what moved.
[[nodiscard]] std::string baseline_json(const Baseline& baseline);
/// @param name of the file, for messages. @throws ScenarioError for any other text
[[nodiscard]] Baseline parse_baseline(const std::string& text, const std::string& name);

/// A number that is not what the baseline says.
struct Drift {
  std::string path;
  std::optional<double> before;
  std::optional<double> after;

  /// Relative change; nothing where either side is unknown or the first is zero.
  [[nodiscard]] std::optional<double> change() const;
  /// "step.time_s: 8.31 s -> 8.56 s (+3.0 %)"
  [[nodiscard]] std::string text() const;
};

/// Numbers that differ by more than `tolerance`, relative to the larger one, to either side; those
/// that only one of them has. Parts of the step and of a stage come last; most changed first.
[[nodiscard]] std::vector<Drift> drift(const Baseline& before, const Baseline& after,
                                       double tolerance);

/// Something that makes a check fail.
struct Violation {
  enum class Kind { budget, baseline, infeasible, unguarded };
  Kind kind = Kind::baseline;
  int line = 0;  ///< in the scenario file; 0: the file as a whole
  std::string message;
};

/// "budget", "baseline", "infeasible", "unguarded".
[[nodiscard]] std::string_view violation_name(Violation::Kind kind);

/// One scenario of a check.
struct CheckedScenario {
  std::string file;
  std::vector<Diagnostic> errors;  ///< not empty: it could not be read, and nothing else is known
  std::optional<Report> report;    ///< with its budget judged
  std::optional<Baseline> baseline;
  std::vector<Drift> drifts;
  std::vector<Violation> violations;

  [[nodiscard]] bool pass() const { return errors.empty() && violations.empty(); }
};

/// Judges a forecast by its budget and by what was agreed on before. A plan that cannot run must be
/// agreed on too, and a scenario with neither budget nor baseline is not guarded at all.
[[nodiscard]] CheckedScenario check_scenario(std::string file, Report report,
                                             std::optional<Baseline> baseline, double tolerance);

/// What is wrong with each scenario, tables of what moved for pages, and a line per scenario.
[[nodiscard]] Answer check_answer(const std::vector<CheckedScenario>& all);
/// JUnit's XML: a suite, a case per scenario.
[[nodiscard]] std::string check_junit(const std::vector<CheckedScenario>& all);
/// SARIF 2.1.0 (OASIS): a result per input error and per violation, at its line where it has one;
/// what moved against a baseline is one result. Columns count bytes of UTF-8.
[[nodiscard]] std::string check_sarif(const std::vector<CheckedScenario>& all);
/// Workflow commands that GitHub shows beside the lines of a pull request.
[[nodiscard]] std::string check_annotations(const std::vector<CheckedScenario>& all);

/// Numbers that moved for one reason.
struct DriftGroup {
  Drift lead;                  ///< what people look at first
  std::vector<Drift> alike;    ///< moved by the same factor
  std::vector<Drift> inverse;  ///< moved by one over that factor
  std::vector<Drift> parts;    ///< of what leads: they sum to what it moved by; largest first

  /// "step.time_s: 8.31 s -> 8.56 s (+3.0 %); likewise step.low_s, run.ideal_s; inversely mfu;
  /// parts: tensor +252 ms"
  [[nodiscard]] std::string text() const;
};

/// Every drift in exactly one group. A number joins the one before it that moved by the same share
/// to within 2 % of that, or by the inverse; numbers of memory join only numbers of memory. Parts
/// of the step go to step.time_s, those of the heaviest stage to memory.peak_bytes, where these
/// moved. The step leads, then memory; the rest stays in order.
[[nodiscard]] std::vector<DriftGroup> grouped(const std::vector<Drift>& drifts);

}  // namespace foretrain
