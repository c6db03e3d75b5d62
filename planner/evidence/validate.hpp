// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "calibration/records/record_check.hpp"
#include "models/base/names.hpp"
#include "planner/answer/answer.hpp"

namespace foretrain {

/// What a validation compares.
enum class ValidateOnly { all, time, memory };
FORETRAIN_ENUM_NAMES(ValidateOnly, {ValidateOnly::all, "all"}, {ValidateOnly::time, "time"},
                     {ValidateOnly::memory, "memory"});

/// Which measured records a validation reads. An empty path stands for the records that ship with
/// the program; absent: none of that kind.
struct ValidateRequest {
  std::optional<std::filesystem::path> memory =
      std::nullopt;  ///< as calibration/measured/megatron_ci_memory.json
  std::optional<std::filesystem::path> runs = std::nullopt;  ///< as calibration/measured/runs.yaml
  /// Tables as calibration/measured/vtrain_single.csv; an empty list: both that ship.
  std::optional<std::vector<std::filesystem::path>> vtrain = std::nullopt;
  std::optional<std::filesystem::path> kernels =
      std::nullopt;  ///< as calibration/measured/kernels.csv
  std::optional<std::filesystem::path> collectives =
      std::nullopt;                                  ///< as calibration/measured/nccl_sweeps.csv
  std::vector<std::filesystem::path> catalogs = {};  ///< extra catalog roots, searched first
  ValidateOnly only = ValidateOnly::all;
  std::vector<std::string> sources = {};  ///< families of records; empty: all
  /// Grades of training runs, "A" to "D"; empty: all, and those without one. @pre no `memory`,
  /// `kernels` or `collectives`: their records have no grades
  std::vector<std::string> confidence = {};
};

/// Forecasts held against measurements.
struct Validation {
  std::vector<std::string> files;     ///< that were read
  std::vector<RecordCheck> records;   ///< skipped ones included
  std::vector<CheckSummary> summary;  ///< as summarize() orders them
};

/// Reads the records, forecasts each and compares. Of runs.yaml: step time, memory, and whether the
/// run fits; of the vtrain tables: step time; of kernels and collectives: their time.
/// @throws UsageError when a file cannot be read or has another format, ScenarioError with places
[[nodiscard]] Validation validate(const ValidateRequest& request);

/// Measured steps and memory held against the bands of their forecasts.
struct RecordsCheck {
  int steps = 0;                     ///< compared
  int memory = 0;                    ///< likewise
  std::vector<std::string> outside;  ///< a sentence each
};
/// @param own they are priced by profiles of one's own: then all together must not be off, either
[[nodiscard]] RecordsCheck check_records(const Validation& validation, bool own);

/// What is shown besides the errors by source and quantity.
struct ValidationView {
  bool skipped = false;  ///< every record that was left out, and why
  bool figures = false;  ///< the order within published figures
  bool shipped = false;  ///< the records are those that constants were fitted on
  std::optional<RecordsCheck> check = std::nullopt;
};
[[nodiscard]] Answer validation_answer(const Validation& validation, const ValidationView& view);
/// {"records": [...], "summary": [...], "stage_profiles": {...}}; a skipped record has nulls for
/// what was not computed.
[[nodiscard]] std::string validation_json(const Validation& validation);
/// One line per record with the keys of the JSON.
[[nodiscard]] std::string validation_csv(const Validation& validation);

/// Whether a quantity is the time of a kernel or of a collective run alone.
[[nodiscard]] bool is_alone(const std::string& quantity);

/// "h100-sxm5 gemm: aiconfigurator", of a total "all".
[[nodiscard]] std::string alone_label(const CheckSummary& line);

/// Adds tables of the errors of kernels and of collectives, with the reasons why some were not
/// predicted.
void add_alone(const Validation& validation, Answer& answer);

/// "why" of the skipped checks of a quantity, the most frequent first.
[[nodiscard]] AnswerTable reasons_table(const Validation& validation, const std::string& quantity);

}  // namespace foretrain
