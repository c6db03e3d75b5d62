// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "scenarios/resolve/internal/resolve_steps.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// A file of events in the order of their times: a first line that names the columns, then an event
/// a line; empty lines are passed over.
struct TimedLines {
  std::string name;          ///< of the file, in messages
  std::string_view columns;  ///< "at,down"
  std::string_view events;   ///< "interruptions"
  /// Complaints about events, after which reading ends.
  std::size_t most_problems = std::numeric_limits<std::size_t>::max();
};

/// Reads every event. `take` has a line and keeps it, or says what is wrong with it.
inline void read_timed_lines(const TimedLines& file, const std::string& text,
                             const std::function<std::string(std::string_view)>& take,
                             Diagnostics& diagnostics) {
  const auto name = std::make_shared<const std::string>(file.name);
  const auto complain = [&](int line, std::string message) {
    diagnostics.add(Mark{name, line, 1}, "", std::move(message));
  };
  int number = 0;
  std::size_t taken = 0, problems = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = next_line(rest);
    ++number;
    if (number == 1 && line != file.columns)
      complain(1, "the first line must be " + std::string(file.columns));
    if (number == 1 || line.empty()) continue;
    std::string problem = take(line);
    taken += problem.empty() ? 1 : 0;
    if (problem.empty()) continue;
    complain(number, std::move(problem));
    if (++problems == file.most_problems) return;
  }
  if (taken == 0) complain(number, "has no " + std::string(file.events));
}

}  // namespace foretrain
