// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/inputs/cluster.hpp"
#include "models/inputs/engine_profile.hpp"
#include "models/inputs/llm.hpp"
#include "models/inputs/profile.hpp"
#include "scenarios/catalog/catalog_listing.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/load_options.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain {

/// Reads catalog entries for one resolution and keeps the books: which files were read, and where
/// each value comes from.
struct CatalogContext {
  std::vector<std::filesystem::path> catalogs;  ///< extra roots, searched before the built-in ones
  std::filesystem::path folder;  ///< of the scenario: paths to model files start here
  Diagnostics& diagnostics;
  std::vector<SourceFile>& files;      ///< gets every file read, once
  std::vector<ResolvedValue>& values;  ///< gets catalog values, e.g. "cluster.host.gpus"
  std::filesystem::path root = {};     ///< LoadOptions::root: files that are named may lie below it
};

/// What a scenario's value asks for, and where to report that there is no such thing.
struct CatalogRequest {
  std::string name;
  std::string path;  ///< key path of the value, e.g. "cluster.host"
  Mark mark;
};

/// Each returns nothing after reporting why: an unknown name (with the nearest and the known ones)
/// at the request's mark, errors of the entry's own file at their place in it.
[[nodiscard]] std::optional<LlmShape> load_model(const CatalogRequest& request,
                                                 CatalogContext& context);
/// The model that is written out under `request.path`; its name is `request.name`.
[[nodiscard]] std::optional<LlmShape> read_inline_model(const YamlNode& node,
                                                        const CatalogRequest& request,
                                                        CatalogContext& context);
[[nodiscard]] std::optional<Host> load_host(const CatalogRequest& request, CatalogContext& context);
/// A network that the scenario describes and a preset completes.
struct NetworkRequest {
  Network described;                            ///< kind, ratios and sizes are read
  std::optional<int> switch_radix;              ///< in place of the preset's
  int hosts = 1;                                ///< of the job
  std::function<Mark(std::string_view)> where;  ///< place of a key, for what cannot be built
};
/// `hosts` and `host` decide how many switch levels there are.
[[nodiscard]] std::optional<Network> load_network(const NetworkRequest& request,
                                                  const CatalogRequest& preset, const Host& host,
                                                  CatalogContext& context);
/// The profile of the host's device; a device without a profile is an error at the request's mark.
[[nodiscard]] std::optional<DeviceProfile> load_device_profile(const CatalogRequest& request,
                                                               CatalogContext& context);
[[nodiscard]] std::optional<StackProfile> load_stack(const CatalogRequest& request,
                                                     CatalogContext& context);
[[nodiscard]] std::optional<SiteProfile> load_site(const CatalogRequest& request,
                                                   CatalogContext& context);

[[nodiscard]] std::optional<EngineProfile> load_engine(const CatalogRequest& request,
                                                       CatalogContext& context);

/// What an entry has from its relatives (`like`), by key, each with the place that says it; empty
/// where there is no such entry. @throws ScenarioError for a broken one
[[nodiscard]] std::vector<ResolvedValue> inherited_values(const std::string& kind,
                                                          const std::string& name,
                                                          const LoadOptions& options = {});

}  // namespace foretrain
