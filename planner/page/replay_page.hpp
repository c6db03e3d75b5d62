// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "planner/step/event_report.hpp"

namespace foretrain {

/// A step of the event engine to be looked at again: watch() before it is played, the page after.
class StepReplay {
 public:
  explicit StepReplay(const Scenario& scenario);

  /// From here on the frames of a step that these options play are kept.
  void watch(EventOptions& options);
  /// Frames were kept: routes did not change during the step, and it was played to its end.
  [[nodiscard]] bool played() const { return !frames_.empty(); }
  /// By moment, use by line of the picture.
  [[nodiscard]] const std::vector<std::vector<double>>& frames() const { return frames_; }

 private:
  Fabric fabric_;
  std::vector<std::vector<double>> frames_;
};

/// A step that was watched and what came of it. @pre replay.played(); report.run
struct ReplaySide {
  const StepReplay& replay;
  const EventReport& report;
};

/// One HTML file with everything in it, as page_html(): of every side the fabric, its lines
/// coloured by the use of their busiest cable at a moment that a slider chooses or that moves on by
/// itself, and the chart of the step with that moment marked. Sides run by one clock and one scale
/// of colours. @pre 1 to 26 sides
[[nodiscard]] std::string replay_page(const std::vector<ReplaySide>& sides);

}  // namespace foretrain
