// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/memory_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/base/require.hpp"
#include "planner/answer/memory_part.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/text/format.hpp"
#include "planner/text/svg_text.hpp"
#include "planner/text/text_layout.hpp"

namespace foretrain {
namespace {

// Pixels.
constexpr double bars_left = 74.0;
constexpr double bars_top = 88.0;
constexpr double plot_height = 340.0;
constexpr double bars_below = 56.0;
constexpr double bars_legend_width = 208.0;
constexpr double narrowest_plot = 420.0;
constexpr double widest_plot = 1400.0;
constexpr double number_width = 7.5;  ///< of a digit at 12 pixels, generously

/// Where things lie. Text is put only where its width is reserved, so that none overlaps.
struct Frame {
  double plot_width = 0.0;
  double slot = 0.0;  ///< columns per stage
  double bar = 0.0;
  Bytes scale;  ///< at the upper edge of the plot
  Bytes tick;

  [[nodiscard]] double width() const { return bars_left + plot_width + bars_legend_width; }
  [[nodiscard]] double height() const { return bars_top + plot_height + bars_below; }
  [[nodiscard]] double y(Bytes size) const { return bars_top + plot_height * (1.0 - size / scale); }
  [[nodiscard]] double x(std::size_t stage) const {
    return bars_left + slot * static_cast<double>(stage) + (slot - bar) / 2.0;
  }
};

/// The largest of 1, 2, 5, 10, ... GiB that gives at least four lines.
Bytes tick_of(Bytes top_value) {
  double step = 1.0;
  for (const double factor : {2.0, 2.5, 2.0, 2.0, 2.5, 2.0, 2.0, 2.5, 2.0})
    if (top_value.in(GiB) / (step * factor) >= 4.0) step *= factor;
  return step * GiB;
}

Frame frame_of(const MemoryForecast& memory) {
  Frame frame;
  const auto stages = static_cast<double>(memory.stages.size());
  frame.plot_width = std::clamp(stages * 48.0, narrowest_plot, widest_plot);
  frame.slot = frame.plot_width / stages;
  frame.bar = std::min(64.0, frame.slot * 0.78);
  frame.scale = max(memory.capacity, memory.peak) * 1.1;
  frame.tick = tick_of(frame.scale);
  return frame;
}

std::string axis(const Frame& frame) {
  std::string svg;
  for (Bytes at; at <= frame.scale; at += frame.tick) {
    svg += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#e2e2e2\"/>\n",
        bars_left, frame.y(at), bars_left + frame.plot_width, frame.y(at));
    svg += svg_label(bars_left - 8.0, frame.y(at) + 4.0, "end", fixed_text(at.in(GiB), 0));
  }
  const double middle = bars_top + plot_height / 2.0;
  svg += svg_label(20.0, middle, "middle", "GiB per GPU",
                   fmt::format(" transform=\"rotate(-90 20 {:.1f})\"", middle));
  return svg + svg_label(bars_left + frame.plot_width / 2.0, frame.height() - 14.0, "middle",
                         "pipeline stage");
}

std::string stack(const Frame& frame, const StageMemory& stage, std::size_t index) {
  std::string svg = "<g>\n";
  Bytes sum;
  for (const MemoryPart& look : memory_parts()) {
    const Bytes size = stage.*look.size;
    if (size <= Bytes{}) continue;
    sum += size;
    svg += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.2f}\" width=\"{:.1f}\" height=\"{:.2f}\" fill=\"{}\">"
        "<title>stage {}: {} {}</title></rect>\n",
        frame.x(index), frame.y(sum), frame.bar, plot_height * (size / frame.scale),
        look.paint.light, stage.stage, look.key, xml_text(bytes_text(size)));
  }
  return svg + "</g>\n";
}

/// Base line of the number above a bar: on top of it, or above the lines where they would cross it.
double number_base(const Frame& frame, const MemoryForecast& memory, const StageMemory& stage) {
  const double base = frame.y(stage.peak) - 6.0;
  const double upper = frame.y(max(memory.capacity, memory.usable));
  const double lower = frame.y(min(memory.capacity, memory.usable));
  const bool crossed = lower > base - 13.0 && upper < base + 4.0;
  return crossed ? upper - 6.0 : base;
}

