// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "calibration/validate/inference_validation.hpp"
#include "planner/cli/answer_output.hpp"
#include "planner/cli/command.hpp"
#include "planner/evidence/left_out.hpp"

namespace foretrain {

/// Records of one kind: absent where they were not asked for, empty where those that ship are.
using AskedFile = std::optional<std::string>;

/// The command line of `validate`.
struct ValidateOptions {
  std::string measured;  ///< a folder in place of the shipped one; empty: that
  AskedFile memory;
  AskedFile runs;
  AskedFile kernels;
  AskedFile collectives;
  AskedFile inference;
  std::optional<std::vector<std::string>> vtrain;
  OwnFolders folders;
  ValidateOnly only = ValidateOnly::all;
  std::vector<std::string> sources;
  std::vector<std::string> confidence;
  std::string scatter;
  std::string residuals;
  AnswerOutput output;
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
  bool power = false;
  bool accuracy = false;
  bool check = false;

  /// Whether any records are named; where none are, all count.
  [[nodiscard]] bool names_records() const;
  /// Whether no file of the user's own is read.
  [[nodiscard]] bool only_shipped() const;
  [[nodiscard]] bool draws() const { return !scatter.empty() || !residuals.empty(); }
  [[nodiscard]] bool one_kind() const { return only != ValidateOnly::all; }
};

/// Adds the options that say which records are read.
void add_record_options(CommandRow& command, ValidateOptions& options);
/// The records that are asked for. @throws UsageError
[[nodiscard]] ValidateRequest request_of(const ValidateOptions& options);

/// Adds --leave-out and what goes with it.
void add_left_out_options(CommandRow& command, ValidateOptions& options);

/// The axes of --leave-out in their own order, each once; none where it is not given.
/// @throws UsageError where it names one of other records
[[nodiscard]] std::vector<FoldAxis> axes_of(const ValidateOptions& options);
/// The same of --inference.
[[nodiscard]] std::vector<EngineAxis> engine_axes_of(const ValidateOptions& options);

/// Fits the folds and delivers their errors or bands. @return exit code
int run_left_out(const ValidateOptions& options, ValidateRequest records);

/// The answer with the command that follows it. @return exit code
int deliver_evidence(const ValidateOptions& options, const AnswerForms& forms, Answer answer,
                     const std::string& next);

/// The table beside other tools, in place of all others. @return exit code
int deliver_peers(const ValidateOptions& options, const std::vector<RecordCheck>& records,
                  bool left_out, const std::vector<std::filesystem::path>& catalogs);

}  // namespace foretrain
