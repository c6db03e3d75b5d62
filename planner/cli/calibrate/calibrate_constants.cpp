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

CommandRow calibrate_constants_command() {
  const auto options = std::make_shared<ConstantOptions>();
  CommandRow command{
      "constants",
      "Show every constant: what it means, its prior, its value, how sure that is and "
      "which records say so"};
  command.option("--kind", options->layers, "KIND",
                 "Constants of devices, stacks, sites or fabrics alone (may be repeated)",
                 {.repeated = true, .legal = {"device", "stack", "site", "fabric"}});
  add_answer_output(command, options->output, "with meanings", "a line per constant");
  add_folder_options(command, options->folders);
  command.texts = {.examples = {"foretrain calibrate constants --kind site",
                                "foretrain calibrate constants --csv --out constants.csv"},
                   .exits = {{exit_ok}}};
  command.run = [options] { return run_constants(*options); };
  return command;
}

}  // namespace foretrain
