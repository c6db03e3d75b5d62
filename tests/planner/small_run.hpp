// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "scenarios/resolve/scenario.hpp"

namespace foretrain::fixtures {

/// Llama-3-8B on 4 hosts of 8 H100. @param operations what follows `operations:`, in one line or in
/// indented ones
inline Scenario small_run(const std::string& operations,
                          const std::vector<std::string>& overrides = {},
                          const std::string& parallel = "tensor: 2, sequence: true, zero: 1") {
  LoadOptions options;
  options.overrides = overrides;
  return load_scenario_text(
      "schema: 1\n"
      "name: small\n"
      "model: llama3-8b\n"
      "cluster: {host: dgx-h100, hosts: 4, fabric: {kind: single-switch, preset: ib-ndr}}\n"
      "training: {sequence: 8192, micro_batch: 1, global_batch: 64, tokens: 100 B}\n"
      "stack: megatron-core\n"
      "parallel: {" +
          parallel + "}\noperations: " + operations,
      "small.yaml", std::filesystem::current_path(), options);
}

/// The same with a price and nothing that goes wrong.
inline Scenario small_scenario(const std::vector<std::string>& overrides = {}) {
  return small_run("{price: 2.5 USD/GPU-hour}\n", overrides);
}

}  // namespace foretrain::fixtures
