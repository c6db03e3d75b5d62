// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "models/inputs/cluster.hpp"
#include "scenarios/fields/field_table.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/load_options.hpp"
#include "sim/queue/queue_model.hpp"

namespace foretrain {

/// A cluster file after defaults, overrides, catalogs, traces and forecasts.
struct ClusterFile {
  std::string name;
  std::string path;  ///< as the user named it
  Host host;
  QueueModel queue;
  int replications = 0;                         ///< 0: as many as it takes
  std::optional<double> price_per_gpu_s;        ///< USD
  std::optional<double> burst_price_per_gpu_s;  ///< USD
  std::optional<Watts> busy_power;              ///< of a host, at the meter; both or none
  std::optional<Watts> idle_power;
  std::vector<std::string> durations;  ///< per class: where they come from, in words
  std::vector<std::string> notes;      ///< what the reader should know of the model
  std::vector<SourceFile> files;

  [[nodiscard]] std::int64_t gpus() const {
    return static_cast<std::int64_t>(queue.hosts) * host.gpus;
  }
};

/// Every key of a cluster file: a cluster, the jobs that want it, and the policy of its queue.
[[nodiscard]] const FieldTable& cluster_fields();

/// Reads, checks and resolves a cluster file (keys: cluster_fields()). Scenarios and traces that it
/// names lie where `extends` of a scenario may lead.
/// @throws ScenarioError with every error found
[[nodiscard]] ClusterFile load_cluster(const std::filesystem::path& file,
                                       const LoadOptions& options = {});

/// The same from text; `name` stands for the file in messages, relative paths start at `folder`.
[[nodiscard]] ClusterFile load_cluster_text(const std::string& text, const std::string& name,
                                            const std::filesystem::path& folder,
                                            const LoadOptions& options = {});

}  // namespace foretrain
