// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "models/base/require.hpp"
#include "planner/answer/prediction_parts.hpp"
#include "planner/scene/scene.hpp"
#include "planner/scene/scene_parts.hpp"
#include "planner/step/step_slices.hpp"

namespace foretrain {
namespace {

MemoryPoint between(const MemoryPoint& a, const MemoryPoint& b, double share) {
  MemoryPoint point = a;
  for (std::size_t c = 0; c < memory_categories; ++c)
    point.of[c] = a.of[c] + share * (b.of[c] - a.of[c]);
  point.alive = a.alive + share * (b.alive - a.alive);
  return point;
}

class CourseChart {
 public:
  CourseChart(const MemoryCourse& course, Bytes usable, const SceneSpace& space)
      : course_{course}, usable_{usable}, units_{space.units}, scene_{space} {}

  Scene drawn() {
    const SceneArea area = scene_.headline(headline());
    std::vector<LegendEntry> entries;
    for (const MemoryPart& part : memory_parts()) entries.push_back({part.paint, part.key});
    const double below = legend_height(scene_, area.width, entries) + 4.0;
    plot_ = plot_inside(scene_, area.inside(0.0, 0.0, 0.0, below), "0000");
    const Bytes top = 1.1 * max(usable_, peak().total());
    x_ = {0.0, course_.points.back().time.value(), plot_.left, plot_.right()};
    y_ = {0.0, top.value(), plot_.bottom(), plot_.top};
    const AxisUnit size = bytes_axis(top, units_);
    const AxisUnit time = seconds_axis(Seconds{x_.high()}, units_);
    add_x_axis(scene_, plot_, even_axis(x_.in(time.size), static_cast<int>(plot_.width / 90.0)),
               "time of the step, " + time.name);
    add_y_axis(scene_, plot_, even_axis(y_.in(size.size), static_cast<int>(plot_.height / 42.0)),
               size.name + " per GPU");
    add_areas();
    const double limit = std::round(y_.at(usable_.value()));
    scene_.line({plot_.left, limit}, {plot_.right(), limit}, Ink::bad, 2.0);
    scene_.text({plot_.right(), limit - 2.0}, Scene::Across::end, Scene::Down::bottom,
                "usable " + bytes_text(usable_, units_));
    add_peak(limit);
    add_legend(scene_, {area.left, area.bottom() - below + 4.0, area.width, 0.0}, entries);
    return std::move(scene_);
  }

 private:
  /// Bytes of the categories below and including each one, bottom first.
  using Stack = std::array<double, memory_categories>;
  static constexpr double tip_width = 4.0;  ///< pixels that share a tip

  [[nodiscard]] const MemoryPoint& peak() const { return course_.points[course_.peak]; }

  [[nodiscard]] SceneHeadline headline() const {
    double alive = 0.0;
    for (const MemoryPoint& point : course_.points) alive = std::max(alive, point.alive);
    return {fmt::format("Stage {} peaks at {} after {}", course_.stage,
                        bytes_text(peak().total(), units_), seconds_text(peak().time, units_)),
            fmt::format("activations of up to {:.4g} micro-batches at once; {} stay between steps",
                        std::round(alive * 10.0) / 10.0,
                        bytes_text(course_.points.front().total(), units_))};
  }

  [[nodiscard]] MemoryPoint at(Seconds time) const {
    const auto& points = course_.points;
    const auto after = std::partition_point(points.begin(), points.end(),
                                            [&](const MemoryPoint& p) { return p.time <= time; });
    if (after == points.begin()) return points.front();
    if (after == points.end()) return points.back();
    const MemoryPoint& before = *std::prev(after);
    const Seconds span = after->time - before.time;
    return between(before, *after, span > Seconds{} ? (time - before.time) / span : 0.0);
  }

