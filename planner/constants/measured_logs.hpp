// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "calibration/imports/import_log.hpp"
#include "planner/answer/answer.hpp"

namespace foretrain {

/// Logs and records that somebody measured.
struct LogRequest {
  std::vector<std::filesystem::path> files;
  std::optional<LogFormat> format = std::nullopt;  ///< of all of them; nothing: by their content
  ImportOptions options = {};
};

struct MeasuredLog {
  ImportedLog log;
  std::string sha256;  ///< of the file
};

/// The files of a folder that records are read from, in this order: those that `calibrate import`
/// writes, under the names of calibration/measured (kernels.csv, nccl_sweeps.csv, runs.yaml,
/// runs-NAME.yaml); where there is none of them, those that `calibrate run` writes (gpubench.jsonl,
/// ncclbench.jsonl). @throws UsageError where there is none of either
[[nodiscard]] std::vector<std::filesystem::path> measured_files(
    const std::filesystem::path& folder);

/// Reads every file. @throws ScenarioError with all that is wrong with any of them, by file and
/// line
[[nodiscard]] std::vector<MeasuredLog> read_logs(const LogRequest& request);

/// What was read, by file: tool, machine, records; rows that were flagged.
[[nodiscard]] Answer logs_answer(const std::vector<MeasuredLog>& logs);
/// {"files": [{"file", "sha256", "format", "tool", "gpu", "device", "driver", "library", "date",
/// "sweeps", "kernels", "links", "runs", "flagged": [{"line", "kept", "what"}], "remarks"}]}
[[nodiscard]] std::string logs_json(const std::vector<MeasuredLog>& logs);

/// A file of records that an import writes.
struct RecordFileText {
  std::string name;
  std::string text;
};
/// The records in the formats of calibration/measured: kernels.csv, nccl_sweeps.csv and runs.yaml,
/// those that have any; files that hold runs already are taken over as runs-NAME.yaml.
[[nodiscard]] std::vector<RecordFileText> record_files_of(const std::vector<MeasuredLog>& logs);

}  // namespace foretrain
