// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "gui/looks/theme.hpp"
#include "planner/step/step_slices.hpp"

namespace foretrain::gui {

/// What fills a stretch of time: the three roles that fill most of it, each with its share.
struct GanttCell {
  std::array<TaskRole, 3> role{};
  std::array<float, 3> share{};  ///< 0: none

  /// Share that is not idle.
  [[nodiscard]] float busy() const { return share[0] + share[1] + share[2]; }
  void add(TaskRole of, float more);
};

/// One band of slices that can be drawn at any zoom: slice by slice where few are in sight, else
/// cell by cell from a pyramid of equal stretches, so that drawing costs pixels and not slices.
class GanttBand {
 public:
  GanttBand() = default;
  /// Takes slices in order of time. @param round of what they accompany; zero: their own
  /// @pre makespan > 0
  GanttBand(std::vector<StepSlice> slices, Seconds makespan, Seconds round = {});

  [[nodiscard]] const std::vector<StepSlice>& slices() const { return slices_; }
  /// Numbers of the first slice in [from, to) and of the one behind the last.
  [[nodiscard]] std::pair<std::size_t, std::size_t> within(Seconds from, Seconds to) const;
  /// The slice at a time, or -1.
  [[nodiscard]] std::int64_t at(Seconds time) const;
  /// The level of cells that are at most that long; 0 is the coarsest.
  [[nodiscard]] std::size_t level_for(Seconds length) const;
  [[nodiscard]] const std::vector<GanttCell>& cells(std::size_t level) const {
    return levels_[level];
  }
  [[nodiscard]] Seconds cell_length(std::size_t level) const;
  /// From the beginning of a forward pass to that of the next, in the median: what the schedule
  /// repeats. Zero where there are too few.
  [[nodiscard]] Seconds round() const { return round_; }
  /// Stretches that hold whole rounds and are at least that long: shares of shorter ones would
  /// beat with the rounds, as waves that are not in the step.
  [[nodiscard]] Seconds bin_length(Seconds least) const;
  /// What fills [from, to). @pre from < to
  [[nodiscard]] GanttCell mean(Seconds from, Seconds to) const;

 private:
  void fill_finest();

  std::vector<StepSlice> slices_;
  Seconds makespan_;
  Seconds round_;
  std::vector<std::vector<GanttCell>> levels_;  ///< coarsest first, each twice as fine
};

/// A step, ready to be drawn at any zoom.
struct GanttPicture {
  struct Row {
    GanttBand work;
    GanttBand exchange;
    GanttBand data;
    Seconds busy;
  };
  std::vector<Row> rows;
  std::vector<bool> critical;  ///< by task id
  Seconds makespan;
  int chunks = 1;
  std::size_t slices = 0;
};

/// @pre the path has a task that takes time
[[nodiscard]] GanttPicture gantt_picture(const StepPath& path);

/// The colour of a task; later chunks are paler.
[[nodiscard]] QColor slice_colour(const Theme& theme, TaskRole role, int chunk, int chunks);

}  // namespace foretrain::gui
