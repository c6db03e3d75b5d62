// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "models/base/names.hpp"

namespace foretrain {

enum class Part { core, engine, optional, gpu, places };
FORETRAIN_ENUM_NAMES(Part, {Part::core, "core"}, {Part::engine, "engine"},
                     {Part::optional, "optional"}, {Part::gpu, "gpu"}, {Part::places, "places"});

enum class State { ok, absent, broken };
FORETRAIN_ENUM_NAMES(State, {State::ok, "ok"}, {State::absent, "absent"},
                     {State::broken, "broken"});

/// Something that was looked at.
struct Finding {
  Part part = Part::core;
  State state = State::ok;
  std::string name;
  std::string detail;           ///< what was found, with versions and paths
  std::string help;             ///< what to do about it; empty where nothing has to be done
  bool optional_build = false;  ///< a part that a build leaves out where its library is not found
};

[[nodiscard]] std::string heading_of(Part part);

/// Looks at the program, its data, its plug-ins, the GPUs of this machine and the folders that it
/// writes to. Never throws for what it finds.
[[nodiscard]] std::vector<Finding> examine();

// What examine() asks libraries, in doctor_command.cpp.

/// Loads a plug-in and asks the library behind it. `problem` stays empty, or says in one sentence
/// why it does not load.
[[nodiscard]] std::string simgrid_version(const std::filesystem::path& plug_in,
                                          std::string& problem);
[[nodiscard]] std::string mpi_version(const std::filesystem::path& plug_in, std::string& problem);

/// NVIDIA's driver with its devices, and NCCL.
[[nodiscard]] std::vector<Finding> gpu_findings();

}  // namespace foretrain
