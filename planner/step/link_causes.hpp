// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "planner/answer/answer.hpp"
#include "planner/step/event_report.hpp"

namespace foretrain {

/// Whose exchanges are asked about.
struct LinkQuestion {
  std::string name;  ///< of a link, as link_name() writes it; empty: the busiest of each kind
  std::function<bool(const ReplayProgress& progress)> on_progress{};
};

/// Plays a step on its fabric and keeps what crosses the links asked about.
/// @throws UsageError where the fabric cannot be built or has no link of that name, with the
/// nearest
[[nodiscard]] EventReport play_for_links(const Scenario& scenario, AttentionFlops convention,
                                         const LinkQuestion& question);

/// Why links are full: a section per link with its exchanges, the most bytes first.
/// @pre the run is there and was not stopped. @param source words that read the scenario again
[[nodiscard]] Answer link_causes_answer(const EventReport& report, const std::string& source);
/// Schema link-causes/1: planner/README.md, "Output". @pre as of link_causes_answer()
[[nodiscard]] std::string link_causes_json(const EventReport& report);

}  // namespace foretrain
