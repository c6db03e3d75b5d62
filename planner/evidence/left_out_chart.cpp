// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "planner/evidence/accuracy.hpp"
#include "planner/evidence/internal/validate_report.hpp"
#include "planner/scene/scene_parts.hpp"

namespace foretrain {
namespace {

/// The total of an axis and group; where one fold dominates it, without that one.
const LeftOutError* total_of(const std::vector<LeftOutError>& lines, FoldAxis axis,
                             const std::string& group) {
  const LeftOutError* found = nullptr;
  for (const LeftOutError& line : lines)
    if (line.axis == axis && line.group == group && line.total() &&
        (found == nullptr || !line.without.empty()))
      found = &line;
  return found;
}

class LeftOutChart {
 public:
  LeftOutChart(const std::vector<LeftOutError>& lines, SceneSpace space)
      : lines_{lines}, rows_{rows_of(lines)}, scene_{sized(std::move(space), rows_)} {}

  Scene drawn() {
    const SceneArea area =
        scene_.headline({"Error of runs that the fit has not read",
                         "each row: profiles fitted without the runs of a fold forecast those"});
    const double used = add_key(area);
    const double high = height_of(rows_);
    plot_ = {area.left + name_width, area.top + used, area.width - name_width - 60.0, high};
    x_ = {0.0, widest, plot_.left, plot_.right()};
    std::vector<AxisTick> ticks;
    for (int percent = 0; percent <= 20; percent += 5)
      ticks.push_back(
          {x_.at(0.01 * percent), std::to_string(percent) + (percent == 20 ? " and more" : "")});
    add_x_axis(scene_, plot_, ticks, "mean absolute error of step time, percent");
    double y = plot_.top;
    const LeftOutError* before = nullptr;
    for (const LeftOutError* total : rows_) {
      if (before == nullptr || before->axis != total->axis) {
        if (before != nullptr) y += gap;
        scene_.text({area.left, y}, start, Scene::Down::top, unseen_name(total->axis),
                    {Ink::text, LetterSize::small, true});
        y += title;
      }
      before = total;
      add_row(*total, y + row / 2.0);
      y += row;
    }
    return std::move(scene_);
  }

 private:
  using enum Scene::Across;
  using Rows = std::vector<const LeftOutError*>;
  static constexpr double name_width = 350.0;
  static constexpr double row = 26.0;
  static constexpr double title = 17.0;
  static constexpr double gap = 10.0;
  static constexpr double widest = 0.20;  ///< a share: where the scale ends

  /// What a left-out figure is to be at most.
  struct Goal {
    FoldAxis axis;
    double mape;
  };
  static constexpr std::array<Goal, 3> goals{
      {{FoldAxis::source, 0.06}, {FoldAxis::device, 0.08}, {FoldAxis::scale, 0.07}}};

  static Rows rows_of(const std::vector<LeftOutError>& lines) {
    Rows rows;
    for (const auto& [axis, name] : EnumNames<FoldAxis>::names)
      for (const GroupLook& look : group_looks)
        if (*look.group != '\0')
          if (const LeftOutError* const total = total_of(lines, axis, look.group))
            rows.push_back(total);
    return rows;
  }
  static double height_of(const Rows& rows) {
    double high = 0.0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      high += row;
      if (i == 0 || rows[i]->axis != rows[i - 1]->axis) high += title + (i > 0 ? gap : 0.0);
    }
    return high;
  }
  static SceneSpace sized(SceneSpace space, const Rows& rows) {
    space.height = 140.0 + height_of(rows);
    return space;
  }

  [[nodiscard]] double place(double share) const { return x_.at(std::min(share, widest)); }

  double add_key(const SceneArea& area) {
    const double y = area.top + scene_.line_height() / 2.0;
    double x = area.left + name_width;
    const auto words = [&](double mark, const std::string& text) {
      x = scene_.text({x + mark + 6.0, y}, start, Scene::Down::middle, text).right() + 22.0;
    };
    scene_.add(SceneDot{{x, y}, 6.0, Ink::muted});
    words(6.0, "left out, all folds");
    scene_.add(SceneDot{{x, y}, 6.0, {Ink::muted, 0.28}});
    words(6.0, "one fold, by its runs");
    scene_.add(SceneDot{{x, y}, 4.5, Ink::surface, SceneColour{Ink::text}});
    words(6.0, "fitted on");
    scene_.line({x, y - 8.0}, {x, y + 8.0}, Ink::bad, 3.0);
    words(2.0, "goal");
    return scene_.line_height() + 12.0;
  }

  void add_row(const LeftOutError& total, double y) {
    const GroupLook& look = look_of_group(total.group);
    scene_.text({plot_.left - 14.0, y}, end, Scene::Down::middle,
                fmt::format("{}, {} runs", left_out_label(total), with_thousands(total.runs)));
    for (const LeftOutError& line : lines_)
      if (line.axis == total.axis && line.group == total.group && !line.total())
        add_dot({{place(line.mape), y},
                 1.6 + 0.5 * std::sqrt(std::min(line.runs, 150)),
                 {look.paint, 0.28}},
                fmt::format("{}: {:.1f} % of {} runs", left_out_label(line), 100.0 * line.mape,
                            line.runs));
    add_dot({{place(total.mape), y}, 6.5, look.paint, {}, 1.0, look.shape},
            fmt::format("{}: {:.1f} %", left_out_label(total), 100.0 * total.mape));
    scene_.add(SceneDot{{place(total.mape_fitted), y}, 4.5, Ink::surface, SceneColour{Ink::text}});
    for (const Goal& goal : goals)
      if (goal.axis == total.axis && total.group == dense_half_group)
        scene_.line({place(goal.mape), y - 10.0}, {place(goal.mape), y + 10.0}, Ink::bad, 3.0);
    scene_.text({plot_.right() + 56.0, y}, end, Scene::Down::middle,
                fixed_text(100.0 * total.mape, 1), {Ink::text, LetterSize::small, true});
  }

  void add_dot(const SceneDot& dot, const std::string& tip) {
    scene_.add(dot);
    scene_.marks.push_back(
        {{dot.at.x - dot.radius, dot.at.y - dot.radius, 2.0 * dot.radius, 2.0 * dot.radius}, tip});
  }

  const std::vector<LeftOutError>& lines_;
  const Rows rows_;
  Scene scene_;
  SceneArea plot_;
  AxisScale x_;
};

}  // namespace

const char* unseen_name(FoldAxis axis) {
  switch (axis) {
    case FoldAxis::source:
      return "another source";
    case FoldAxis::device:
      return "a stack on another chip";
    case FoldAxis::scale:
      return "512 GPUs and more";
    case FoldAxis::size:
      return "above 20 B parameters";
    case FoldAxis::tensor:
      return "8 tensor ranks and more";
    case FoldAxis::release:
      return "software of a later year";
    case FoldAxis::device_scale:
      return "another chip and larger scale";
    case FoldAxis::schedule:
      break;
  }
  return "another schedule";
}

Scene left_out_chart(const std::vector<LeftOutError>& lines, const SceneSpace& space) {
  return LeftOutChart(lines, space).drawn();
}

}  // namespace foretrain
