// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "planner/cli/command.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/usage_error.hpp"
#include "planner/validate.hpp"
#include "scenarios/field_table.hpp"

namespace foretrain {
namespace {

struct ValidateOptions {
  std::string memory;
  std::string runs;
  std::vector<std::string> vtrain;
  std::vector<std::string> catalogs;
  std::string only = "all";
  std::vector<std::string> sources;
  std::string out;
  bool json = false;
  bool csv = false;
  bool skipped = false;
};

/// Which kinds of records the command line names.
struct Asked {
  bool memory;
  bool runs;
  bool vtrain;
};

int run_validate(const ValidateOptions& options, const Asked& asked) {
  ScenarioOptions folders;
  folders.catalogs = options.catalogs;
  ValidateRequest request;
  request.catalogs = load_options(folders).catalogs;
  const bool all = !asked.memory && !asked.runs && !asked.vtrain;
  if (asked.memory || all) request.memory = options.memory;
  if (asked.runs || all) request.runs = options.runs;
  if (asked.vtrain || all) {
    request.vtrain.emplace();
    // An option without a value arrives as an empty one.
    for (const std::string& file : options.vtrain)
      if (!file.empty()) request.vtrain->emplace_back(file);
  }
  if (const auto only = from_name<ValidateOnly>(options.only)) request.only = *only;
  request.sources = options.sources;
  const Validation validation = validate(request);
  if (options.json) return deliver(validation_json(validation), options.out);
  if (options.csv) return deliver(validation_csv(validation), options.out);
  const TextStyle style = options.out.empty() ? output_style() : TextStyle{};
  return deliver(validation_text(validation, options.skipped, style), options.out);
}

}  // namespace

Command add_validate_command(CLI::App& program) {
  const auto options = std::make_shared<ValidateOptions>();
  CLI::App* app =
      program.add_subcommand("validate", "Hold forecasts against measured step times and memory");
  const auto records = [&](const char* name, std::string& file, const char* what) {
    return app->add_option(name, file, what)->type_name("[FILE]")->expected(0, 1);
  };
  const auto* memory =
      records("--memory", options->memory,
              "Megatron-LM test memory, as megatron_ci_memory.json; without FILE the shipped one");
  const auto* runs = records("--runs", options->runs,
                             "Training runs, as runs.yaml: step time, memory and whether they fit; "
                             "without FILE the shipped ones");
  const auto* vtrain = app->add_option("--vtrain", options->vtrain,
                                       "Training iterations, as vtrain_single.csv and "
                                       "vtrain_multi.csv; without FILE the shipped ones")
                           ->type_name("[FILE...]")
                           ->expected(0, -1);
  app->add_option("--only", options->only, "Compare time or memory alone")
      ->type_name("WHAT")
      ->check(CLI::IsMember(choices_of<ValidateOnly>()));
  app->add_option("--source", options->sources,
                  "Records of this family alone, as the tables call it (may be repeated)")
      ->type_name("NAME")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  auto* json = app->add_flag("--json", options->json, "Print every record and the summary as JSON");
  app->add_flag("--csv", options->csv, "Print one line per record")->excludes(json);
  app->add_flag("--skipped", options->skipped, "List the records that were left out, and why");
  app->add_option("--out", options->out, "Write to a file instead of standard output")
      ->type_name("FILE");
  app->add_option("--catalog", options->catalogs,
                  "Folder with catalogs of your own, searched first (may be repeated)")
      ->type_name("DIR")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  app->footer(
      "Examples:\n"
      "  foretrain validate                     every shipped record\n"
      "  foretrain validate --only time --source sc21 --csv\n"
      "  foretrain validate --runs --skipped\n"
      "  foretrain validate --runs my-runs.yaml --json\n"
      "Exit codes: 0 ok, 2 bad usage or input.");
  return {app, [options, memory, runs, vtrain] {
            return run_validate(*options,
                                {memory->count() > 0, runs->count() > 0, vtrain->count() > 0});
          }};
}

}  // namespace foretrain
