// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "planner/cluster/cluster_file.hpp"
#include "scenarios/yaml/diagnostics.hpp"

/// Cluster files of tests.
namespace foretrain::cluster_texts {

inline const std::filesystem::path source = FORETRAIN_SOURCE_DIR;

inline std::string file_with(const std::string& cluster, const std::string& job_class,
                             const std::string& policy = "{}") {
  return "schema: 1\ncluster: {host: dgx-h100, " + cluster +
         "}\nworkload:\n  horizon: 10 days\n  classes:\n    - {name: a, " + job_class +
         "}\npolicy: " + policy + "\n";
}

inline const std::string plain =
    "arrivals: {poisson: 6 per day}, hosts: 1, duration: {exponential: 4 h}";

inline ClusterFile read(const std::string& text) {
  return load_cluster_text(text, "c.yaml", source);
}

/// The errors of a file, one per line.
inline std::string errors_of(const std::string& text) {
  try {
    (void)read(text);
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return {};
}

}  // namespace foretrain::cluster_texts
