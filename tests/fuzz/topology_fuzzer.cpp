// SPDX-License-Identifier: Apache-2.0
// libFuzzer target for the importers of topology files, one program per FORETRAIN_FUZZED: NCCL's
// XML, the matrix of nvidia-smi, Slurm's tree, ibnetdiscover, iblinkinfo. Every outcome other than
// a result or an ImportError with a printable message is a finding.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include "topologies/fabrics/switch_graph.hpp"
#include "topologies/imports/network_description.hpp"

namespace foretrain {
namespace {

void require(bool condition, const char* what) {
  if (condition) return;
  std::cerr << "broken promise: " << what << '\n';
  std::abort();
}

void check_text(const std::string& text) {
  require(!text.empty(), "a message says something");
  for (const char c : text)
    require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F, "a message is printable");
}

void check_host(const HostDescription& host) {
  require(host.gpus >= 1 && host.gpus <= import_host_gpus, "a host has GPUs");
  for (const GpuPair& pair : host.pairs)
    require(
        0 <= pair.first && pair.first < pair.second && pair.second < host.gpus && pair.lanes >= 1,
        "pairs join GPUs of the host");
}

void check_fabric(const FoundFabric& found) {
  const auto* shape = std::get_if<FabricShape>(&found);
  if (shape == nullptr) {
    const auto& irregular = std::get<IrregularFabric>(found);
    check_text(irregular.reason);
    if (irregular.found && !irregular.found->refused.empty()) {
      check_text(irregular.found->refused);
    } else if (irregular.found) {
      const FoundSwitches& all = *irregular.found;
      require(std::holds_alternative<SwitchGraph>(switch_graph(all.shape, all.nics_per_host)),
              "an irregular network that was found can be built");
    }
    if (irregular.nearest) shape = &*irregular.nearest;
  }
  if (shape == nullptr) return;
  require(shape->hosts >= 1 && shape->switch_radix >= 2 && shape->oversubscription >= 1.0,
          "a shape can be written into a scenario");
}

void import(const std::string& text, ImportNotes& notes) {
  constexpr std::string_view fuzzed = FORETRAIN_FUZZED;
  if constexpr (fuzzed == "nccl") check_host(import_nccl_xml(text, notes));
  if constexpr (fuzzed == "nvidia_smi") check_host(import_nvidia_smi(text, notes));
  if constexpr (fuzzed == "slurm") {
    const SwitchTree tree = import_slurm_topology(text, notes);
    ShapeRequest request;
    request.nics_per_host = request.gpus_per_host = 1 + static_cast<int>(text.size() % 8);
    request.switch_radix = 64;
    check_fabric(shape_of_tree(tree, request, notes));
  }
  if constexpr (fuzzed == "ibnetdiscover")
    check_fabric(recognise_fabric(import_ibnetdiscover(text, notes), 8, notes));
  if constexpr (fuzzed == "iblinkinfo")
    check_fabric(recognise_fabric(import_iblinkinfo(text, notes), 8, notes));
}

}  // namespace

/// One input, as libFuzzer gives it.
void fuzz_topology_import(const std::uint8_t* data, std::size_t size) {
  ImportNotes notes;
  try {
    import(std::string(data, data + size), notes);
    for (const std::string& text : notes.ignored) check_text(text);
    for (const std::string& text : notes.assumed) check_text(text);
  } catch (const ImportError& error) {
    check_text(error.what());
    require(error.line() >= 0, "a line counts from 1");
  }
}

}  // namespace foretrain

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  foretrain::fuzz_topology_import(data, size);
  return 0;
}
