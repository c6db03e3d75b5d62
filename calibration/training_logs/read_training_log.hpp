// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "calibration/training_logs/training_log.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// A format that training logs are read in.
struct TrainingLogFormat {
  std::string name;
  std::string signature;  ///< what tells it apart, in words
};
[[nodiscard]] std::vector<TrainingLogFormat> training_log_formats();

/// Reads the logs of one run: one file, or several that were rotated or written by ranks, in any
/// order. Files that cannot be read, are no text, or say nothing of a run become diagnostics.
[[nodiscard]] TrainingLog read_training_log(const std::vector<std::string>& files,
                                            Diagnostics& diagnostics);

/// The same of a text, under a name.
[[nodiscard]] TrainingLog read_training_log_text(const std::string& text, const std::string& name,
                                                 Diagnostics& diagnostics);

}  // namespace foretrain
