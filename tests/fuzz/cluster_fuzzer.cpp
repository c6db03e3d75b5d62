// SPDX-License-Identifier: Apache-2.0
// libFuzzer target for cluster files. Whatever a file holds, it becomes a queue that can be played,
// or a refusal.
#include <cstddef>
#include <cstdint>
#include <string>

#include "planner/cluster/cluster_file.hpp"
#include "tests/fuzz/promises.hpp"

using foretrain::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  try {
    const foretrain::ClusterFile file =
        foretrain::load_cluster_text(text, "fuzz.yaml", FORETRAIN_SOURCE_DIR "/scenarios/clusters");
    require(file.gpus() > 0, "a cluster has GPUs");
    require(!file.queue.classes.empty(), "a queue has jobs");
    require(file.durations.size() == file.queue.classes.size(), "every class says its durations");
    for (const std::string& note : file.notes) foretrain::fuzz::check_printable(note);
  } catch (const foretrain::ScenarioError& error) {
    foretrain::fuzz::check_refusal(error);
  }
  return 0;
}
