// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace foretrain {

/// What `calibrate run` measures, and where.
struct HarnessRequest {
  double budget_s = 300.0;           ///< for all programs together
  std::filesystem::path out;         ///< folder for the raw files
  std::filesystem::path programs;    ///< folder of the harness; empty: beside us, then PATH
  std::filesystem::path own_folder;  ///< of our own program
  int gpus = 0;                      ///< of this host that collectives run on; 0: all
  std::string date;                  ///< of now, "2026-11-21T20:00:00Z"
  std::string version;               ///< of Foretrain
  bool replace = false;              ///< measurements that are in the folder already
};

/// One program with its arguments and the seconds after which it is ended.
struct HarnessCommand {
  std::vector<std::string> words;
  double limit_s = 0.0;
};

/// The same for a cluster, as lines for a shell: "srun" or "mpirun".
[[nodiscard]] std::string harness_lines(const HarnessRequest& request, const std::string& launcher,
                                        int nodes, int gpus_per_node);

/// Runs the commands one after another; their standard error is ours. Writes run.jsonl beside their
/// files: which commands, when, how long, how they ended, and the SHA-256 of what they wrote.
/// @param tell gets a line of progress before and after each
/// @throws UsageError when there is no GPU, as the first program says; a program that fails or runs
/// out of time is told and recorded, and the others follow
/// @return false when one of them failed
[[nodiscard]] bool run_harness(const HarnessRequest& request,
                               const std::function<void(const std::string&)>& tell);

}  // namespace foretrain
