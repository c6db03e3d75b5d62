// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/base/prediction.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// One thing wrong in a user's file or flag.
struct Diagnostic {
  std::string file;     ///< as the user named it; "--set" for overrides
  int line = 0;         ///< from 1; 0: no place
  int column = 0;       ///< from 1
  std::string path;     ///< dotted key path; empty for the whole file
  std::string message;  ///< what is wrong and what would be right

  /// `file:line:col: key.path: message`
  [[nodiscard]] std::string text() const;
};

/// All errors of a scenario at once. what() holds one line each.
class ScenarioError : public std::runtime_error {
 public:
  explicit ScenarioError(std::vector<Diagnostic> diagnostics);
  [[nodiscard]] const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

/// One resolved value, as `foretrain show` lists it.
struct ResolvedValue {
  std::string path;    ///< dotted, e.g. "parallel.tensor" or "cluster.host.device.memory"
  std::string value;   ///< with unit, as a user would write it
  std::string origin;  ///< "scenario.yaml:17", "--set", "default",
                       ///< "topologies/catalog/hosts/dgx-h100.yaml:9", "derived: gpus / (tensor *
                       ///< context * pipeline)"
};

/// A file that took part in a resolution.
struct SourceFile {
  std::string path;
  std::string sha256;  ///< of its bytes, hex
};

struct LoadOptions {
  std::vector<std::string> overrides;           ///< "parallel.tensor=4"
  std::vector<std::filesystem::path> catalogs;  ///< extra catalog roots, searched first
  std::filesystem::path root = {};  ///< `extends` may lead anywhere below it; empty: see below
};

/// What a scenario was resolved from, so that parts of it can be resolved anew.
struct ScenarioSource {
  std::string text;
  std::filesystem::path folder;
  LoadOptions options;
};

/// A scenario after defaults, overrides and catalogs.
struct Scenario {
  Job job;
  std::string path;                   ///< as the user named it
  std::vector<ResolvedValue> values;  ///< in schema order, then catalog values
  std::vector<SourceFile> files;
  ScenarioSource source;  ///< its text is empty for jobs that no scenario was read for
};

/// The repository that a folder belongs to: the nearest folder, itself or above, that holds `.git`
/// or `.foretrain-root`. Empty when there is none but the root of the file system.
[[nodiscard]] std::filesystem::path repository_of(const std::filesystem::path& folder);

/// Reads, checks and resolves a scenario file. Without `options.root`, `extends` leads to files of
/// its repository; outside of one, to those of its folder and below.
/// @throws ScenarioError with every error found in the file, its `extends` chain, the overrides and
///   the catalog entries it names. Plans that break a rule are not errors here
///   (models/rules/plan_rules.hpp).
[[nodiscard]] Scenario load_scenario(const std::filesystem::path& file,
                                     const LoadOptions& options = {});

/// The same from text; `name` stands for the file in messages, relative paths resolve against
/// `folder`. Without `options.root`, `extends` leads to files of `folder` and below alone: a text
/// may come from anywhere.
[[nodiscard]] Scenario load_scenario_text(const std::string& text, const std::string& name,
                                          const std::filesystem::path& folder,
                                          const LoadOptions& options = {});

/// The machine of a scenario with another number of hosts: switches, levels and latency follow.
/// Plan and data degree are not looked at. @pre scenario.source.text is not empty; hosts >= 1
/// @throws ScenarioError where catalogs or limits refuse that many
[[nodiscard]] Cluster cluster_with_hosts(const Scenario& scenario, int hosts);

/// A catalog entry for listings.
struct CatalogEntry {
  std::string kind;  ///< "devices", "hosts", "fabrics", "links", "models", "stacks", "sites"
  std::string name;
  std::string title;
  std::string summary;  ///< one line of the numbers people choose by
  std::filesystem::path file;
};

/// Every entry of one kind, sorted by name.
[[nodiscard]] std::vector<CatalogEntry> catalog_entries(const std::string& kind,
                                                        const LoadOptions& options = {});

}  // namespace foretrain
