// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibration/cases/step_case.hpp"
#include "calibration/fit/fit_plan.hpp"
#include "calibration/records/run_catalog.hpp"
#include "models/base/names.hpp"
#include "models/inputs/band_table.hpp"

namespace foretrain {

/// What differs between the runs that somebody has measured and the one that they ask about.
enum class FoldAxis : std::uint8_t {
  source,
  device,
  scale,
  size,
  tensor,
  release,
  schedule,
  device_scale
};
FORETRAIN_ENUM_NAMES(FoldAxis, {FoldAxis::source, "source"}, {FoldAxis::device, "device"},
                     {FoldAxis::scale, "scale"}, {FoldAxis::size, "size"},
                     {FoldAxis::tensor, "tensor"}, {FoldAxis::release, "release"},
                     {FoldAxis::schedule, "schedule"}, {FoldAxis::device_scale, "device-scale"});

/// What folds tell runs apart by.
struct RunFacts {
  std::string source;  ///< family of records
  std::string part;    ///< of a source that the plan divides
  std::string stack;
  std::string device;
  std::string site;  ///< where it was measured; empty: the cluster was not
  std::string chip;  ///< the device that its kernels' constants are called after
  std::string schedule;
  int gpus = 0;
  int tensor = 1;
  double parameters = 0.0;
  std::optional<int> year;  ///< of its software
  bool fitted = true;       ///< fits read it; else it is compared alone
};

/// Runs that a fit goes without, and those of them that it then forecasts.
struct Fold {
  FoldAxis axis = FoldAxis::source;
  std::string name;
  bool part = false;  ///< of a source that leaves as a whole in another fold
  std::vector<bool> out;
  std::vector<bool> asked;
};

// Where an axis is cut: what most people can measure, and what they then ask about.
inline constexpr int fold_gpus_known = 64;
inline constexpr int fold_gpus_asked = 512;
inline constexpr double fold_parameters_known = 20e9;
inline constexpr int fold_tensor_known = 4;
inline constexpr int fold_tensor_asked = 8;
/// Runs that a device of a stack, and a schedule, need on either side to make a fold.
inline constexpr int fold_device_runs = 3;
inline constexpr int fold_schedule_runs = 10;

/// The facts of a run. @pre it has a job
[[nodiscard]] RunFacts facts_of(const StepRun& run, const FitPlan& plan, const RunCatalog& catalog);

/// Every fold of an axis, by name:
/// - source: the runs of one source; those of one part of it;
/// - device: a stack's runs on one chip, where a fit reads its runs on others;
/// - scale, size, tensor: one fold, what lies beyond the known;
/// - release: one year's runs, without all of that year and later ones and those of no known year;
/// - device-scale: a stack's runs on one chip beyond the known scale, without all of its runs on
/// that
///   chip and all runs of that scale: both are new at once;
/// - schedule: the runs with one schedule, those without a pipeline apart.
/// A fold that asks nothing is none.
[[nodiscard]] std::vector<Fold> folds_of(FoldAxis axis, const std::vector<RunFacts>& runs);

/// What fits reach that read the fitted runs which are not in `out`, by stack; devices that any run
/// has stand for their chip.
[[nodiscard]] std::map<std::string, StackReach> reach_without(const std::vector<RunFacts>& runs,
                                                              const std::vector<bool>& out);

/// What the forecasts of an axis are of: "sources left out of the fit".
[[nodiscard]] const char* told(FoldAxis axis);

/// A hash (FNV-1a, 64 bits) of whatever is added.
class Fingerprint {
 public:
  void add(const std::string& text);
  void add(double value);  ///< its bits
  void add(const std::vector<bool>& marks);
  [[nodiscard]] std::uint64_t value() const { return hash_; }

 private:
  void add_byte(unsigned char byte);

  std::uint64_t hash_ = 14695981039346656037ULL;
};

/// Numbers that take long to compute, a small file each, named by the fingerprint of all that they
/// follow from. Files appear whole or not at all, so that a run that was killed goes on where it
/// was.
class FoldCache {
 public:
  /// @param folder empty: nothing is kept
  explicit FoldCache(std::filesystem::path folder) : folder_{std::move(folder)} {}

  /// What is kept under a key, each number under its name; nothing where names differ.
  [[nodiscard]] std::optional<std::vector<double>> find(
      std::uint64_t key, const std::vector<std::string>& names) const;
  /// Numbers come back to the last bit. A folder that cannot be written keeps nothing.
  void keep(std::uint64_t key, const std::vector<std::string>& names,
            const std::vector<double>& values) const;

 private:
  [[nodiscard]] std::filesystem::path file_of(std::uint64_t key) const;

  std::filesystem::path folder_;
};

/// $XDG_CACHE_HOME/foretrain/folds, else ~/.cache/foretrain/folds; empty where there is neither.
[[nodiscard]] std::filesystem::path usual_fold_cache();

}  // namespace foretrain
