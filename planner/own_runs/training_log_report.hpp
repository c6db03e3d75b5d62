// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "calibration/training_logs/log_record.hpp"
#include "calibration/training_logs/training_log.hpp"
#include "planner/answer/answer.hpp"

namespace foretrain {

/// A training log as JSON, schema log/1.
[[nodiscard]] std::string training_log_json(const TrainingLog& log, LogNaming naming);

/// The same for people: format, steps, rates, memory, plan and events.
[[nodiscard]] Answer training_log_answer(const TrainingLog& log, LogNaming naming);

}  // namespace foretrain
