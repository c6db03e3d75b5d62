// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/prediction.hpp"
#include "planner/answer/answer.hpp"
#include "planner/answer/verdict.hpp"

namespace foretrain {

/// What a number of a study is called and means.
struct StudyWords {
  std::string path;  ///< of the study's JSON, with its unit
  std::string_view label;
  std::string_view meaning;
  std::string_view formula;  ///< in words and symbols, or where the equation stands
  bool more_is_better = false;
  bool leads = false;  ///< among the numbers that comparisons and sweeps show unless told otherwise
  bool ranks = false;  ///< the one number by which forecasts of a kind are compared
};

/// A row per number of a forecast of kind R: the JSON, sweeps, budgets, baselines, comparisons and
/// `explain` read the rows; whoever adds one finds it in all of them.
template <class R>
struct StudyRow : StudyWords {
  std::function<std::optional<double>(const R&)> get{};
  std::function<std::optional<Banded>(const R&)> band{};  ///< 10th to 90th percentile
};

struct StudyFigure : StudyWords {
  std::optional<double> value{};
  std::optional<Banded> band{};
};

/// The forecast of a scenario that serves or post-trains, as every command reads it.
struct Study {
  std::vector<StudyFigure> figures;
  std::vector<Infeasible> reasons;  ///< why it cannot run; then figures have no values
  Answer answer;
  std::string json;
  bool stopped = false;  ///< from outside
};

template <class R>
[[nodiscard]] std::vector<StudyFigure> figures_of(std::span<const StudyRow<R>> rows,
                                                  const R& report, bool runs) {
  std::vector<StudyFigure> figures;
  for (const StudyRow<R>& row : rows) {
    StudyFigure figure{row};
    if (runs) figure.value = row.get(report);
    if (runs && row.band) figure.band = row.band(report);
    figures.push_back(std::move(figure));
  }
  return figures;
}

/// The figure at a path, or the only one whose path ends in `.path`; null pointer: there is none.
[[nodiscard]] const StudyFigure* find_figure(std::span<const StudyFigure> figures,
                                             std::string_view path);
/// The figure that ranks. @pre there is one
[[nodiscard]] const StudyFigure& ranking(std::span<const StudyFigure> figures);

}  // namespace foretrain
