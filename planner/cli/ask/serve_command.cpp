// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>

#include "planner/cli/command.hpp"
#include "planner/cli/head_options.hpp"
#include "planner/cli/interruption.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/study_commands.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/serving/serving_search.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

struct ServeOptions {
  ScenarioOptions scenario;
  std::optional<int> seed;
  std::string out;
  bool fewest = false;
  bool pareto = false;
  bool json = false;
  bool brief = false;
  bool csv = false;
};

Scenario read_serving(const ServeOptions& options) {
  ScenarioOptions wanted = options.scenario;
  if (options.seed) wanted.overrides.push_back("serving.seed=" + std::to_string(*options.seed));
  return read_scenario(wanted, Purpose::serving);
}

int show_serving(const ServeOptions& options, const Scenario& scenario, const TextStyle& style) {
  const Interruption guard;
  const ServingReport report = study_serving(scenario, &Interruption::noted());
  std::string text;
  if (options.brief)
    text = brief_answer(serving_head(report), options.json, style);
  else if (options.json)
    text = serving_json(report);
  else
    text = options.csv ? serving_csv(report) : serving_text(report, style);
  const int delivered = deliver(text, options.out);
  if (delivered != exit_ok) return delivered;
  if (report.stopped) return Interruption::exit_code();
  return report.ready.reasons.empty() ? int{exit_ok} : int{exit_infeasible};
}

int show_search(const ServeOptions& options, const Scenario& scenario, const TextStyle& style) {
  if (options.fewest && !scenario.serving->goals.any())
    throw UsageError(
        "--fewest needs goals: --set serving.goals.ttft=\"1 s\" --set serving.goals.tpot=\"30 "
        "ms\"");
  const Interruption guard;
  const ServingSearch search = options.fewest ? fewest_gpus(scenario, &Interruption::noted())
                                              : serving_pareto(scenario, &Interruption::noted());
  const char* const question = options.fewest ? "fewest" : "pareto";
  std::string text;
  if (options.json)
    text = serving_search_json(scenario, search, question);
  else
    text = options.fewest ? fewest_text(scenario, search, style)
                          : pareto_text(scenario, search, style);
  const int delivered = deliver(text, options.out);
  if (delivered != exit_ok) return delivered;
  if (search.stopped) return Interruption::exit_code();
  const bool found =
      !search.points.empty() && (options.pareto || search.points.front().keeps_goals);
  return found ? int{exit_ok} : int{exit_infeasible};
}

int run_serve(const ServeOptions& options) {
  if (options.json && options.csv) throw UsageError("--json and --csv exclude each other");
  if (options.fewest && options.pareto)
    throw UsageError("--fewest and --pareto exclude each other");
  const bool search = options.fewest || options.pareto;
  if (options.csv && search)
    throw UsageError("--csv lists the requests of one deployment: leave --fewest and --pareto out");
  const Scenario scenario = read_serving(options);
  const TextStyle style = options.out.empty() ? output_style() : TextStyle{};
  return search ? show_search(options, scenario, style) : show_serving(options, scenario, style);
}

}  // namespace

Command add_serve_command(CLI::App& program) {
  const auto options = std::make_shared<ServeOptions>();
  CLI::App* app = program.add_subcommand(
      "serve", "Simulate a deployment that answers requests: latency, throughput, cost");
  app->add_option("scenario", options->scenario.file,
                  "Scenario file with `serving`, or - for standard input")
      ->required()
      ->type_name("SCENARIO");
  app->add_flag("--fewest", options->fewest,
                "Search the layout and the fewest GPUs that keep serving.goals");
  app->add_flag("--pareto", options->pareto,
                "Latency against throughput: layouts of one replica by number of clients");
  app->add_option("--seed", options->seed, "The same as --set serving.seed=N")
      ->check(CLI::Range(0, 2147483647))
      ->type_name("N");
  app->add_flag("--json", options->json,
                "Print JSON, schema serving/1 (with --fewest or --pareto serving-search/1)");
  app->add_flag("--csv", options->csv, "Print CSV, a row per request");
  add_report_output(*app, options->out);
  add_brief_option(*app, options->brief);
  add_scenario_options(*app, options->scenario);
  app->footer(
      "Examples:\n"
      "  foretrain serve chat.yaml\n"
      "  foretrain serve chat.yaml --set serving.parallel.tensor=4 --json\n"
      "  foretrain serve chat.yaml --fewest --set \"serving.goals.tpot=30 ms\"\n"
      "  foretrain serve chat.yaml --pareto\n"
      "  foretrain serve chat.yaml --csv --out requests.csv\n"
      "Exit codes: 0 ok, 2 bad usage or input, 3 it cannot run or no layout keeps the goals,\n130 "
      "interrupted.");
  return {app, [options] { return run_serve(*options); }};
}

}  // namespace foretrain
