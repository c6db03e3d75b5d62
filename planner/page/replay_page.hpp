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
  /// One HTML file with everything in it, as page_html(): the fabric, its lines coloured by the use
  /// of their busiest cable at a moment that a slider chooses or that moves on by itself, and the
  /// chart of the step with that moment marked. @pre played(); report.run
  [[nodiscard]] std::string page(const EventReport& report) const;

 private:
  Fabric fabric_;
  std::vector<std::vector<double>> frames_;  ///< use by line of the picture
};

}  // namespace foretrain
