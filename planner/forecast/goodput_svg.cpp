// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "models/base/require.hpp"
#include "planner/forecast/goodput_study.hpp"
#include "planner/text/format.hpp"
#include "planner/text/svg_text.hpp"

namespace foretrain {
namespace {

// Pixels.
constexpr double goodput_left = 84.0;
constexpr double goodput_top = 76.0;
constexpr double plot_width = 1000.0;
constexpr double right = 120.0;
constexpr double row_height = 18.0;
constexpr double bar_height = 13.0;

// Okabe and Ito's colours, told apart by colour-blind readers.
constexpr const char* steps_colour = "#a6d8c8";
constexpr const char* lost_colour = "#e69f00";
constexpr const char* slow_colour = "#f0e442";
constexpr std::array<const char*, 5> stop_colours{"#d55e00", "#0072b2", "#cc79a7", "#555555",
                                                  "#bbbbbb"};

struct Canvas {
  std::vector<LifeRow> rows;
  Seconds length;  ///< of a full row
  std::string svg;

  [[nodiscard]] double x(const LifeRow& row, Seconds at) const {
    return goodput_left + plot_width * ((at - row.from) / length);
  }
  [[nodiscard]] double y(std::size_t row) const {
    return goodput_top + row_height * static_cast<double>(row);
  }

  /// A stretch of time over as many rows as it takes.
  void draw(Seconds from, Seconds to, const char* colour, const std::string& title) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Seconds begin = max(from, rows[i].from);
      const Seconds end = min(to, rows[i].to);
      if (begin >= end) continue;
      const double width = std::max(0.6, x(rows[i], end) - x(rows[i], begin));
      svg += fmt::format(
          "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" fill=\"{}\">"
          "<title>{}</title></rect>\n",
          x(rows[i], begin), y(i), width, bar_height, colour, xml_text(title));
    }
  }
};

std::string legend_entry(double& x, const char* colour, const std::string& text) {
  std::string svg = fmt::format(
      "<rect x=\"{:.1f}\" y=\"46\" width=\"12\" height=\"12\" fill=\"{}\"/>\n", x, colour);
  svg += svg_label(x + 17.0, 56.0, "start", text);
  x += 36.0 + 7.0 * static_cast<double>(text.size());
  return svg;
}

std::string legend() {
  double x = goodput_left;
  std::string svg = legend_entry(x, steps_colour, "productive time");
  svg += legend_entry(x, lost_colour, "lost work");
  svg += legend_entry(x, slow_colour, "straggler");
  for (const auto& [kind, name] : EnumNames<StopKind>::names)
    svg += legend_entry(x, stop_colours[static_cast<std::size_t>(kind)], std::string(name));
  return svg;
}

std::string stop_title(const RunStop& stop) {
  return fmt::format("{} on day {}: {} down, {} of work lost", name_of(stop.kind),
                     fixed_text(stop.from.in(days), 2), duration_text(stop.to - stop.from),
                     duration_text(stop.lost));
}

void draw_life(const RunTrial& life, Canvas& canvas) {
  canvas.draw(Seconds{}, life.split.total(), steps_colour, "productive time");
  for (const SlowSpell& spell : life.slow)
    canvas.draw(spell.from, spell.to, slow_colour,
                "a straggler for " + duration_text(spell.to - spell.from));
  for (const RunStop& stop : life.stops) {
    const std::string title = stop_title(stop);
    canvas.draw(stop.from - stop.lost, stop.from, lost_colour, title);
    canvas.draw(stop.from, stop.to, stop_colours[static_cast<std::size_t>(stop.kind)], title);
  }
}

void label_rows(Canvas& canvas) {
  for (std::size_t i = 0; i < canvas.rows.size(); ++i) {
    const LifeRow& row = canvas.rows[i];
    const double share = std::max(0.0, 1.0 - (row.down + row.lost) / (row.to - row.from));
    const double y = canvas.y(i) + 11.0;
    canvas.svg +=
        svg_label(goodput_left - 8.0, y, "end", "day " + fixed_text(row.from.in(days), 0));
    canvas.svg += svg_label(goodput_left + plot_width + 10.0, y, "start",
                            fmt::format("{}, {} stops", percent_text(share), row.interruptions));
  }
}

}  // namespace

std::string goodput_svg(const GoodputStudy& study) {
  FORETRAIN_REQUIRE(study.model.has_value());
  Canvas canvas{life_rows(study.life), Seconds{}, {}};
  for (const LifeRow& row : canvas.rows) canvas.length = max(canvas.length, row.to - row.from);
  const double height = canvas.y(canvas.rows.size()) + 16.0;
  const Prediction& p = study.report.prediction;
  canvas.svg = svg_start(goodput_left + plot_width + right, height);
  canvas.svg +=
      svg_label(goodput_left, 24.0, "start",
                fmt::format("{}: one simulated run of {}, goodput {} (expected {})",
                            study.report.scenario.job.name, duration_text(study.life.split.total()),
                            percent_text(study.model->ideal / study.life.split.total()),
                            percent_text(*p.run.goodput)),
                " font-size=\"15\"");
  canvas.svg += legend();
  draw_life(study.life, canvas);
  label_rows(canvas);
  return canvas.svg + "</svg>\n";
}

}  // namespace foretrain
