// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "planner/cli/answer_output.hpp"
#include "planner/cli/commands.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/scene/scene.hpp"
#include "planner/search/search.hpp"
#include "planner/solve/sensitivity.hpp"
#include "planner/text/format.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

struct SensitivityOptions {
  ScenarioOptions scenario;
  std::string by = "10 %";
  SensitivityMetric metric = SensitivityMetric::time;
  std::string svg;
  AnswerOutput output;
  bool search = false;
};

void draw(const Sensitivity& result, const std::string& file) {
  if (result.levers.empty())
    return write_diagnostic("no picture: no input of this scenario can be moved");
  const double height = 200.0 + 34.0 * static_cast<double>(result.levers.size());
  write_file(file, scene_svg(tornado_chart(result, picture_space(result.name, 900.0, height)),
                             result.name));
}

int run_sensitivity(const SensitivityOptions& options) {
  const double by = share_value("--by", options.by);
  if (!(by < 1.0)) throw UsageError("--by " + in_quotes(options.by) + ": must be below 100 %");
  if (!options.svg.empty() && !options.svg.ends_with(".svg"))
    throw UsageError("--svg " + in_quotes(options.svg) + ": the name of the picture ends in .svg");
  Scenario scenario = read_scenario(options.scenario);
  if (options.search) {
    auto best = best_plan(scenario);
    if (!best) throw UsageError(scenario.job.name + ": --search found no plan that fits");
    scenario = std::move(best->scenario);
  }
  const Sensitivity result = sensitivity(scenario, options.metric, by);
  if (!options.svg.empty()) draw(result, options.svg);
  return deliver_answer(options.output, {"sensitivity", [&] { return sensitivity_json(result); }},
                        [&] { return sensitivity_answer(result); });
}

}  // namespace

CommandRow sensitivity_command() {
  const auto options = std::make_shared<SensitivityOptions>();
  CommandRow command{"sensitivity", "Rank inputs by what moving them does (tornado)"};
  add_scenario_argument(command, options->scenario);
  command.option("--by", options->by, "SHARE", "How far each input moves (default: \"10 %\")");
  command.option("--metric", options->metric, "NAME", "What is ranked: time or cost");
  command.flag("--search", options->search, "Take the best plan instead of the scenario's");
  command.option("--svg", options->svg, "FILE.svg", "Draw the tornado into FILE.svg",
                 {.writes = FileUse::report});
  add_answer_output(command, options->output, "schema sensitivity/1");
  add_scenario_options(command, options->scenario);
  command.texts = {
      .notes =
          "Moves kernel efficiency, bandwidths, latency, launch cost, stragglers, batch, failure "
          "rate,\n"
          "restart and price, one at a time.",
      .examples = {"foretrain sensitivity run.yaml",
                   "foretrain sensitivity run.yaml --by \"25 %\" --metric cost --svg tornado.svg"},
      .exits = {{exit_infeasible}}};
  command.run = [options] { return run_sensitivity(*options); };
  return command;
}

}  // namespace foretrain
