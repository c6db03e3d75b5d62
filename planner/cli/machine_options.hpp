// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>

#include "planner/cli/command.hpp"

namespace foretrain {

/// Adds --host, and --device in its place: the host that comes with a GPU.
void add_host_options(CLI::App& app, std::string& host, std::string& device,
                      const std::string& host_help);
/// Adds --device alone, for commands that read a scenario.
void add_device_option(CLI::App& app, std::string& device);

/// The host that comes with a device. @throws ScenarioError with the nearest and the known names
[[nodiscard]] std::string host_of_device(const std::string& device, const LoadOptions& options);

/// The scenario on another device: its host and the fabric of its NICs, with as many GPUs as the
/// scenario has, or as many as are asked for. They stand before the user's own --set.
/// @throws ScenarioError, UsageError
[[nodiscard]] ScenarioOptions on_device(ScenarioOptions options, const std::string& device,
                                        std::optional<int> gpus = std::nullopt);

}  // namespace foretrain
