// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "planner/cli/answer_output.hpp"
#include "planner/cli/calibrate_commands.hpp"
#include "planner/cli/source_options.hpp"
#include "planner/own_runs/own_suggest.hpp"

namespace foretrain {
namespace {

struct SuggestOptions {
  std::vector<std::string> scenarios;
  std::vector<std::string> runs;
  ScenarioOptions scenario;  ///< overrides and folders of all of them
  int hosts = 0;
  AnswerOutput output;
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
  return deliver_answer(options.output,
                        {"suggested runs", [&] { return own_suggestion_json(suggestion); }}, [&] {
                          Answer answer = own_suggestion_answer(suggestion);
                          ScenarioOptions first = options.scenario;
                          first.file = options.scenarios.front();
                          if (const std::string source = source_words(first); !source.empty())
                            answer.head.next = "foretrain explain " + source + " step.band";
                          return answer;
                        });
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
  add_answer_output(*app, options->output, "schema own-suggest/1");
  add_scenario_options(*app, options->scenario);
  app->footer(
      "Examples:\n"
      "  foretrain calibrate suggest scenarios/llama3.1-70b-1024xh100.yaml --hosts 4\n"
      "  foretrain calibrate suggest plan-a.yaml plan-b.yaml --runs mine.yaml\n"
      "Exit codes: 0 ok, 2 bad usage or input.");
  return {app, [options] { return run_suggest(*options); }};
}

}  // namespace foretrain
