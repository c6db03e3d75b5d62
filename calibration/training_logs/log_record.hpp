// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "calibration/training_logs/training_log.hpp"

namespace foretrain {

/// The stack profile of the framework and its kernels, as far as a log tells them; empty: it does
/// not, or there is none.
[[nodiscard]] std::string stack_of_log(const TrainingLog& log);

/// How a record names where it comes from.
enum class LogNaming {
  file,      ///< by the names of the files, without their folders
  anonymous  ///< by the framework and the GPUs alone: no file, host, user or path
};

/// The run as a record in the format of calibration/measured/runs.yaml; what its logs do not say
/// is null.
[[nodiscard]] nlohmann::ordered_json log_record(const TrainingLog& log, LogNaming naming);

/// A file of that format with it.
[[nodiscard]] std::string log_record_text(const TrainingLog& log, LogNaming naming);

}  // namespace foretrain
