// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/cluster/cluster_file.hpp"
#include "scenarios/fields/field_reader.hpp"

namespace foretrain::internal {

/// One reading of a cluster file: what it says, and where errors and results go.
struct ClusterReading {
  const FieldValues& values;
  Diagnostics& diagnostics;
  const std::filesystem::path& folder;
  const LoadOptions& options;
  ClusterFile& file;

  void report(const std::string& path, std::string message) const {
    diagnostics.add(values.where(path), path, std::move(message));
  }
  [[nodiscard]] bool has(const std::string& path) const { return values.has(path); }
  [[nodiscard]] Seconds time(const std::string& path) const {
    return values.optional_quantity<Seconds>(path).value_or(Seconds{});
  }
  /// Whether a key was written, legal or not.
  [[nodiscard]] bool written(const std::string& path) const {
    const FieldValue* value = values.find(path);
    return (value != nullptr && !value->is_default) || values.has_group(path) ||
           values.was_refused(path);
  }
};

/// The class at `path` ("workload.classes[0]"). @pre file.host and the cluster are read
[[nodiscard]] QueueClass read_class(const ClusterReading& reading, const std::string& path);

/// When its jobs are submitted.
[[nodiscard]] ArrivalLaw read_arrivals(const ClusterReading& reading, const std::string& path);
/// How long they run; nothing where no distribution is given, or after reporting.
[[nodiscard]] std::optional<DurationLaw> read_duration(const ClusterReading& reading,
                                                       const std::string& path);
/// A list of times such as [0 h, 3 h], in base units; errors are reported at their elements' list.
[[nodiscard]] std::vector<Seconds> read_times(const ClusterReading& reading,
                                              const std::string& path);

/// The file that the value at `path` names, after checking that it may be read; empty after
/// reporting.
[[nodiscard]] std::filesystem::path named_file(const ClusterReading& reading,
                                               const std::string& path);

/// Sizes of moldable jobs as they are written, without speeds where those are left out; errors are
/// reported. The class has the hosts of the first.
void read_moldable(const ClusterReading& reading, const std::string& path, QueueClass& jobs);
/// Reports sizes that are not faster than those of fewer hosts; `key` is what says the speed.
void check_speeds(const ClusterReading& reading, const std::string& path, const QueueClass& jobs,
                  const char* key);

/// Takes the class's durations and hosts from forecasts of its scenario, one for each size.
void read_scenario_class(const ClusterReading& reading, const std::string& path, QueueClass& jobs);
/// Takes jobs one by one from the class's trace.
void read_trace_class(const ClusterReading& reading, const std::string& path, QueueClass& jobs);

}  // namespace foretrain::internal
