// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "calibration/fit/fit_plan.hpp"
#include "calibration/records/run_catalog.hpp"
#include "calibration/records/run_record.hpp"
#include "planner/evidence/validate.hpp"

namespace foretrain {

/// A file of measurements to read, and how messages call it.
struct RecordFile {
  std::filesystem::path path;
  std::string name;
};

/// The user's file, or the one of that name below calibration/ that ships with the program.
/// @throws UsageError when there is none
[[nodiscard]] RecordFile record_file(const std::filesystem::path& asked, const std::string& shipped,
                                     const std::vector<std::filesystem::path>& catalogs,
                                     const std::string& folder = "measured");

/// @throws UsageError when it cannot be read
[[nodiscard]] std::string contents(const RecordFile& file);

/// Records in the format of runs.yaml. @throws UsageError, ScenarioError with places
[[nodiscard]] std::vector<RunRecord> read_runs(const RecordFile& file);
/// Records in the format of the vtrain tables. @throws UsageError, ScenarioError with places
[[nodiscard]] std::vector<RunRecord> read_vtrain(const RecordFile& file);

/// Those of one of these grades; of any where none is asked for.
[[nodiscard]] std::vector<RunRecord> with_grades(std::vector<RunRecord> records,
                                                 const std::vector<std::string>& grades);

struct NamedFitPlan {
  std::string name;  ///< as messages call its file
  FitPlan plan;
  std::filesystem::path path;
  std::string text;
};
/// The plan of that file, or calibration/fits/steps.yaml. @throws UsageError, ScenarioError
[[nodiscard]] NamedFitPlan load_fit_plan(const std::filesystem::path& asked,
                                         const std::vector<std::filesystem::path>& catalogs,
                                         RunCatalog& catalog);

/// Training runs that ship and are compared without being named, in the format of the first.
inline constexpr std::array shipped_runs{"runs.yaml", "runs_2026.yaml", "runs_released.yaml",
                                         "runs_more.yaml"};

/// Priors of fitted constants and what determined them, below calibration/fits.
inline constexpr const char* constants_name = "constants.csv";

/// The training runs of a request, of the grades that it asks for.
/// @throws UsageError, ScenarioError with places
[[nodiscard]] std::vector<RunRecord> asked_runs(const ValidateRequest& request);

/// Every training run that ships with the program, of shipped_runs and the vtrain tables.
[[nodiscard]] std::vector<RunRecord> shipped_records(
    const std::vector<std::filesystem::path>& catalogs);

}  // namespace foretrain
