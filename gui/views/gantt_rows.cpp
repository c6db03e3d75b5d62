// SPDX-License-Identifier: Apache-2.0
#include "gui/views/gantt_rows.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "gui/views/chart_text.hpp"
#include "planner/text/palette.hpp"

namespace foretrain::gui {
namespace {

constexpr std::size_t fewest_cells = 256;
constexpr std::size_t most_cells = 65536;

GanttCell joined(const GanttCell& a, const GanttCell& b) {
  GanttCell cell;
  for (const GanttCell* half : {&a, &b})
    for (std::size_t i = 0; i < half->role.size(); ++i)
      if (half->share[i] > 0.0F) cell.add(half->role[i], 0.5F * half->share[i]);
  return cell;
}

Seconds round_of(const std::vector<StepSlice>& slices) {
  constexpr std::size_t fewest = 8;
  std::vector<Seconds> gaps;
  const StepSlice* before = nullptr;
  for (const StepSlice& slice : slices) {
    if (slice.role != TaskRole::forward) continue;
    if (before != nullptr) gaps.push_back(slice.from - before->from);
    before = &slice;
  }
  if (gaps.size() < fewest) return {};
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::nth_element(gaps.begin(), middle, gaps.end());
  return *middle;
}

}  // namespace

/// A fourth role counts as the rarest of the three.
void GanttCell::add(TaskRole of, float more) {
  std::size_t place = 0;
  for (std::size_t i = 0; i < role.size(); ++i) {
    if (share[i] == 0.0F || role[i] == of) {
      place = i;
      break;
    }
    if (share[i] < share[place]) place = i;
  }
  if (share[place] == 0.0F) role[place] = of;
  share[place] += more;
}

GanttBand::GanttBand(std::vector<StepSlice> slices, Seconds makespan, Seconds round)
    : slices_{std::move(slices)},
      makespan_{makespan},
      round_{round > Seconds{} ? round : round_of(slices_)} {
  std::size_t cells = fewest_cells;
  while (cells < most_cells && cells < 2 * slices_.size()) cells *= 2;
  levels_.emplace_back(cells);
  fill_finest();
  while (levels_.back().size() > fewest_cells) {
    const std::vector<GanttCell>& fine = levels_.back();
    std::vector<GanttCell> coarse(fine.size() / 2);
    for (std::size_t i = 0; i < coarse.size(); ++i)
      coarse[i] = joined(fine[2 * i], fine[2 * i + 1]);
    levels_.push_back(std::move(coarse));
  }
  std::reverse(levels_.begin(), levels_.end());
}

void GanttBand::fill_finest() {
  std::vector<GanttCell>& cells = levels_.back();
  const Seconds length = makespan_ / static_cast<double>(cells.size());
  for (const StepSlice& slice : slices_) {
    auto cell = static_cast<std::size_t>(std::max(0.0, std::floor(slice.from / length)));
    for (; cell < cells.size(); ++cell) {
      const Seconds begin = static_cast<double>(cell) * length;
      if (begin >= slice.to) break;
      const Seconds part = min(slice.to, begin + length) - max(slice.from, begin);
      const auto share = static_cast<float>(std::max(0.0, part / length));
      const float room = 1.0F - cells[cell].busy();
      if (share > 0.0F && room > 0.0F) cells[cell].add(slice.role, std::min(share, room));
    }
  }
}

std::pair<std::size_t, std::size_t> GanttBand::within(Seconds from, Seconds to) const {
  auto first = std::partition_point(slices_.begin(), slices_.end(),
                                    [&](const StepSlice& slice) { return slice.from < from; });
  // One that began before may still run.
  while (first != slices_.begin() && std::prev(first)->to > from) --first;
  const auto last = std::partition_point(first, slices_.end(),
                                         [&](const StepSlice& slice) { return slice.from < to; });
  return {static_cast<std::size_t>(first - slices_.begin()),
          static_cast<std::size_t>(last - slices_.begin())};
}

std::int64_t GanttBand::at(Seconds time) const {
  const auto after = std::partition_point(
      slices_.begin(), slices_.end(), [&](const StepSlice& slice) { return slice.from <= time; });
  if (after == slices_.begin() || std::prev(after)->to < time) return -1;
  return std::prev(after) - slices_.begin();
}

std::size_t GanttBand::level_for(Seconds length) const {
  for (std::size_t level = 0; level < levels_.size(); ++level)
    if (cell_length(level) <= length) return level;
  return levels_.size() - 1;
}

Seconds GanttBand::cell_length(std::size_t level) const {
  return makespan_ / static_cast<double>(levels_[level].size());
}

Seconds GanttBand::bin_length(Seconds least) const {
  return round_ > Seconds{} ? std::max(1.0, std::ceil(least / round_)) * round_ : least;
}

GanttCell GanttBand::mean(Seconds from, Seconds to) const {
  constexpr double finer = 32.0;
  const std::size_t level = level_for((to - from) / finer);
  const Seconds length = cell_length(level);
  const auto& fine = levels_[level];
  GanttCell mean;
  const auto add = [&](TaskRole role, Seconds begin, Seconds end, float share) {
    const Seconds part = min(to, end) - max(from, begin);
    if (part > Seconds{} && share > 0.0F)
      mean.add(role, share * static_cast<float>(part / (to - from)));
  };
  if (length > (to - from) / finer) {  // few slices
    const auto [first, last] = within(from, to);
    for (std::size_t s = first; s < last; ++s)
      add(slices_[s].role, slices_[s].from, slices_[s].to, 1.0F);
    return mean;
  }
  auto i = static_cast<std::size_t>(std::max(0.0, std::floor(from / length)));
  for (; i < fine.size() && static_cast<double>(i) * length < to; ++i) {
    const Seconds begin = static_cast<double>(i) * length;
    for (std::size_t part = 0; part < fine[i].role.size(); ++part)
      add(fine[i].role[part], begin, begin + length, fine[i].share[part]);
  }
  return mean;
}

GanttPicture gantt_picture(const StepPath& path) {
  GanttPicture picture;
  std::vector<StepRow> rows = step_rows(path);
  for (const StepRow& row : rows)
    for (const auto* band : {&row.work, &row.exchange, &row.data})
      for (const StepSlice& slice : *band) {
        picture.makespan = max(picture.makespan, slice.to);
        picture.chunks = std::max(picture.chunks, slice.chunk + 1);
        ++picture.slices;
      }
  for (StepRow& row : rows) {
    GanttBand work{std::move(row.work), picture.makespan};
    const Seconds round = work.round();
    picture.rows.push_back({std::move(work),
                            GanttBand{std::move(row.exchange), picture.makespan, round},
                            GanttBand{std::move(row.data), picture.makespan, round}, row.busy});
  }
  picture.critical = on_critical_path(path);
  return picture;
}

QColor slice_colour(const Theme& theme, TaskRole role, int chunk, int chunks) {
  const QColor paint = colour_of(theme, look_of(role).paint);
  if (chunks < 2 || chunk < 1) return paint;
  return blend(paint, theme.surface, 0.55 * chunk / (chunks - 1));
}

}  // namespace foretrain::gui
