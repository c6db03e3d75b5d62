// SPDX-License-Identifier: Apache-2.0
// libFuzzer target for the reader of Chakra traces. Every outcome other than a trace or a
// ScenarioError with a printable message is a finding; what was read is written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include "planner/exchange/execution_trace.hpp"
#include "scenarios/resolve/scenario.hpp"

namespace {

void require(bool condition, const char* what) {
  if (condition) return;
  std::cerr << "broken promise: " << what << '\n';
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::string> notes;
  try {
    foretrain::ExecutionTrace trace;
    trace.ranks.push_back(foretrain::read_chakra(std::string(data, data + size), "fuzz.et", notes));
    const auto files = foretrain::chakra_files(trace);
    const foretrain::RankTrace again = foretrain::read_chakra(files.front(), "again.et", notes);
    require(again.nodes.size() == trace.ranks.front().nodes.size(), "all nodes are written");
  } catch (const foretrain::ScenarioError& error) {
    for (const foretrain::Diagnostic& diagnostic : error.diagnostics())
      for (const char c : diagnostic.text())
        require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F, "a message is printable");
  }
  return 0;
}
