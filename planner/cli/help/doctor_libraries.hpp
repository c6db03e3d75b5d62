// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "planner/cli/help/doctor_checks.hpp"

namespace foretrain {

/// Loads a plug-in and asks the library behind it. `problem` stays empty, or says in one sentence
/// why it does not load.
[[nodiscard]] std::string simgrid_version(const std::filesystem::path& plug_in,
                                          std::string& problem);
[[nodiscard]] std::string mpi_version(const std::filesystem::path& plug_in, std::string& problem);

/// NVIDIA's driver with its devices, and NCCL.
[[nodiscard]] std::vector<Finding> gpu_findings();

}  // namespace foretrain
