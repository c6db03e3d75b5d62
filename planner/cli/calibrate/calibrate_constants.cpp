// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "planner/cli/answer_output.hpp"
#include "planner/cli/calibrate_commands.hpp"
#include "planner/constants/constants.hpp"

namespace foretrain {
namespace {

struct ConstantOptions {
  std::vector<std::string> layers;
  OwnFolders folders;
  AnswerOutput output;
};

int run_constants(const ConstantOptions& options) {
  ConstantRequest request;
  request.catalogs = own_roots(options.folders);
  request.layers = options.layers;
  const ConstantTable table = constant_table(request);
  return deliver_answer(options.output,
                        {"constants", [&] { return constants_json(table); },
                         [&] { return constants_table_csv(table); }},
                        [&] { return constants_answer(table); });
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
  add_answer_output(*app, options->output, "with meanings", {}, "a line per constant");
  add_folder_options(*app, options->folders);
  app->footer(
      "Examples:\n"
      "  foretrain calibrate constants --kind site\n"
      "  foretrain calibrate constants --csv --out constants.csv\n"
      "Exit codes: 0 ok, 2 bad usage or input.");
  return {app, [options] { return run_constants(*options); }};
}

}  // namespace foretrain
