// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/base/require.hpp"
#include "planner/answer/prediction_parts.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/scene/scene.hpp"
#include "planner/scene/scene_parts.hpp"

namespace foretrain {
namespace {

class MemoryChart {
 public:
  MemoryChart(const MemoryForecast& memory, const SceneSpace& space)
      : memory_{memory}, scene_{space}, units_{space.units} {
    const int picked = space.picked.stage;
    shown_ =
        picked >= 0 && picked < static_cast<int>(memory.stages.size()) ? picked : memory.peak_stage;
  }

  Scene drawn() {
    SceneArea area = scene_.headline(headline());
    const bool list = area.width >= wide_enough;
    if (list) {
      add_list({area.right() - list_width, area.top, list_width, area.height});
      area.width -= list_width + 20.0;
    }
    std::vector<LegendEntry> entries;
    if (!list)
      for (const MemoryPart& part : memory_parts()) entries.push_back({part.paint, part.key});
    const double legend = list ? 0.0 : legend_height(scene_, area.width, entries) + 6.0;
    plot_ = plot_inside(scene_, area.inside(0.0, 0.0, 0.0, legend), "0000");
    if (plot_.height < 40.0) return std::move(scene_);
    const Bytes top = max(memory_.capacity, memory_.peak) * head_room;
    unit_ = bytes_axis(top, units_);
    y_ = {0.0, top.value(), plot_.bottom(), plot_.top};
    slot_ = plot_.width / static_cast<double>(memory_.stages.size());
    bar_ = std::max(2.0, std::floor(std::min(widest_bar, slot_ * 0.74)));
    add_y_axis(scene_, plot_, even_axis(y_.in(unit_.size), static_cast<int>(plot_.height / 42.0)),
               unit_.name + " per GPU");
    add_x_axis(scene_, plot_, {}, "pipeline stage");
    for (std::size_t s = 0; s < memory_.stages.size(); ++s) add_stack(s);
    add_limits();
    add_numbers();
    add_legend(scene_, {area.left, area.bottom() - legend + 6.0, area.width, 0.0}, entries);
    return std::move(scene_);
  }

 private:
  using enum Scene::Across;

  static constexpr double list_width = 236.0;
  static constexpr double wide_enough = 600.0;  ///< for the list beside the bars
  static constexpr double widest_bar = 110.0;
  static constexpr double head_room = 1.12;

  [[nodiscard]] std::string size(Bytes value) const { return bytes_text(value, units_); }
  [[nodiscard]] double centre(std::size_t stage) const {
    return plot_.left + slot_ * (static_cast<double>(stage) + 0.5);
  }

  [[nodiscard]] SceneHeadline headline() const {
    const Bytes gap = memory_.usable - memory_.peak;
    const std::string detail = fmt::format("{} needs {} of {} usable", heaviest_name(memory_),
                                           size(memory_.peak), size(memory_.usable));
    if (memory_.may_fit())
      return {fmt::format("May not fit: {} missing as forecast", size(Bytes{} - gap)), detail,
              Ink::caution};
    if (!memory_.fits())
      return {fmt::format("Does not fit: {} missing", size(Bytes{} - gap)), detail, Ink::bad};
    if (memory_.fits_barely())
      return {fmt::format("Fits barely, {} free", size(gap)), detail, Ink::caution};
    return {fmt::format("Fits with {} free", size(gap)), detail, Ink::good};
  }

  void add_stack(std::size_t index) {
    const StageMemory& stage = memory_.stages[index];
    const double x = std::round(centre(index) - bar_ / 2.0);
    const bool picked = scene_.space.picked.kind != SceneTarget::Kind::none;
    if (picked && stage.stage == shown_ && memory_.stages.size() > 1)
      scene_.box({centre(index) - slot_ / 2.0, plot_.top, slot_, plot_.height}, {Ink::accent, 0.12},
                 4.0);
    Bytes sum;
    double lower = std::round(y_.at(0.0));
    for (const MemoryPart& part : memory_parts()) {
      const Bytes bytes = stage.*part.size;
      if (bytes <= Bytes{}) continue;
      sum += bytes;
      const double upper = std::round(y_.at(sum.value()));
      const SceneArea area{x, upper, bar_, lower - upper};
      scene_.box(area, part.paint);
      if (area.height > 3.0)  // a hair of ground tells neighbours apart
        scene_.line({x, upper + 0.5}, {x + bar_, upper + 0.5}, Ink::surface);
      scene_.marks.push_back(mark_of(stage, part, area));
      lower = upper;
    }
  }

  [[nodiscard]] SceneMark mark_of(const StageMemory& stage, const MemoryPart& part,
                                  const SceneArea& area) const {
    SceneMark mark{area, fmt::format("{}, stage {}", part.key, stage.stage)};
    mark.lines.push_back(size(stage.*part.size) + "\t" +
                         percent_text(stage.*part.size / stage.peak));
    for (const MemoryRow& row : stage.rows)
      if (row.category == part.key) mark.lines.push_back(row.name + "\t" + size(row.size));
    mark.target.kind = SceneTarget::Kind::stage;
    mark.target.stage = stage.stage;
    mark.target.name = part.key;
    return mark;
  }

