// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "models/inputs/job.hpp"
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

}  // namespace foretrain
