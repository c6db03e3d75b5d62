// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "models/base/require.hpp"
#include "planner/forecast/goodput_study.hpp"
#include "planner/scene/scene.hpp"
#include "planner/scene/scene_parts.hpp"

namespace foretrain {
namespace {

const Paint& paint_of(StopKind kind) {
  static constexpr std::array paints{palette::vermilion, palette::blue, palette::purple,
                                     palette::ink, palette::silver};
  return paints.at(static_cast<std::size_t>(kind));
}

class LifeChart {
 public:
  LifeChart(const GoodputStudy& study, const SceneSpace& space)
      : life_{study.life}, rows_{life_rows(study.life)}, scene_{sized(space, rows_.size())} {
    for (const LifeRow& row : rows_) length_ = max(length_, row.to - row.from);
    area_ = scene_.headline({fmt::format("One simulated run of {}, goodput {} (expected {})",
                                         duration_text(life_.split.total()),
                                         percent_text(study.model->ideal / life_.split.total()),
                                         percent_text(*study.report.prediction.run.goodput))});
  }

  Scene drawn() {
    std::vector<LegendEntry> legend{{steps_paint, "productive time"},
                                    {palette::orange, "lost work"},
                                    {palette::yellow, "straggler"}};
    for (const auto& [kind, name] : EnumNames<StopKind>::names)
      legend.push_back({paint_of(kind), std::string(name)});
    const double used = add_legend(scene_, area_, legend) + 6.0;
    const double row = (area_.height - used) / static_cast<double>(rows_.size());
    high_ = std::min(18.0, row);
    const double right = scene_.text_width("100.0 %, 000 stops") + 12.0;
    const double left = scene_.text_width("day 0,000") + 8.0;
    plot_ = area_.inside(left, used, right, 0.0);
    draw(Seconds{}, life_.split.total(), steps_paint, "productive time");
    for (const SlowSpell& spell : life_.slow)
      draw(spell.from, spell.to, palette::yellow,
           "a straggler for " + duration_text(spell.to - spell.from));
    for (const RunStop& stop : life_.stops) {
      const std::string title =
          fmt::format("{} on day {}: {} down, {} of work lost", name_of(stop.kind),
                      fixed_text(stop.from.in(days), 2), duration_text(stop.to - stop.from),
                      duration_text(stop.lost));
      draw(stop.from - stop.lost, stop.from, palette::orange, title);
      draw(stop.from, stop.to, paint_of(stop.kind), title);
    }
    for (std::size_t i = 0; i < rows_.size(); ++i) add_words(i);
    return std::move(scene_);
  }

 private:
  using enum Scene::Across;

  static constexpr Paint steps_paint = palette::mint;

  static SceneSpace sized(SceneSpace space, std::size_t rows) {
    space.height = 76.0 + (space.subject.empty() ? 0.0 : 22.0) + 18.0 * static_cast<double>(rows);
    return space;
  }

  [[nodiscard]] double x(const LifeRow& row, Seconds at) const {
    return plot_.left + plot_.width * ((at - row.from) / length_);
  }
  [[nodiscard]] double y(std::size_t row) const {
    return plot_.top + high_ * static_cast<double>(row);
  }

  /// A stretch of time over as many rows as it takes.
  void draw(Seconds from, Seconds to, const Paint& paint, const std::string& title) {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Seconds begin = max(from, rows_[i].from);
      const Seconds end_at = min(to, rows_[i].to);
      if (begin >= end_at) continue;
      const SceneArea area{x(rows_[i], begin), y(i),
                           std::max(0.6, x(rows_[i], end_at) - x(rows_[i], begin)), 0.72 * high_};
      scene_.box(area, paint);
      scene_.marks.push_back({area, title});
    }
  }

  void add_words(std::size_t i) {
    const LifeRow& row = rows_[i];
    const double share = std::max(0.0, 1.0 - (row.down + row.lost) / (row.to - row.from));
    const double level = y(i) + 0.36 * high_;
    scene_.text({plot_.left - 8.0, level}, end, Scene::Down::middle,
                "day " + fixed_text(row.from.in(days), 0));
    scene_.text({plot_.right() + 10.0, level}, start, Scene::Down::middle,
                fmt::format("{}, {} stops", percent_text(share), row.interruptions));
  }

  const RunTrial& life_;
  const std::vector<LifeRow> rows_;
  Scene scene_;
  Seconds length_;  ///< of a full row
  SceneArea area_;
  SceneArea plot_;
  double high_ = 0.0;  ///< of a row
};

}  // namespace

Scene life_chart(const GoodputStudy& study, const SceneSpace& space) {
  FORETRAIN_REQUIRE(study.model.has_value());
  return LifeChart(study, space).drawn();
}

}  // namespace foretrain
