// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "calibration/records/run_record.hpp"

namespace foretrain {

/// The stack profile whose framework is nearest to that of a record without one, by the words of
/// its id, source and notes; what runs of unknown frameworks are priced as where there is no word.
[[nodiscard]] std::string nearest_stack(const RunRecord& record);

}  // namespace foretrain
