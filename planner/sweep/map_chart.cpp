// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "models/base/require.hpp"
#include "planner/answer/quantity.hpp"
#include "planner/scene/scene_parts.hpp"
#include "planner/sweep/sweep_choices.hpp"

namespace foretrain {
namespace {

constexpr std::array shown_metrics{MapMetric{"step.time_s", "step time", true},
                                   MapMetric{"mfu", "MFU", false},
                                   MapMetric{"tokens_per_s", "tokens per second", false},
                                   MapMetric{"memory.peak_bytes", "peak memory", true}};

std::optional<double> value_of(const SweepRow& cell) {
  return cell.status == PointStatus::ok && !cell.metrics.empty() ? cell.metrics.front()
                                                                 : std::nullopt;
}

class MapChart {
 public:
  MapChart(const SweepMap& map, const Scenario& scenario, const SceneSpace& space)
      : map_{map},
        scenario_{scenario},
        columns_{map.question.columns},
        rows_{map.question.rows},
        scene_{space},
        area_{scene_.headline(headline())} {}

  Scene drawn() {
    double names = 0.0;
    for (const std::string& value : rows_.values) names = std::max(names, scene_.text_width(value));
    const double line = scene_.line_height();
    plot_ = area_.inside(names + line + 18.0, 2.0, 0.0, 2.0 * line + 16.0);
    width_ = plot_.width / static_cast<double>(columns_.values.size());
    height_ = std::min(plot_.height / static_cast<double>(rows_.values.size()), 220.0);
    plot_.height = height_ * static_cast<double>(rows_.values.size());
    if (plot_.width < 40.0 || plot_.height < 20.0) return std::move(scene_);
    for (const SweepRow& cell : map_.cells)
      if (const auto value = value_of(cell))
        if (scene_.text_width(text_of(*value), {Ink::text, size_}) + 10.0 > width_)
          size_ = LetterSize::small;
    for (std::size_t cell = 0; cell < map_.cells.size(); ++cell) add_cell(cell);
    add_names();
    return std::move(scene_);
  }

 private:
  using enum Scene::Across;

  [[nodiscard]] std::string text_of(double value) const {
    switch (measure_of(map_.question.metric)) {
      case Measure::seconds:
        return seconds_text(Seconds{value}, scene_.space.units);
      case Measure::bytes:
        return bytes_text(Bytes{value}, scene_.space.units);
      default:
        return quantity_text(map_.question.metric, value);
    }
  }

  [[nodiscard]] std::string name_of_cell(std::size_t cell) const {
    return fmt::format("{} {}, {} {}", rows_.key, rows_.values[cell / columns_.values.size()],
                       columns_.key, columns_.values[cell % columns_.values.size()]);
  }

  [[nodiscard]] SceneHeadline headline() const {
    const auto run = std::count_if(map_.cells.begin(), map_.cells.end(), [](const SweepRow& row) {
      return row.status == PointStatus::ok;
    });
    SceneHeadline line{
        fmt::format("None of the {} combinations can run", map_.cells.size()),
        fmt::format("{} of {} combinations can run; everything else as in the scenario, "
                    "data-parallel ranks are what is left",
                    run, map_.cells.size()),
        Ink::bad};
    if (!map_.best) return line;
    line.text = fmt::format("Best {}: {} with {}", map_.metric->name,
                            text_of(*value_of(map_.cells[*map_.best])), name_of_cell(*map_.best));
    line.tone.reset();
    return line;
  }

  [[nodiscard]] SceneArea cell_area(std::size_t column, std::size_t row) const {
    return {plot_.left + width_ * static_cast<double>(column),
            plot_.top + height_ * static_cast<double>(row), width_, height_};
  }

  void add_names() {
    const double line = scene_.line_height();
    const auto letters = [](bool own) {
      return SceneLetters{own ? Ink::text : Ink::muted, LetterSize::small, own};
    };
    for (std::size_t c = 0; c < columns_.values.size(); ++c)
      scene_.text({cell_area(c, 0).centre().x, plot_.bottom() + 5.0}, middle, Scene::Down::top,
                  columns_.values[c], letters(columns_.values[c] == columns_.own), width_ - 4.0);
    for (std::size_t r = 0; r < rows_.values.size(); ++r)
      scene_.text({plot_.left - 8.0, cell_area(0, r).centre().y}, end, Scene::Down::middle,
                  rows_.values[r], letters(rows_.values[r] == rows_.own));
    scene_.text({plot_.centre().x, plot_.bottom() + 8.0 + line}, middle, Scene::Down::top,
                columns_.key, {Ink::muted}, plot_.width);
    if (scene_.text_width(rows_.key) < plot_.height)
      scene_.upright({area_.left + line / 2.0, plot_.centre().y}, rows_.key);
  }

  /// 0 the worst of the map, 1 the best.
  [[nodiscard]] Heat heat(double value) const {
    const double span = std::log(map_.most / map_.least);
    const double share = span > 0.0 ? std::log(value / map_.least) / span : 1.0;
    return {map_.metric->less_is_better && span > 0.0 ? 1.0 - share : share};
  }

