// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace foretrain {

/// What commands take that are told no machine: the host of the built-in catalog that says
/// `default: true`, and the fabric preset of its NICs.
struct DefaultMachine {
  std::string host;
  std::string fabric;
};

/// @throws ScenarioError when a host's file is broken, or not exactly one says so
[[nodiscard]] DefaultMachine default_machine();

/// The preset of the built-in catalog with the slowest NICs, which those of every host can run.
/// @throws ScenarioError when a fabric's file is broken
[[nodiscard]] std::string slowest_fabric();

}  // namespace foretrain
