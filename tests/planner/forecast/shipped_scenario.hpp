// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "scenarios/resolve/scenario.hpp"

namespace foretrain::test {

/// A scenario of the repository with some of its values replaced, as by `--set`.
inline Scenario scenario_with(std::vector<std::string> overrides,
                              const std::string& file = "llama2-70b-1024xh100.yaml") {
  return load_scenario(FORETRAIN_SOURCE_DIR "/scenarios/" + file, {std::move(overrides), {}});
}

}  // namespace foretrain::test
