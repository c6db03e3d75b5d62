// SPDX-License-Identifier: Apache-2.0
// libFuzzer target for everything that a scenario text reaches: the YAML tree and its limits, the
// field reader, extends, --set, the catalogs and the cross checks. Every outcome other than a
// scenario or a ScenarioError with a well-formed message is a finding.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string>

#include "scenarios/resolve/scenario.hpp"
#include "tests/fuzz/promises.hpp"

using foretrain::fuzz::require;

namespace {

/// Lines "# --set path=value" are flags, as in tests/bad_scenarios.
foretrain::LoadOptions flags_of(const std::string& text) {
  const std::string start = "# --set ";
  foretrain::LoadOptions options;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line) && options.overrides.size() < 8;)
    if (line.rfind(start, 0) == 0) options.overrides.push_back(line.substr(start.size()));
  return options;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Files are read from here only: bases that a text extends, and model files that it names.
  static const std::filesystem::path folder =
      std::filesystem::path(FORETRAIN_SOURCE_DIR) / "tests" / "bad_scenarios";
  const std::string text(data, data + size);
  try {
    const foretrain::Scenario scenario =
        foretrain::load_scenario_text(text, "fuzz.yaml", folder, flags_of(text));
    require(scenario.job.parallel.gpus() == scenario.job.cluster.gpus(), "every GPU is used");
    for (const foretrain::ResolvedValue& value : scenario.values)
      require(!value.origin.empty(), "every value has an origin");
  } catch (const foretrain::ScenarioError& error) {
    foretrain::fuzz::check_refusal(error);
  }
  return 0;
}
