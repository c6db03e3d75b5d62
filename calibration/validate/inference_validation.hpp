// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "calibration/fit/engine_fit.hpp"
#include "calibration/records/inference_record.hpp"
#include "calibration/records/record_check.hpp"
#include "calibration/records/run_catalog.hpp"
#include "models/base/names.hpp"

namespace foretrain {

/// What leaves the records of engines together: those of a table and model (with a tenth of the
/// others, so that ten fits do), those on one device,
/// those of one engine, those of one load (offline, and up to 4, 16, 64 and more clients).
enum class EngineAxis : std::uint8_t { source, device, engine, load };
FORETRAIN_ENUM_NAMES(EngineAxis, {EngineAxis::source, "source"}, {EngineAxis::device, "device"},
                     {EngineAxis::engine, "engine"}, {EngineAxis::load, "load"});

/// Forecasts of records by constants that were fitted without them.
struct InferenceLeftOut {
  EngineAxis axis = EngineAxis::source;
  std::vector<RecordCheck> checks;
};

/// Refits the engines' constants without each part of an axis in turn, and forecasts its records;
/// records of an engine that no other record is of are forecast with the constants of all engines.
/// Rules and bands stay those of the catalog.
/// @param near the fit of all cases
/// @param stop once true, what is not done is left out
[[nodiscard]] InferenceLeftOut leave_out_inference(EngineAxis axis,
                                                   const std::vector<InferenceRecord>& records,
                                                   const RunCatalog& catalog,
                                                   const std::vector<EngineFit>& near,
                                                   const std::atomic<bool>* stop);

}  // namespace foretrain
