// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include "calibration/validate/inference_left_out.hpp"
#include "planner/cli/command.hpp"
#include "planner/evidence/left_out.hpp"

namespace foretrain {

/// The command line of `validate`.
struct ValidateOptions {
  std::string measured;  ///< a folder in place of the shipped one; empty: that
  std::string memory;
  std::string runs;
  std::vector<std::string> vtrain;
  std::string kernels;
  std::string collectives;
  std::string inference;
  OwnFolders folders;
  std::string only = "all";
  std::vector<std::string> sources;
  std::vector<std::string> confidence;
  std::string scatter;
  std::string residuals;
  std::string out;
  bool json = false;
  bool csv = false;
  bool markdown = false;
  bool skipped = false;
  std::vector<std::string> left_out;
  std::string cache;
  bool bands = false;
  std::string band_table;
  std::string reliability;
  std::string figure;
  std::vector<std::string> hidden;
  bool figures = false;
  bool peers = false;
  bool ablations = false;
  bool accuracy = false;
  bool check = false;
};

/// Adds --leave-out and what goes with it. @return --leave-out
const CLI::Option* add_left_out_options(CLI::App& app, ValidateOptions& options);

/// The axes of --leave-out in their own order, each once; none where it is not given.
/// @throws UsageError where it names one of other records
[[nodiscard]] std::vector<FoldAxis> axes_of(const ValidateOptions& options);
/// The same of --inference.
[[nodiscard]] std::vector<EngineAxis> engine_axes_of(const ValidateOptions& options);

/// Fits the folds and delivers their errors or bands. @return exit code
int run_left_out(const ValidateOptions& options, ValidateRequest records);

/// The table beside other tools, in place of all others. @return exit code
int deliver_peers(const ValidateOptions& options, const std::vector<RecordCheck>& records,
                  bool left_out, const std::vector<std::filesystem::path>& catalogs);

}  // namespace foretrain
