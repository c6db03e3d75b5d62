// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "calibration/cases/inference_case.hpp"
#include "calibration/records/inference_record.hpp"
#include "models/inputs/engine_profile.hpp"

namespace foretrain {

/// A constant of an engine as its fit found it.
struct EngineConstant {
  std::string key;   ///< in the engine's file
  std::string text;  ///< value with its unit, as the file writes it
  double value = 0.0;
  double deviation = 0.0;  ///< of ln(value)
};

struct EngineFit {
  std::string engine;
  std::vector<EngineConstant> constants;
  int records = 0;
  bool converged = false;
};

/// Constants of one engine from the records of it that have a case: least squares of
/// ln(predicted/measured) with a pseudo-Huber loss and priors, groups of records (table, model and
/// device) weighing alike. calibration/docs/inference.md.
/// @param left_out groups or devices that the fit does not see; empty: none
[[nodiscard]] EngineFit fit_engine(const std::string& engine,
                                   const std::vector<InferenceRecord>& records,
                                   const RunCatalog& catalog, const std::string& left_out = "");

/// The profile with these constants in place of its own.
void set_constants(const EngineFit& fit, EngineProfile& profile);

}  // namespace foretrain
