// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibration/records/record_check.hpp"
#include "calibration/records/run_catalog.hpp"
#include "models/base/names.hpp"
#include "models/inputs/job.hpp"
#include "scenarios/fields/key_slot.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {

/// A record that constants are fitted to, and what was true of it.
struct FitRecord {
  std::string id;
  std::string source;  ///< family of runs, table of kernels or sweep
  std::string device;  ///< catalog name
  int gpus = 1;
  std::optional<int> year = {};  ///< of its software, where the source tells
  std::string stack = {};        ///< whose training loop ran it; empty: a benchmark
};

[[nodiscard]] FitRecord fit_record(const RecordCheck& check, const Job& job,
                                   const std::optional<int>& year);

/// The circumstances of a set of records.
struct ConstantReach {
  std::vector<std::string> devices = {};  ///< catalog names, sorted
  std::vector<std::string> stacks = {};   ///< sorted; empty: benchmarks alone
  std::optional<int> least_gpus = {};     ///< nothing: no record
  std::optional<int> most_gpus = {};
  std::optional<int> first_year = {};  ///< nothing: no source tells
  std::optional<int> last_year = {};

  void add(const FitRecord& record);
  void add(const ConstantReach& other);

  friend bool operator==(const ConstantReach&, const ConstantReach&) = default;
};

/// What a constant is used for beyond what it was measured on.
struct ReachBeyond {
  std::vector<std::string> devices = {};  ///< that no record which tells it ran on
  std::vector<std::string> stacks = {};   ///< likewise, where any stack told it
  std::optional<int> gpus = {};  ///< the most, where above twice the most that it was measured on
  std::optional<int> first_year = {};  ///< where before, or after, all years that it was told in
  std::optional<int> last_year = {};

  [[nodiscard]] bool any() const {
    return !devices.empty() || !stacks.empty() || gpus || first_year || last_year;
  }
};

/// @param scaled whether the number of GPUs matters to the constant
[[nodiscard]] ReachBeyond beyond(const ConstantReach& told, const ConstantReach& used, bool scaled);

/// What a constant would be without records, and which records say otherwise.
struct ConstantEvidence {
  double prior = 0.0;  ///< base units
  double width = 0.0;  ///< standard deviation of ln(constant) without any record
  int records = 0;     ///< the fewest that hold 90 % of what records say of it
  /// Sources by their share of what records say of it, the largest first.
  std::vector<std::pair<std::string, double>> sources = {};
  ConstantReach reach = {};   ///< of those `records`
  std::string record = {};    ///< id of the one that says most of it
  std::string kept_out = {};  ///< of the record that no fit reads and it moves most; empty: none
};

/// Evidence of a constant by what every record says of it: its part of the curvature.
[[nodiscard]] ConstantEvidence evidence_of(const std::vector<double>& said,
                                           const std::vector<FitRecord>& records);

/// A constant as a fit gives it.
struct FittedValue {
  std::string profile;  ///< "device/h100-sxm5-80gb", "fabric/ib-ndr"
  std::string key;      ///< in that file, e.g. "gemm.bf16.efficiency"
  double value = 0.0;   ///< base units; what `text` reads back as
  std::string text;     ///< as the file writes it
  /// Posterior standard deviation of its logarithm; 0: a percentile, which has none.
  double deviation = 0.0;
  bool at_bound = false;  ///< wants to be where it may not
  ConstantEvidence evidence = {};
  /// The constant that this one is a copy of ("device/h200 gemm.bf16.launch"); empty: none.
  std::string as = {};
};

/// Errors of fitted constants over the measurements they were fitted on: predicted / measured - 1,
/// and the 10th and 90th percentile of measured over predicted.
struct FitErrors {
  int count = 0;
  double bias = 0.0;
  double mape = 0.0;
  double median = 0.0;
  double p90 = 0.0;
  double low = 1.0;
  double high = 1.0;
};

/// Residuals of one fit, by what was measured.
struct FitResiduals {
  std::string what;
  FitErrors errors;
  bool converged = true;
};

enum class ProfileLayer { device, stack, site };
FORETRAIN_ENUM_NAMES(ProfileLayer, {ProfileLayer::device, "device"}, {ProfileLayer::stack, "stack"},
                     {ProfileLayer::site, "site"});

/// A profile by layer and name; as text "stack/megatron-core".
struct ProfileRef {
  ProfileLayer layer = ProfileLayer::stack;
  std::string name;

  [[nodiscard]] std::string text() const;
  friend auto operator<=>(const ProfileRef&, const ProfileRef&) = default;
};

/// Nothing where `text` is not of the form LAYER/NAME.
[[nodiscard]] std::optional<ProfileRef> profile_ref(std::string_view text);

/// A constant of a profile in base units, to read and to set.
class ConstantRef {
 public:
  /// @pre a value of the type of `ops`, which is a number
  ConstantRef(void* value, const ValueOps& ops) : value_{value}, ops_{&ops} {}

  [[nodiscard]] double get() const { return ops_->number(value_); }
  void set(double value) const { ops_->set_number(value_, value); }

 private:
  void* value_;
  const ValueOps* ops_;
};

/// Constants that a fit may move, by their key in the profile's file, e.g. "times.elementwise".
/// Nothing where the layer has no such key, or a device profile lacks that precision.
[[nodiscard]] std::optional<ConstantRef> constant_of(const ProfileRef& profile,
                                                     std::string_view key, RunCatalog& catalog);
/// The same constant inside a job that was made with this profile.
[[nodiscard]] std::optional<ConstantRef> constant_of(const ProfileRef& profile,
                                                     std::string_view key, Job& job);
/// Unit of a constant's values in its file. @pre constant_of() knows the key
[[nodiscard]] Dimension dimension_of(ProfileLayer layer, std::string_view key);
/// The largest value that a constant's file may hold, base units; infinite where there is none.
/// @pre constant_of() knows the key
[[nodiscard]] double most_of(ProfileLayer layer, std::string_view key);
/// Keys that a fit may move.
[[nodiscard]] std::vector<std::string> constant_keys(ProfileLayer layer);

/// Whether a job was made with the profile.
[[nodiscard]] bool uses(const Job& job, const ProfileRef& profile);

}  // namespace foretrain
