// SPDX-License-Identifier: Apache-2.0
#include "planner/answer/study.hpp"

#include <algorithm>

#include "models/base/require.hpp"
#include "planner/answer/study_json.hpp"

namespace foretrain {

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

void put_figures(std::span<const StudyFigure> figures, Json& tree) {
  for (const StudyFigure& figure : figures)
    json_at(tree, figure.path) = number_or_null(figure.value);
}

}  // namespace foretrain
