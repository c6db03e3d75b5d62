// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "planner/answer/memory_part.hpp"
#include "planner/forecast/report_text.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
namespace {

using Category = MemoryPart;

std::string painted(const Category& category, int cells, const TextStyle& style) {
  std::string result;
  for (int i = 0; i < cells; ++i)
    result += style.color && style.unicode ? std::string("█") : std::string(1, category.letter);
  if (!style.color || cells == 0) return result;
  return fmt::format("\x1b[38;5;{}m{}\x1b[0m", category.paint.terminal, result);
}

/// The stack of one stage over `cells` columns that stand for `scale` bytes, with a mark at the
/// usable memory.
std::string stack_bar(const StageMemory& stage, Bytes usable, Bytes scale, int cells,
                      const TextStyle& style) {
  const auto column = [&](Bytes size) {
    return std::clamp(static_cast<int>(std::lround(size / scale * cells)), 0, cells);
  };
  const int limit = std::min(column(usable), cells - 1);
  std::string result;
  Bytes sum;
  int at = 0;
  const auto advance = [&](int to, auto paint) {
    // The mark replaces one column of whatever lies under it.
    if (at <= limit && limit < to) {
      paint(limit - at);
      result += style.unicode ? "┃" : "|";
      at = limit + 1;
    }
    if (to > at) paint(to - at);
    at = std::max(at, to);
  };
  for (const Category& category : memory_parts()) {
    sum += stage.*category.size;
    advance(column(sum), [&](int n) { result += painted(category, n, style); });
  }
  advance(cells, [&](int n) { result += std::string(static_cast<std::size_t>(n), ' '); });
  return result;
}

/// Groups to show: all, or the heaviest ones where there are too many.
std::vector<StageGroup> shown_groups(const MemoryForecast& memory, StageOrder order,
                                     std::size_t most) {
  std::vector<StageGroup> groups = stage_groups(memory);
  const bool all = groups.size() <= most;
  if (all && order == StageOrder::pipeline) return groups;
  // A group is as heavy as its heaviest member, which need not be its first.
  const auto peak = [&](const StageGroup& g) {
    Bytes heaviest;
    for (int s = g.first; s <= g.last; ++s)
      heaviest = max(heaviest, memory.stages[static_cast<std::size_t>(s)].peak);
    return heaviest;
  };
  std::stable_sort(groups.begin(), groups.end(),
                   [&](const auto& a, const auto& b) { return peak(b) < peak(a); });
  if (!all) groups.resize(most - 1);
  if (order == StageOrder::heaviest_first) return groups;
  std::sort(groups.begin(), groups.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return groups;
}

std::string stage_lines(const MemoryForecast& memory, StageOrder order, const TextStyle& style,
                        std::size_t most) {
  const Bytes scale = max(memory.usable, memory.peak) * 1.02;
  const int cells = style.width - 33;
  const auto groups = shown_groups(memory, order, most);
  std::string result = "    stage    layers       peak   share\n";
  std::size_t shown = 0;
  for (const StageGroup& group : groups) {
    const auto& stage = memory.stages[static_cast<std::size_t>(group.first)];
    const bool heaviest = group.first <= memory.peak_stage && memory.peak_stage <= group.last;
    const auto& drawn = heaviest ? heaviest_stage(memory) : stage;
    const double share = drawn.peak / memory.usable;
    const std::string percent = pad_left(fixed_text(share * 100.0, 0) + "%", 5);
    result += fmt::format("  {} {} {} {} ", heaviest ? '>' : ' ', pad_right(group.name(memory), 8),
                          pad_left(std::to_string(stage.layers), 5),
                          pad_left(bytes_text(drawn.peak), 10));
    result += toned(percent, share > 1.0 ? Tone::bad : Tone::plain, style) + ' ' +
              stack_bar(drawn, memory.usable, scale, cells - 3, style);
    while (result.ends_with(' ')) result.pop_back();
    result += '\n';
    shown += static_cast<std::size_t>(group.last - group.first + 1);
  }
  if (memory.replica) {
    const StageMemory& other = *memory.replica;
    result +=
        fmt::format("    {} {} {} {} ", pad_right("others", 8),
                    pad_left(std::to_string(other.layers), 5), pad_left(bytes_text(other.peak), 10),
                    pad_left(fixed_text(other.peak / memory.usable * 100.0, 0) + "%", 5)) +
        stack_bar(other, memory.usable, scale, cells - 3, style);
    while (result.ends_with(' ')) result.pop_back();
    result += '\n';
    result += hanging("    ", "Stage 0 is GPU 0 (rank 0), others are the GPUs beside it.", style);
  }
  if (shown < memory.stages.size()) {
    const auto lightest =
        std::min_element(memory.stages.begin(), memory.stages.end(),
                         [](const auto& a, const auto& b) { return a.peak < b.peak; });
    result += hanging(
        "    ",
        fmt::format("{} lighter stages not shown; the lightest is {} with {}",
                    memory.stages.size() - shown, lightest->stage, bytes_text(lightest->peak)),
        style);
  }
  return result;
}

std::string legend(const MemoryForecast& memory, const TextStyle& style) {
  std::string text;
  for (const Category& category : memory_parts()) {
    const bool used = std::any_of(memory.stages.begin(), memory.stages.end(),
                                  [&](const auto& s) { return s.*category.size > Bytes{}; });
    if (!used) continue;
    // A blank inside an entry must not become a line break.
    text +=
        (text.empty() ? "" : " ") + painted(category, 1, style) + "=" + std::string(category.key);
  }
  text += std::string(" ") + (style.unicode ? "┃" : "|") + "=usable";
  return hanging("    ", text, style);
}

/// Named rows of a stage under their category, both largest first.
std::string row_lines(const StageMemory& stage, const TextStyle& style) {
  std::string result;
  const int name_columns = std::clamp(style.width - 46, 24, 60);
  const int bar_cells = style.width - name_columns - 28;
  std::vector<Category> order(memory_parts().begin(), memory_parts().end());
  std::stable_sort(order.begin(), order.end(), [&](const Category& a, const Category& b) {
    return stage.*b.size < stage.*a.size;
  });
  const auto line = [&](const std::string& name, Bytes size, Tone tone) {
    const double share = size / stage.peak;
    std::string text = "  " + toned(pad_right(cut(name, name_columns), name_columns), tone, style) +
                       ' ' + pad_left(bytes_text(size), 11) + ' ' +
                       pad_left(percent_text(share), 8) + "  " +
                       span_bar(0.0, share < 0.005 ? 0.0 : share, bar_cells, style);
    while (text.ends_with(' ')) text.pop_back();
    result += text + '\n';
  };
  for (const Category& category : order) {
    const Bytes total = stage.*category.size;
    if (total == Bytes{}) continue;
    std::vector<MemoryRow> rows;
    for (const MemoryRow& row : stage.rows)
      if (row.category == category.key) rows.push_back(row);
    if (rows.size() == 1) {  // one row is the category: say it once
      line(std::string(category.key) + (": " + rows.front().name), total, Tone::strong);
      continue;
    }
    line(category.key, total, Tone::strong);
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return b.size < a.size; });
    for (const MemoryRow& row : rows) line("  " + row.name, row.size, Tone::plain);
  }
  line("total", stage.peak, Tone::strong);
  return result;
}

}  // namespace

std::string memory_stacks_text(const MemoryForecast& memory, StageOrder order,
                               const TextStyle& style, std::size_t most) {
  std::string result =
      toned("Memory per GPU", Tone::strong, style) +
      fmt::format(": {} usable of {}\n", bytes_text(memory.usable), bytes_text(memory.capacity));
  if (memory.stages.empty()) return result;
  return result + stage_lines(memory, order, style, most) + legend(memory, style);
}

std::string memory_rows_text(const StageMemory& stage, const TextStyle& style) {
  std::string where = stage.phase.empty() ? "" : ", peak in the " + stage.phase;
  return hanging("", fmt::format("Stage {} in detail{}:", stage.stage, where), style) +
         row_lines(stage, style);
}

std::string memory_text(const MemoryForecast& memory, const TextStyle& style) {
  std::string stacks = memory_stacks_text(memory, StageOrder::pipeline, style);
  if (memory.stages.empty()) return stacks;
  return stacks + '\n' + memory_rows_text(heaviest_stage(memory), style);
}

std::string memory_phase_bar(const StageMemory& phase, Bytes usable, Bytes scale, int cells,
                             const TextStyle& style) {
  return stack_bar(phase, usable, scale, cells, style);
}

}  // namespace foretrain
