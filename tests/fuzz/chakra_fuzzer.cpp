// SPDX-License-Identifier: Apache-2.0
// libFuzzer target for the reader of Chakra traces. Every outcome other than a trace or a
// ScenarioError with a printable message is a finding; what was read is written and read again.
#include <cstddef>
#include <cstdint>
#include <string>

#include "planner/exchange/execution_trace.hpp"
#include "scenarios/resolve/scenario.hpp"
#include "tests/fuzz/promises.hpp"

using foretrain::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::string> notes;
  try {
    foretrain::ExecutionTrace trace;
    trace.ranks.push_back(foretrain::read_chakra(std::string(data, data + size), "fuzz.et", notes));
    const auto files = foretrain::chakra_files(trace);
    const foretrain::RankTrace again = foretrain::read_chakra(files.front(), "again.et", notes);
    require(again.nodes.size() == trace.ranks.front().nodes.size(), "all nodes are written");
  } catch (const foretrain::ScenarioError& error) {
    foretrain::fuzz::check_refusal(error);
  }
  return 0;
}
