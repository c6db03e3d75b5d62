// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <istream>
#include <string_view>

#include "calibration/training_logs/log_file_reader.hpp"

namespace foretrain {

/// Whether a file begins as TensorBoard's event files do: a record that names its version.
[[nodiscard]] bool is_event_file(std::string_view front);

/// Reads scalars of an event file (TFRecord frames around tensorflow.Event): steps by the times at
/// which a training loss was written, or by a tag that tells step times; texts, such as the
/// Trainer's arguments, as lines of a log. A file that ends within a record is read up to there.
[[nodiscard]] LogFile read_event_file(std::istream& input);

}  // namespace foretrain
