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

CommandRow calibrate_suggest_command() {
  const auto options = std::make_shared<SuggestOptions>();
  CommandRow command{"suggest",
                     "Which run of a few minutes would make the forecasts of plans surest"};
  command.option("scenarios", options->scenarios, "SCENARIO", "Plans in question",
                 {.required = true});
  command.option("--runs", options->runs, "FILE",
                 "Your runs so far, as for calibrate fit --runs; without: what ships");
  command.option("--hosts", options->hosts, "N", "Hosts that a run may take at most",
                 {.range = {{1, 100000}}});
  add_answer_output(command, options->output, "schema own-suggest/1");
  add_scenario_options(command, options->scenario);
  command.texts = {
      .examples = {"foretrain calibrate suggest scenarios/llama3.1-70b-1024xh100.yaml --hosts 4",
                   "foretrain calibrate suggest plan-a.yaml plan-b.yaml --runs mine.yaml"},
      .exits = {{exit_ok}}};
  command.run = [options] { return run_suggest(*options); };
  return command;
}

}  // namespace foretrain
