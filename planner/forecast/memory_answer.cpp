// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "planner/answer/prediction_parts.hpp"
#include "planner/forecast/report_answer.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
namespace {

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
  std::ranges::stable_sort(groups, [&](const auto& a, const auto& b) { return peak(b) < peak(a); });
  if (!all) groups.resize(most - 1);
  if (order == StageOrder::heaviest_first) return groups;
  std::ranges::sort(groups, [](const auto& a, const auto& b) { return a.first < b.first; });
  return groups;
}

std::vector<AnswerCell> stage_row(std::string mark, std::string name, const StageMemory& stage,
                                  int layers, const MemoryForecast& memory) {
  const double share = stage.peak / memory.usable;
  const Bytes scale = max(memory.usable, memory.peak) * 1.02;
  return {std::move(mark),
          std::move(name),
          std::to_string(layers),
          bytes_text(stage.peak),
          {fixed_text(share * 100.0, 0) + "%", share > 1.0 ? Tone::bad : Tone::plain},
          memory_stack(stage, memory.usable, scale)};
}

AnswerLegend legend_of(const MemoryForecast& memory) {
  AnswerLegend legend{{}, "usable"};
  for (const MemoryPart& part : memory_parts())
    if (std::ranges::any_of(memory.stages,
                            [&](const auto& stage) { return stage.*part.size > Bytes{}; }))
      legend.entries.push_back({part.paint, part.letter, part.key});
  return legend;
}

}  // namespace

AnswerSection memory_section(const MemoryForecast& memory, StageOrder order, std::size_t most) {
  AnswerSection section{fmt::format("Memory per GPU: {} usable of {}", bytes_text(memory.usable),
                                    bytes_text(memory.capacity))};
  if (memory.stages.empty()) return section;
  AnswerTable table{{words_column(), words_column("stage"), number_column("layers"),
                     number_column("peak"), number_column("share"), words_column()}};
  table.layout.apart = 1;
  std::size_t shown = 0;
  for (const StageGroup& group : shown_groups(memory, order, most)) {
    const auto& stage = memory.stages[static_cast<std::size_t>(group.first)];
    const bool heaviest = group.first <= memory.peak_stage && memory.peak_stage <= group.last;
    table.add(stage_row(heaviest ? ">" : " ", group.name(memory),
                        heaviest ? heaviest_stage(memory) : stage, stage.layers, memory));
    shown += static_cast<std::size_t>(group.last - group.first + 1);
  }
  if (memory.replica)
    table.add(stage_row(" ", "others", *memory.replica, memory.replica->layers, memory));
  section.blocks.emplace_back(std::move(table));
  if (memory.replica)
    section.blocks.emplace_back(
        AnswerLine{"Stage 0 is GPU 0 (rank 0), others are the GPUs beside it."});
  if (shown < memory.stages.size()) {
    const auto lightest = std::ranges::min_element(
        memory.stages, [](const auto& a, const auto& b) { return a.peak < b.peak; });
    section.blocks.emplace_back(AnswerLine{
        fmt::format("{} lighter stages not shown; the lightest is {} with {}",
                    memory.stages.size() - shown, lightest->stage, bytes_text(lightest->peak))});
  }
  section.blocks.emplace_back(legend_of(memory));
  return section;
}

AnswerTable memory_categories_table(const MemoryForecast& memory) {
  std::vector<MemoryPart> used;
  for (const MemoryPart& part : memory_parts())
    if (std::ranges::any_of(memory.stages,
                            [&](const auto& stage) { return stage.*part.size > Bytes{}; }))
      used.push_back(part);
  AnswerTable table{{words_column("stage"), number_column("layers")}};
  for (const MemoryPart& part : used) table.columns.push_back(number_column(part.key));
  table.columns.push_back(number_column("peak"));
  for (const StageGroup& group : stage_groups(memory)) {
    const StageMemory& stage = memory.stages[static_cast<std::size_t>(group.first)];
    std::vector<AnswerCell> row{group.name(memory), std::to_string(stage.layers)};
    for (const MemoryPart& part : used) row.emplace_back(bytes_text(stage.*part.size));
    row.emplace_back(bytes_text(stage.peak));
    table.add(std::move(row));
  }
  return table;
}

AnswerSection memory_rows_section(const StageMemory& stage) {
  AnswerSection section{fmt::format("Stage {} in detail{}", stage.stage,
                                    stage.phase.empty() ? "" : ", peak in the " + stage.phase)};
  std::vector<MemoryPart> order(memory_parts().begin(), memory_parts().end());
  std::ranges::stable_sort(order, [&](const MemoryPart& a, const MemoryPart& b) {
    return stage.*b.size < stage.*a.size;
  });
  AnswerTable table{{words_column(), number_column(), number_column(), words_column()}};
  const auto line = [&](const std::string& name, Bytes size, Tone tone) {
    const double share = size / stage.peak;
    table.add({{name, tone},
               bytes_text(size),
               percent_text(share),
               AnswerBar{0.0, share < 0.005 ? 0.0 : share}});
  };
  for (const MemoryPart& part : order) {
    const Bytes total = stage.*part.size;
    if (total == Bytes{}) continue;
    std::vector<MemoryRow> rows;
    for (const MemoryRow& row : stage.rows)
      if (row.category == part.key) rows.push_back(row);
    if (rows.size() == 1) {  // one row is the category: say it once
      line(std::string(part.key) + (": " + rows.front().name), total, Tone::strong);
      continue;
    }
    line(part.key, total, Tone::strong);
    std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return b.size < a.size; });
    for (const MemoryRow& row : rows) line("  " + row.name, row.size, Tone::plain);
  }
  line("total", stage.peak, Tone::strong);
  section.blocks.emplace_back(std::move(table));
  return section;
}

AnswerStack memory_stack(const StageMemory& stage, Bytes usable, Bytes scale) {
  AnswerStack stack;
  for (const MemoryPart& part : memory_parts())
    stack.parts.push_back({stage.*part.size / scale, part.paint, part.letter});
  stack.limit = usable / scale;
  return stack;
}

}  // namespace foretrain
