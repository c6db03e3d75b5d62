// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/prediction.hpp"
#include "planner/answer/answer.hpp"
#include "planner/answer/value_rows.hpp"

namespace foretrain {

/// A number of a forecast, and what it is.
struct StudyFigure : ValueRow {
  std::optional<double> value{};
  std::optional<Banded> band{};  ///< 10th to 90th percentile
};

/// The forecast of a scenario that serves or post-trains, as every command reads it.
struct Study {
  std::vector<StudyFigure> figures;
  std::vector<Infeasible> reasons;  ///< why it cannot run; then figures have no values
  Answer answer;
  std::string json;
  bool stopped = false;  ///< from outside
};

/// The numbers of an object that these rows describe; without values unless it `runs`.
[[nodiscard]] std::vector<StudyFigure> figures_of(const ValueRows& rows, const void* report,
                                                  bool runs);
template <class R>
[[nodiscard]] std::vector<StudyFigure> figures_of(const ValueTable<R>& table, const R& report,
                                                  bool runs) {
  return figures_of(table.rows(), &report, runs);
}

/// The figure at a path, or the only one whose path ends in `.path`; null pointer: there is none.
[[nodiscard]] const StudyFigure* find_figure(std::span<const StudyFigure> figures,
                                             std::string_view path);
/// The figure that ranks. @pre there is one
[[nodiscard]] const StudyFigure& ranking(std::span<const StudyFigure> figures);

}  // namespace foretrain
