// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "calibration/cases/inference_case.hpp"
#include "calibration/records/inference_record.hpp"
#include "models/inputs/engine_profile.hpp"

namespace foretrain {

/// The profile of engines that no other is of; fitted to the records of all.
inline constexpr const char* any_engine = "generic";

/// What a group of records (table, model and device) says, however many rows it has.
inline constexpr double rows_of_group = 30.0;

/// A constant of an engine as its fit found it.
struct EngineConstant {
  std::string key;   ///< in the engine's file
  std::string text;  ///< value with its unit, as the file writes it
  double value = 0.0;
  double deviation = 0.0;  ///< posterior, of ln(value)
  double prior = 0.0;      ///< where the fit began
  double width = 0.0;      ///< of the prior, of ln(value)
};

struct EngineFit {
  std::string engine;
  std::vector<EngineConstant> constants;
  int measurements = 0;
  bool converged = false;
};

/// A measured quantity of a case.
struct EngineMeasurement {
  const char* quantity = nullptr;
  double measured = 0.0;
};

/// A record with what folds tell it apart by, and its deployment made ready to be priced again.
struct EngineCase {
  std::size_t record = 0;  ///< its place in the list
  std::string engine;
  std::string device;
  std::string group;  ///< table and shape: models of one shape are one
  std::string load;   ///< how many clients: "offline", "up to 4", ...
  ReadyCase ready;
  std::vector<EngineMeasurement> measured;  ///< what a fit reads
};

/// Records that have a case and a quantity that fits read.
[[nodiscard]] std::vector<EngineCase> engine_cases(const std::vector<InferenceRecord>& records,
                                                   const RunCatalog& catalog);

/// Cases that a fit does not see; empty: it sees all.
using HidesCase = std::function<bool(const EngineCase&)>;

/// Constants of every engine that has records, and of `generic`: least squares of
/// ln(predicted/measured) with a pseudo-Huber loss and priors, groups of records (table, model and
/// device) weighing alike. `generic` is fitted to all records; what an engine's own say moves its
/// constants from there. calibration/docs/inference.md.
/// @param near a fit of more of the same records: where the search begins; empty: none
[[nodiscard]] std::vector<EngineFit> fit_engines(const std::vector<EngineCase>& cases,
                                                 const HidesCase& left_out = {},
                                                 const std::vector<EngineFit>& near = {});

/// The constants with these in place of their own.
void set_constants(const EngineFit& fit, EngineProfile& engine);

}  // namespace foretrain
