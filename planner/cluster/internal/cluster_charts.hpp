// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "planner/cluster/cluster_file.hpp"
#include "planner/text/palette.hpp"
#include "sim/queue/queue_study.hpp"

namespace foretrain::internal {

/// Colours as attributes of SVG have them: of a picture on a light ground, or of a page, which
/// knows them on both grounds as custom properties.
class Inks {
 public:
  static Inks of_picture() { return Inks{false}; }
  static Inks of_page() { return Inks{true}; }

  [[nodiscard]] std::string of(const Paint& paint) const;
  /// Attributes of a line of a grid.
  [[nodiscard]] std::string grid() const;
  /// The custom properties as a style sheet.
  [[nodiscard]] static std::string properties();

 private:
  explicit Inks(bool page) : page_{page} {}
  bool page_;
};

/// How classes are told apart: those with most host time have a colour each, the others one.
struct ClassLooks {
  std::vector<int> shown;      ///< classes with a colour of their own, in the order of the file
  std::vector<Paint> paints;   ///< by class
  std::vector<bool> together;  ///< by class: shares the colour of the others

  [[nodiscard]] bool has_others() const;
};

/// @param host_s host time by class
[[nodiscard]] ClassLooks class_looks(const std::vector<double>& host_s);

// Parts of SVG documents without their start and end; `page_part` puts one around.

/// Hosts and waiting jobs over the horizon; below the title, which is 36 pixels high.
[[nodiscard]] std::string hosts_and_queue(const ClusterFile& file, const QueueSummary& summary,
                                          const Inks& inks);
inline constexpr double hosts_and_queue_width = 920.0;
inline constexpr double hosts_and_queue_height = 470.0;

/// An element of a page. @param top where the drawing begins, in pixels
[[nodiscard]] std::string page_part(const std::string& drawing, const std::string& label,
                                    double width, double height, double top = 0.0);

/// Waits by class on a logarithmic scale: median, mean, P90 and P99; an element of a page.
[[nodiscard]] std::string waits_part(const ClusterFile& file, const QueueSummary& summary);

/// Hosts in use by class, and jobs on hosts, of one replication: elements of a page.
/// @pre the schedule is not empty
[[nodiscard]] std::string schedule_part(const ClusterFile& file,
                                        const std::vector<ScheduledStretch>& schedule);

}  // namespace foretrain::internal
