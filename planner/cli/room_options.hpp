// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "planner/cli/command.hpp"
#include "planner/forecast/search_limits.hpp"

namespace foretrain {

/// How much memory of a GPU the plans that a command proposes leave free. Where neither is given,
/// they keep the default room (planner/forecast/search_limits.hpp).
struct RoomOptions {
  std::optional<double> share;
  std::string headroom;

  [[nodiscard]] bool given() const { return share || !headroom.empty(); }
};

/// --max-memory-share and --headroom. `what` is in front of the help: "gpus, model: ", or empty.
void add_room_options(CLI::App& app, RoomOptions& options, const std::string& what = "");

/// Their limits. @throws UsageError for shares that are none
[[nodiscard]] SearchLimits room_limits(const RoomOptions& options);

}  // namespace foretrain
