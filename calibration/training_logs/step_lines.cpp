// SPDX-License-Identifier: Apache-2.0
#include "calibration/training_logs/step_lines.hpp"

#include <algorithm>

#include "calibration/training_logs/line_values.hpp"

namespace foretrain {

void read_bar(std::string_view line, std::size_t at, StepRecord& record) {
  constexpr std::size_t inside = 60;  // characters between '[' and the rate
  constexpr std::size_t number = 14;  // of the total, between '/' and '['
  if (at >= line.size()) return;
  const std::size_t first = at > inside ? at - inside : 0;
  const std::size_t open = line.substr(first, at - first).rfind('[');
  if (open == std::string_view::npos) return;
  const auto elapsed = clock_length(line.substr(first + open + 1, inside));
  const std::size_t end = first + open;
  const std::size_t begin = end > number ? end - number : 0;
  const std::size_t slash = line.substr(begin, end - begin).rfind('/');
  if (!elapsed || slash == std::string_view::npos) return;
  const auto step = number_before(line, begin + slash);
  const auto total = leading_number(line.substr(begin + slash + 1, number), false);
  if (!step || !total) return;
  record.step = step;
  record.bar_total = total->value;
  record.elapsed = elapsed;
}

std::optional<double> bar_rate(std::string_view line, std::size_t at) {
  constexpr std::size_t window = 200;
  const std::string_view part = line.substr(std::min(at, line.size()), window);
  const std::size_t word = part.find("rate:");
  if (word == std::string_view::npos) return std::nullopt;
  const std::string_view rest = part.substr(word + 5);
  const auto rate = leading_number(rest, true);
  if (!rate || rate->value <= 0.0) return std::nullopt;
  return rest.substr(rate->end).starts_with("it/s") ? 1.0 / rate->value : rate->value;
}

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
