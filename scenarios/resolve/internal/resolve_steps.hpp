// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "models/inputs/cluster.hpp"
#include "models/inputs/job.hpp"
#include "models/post_training/post_training_plan.hpp"
#include "scenarios/catalog/catalog.hpp"
#include "scenarios/fields/field_reader.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// The steps from the values of a scenario to its job, in this order. Variants of a scenario repeat
/// the cheap ones only.

/// What the keys name, training, parallel, memory, communication, operations and budget say by
/// themselves; whatever they said before is replaced.
void resolve_own_keys(const FieldValues& values, Job& job, Diagnostics& diagnostics);
/// What the catalogs say about all other keys: model, cluster, stack and site. Reads files.
/// Returns the GPUs that generate, of post-training that has some of its own.
Cluster resolve_catalogs(const FieldValues& values, Job& job, CatalogContext& context);
/// What needs both: the data degree and the transport.
void resolve_together(const FieldValues& values, Job& job, Diagnostics& diagnostics);

/// Reports what is wrong with the value at `path`, where it was written.
inline void report(const FieldValues& values, std::string_view path, std::string message,
                   Diagnostics& diagnostics) {
  diagnostics.add(values.where(path), path, std::move(message));
}

/// Whether the file or a flag says it.
inline bool is_said(const FieldValues& values, std::string_view path) {
  const FieldValue* value = values.find(path);
  return value != nullptr && !value->is_default;
}

/// Reports each of the keys that is said all the same.
inline void no_effect(const FieldValues& values, std::initializer_list<const char*> paths,
                      const std::string& why, Diagnostics& diagnostics) {
  for (const char* path : paths)
    if (is_said(values, path))
      report(values, path, "has no effect " + why + "; leave it out", diagnostics);
}

/// Takes the first line off `rest`, without its end.
inline std::string_view next_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// Folder that a path to a model file starts from: that of the file that names it.
[[nodiscard]] std::filesystem::path model_folder(const FieldValues& values,
                                                 const std::string& scenario,
                                                 const std::filesystem::path& folder);

/// What `post_training` says by itself; keys without effect and sections that it needs are
/// reported. @pre the section is written
[[nodiscard]] PostTrainingPlan post_training_of(const FieldValues& values,
                                                Diagnostics& diagnostics);

/// Takes the GPUs that generate out of `cluster`, which keeps those that train, and returns them:
/// whole hosts of the same fabric, or the first part of a single host. Without GPUs of its own for
/// generation both are the whole machine.
[[nodiscard]] Cluster split_generation(const FieldValues& values, Cluster& cluster,
                                       Diagnostics& diagnostics);

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