/// Stage numbers below the bars, as many as there is room for; peaks above them likewise.
std::string bar_labels(const Frame& frame, const MemoryForecast& memory) {
  const std::string last = std::to_string(memory.stages.back().stage);
  const double wide = number_width * static_cast<double>(last.size()) + 8.0;
  const auto every = static_cast<std::size_t>(std::max(1.0, std::ceil(wide / frame.slot)));
  const bool all_peaks = frame.slot >= number_width * 5.0 + 4.0;
  std::string svg;
  for (std::size_t s = 0; s < memory.stages.size(); ++s) {
    const StageMemory& stage = memory.stages[s];
    const double centre = frame.x(s) + frame.bar / 2.0;
    if (s % every == 0)
      svg +=
          svg_label(centre, bars_top + plot_height + 18.0, "middle", std::to_string(stage.stage));
    const bool heaviest = static_cast<int>(s) == memory.peak_stage;
    if (!all_peaks && !heaviest) continue;
    svg += svg_label(centre, number_base(frame, memory, stage), "middle",
                     fixed_text(stage.peak.in(GiB), 1), heaviest ? " font-weight=\"bold\"" : "");
  }
  return svg;
}

std::string limit_line(const Frame& frame, Bytes at, const char* style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n",
                     bars_left, frame.y(at), bars_left + frame.plot_width, frame.y(at), style);
}

constexpr const char* usable_line = "stroke=\"#c00000\" stroke-width=\"2\"";
constexpr const char* capacity_line =
    "stroke=\"#555555\" stroke-width=\"1.5\" stroke-dasharray=\"6 4\"";

std::string legend(const Frame& frame, const MemoryForecast& memory) {
  const double x = bars_left + frame.plot_width + 20.0;
  double y = bars_top + 6.0;
  std::string svg;
  // In the order of the stack, seen from above.
  for (std::size_t i = memory_parts().size(); i-- > 0;) {
    const MemoryPart& look = memory_parts()[i];
    if (std::none_of(memory.stages.begin(), memory.stages.end(),
                     [&](const auto& s) { return s.*look.size > Bytes{}; }))
      continue;
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"14\" height=\"14\" fill=\"{}\"/>\n",
                       x, y - 11.0, look.paint.light);
    svg += svg_label(x + 24.0, y, "start", look.key);
    y += 24.0;
  }
  y += 10.0;
  const auto line = [&](const char* style, const std::string& text) {
    svg += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x,
                       y - 4.0, x + 18.0, y - 4.0, style);
    svg += svg_label(x + 24.0, y, "start", text);
    y += 24.0;
  };
  line(usable_line, "usable " + bytes_text(memory.usable));
  line(capacity_line, "capacity " + bytes_text(memory.capacity));
  return svg;
}

std::string verdict(const MemoryForecast& memory) {
  const Bytes gap = memory.usable - memory.peak;
  const std::string end =
      gap < Bytes{} ? bytes_text(Bytes{} - gap) + " missing" : bytes_text(gap) + " free";
  return fmt::format("{}: {} needs {} of {} usable, {}", memory.fits() ? "fits" : "does not fit",
                     heaviest_name(memory), bytes_text(memory.peak), bytes_text(memory.usable),
                     end);
}

}  // namespace

std::string memory_svg(const MemoryForecast& memory, const std::string& title) {
  FORETRAIN_REQUIRE(!memory.stages.empty());
  const Frame frame = frame_of(memory);
  const int columns = static_cast<int>((frame.width() - bars_left - 20.0) / 10.5);
  std::string svg = svg_start(frame.width(), frame.height());
  svg += svg_label(bars_left, 34.0, "start", cut(title, columns),
                   " font-size=\"17\" font-weight=\"bold\"");
  svg += svg_label(bars_left, 58.0, "start", verdict(memory), " font-size=\"13\"");
  svg += axis(frame);
  for (std::size_t s = 0; s < memory.stages.size(); ++s) svg += stack(frame, memory.stages[s], s);
  svg += limit_line(frame, memory.capacity, capacity_line);
  svg += limit_line(frame, memory.usable, usable_line);
  svg += bar_labels(frame, memory);
  svg += legend(frame, memory);
  return svg + "</svg>\n";
}

}  // namespace foretrain
