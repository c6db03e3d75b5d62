// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "planner/cli/calibrate_commands.hpp"
#include "planner/cli/command.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/constants/constants.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

struct ConstantOptions {
  std::vector<std::string> layers;
  OwnFolders folders;
  std::string out;
  bool json = false;
  bool csv = false;
  bool markdown = false;
};

int run_constants(const ConstantOptions& options) {
  if (int{options.json} + int{options.csv} + int{options.markdown} > 1)
    throw UsageError("--json, --csv and --markdown exclude one another");
  ConstantRequest request;
  request.catalogs = own_roots(options.folders);
  request.layers = options.layers;
  const ConstantTable table = constant_table(request);
  if (options.json) return deliver(constants_json(table), options.out);
  if (options.csv) return deliver(constants_table_csv(table), options.out);
  if (options.markdown) return deliver(constants_markdown(table), options.out);
  return deliver(constants_text(table, options.out.empty() ? output_style() : TextStyle{}),
                 options.out);
}

}  // namespace

Command add_calibrate_constants(CLI::App& calibrate) {
  const auto options = std::make_shared<ConstantOptions>();
  CLI::App* app = calibrate.add_subcommand(
      "constants",
      "Show every constant: what it means, its prior, its value, how sure that is and "
      "which records say so");
  app->add_option("--kind", options->layers,
                  "Constants of devices, stacks, sites or fabrics alone (may be repeated)")
      ->type_name("KIND")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)
      ->check(CLI::IsMember(std::vector<std::string>{"device", "stack", "site", "fabric"}));
  app->add_flag("--json", options->json, "Print JSON");
  app->add_flag("--csv", options->csv, "Print a line per constant");
  app->add_flag("--markdown", options->markdown, "Print a page, as calibration/docs/constants.md");
  add_folder_options(*app, options->folders);
  add_report_output(*app, options->out);
  app->footer(
      "Examples:\n"
      "  foretrain calibrate constants --kind site\n"
      "  foretrain calibrate constants --csv --out constants.csv\n"
      "Exit codes: 0 ok, 2 bad usage or input.");
  return {app, [options] { return run_constants(*options); }};
}

}  // namespace foretrain