  void add_limits() {
    const auto limit = [&](Bytes at, Ink ink, bool dashed) {
      const double y = std::round(y_.at(at.value()));
      scene_.line({plot_.left, y}, {plot_.right(), y}, ink, 2.0, dashed);
      return y;
    };
    const double upper =
        std::min(limit(memory_.capacity, Ink::muted, true), limit(memory_.usable, Ink::bad, false));
    const std::string words =
        fmt::format("device {}, usable {}", size(memory_.capacity), size(memory_.usable));
    const double wide = std::min(scene_.text_width(words), plot_.width);
    const double high = scene_.line_height();
    if (memory_.peak > memory_.usable)  // bars may stand behind it
      scene_.plate({plot_.right() - wide - 4.0, upper - 2.0 - high, wide + 4.0, high});
    scene_.text({plot_.right(), upper - 2.0}, end, Scene::Down::bottom, words, {Ink::muted},
                plot_.width);
  }

  /// Stage numbers below the bars and peaks above them, as many as there is room for.
  void add_numbers() {
    const auto& stages = memory_.stages;
    const double wide = scene_.text_width(std::to_string(stages.back().stage)) + 8.0;
    const auto every = static_cast<std::size_t>(std::max(1.0, std::ceil(wide / slot_)));
    const bool all =
        scene_.text_width("000.0", {Ink::text, LetterSize::small, true}) + 6.0 <= slot_;
    for (std::size_t s = 0; s < stages.size(); ++s) {
      if (s % every == 0)
        scene_.text({centre(s), plot_.bottom() + 4.0}, middle, Scene::Down::top,
                    std::to_string(stages[s].stage));
      if (all || stages[s].stage == memory_.peak_stage) add_peak(s);
    }
  }

  /// Above its bar; inside it where it would run into the lines of the limits.
  void add_peak(std::size_t s) {
    const StageMemory& stage = memory_.stages[s];
    const SceneLetters letters{Ink::text, LetterSize::small, stage.stage == memory_.peak_stage};
    const std::string words = fixed_text(stage.peak.value() / unit_.size, 1);
    const double high = scene_.line_height();
    const double upper = y_.at(max(memory_.capacity, memory_.usable).value()) - high - 4.0;
    const double lower = y_.at(min(memory_.capacity, memory_.usable).value());
    double base = y_.at(stage.peak.value()) - 3.0;
    if (base > upper && base - high < lower + 2.0) {
      base = y_.at(stage.peak.value()) + high + 4.0;
      const double half = scene_.text_width(words, letters) / 2.0 + 4.0;
      scene_.plate({centre(s) - half, base - high - 1.0, 2.0 * half, high + 2.0});
    }
    scene_.text({centre(s), base}, middle, Scene::Down::bottom, words, letters);
  }

  void add_list(const SceneArea& area) {
    const StageMemory& stage = memory_.stages[static_cast<std::size_t>(shown_)];
    const bool heaviest = shown_ == memory_.peak_stage && memory_.stages.size() > 1;
    const double high = scene_.line_height();
    const double row = high + 8.0;
    double y = area.top;
    y += scene_
             .text({area.left, y}, start, Scene::Down::top,
                   fmt::format("Stage {}{}", stage.stage, heaviest ? ", heaviest" : ""),
                   {Ink::text, LetterSize::title}, area.width)
             .height +
         6.0;
    const auto entry = [&](const std::string& name, Bytes bytes, const SceneLetters& letters) {
      scene_.text({area.right(), y}, end, Scene::Down::top, size(bytes),
                  {Ink::text, LetterSize::small, letters.bold});
      scene_.text({area.left + 20.0, y}, start, Scene::Down::top, name, letters,
                  area.width - 104.0);
      y += row;
    };
    // In the order of the stack, seen from above.
    for (std::size_t i = memory_parts().size(); i-- > 0;) {
      const MemoryPart& part = memory_parts()[i];
      if (stage.*part.size <= Bytes{} || y + 3.0 * row > area.bottom()) continue;
      scene_.box({area.left, y + (high - 10.0) / 2.0, 10.0, 10.0}, part.paint, 2.0);
      entry(part.key, stage.*part.size, {Ink::muted});
    }
    scene_.line({area.left, y - 3.0}, {area.right(), y - 3.0}, Ink::border);
    y += 3.0;
    entry("peak", stage.peak, {Ink::text, LetterSize::small, true});
    if (y + row > area.bottom()) return;
    const Bytes gap = memory_.usable - stage.peak;
    entry(gap < Bytes{} ? "missing" : "free", max(gap, Bytes{} - gap), {Ink::muted});
    if (y + 2.0 * high + 8.0 < area.bottom())
      scene_.paragraph({area.left, y + 6.0}, area.width,
                       fmt::format("{} layers; largest at: {}", stage.layers, stage.phase));
  }

  const MemoryForecast& memory_;
  Scene scene_;
  const NumberUnits units_;
  int shown_ = 0;
  SceneArea plot_;
  AxisUnit unit_;
  AxisScale y_;  ///< bytes
  double slot_ = 0.0;
  double bar_ = 0.0;
};

}  // namespace

Scene memory_chart(const MemoryForecast& memory, const SceneSpace& space) {
  FORETRAIN_REQUIRE(!memory.stages.empty());
  return MemoryChart(memory, space).drawn();
}

std::string memory_csv(const MemoryForecast& memory) {
  std::string text = "stage";
  for (const MemoryPart& part : memory_parts()) text += "," + part.json_key();
  text += ",peak_bytes\n";
  for (const StageMemory& stage : memory.stages) {
    text += std::to_string(stage.stage);
    for (const MemoryPart& part : memory_parts())
      text += fmt::format(",{:.0f}", (stage.*part.size).value());
    text += fmt::format(",{:.0f}\n", stage.peak.value());
  }
  return text;
}

}  // namespace foretrain
