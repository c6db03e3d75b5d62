// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "calibration/training_logs/training_log.hpp"

namespace foretrain {

/// The stack profile of the framework and its kernels, as far as a log tells them; empty: it does
/// not, or there is none.
[[nodiscard]] std::string stack_of_log(const TrainingLog& log);

}  // namespace foretrain
