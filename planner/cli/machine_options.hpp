// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "planner/cli/command.hpp"
#include "planner/forecast/search_limits.hpp"

namespace foretrain {

/// Adds --host, and --device in its place: the host that comes with a GPU.
void add_host_options(CommandRow& command, std::string& host, std::string& device,
                      const std::string& host_help);
/// Adds --device alone, for commands that read a scenario.
void add_device_option(CommandRow& command, std::string& device);

/// The host that comes with a device. @throws ScenarioError with the nearest and the known names
[[nodiscard]] std::string host_of_device(const std::string& device, const LoadOptions& options);

/// The scenario on another device: its host and the fabric of its NICs, with as many GPUs as the
/// scenario has, or as many as are asked for. They stand before the user's own --set.
/// @throws ScenarioError, UsageError
[[nodiscard]] ScenarioOptions on_device(ScenarioOptions options, const std::string& device,
                                        std::optional<int> gpus = std::nullopt);

/// How much memory of a GPU the plans that a command proposes leave free. Where neither is given,
/// they keep the default room (planner/forecast/search_limits.hpp).
struct RoomOptions {
  std::optional<double> share;
  std::string headroom;

  [[nodiscard]] bool given() const { return share || !headroom.empty(); }
};

/// --max-memory-share and --headroom. `what` is in front of the help: "gpus, model: ", or empty.
void add_room_options(CommandRow& command, RoomOptions& options, const std::string& what = "",
                      const OptionRules& rules = {});

/// Their limits. @throws UsageError for shares that are none
[[nodiscard]] SearchLimits room_limits(const RoomOptions& options);

}  // namespace foretrain
