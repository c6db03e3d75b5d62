// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "planner/cli/calibrate_commands.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/own_runs/own_suggest.hpp"

namespace foretrain {
namespace {

struct SuggestOptions {
  std::vector<std::string> scenarios;
  std::vector<std::string> runs;
  ScenarioOptions scenario;  ///< overrides and folders of all of them
  int hosts = 0;
  std::string out;
  bool json = false;
};

int run_suggest(const SuggestOptions& options) {
  OwnSuggestRequest request;
  for (const std::string& file : options.scenarios) {
    ScenarioOptions scenario = options.scenario;
    scenario.file = file;
    request.scenarios.push_back(read_scenario(scenario));
  }
  request.files = {options.runs.begin(), options.runs.end()};
  request.catalogs = own_roots(options.scenario.folders);
  request.most_hosts = options.hosts;
  const OwnSuggestion suggestion = suggest_runs(request);
  const TextStyle style = options.out.empty() ? output_style() : TextStyle{};
  return deliver(
      options.json ? own_suggestion_json(suggestion) : own_suggestion_text(suggestion, style),
      options.out);
}

}  // namespace

Command add_calibrate_suggest(CLI::App& calibrate) {
  const auto options = std::make_shared<SuggestOptions>();
  CLI::App* app = calibrate.add_subcommand(
      "suggest", "Which run of a few minutes would make the forecasts of plans surest");
  app->add_option("scenarios", options->scenarios, "Plans in question")
      ->required()
      ->type_name("SCENARIO");
  app->add_option("--runs", options->runs,
                  "Your runs so far, as for calibrate fit --runs; without: what ships")
      ->type_name("FILE");
  app->add_option("--hosts", options->hosts, "Hosts that a run may take at most")
      ->type_name("N")
      ->check(CLI::Range(1, 100000));
  app->add_flag("--json", options->json, "Print JSON");
  add_report_output(*app, options->out);
  add_scenario_options(*app, options->scenario);
  app->footer(
      "Examples:\n"
      "  foretrain calibrate suggest scenarios/llama3.1-70b-1024xh100.yaml --hosts 4\n"
      "  foretrain calibrate suggest plan-a.yaml plan-b.yaml --runs mine.yaml\n"
      "Exit codes: 0 ok, 2 bad usage or input.");
  return {app, [options] { return run_suggest(*options); }};
}

}  // namespace foretrain
