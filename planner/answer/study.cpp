// SPDX-License-Identifier: Apache-2.0
#include "planner/answer/study.hpp"

#include <algorithm>

#include "models/base/require.hpp"

namespace foretrain {

std::vector<StudyFigure> figures_of(const ValueRows& rows, const void* report, bool runs) {
  std::vector<StudyFigure> figures;
  for (const ValueRow& row : rows.rows) {
    StudyFigure& figure = figures.emplace_back(StudyFigure{row});
    if (!runs) continue;
    const Value value = row.get(report);
    if (const double* number = std::get_if<double>(&value)) figure.value = *number;
    if (row.band_of) figure.band = row.band_of(report);
  }
  return figures;
}

const StudyFigure* find_figure(std::span<const StudyFigure> figures, std::string_view path) {
  const StudyFigure* ends = nullptr;
  bool several = false;
  for (const StudyFigure& figure : figures) {
    if (figure.path == path) return &figure;
    if (!figure.path.ends_with("." + std::string(path))) continue;
    several = ends != nullptr;
    ends = &figure;
  }
  return several ? nullptr : ends;
}

const StudyFigure& ranking(std::span<const StudyFigure> figures) {
  const auto found = std::find_if(figures.begin(), figures.end(),
                                  [](const StudyFigure& figure) { return figure.ranks; });
  FORETRAIN_REQUIRE(found != figures.end());
  return *found;
}

}  // namespace foretrain
