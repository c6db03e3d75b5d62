// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "planner/answer/answer.hpp"
#include "planner/evidence/left_out.hpp"

namespace foretrain {

struct Scene;
struct SceneSpace;

/// Errors of the step times of one fold and group (or of all folds of an axis and group), predicted
/// by profiles that were fitted without that fold, and by the shipped ones. Shares, not percent.
struct LeftOutError {
  FoldAxis axis = FoldAxis::source;
  std::string source;  ///< fold; "all" for every fold of the axis
  std::string group;   ///< as RecordCheck has it; empty: all groups together
  /// Fold that a total leaves out, because it alone is 45 % of the group's runs or more.
  std::string without;
  int runs = 0;
  double mape_fitted = 0.0;
  double median_fitted = 0.0;
  double bias = 0.0;
  double mape = 0.0;
  double median = 0.0;
  std::optional<double> in_band;  ///< share of measurements in the band of the left-out forecast

  [[nodiscard]] bool total() const { return source == "all"; }
};

/// By axis one line per fold and group, then totals; a total that one fold dominates comes without
/// that fold, too, and first.
[[nodiscard]] std::vector<LeftOutError> left_out_errors(const LeftOut& left_out);

/// As calibration/fits/left_out.csv: percent with two decimals, an empty cell where unknown.
[[nodiscard]] std::string left_out_csv(const std::vector<LeftOutError>& lines);
/// @throws ScenarioError with the lines that cannot be read
[[nodiscard]] std::vector<LeftOutError> read_left_out(const std::string& text,
                                                      const std::string& file);
/// The errors that ship with the profiles, which `validate --leave-out all --csv` wrote.
/// @throws UsageError when there is no such file, ScenarioError
[[nodiscard]] std::vector<LeftOutError> shipped_left_out(
    const std::vector<std::filesystem::path>& catalogs);

/// How many folds an axis has.
[[nodiscard]] int fold_count(const std::vector<LeftOutError>& lines, FoldAxis axis);
/// Date of the newest stack profile, which is that of the fit ("2026-11-21").
/// @throws ScenarioError when a profile is broken
[[nodiscard]] std::string fit_date(const std::vector<std::filesystem::path>& catalogs);

/// "all dense fp8", "dense bf16/fp16 but vtrain_single", "sc21".
[[nodiscard]] std::string left_out_label(const LeftOutError& line);
/// What of the shipped errors is shown; empty: all.
struct AccuracyFilter {
  std::vector<FoldAxis> axes = {};
  std::vector<std::string> sources = {};  ///< folds
};
/// A table per axis of mean and median errors, left out beside fitted.
/// @throws UsageError where no line is asked for
[[nodiscard]] Answer accuracy_answer(const std::vector<LeftOutError>& lines,
                                     const AccuracyFilter& filter);
/// What runs of an axis differ in from all that were fitted: "another source".
[[nodiscard]] const char* unseen_name(FoldAxis axis);
/// Median of the sizes of their errors. @pre not empty
[[nodiscard]] double median_error(const std::vector<const RecordCheck*>& checks);
/// Errors by axis and kind of run, folds beside their total, what the shipped profiles reach and
/// what is aimed at; as high as its rows are.
[[nodiscard]] Scene left_out_chart(const std::vector<LeftOutError>& lines, const SceneSpace& space);

}  // namespace foretrain
