// SPDX-License-Identifier: Apache-2.0

#include "sim/flows/flow_network.hpp"

#include <dlfcn.h>
#include <new>
#include <stdexcept>
#include <string>

#include "sim/flows/internal/simgrid_entry.hpp"
#include "sim/flows/plug_in_file.hpp"

namespace foretrain {
namespace {

using Make = decltype(&foretrain_simgrid_make);

/// Loaded once, and never unloaded: SimGrid keeps what it has started until the process ends.
Make load_simgrid() {
  const std::string name = "foretrain_simgrid.so";
  const std::filesystem::path file = plug_in_file(name);
  if (file.empty())
    throw PlugInMissing("the event engine (--engine event, collective, plan --on-fabric) needs " +
                        name +
                        ", which is neither beside the program nor where it is installed (package "
                        "foretrain-event); --engine closed-form and path need nothing more");
  // Local: SimGrid has MPI functions of its own, which must not take the place of an MPI's.
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* make = library == nullptr ? nullptr : ::dlsym(library, "foretrain_simgrid_make");
  if (make == nullptr) {
    const char* why = ::dlerror();  // NOLINT(concurrency-mt-unsafe): one thread at a time
    const std::string reason = why != nullptr ? why : "unknown";
    // The loader's words where the process may have no more memory.
    for (const char* words : {"failed to map segment", "cannot allocate memory"})
      if (reason.find(words) != reason.npos) throw std::bad_alloc();
    throw std::runtime_error("cannot load the event engine: " + reason);
  }
  return reinterpret_cast<Make>(make);
}

}  // namespace

std::unique_ptr<FlowSimulation> make_flow_simulation(const FlowNetwork& network,
                                                     FlowBackend backend) {
  static const Make make = load_simgrid();
  return std::unique_ptr<FlowSimulation>{make(network, backend)};
}

}  // namespace foretrain