  void add_cell(std::size_t number) {
    const std::size_t column = number % columns_.values.size();
    const std::size_t row = number / columns_.values.size();
    const SceneArea area = cell_area(column, row).inside(1.0, 1.0, 1.0, 1.0);
    const bool own = columns_.values[column] == columns_.own && rows_.values[row] == rows_.own;
    const bool best = map_.best == number;
    SceneBox box{area, Ink::raised, 4.0};
    if (best || own) box.ink = own ? Ink::accent : Ink::text;
    box.width = 2.5;
    const SweepRow& cell = map_.cells[number];
    SceneMark mark{area, name_of_cell(number)};
    if (const auto value = value_of(cell)) {
      box.fill = heat(*value);
      scene_.add(box);
      scene_.text(area.centre(), middle, Scene::Down::middle, text_of(*value),
                  {ink_on(heat(*value)), size_, best}, area.width - 6.0);
      mark.lines = {map_.metric->name + ("\t" + text_of(*value))};
      mark.target.kind = SceneTarget::Kind::plan;
      mark.target.settings = map_settings(scenario_, map_.question, column, row);
    } else {
      scene_.add(box);
      add_refusal(area, cell.rule);
      mark.lines = {std::string(name_of(cell.status)) + "\t" + cell.rule};
      if (!cell.reason.empty()) mark.lines.push_back(cell.reason);
    }
    scene_.marks.push_back(std::move(mark));
  }

  /// Hatched, with the first rule that the plan breaks, where there is room for it.
  void add_refusal(const SceneArea& area, const std::string& rules) {
    constexpr double apart = 7.0;
    for (int i = 1; apart * i < area.width + area.height; ++i) {
      const double at = apart * i;
      const double down = std::min(at, area.height);
      const double across = std::min(at, area.width);
      scene_.line({area.left + at - down, area.top + down},
                  {area.left + across, area.top + at - across}, Ink::border);
    }
    const std::size_t comma = rules.find(',');
    const std::string why = rules.substr(0, comma) + (comma == std::string::npos ? "" : ", ...");
    const double high = scene_.line_height();
    const double wide = scene_.text_width(why) + 8.0;
    if (wide + 4.0 >= area.width || high + 6.0 >= area.height) return;
    scene_.box({area.centre().x - wide / 2.0, area.centre().y - high / 2.0, wide, high},
               Ink::raised, 3.0);
    scene_.text(area.centre(), middle, Scene::Down::middle, why);
  }

  const SweepMap& map_;
  const Scenario& scenario_;
  const SweepChoice& columns_;
  const SweepChoice& rows_;
  Scene scene_;
  const SceneArea area_;
  SceneArea plot_;
  double width_ = 0.0;   ///< of a cell
  double height_ = 0.0;  ///< of a cell
  LetterSize size_ = LetterSize::body;
};

}  // namespace

std::span<const MapMetric> map_metrics() { return shown_metrics; }

SweepMap sweep_map(const Scenario& scenario, const MapQuestion& question,
                   const std::stop_token& stop) {
  const auto metric =
      std::find_if(shown_metrics.begin(), shown_metrics.end(),
                   [&](const MapMetric& one) { return question.metric == one.path; });
  FORETRAIN_REQUIRE(metric != shown_metrics.end());
  Sweep sweep{sweep_of_map(scenario, question)};
  SweepMap map{question, &*metric, {}, {}};
  for (std::int64_t point = 0; point < sweep.size() && !stop.stop_requested(); ++point) {
    map.cells.push_back(sweep.forecast(point));
    const auto now = value_of(map.cells.back());
    if (!now) continue;
    map.least = map.best ? std::min(map.least, *now) : *now;
    map.most = map.best ? std::max(map.most, *now) : *now;
    const double best = map.best ? *value_of(map.cells[*map.best]) : *now;
    if (!map.best || (metric->less_is_better ? *now < best : *now > best))
      map.best = map.cells.size() - 1;
  }
  return map;
}

Scene map_chart(const SweepMap& map, const Scenario& scenario, const SceneSpace& space) {
  FORETRAIN_REQUIRE(map.cells.size() ==
                    map.question.columns.values.size() * map.question.rows.values.size());
  return MapChart(map, scenario, space).drawn();
}

std::string map_csv(const SweepMap& map) {
  const auto& [columns, rows, metric] = map.question;
  std::string text = fmt::format("{},{},status,{}\n", rows.key, columns.key, metric);
  for (std::size_t i = 0; i < map.cells.size(); ++i) {
    const auto value = value_of(map.cells[i]);
    text += fmt::format("{},{},{},{}\n", rows.values[i / columns.values.size()],
                        columns.values[i % columns.values.size()], name_of(map.cells[i].status),
                        value ? fmt::format("{:.17g}", *value) : std::string());
  }
  return text;
}

}  // namespace foretrain
