// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>

#include "planner/cli/answer_output.hpp"
#include "planner/cli/ask/serving_search_run.hpp"
#include "planner/cli/commands.hpp"
#include "planner/cli/interruption.hpp"
#include "planner/edit/idle_settings.hpp"
#include "planner/serving/serving_search.hpp"
#include "planner/study/study_of.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

struct ServeOptions {
  ScenarioOptions scenario;
  std::optional<int> seed;
  AnswerOutput output;
  bool fewest = false;
  bool pareto = false;
};

Scenario read_serving(const ServeOptions& options) {
  ScenarioOptions wanted = options.scenario;
  if (options.seed) wanted.overrides.push_back("serving.seed=" + std::to_string(*options.seed));
  return while_noting([&] { return read_scenario(wanted, Purpose::serving); });
}

int show_serving(const ServeOptions& options, const Scenario& scenario) {
  const Interruption guard;
  const ServingReport report = study_serving(scenario, &Interruption::noted());
  Report answer;
  answer.scenario = scenario;
  answer.study = study_of(report);
  if (!options.output.csv)
    warn_of_idle_settings(AttentionFlops::full, EngineKind::closed_form, answer,
                          &Interruption::noted());
  const AnswerForms forms{"serving", [&] { return answer.study->json; },
                          [&] { return serving_csv(report); }};
  const int delivered = deliver_answer(options.output, forms, [&] { return answer.study->answer; });
  if (delivered != exit_ok) return delivered;
  if (report.stopped) return Interruption::exit_code();
  return report.ready.reasons.empty() ? int{exit_ok} : int{exit_infeasible};
}

int run_serve(const ServeOptions& options) {
  if (options.fewest && options.pareto)
    throw UsageError("--fewest and --pareto exclude each other");
  const bool search = options.fewest || options.pareto;
  if (options.output.csv && search)
    throw UsageError("--csv lists the requests of one deployment: leave --fewest and --pareto out");
  const Scenario scenario = read_serving(options);
  if (!search) return show_serving(options, scenario);
  return show_serving_search(
      scenario, options.fewest ? ServingQuestion::fewest : ServingQuestion::pareto, options.output);
}

}  // namespace

int show_serving_search(const Scenario& scenario, ServingQuestion question,
                        const AnswerOutput& output) {
  const bool fewest = question == ServingQuestion::fewest;
  if (fewest && !scenario.serving->goals.any())
    throw UsageError(
        "--fewest needs goals: --set serving.goals.ttft=\"1 s\" --set serving.goals.tpot=\"30 "
        "ms\"");
  const Interruption guard;
  const ServingSearch search = fewest ? fewest_gpus(scenario, &Interruption::noted())
                                      : serving_pareto(scenario, &Interruption::noted());
  const AnswerForms forms{
      "serving",
      [&] { return serving_search_json(scenario, search, fewest ? "fewest" : "pareto"); }};
  const int delivered = deliver_answer(output, forms, [&] {
    return fewest ? fewest_answer(scenario, search) : pareto_answer(scenario, search);
  });
  if (delivered != exit_ok) return delivered;
  if (search.stopped) return Interruption::exit_code();
  const bool found = !search.points.empty() && (!fewest || search.points.front().keeps_goals);
  return found ? int{exit_ok} : int{exit_infeasible};
}

CommandRow serve_command() {
  const auto options = std::make_shared<ServeOptions>();
  CommandRow command{"serve",
                     "Simulate a deployment that answers requests: latency, throughput, cost"};
  command.option("scenario", options->scenario.file, "SCENARIO",
                 "Scenario file with `serving`, or - for standard input", {.required = true});
  command.flag("--fewest", options->fewest,
               "Search the layout and the fewest GPUs that keep serving.goals");
  command.flag("--pareto", options->pareto,
               "Latency against throughput: layouts of one replica by number of clients");
  command.option("--seed", options->seed, "N", "The same as --set serving.seed=N",
                 {.range = {{0, 2147483647}}});
  add_answer_output(command, options->output,
                    "schema serving/1 (with --fewest or --pareto serving-search/1)",
                    "a row per request");
  add_scenario_options(command, options->scenario);
  command.texts = {
      .examples = {"foretrain serve chat.yaml",
                   "foretrain serve chat.yaml --set serving.parallel.tensor=4 --json",
                   "foretrain serve chat.yaml --fewest --set \"serving.goals.tpot=30 ms\"",
                   "foretrain serve chat.yaml --pareto",
                   "foretrain serve chat.yaml --csv --out requests.csv"},
      .exits = {{exit_infeasible, "it cannot run or no layout keeps the goals"},
                {exit_interrupted}}};
  command.run = [options] { return run_serve(*options); };
  return command;
}

}  // namespace foretrain