  /// Column by column what is largest within a pixel, so that no peak is lost and 10^5 passes cost
  /// no more than ten.
  void add_areas() {
    const auto columns = static_cast<std::size_t>(std::max(2.0, plot_.width));
    std::vector<Stack> highest(columns);
    const auto raise = [&](Seconds time, const MemoryPoint& point) {
      const double share = time.value() / x_.high();
      const auto column =
          std::min(columns - 1, static_cast<std::size_t>(share * static_cast<double>(columns)));
      Stack stack{};
      double sum = 0.0;
      for (std::size_t c = 0; c < memory_categories; ++c) stack[c] = sum += point.of[c].value();
      if (stack.back() > highest[column].back()) highest[column] = stack;
    };
    for (const MemoryPoint& point : course_.points) raise(point.time, point);
    const auto middle_of = [&](double column) {
      return Seconds{x_.high() * (column + 0.5) / static_cast<double>(columns)};
    };
    for (std::size_t column = 0; column < columns; ++column) {
      const Seconds time = middle_of(static_cast<double>(column));
      raise(time, at(time));
    }
    for (std::size_t c = memory_categories; c-- > 0;) {
      ScenePath area{{{plot_.left, plot_.bottom()}}, SceneColour{memory_parts()[c].paint}};
      for (std::size_t column = 0; column < columns; ++column)
        area.points.push_back({plot_.left + static_cast<double>(column) + (column > 0 ? 0.5 : 0.0),
                               y_.at(highest[column][c])});
      area.points.push_back({plot_.right(), area.points.back().y});
      area.points.push_back({plot_.right(), plot_.bottom()});
      scene_.add(std::move(area));
    }
    for (double x = 0.0; x + tip_width <= plot_.width; x += tip_width)
      scene_.marks.push_back(tip_at(middle_of(x + tip_width / 2.0 - 0.5), plot_.left + x));
  }

  [[nodiscard]] SceneMark tip_at(Seconds time, double left) const {
    const MemoryPoint now = at(time);
    SceneMark mark{
        {left, plot_.top, tip_width, plot_.height},
        fmt::format("{} at {}", bytes_text(now.total(), units_), seconds_text(time, units_))};
    for (std::size_t c = memory_categories; c-- > 0;)
      if (now.of[c] > Bytes{})
        mark.lines.push_back(std::string(memory_parts()[c].key) + "\t" +
                             bytes_text(now.of[c], units_));
    mark.lines.push_back(fmt::format("micro-batches held\t{:.1f}", now.alive));
    return mark;
  }

  void add_peak(double limit) {
    const ScenePoint spot{x_.at(peak().time.value()), y_.at(peak().total().value())};
    scene_.add(SceneDot{spot, 4.0, Ink::surface, SceneColour{Ink::text}, 1.5});
    const SceneLetters letters{Ink::text, LetterSize::small, true};
    const std::string words = "peak " + bytes_text(peak().total(), units_);
    const double half = scene_.text_width(words, letters) / 2.0;
    const double base = spot.y - 7.0;
    // Not through the line of what is usable.
    if (limit < base + 2.0 && limit > base - scene_.line_height() * 2.0 - 4.0) return;
    scene_.text({std::clamp(spot.x, plot_.left + half, plot_.right() - half), base},
                Scene::Across::middle, Scene::Down::bottom, words, letters);
  }

  const MemoryCourse& course_;
  const Bytes usable_;
  const NumberUnits units_;
  Scene scene_;
  SceneArea plot_;
  AxisScale x_;  ///< seconds
  AxisScale y_;  ///< bytes
};

}  // namespace

Scene course_chart(const MemoryCourse& course, Bytes usable, const SceneSpace& space) {
  FORETRAIN_REQUIRE(course.points.size() > 1);
  return CourseChart(course, usable, space).drawn();
}

std::string course_csv(const MemoryCourse& course) {
  std::string text = "time_s";
  for (const MemoryPart& part : memory_parts()) text += "," + part.json_key();
  text += ",micro_batches\n";
  for (const MemoryPoint& point : course.points) {
    text += fmt::format("{:.17g}", point.time.value());
    for (const Bytes part : point.of) text += fmt::format(",{:.0f}", part.value());
    text += fmt::format(",{:.6g}\n", point.alive);
  }
  return text;
}

}  // namespace foretrain
