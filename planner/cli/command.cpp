// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/command.hpp"

#include <filesystem>

#include "planner/cli/output_file.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/nearest.hpp"

namespace foretrain {

void add_catalog_option(CLI::App& app, std::vector<std::string>& catalogs) {
  app.add_option("--catalog", catalogs,
                 "Folder with catalogs of your own, or the file of one device (foretrain device "
                 "new), searched first (may be repeated)")
      ->type_name("DIR")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
}

void add_override_options(CLI::App& app, ScenarioOptions& options) {
  app.add_option("--set", options.overrides,
                 "Override a key: --set parallel.tensor=4 (may be repeated)")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  add_catalog_option(app, options.catalogs);
}

void add_root_option(CLI::App& app, ScenarioOptions& options, const std::string& name) {
  app.add_option(name, options.root,
                 "Folder below which `extends` may lead; by default the scenario's repository")
      ->type_name("DIR");
}

void add_scenario_options(CLI::App& app, ScenarioOptions& options) {
  add_override_options(app, options);
  add_root_option(app, options);
}

LoadOptions load_options(const ScenarioOptions& options) {
  LoadOptions result;
  result.overrides = options.overrides;
  for (const std::string& folder : options.catalogs) {
    const std::filesystem::path path(folder);
    const bool file = path.extension() == ".yaml" && std::filesystem::is_regular_file(path);
    if (!file && !std::filesystem::is_directory(path))
      throw UsageError("--catalog " + in_quotes(folder) +
                       " is not a folder, nor the file NAME.yaml of a device");
    result.catalogs.emplace_back(folder);
  }
  if (!options.root.empty() && !std::filesystem::is_directory(options.root))
    throw UsageError("--root " + in_quotes(options.root) + " is not a folder");
  result.root = options.root;
  return result;
}

Scenario read_scenario(const ScenarioOptions& options) {
  if (options.file == "-")
    return load_scenario_text(read_standard_input(), "<stdin>", std::filesystem::current_path(),
                              load_options(options));
  return load_scenario(options.file, load_options(options));
}

int deliver(const std::string& text, const std::string& out, FileUse use) {
  if (!out.empty()) {
    write_file(out, text, use);
    return exit_ok;
  }
  return write_output(text) ? int{exit_ok} : exit_closed_pipe;
}

EngineKind engine_value(const std::string& text) {
  return option_value<EngineKind>("--engine", text);
}

EngineKind fast_engine_value(const std::string& text) {
  const auto engine = engine_value(text);
  if (engine == EngineKind::event)
    throw UsageError(
        "--engine event is for simulate, compare and sweep; here closed-form and path");
  return engine;
}

void refuse_value(const std::string& option, const std::string& text,
                  const std::vector<std::string>& legal) {
  throw UsageError(option + ": " + in_quotes(text) + " is not one of " + joined(legal) +
                   nearest_hint(text, legal));
}

}  // namespace foretrain
