// SPDX-License-Identifier: Apache-2.0
#include "calibration/training_logs/progress_bars.hpp"

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

}  // namespace foretrain
