// SPDX-License-Identifier: Apache-2.0
#include "calibration/training_logs/micro_batches.hpp"

#include "calibration/training_logs/line_values.hpp"

namespace foretrain {

std::optional<StepRecord> MicroBatches::take(std::string_view line, const StepRecord& record) {
  constexpr std::string_view word = " step ";
  const std::size_t at = line.find(word);
  if (at == std::string_view::npos || !record.step || !record.seconds) return record;
  const auto step = leading_number(line.substr(at + word.size()), false);
  if (!step) return record;
  seconds_ += *record.seconds;
  ++lines_;
  if (line.find("step)") == std::string_view::npos) return std::nullopt;
  StepRecord whole = record;
  whole.step = step->value;
  const double iterations = *record.step - last_iteration_;
  const double steps = step->value - last_step_;
  const double each = iterations > 0.0 && steps > 0.0 ? iterations / steps : 1.0 * lines_;
  whole.seconds = seconds_ / lines_ * each;
  last_iteration_ = *record.step;
  last_step_ = step->value;
  seconds_ = 0.0;
  lines_ = 0;
  return whole;
}

}  // namespace foretrain
