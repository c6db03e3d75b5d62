// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>

#include "planner/cli/answer_output.hpp"
#include "planner/cli/commands.hpp"
#include "planner/cli/interruption.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/source_options.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/forecast/goodput_study.hpp"
#include "planner/scene/scene.hpp"
#include "planner/step/degraded_states.hpp"

namespace foretrain {
namespace {

constexpr int most_trials = 1000000;

struct GoodputCommandOptions {
  ScenarioOptions scenario;
  std::string engine = "closed-form";
  int trials = 400;
  int threads = 0;
  std::optional<std::uint64_t> seed;
  std::string svg;
  AnswerOutput output;
};

/// Until the first signal.
GoodputStudy studied(const Scenario& scenario, const GoodputOptions& options) {
  const Interruption guard;
  return options.engine == EngineKind::event ? play_goodput(scenario, options)
                                             : study_goodput(scenario, options);
}

int show_goodput(const GoodputCommandOptions& options) {
  GoodputOptions wanted;
  wanted.engine = engine_value(options.engine);
  wanted.trials = options.trials;
  wanted.threads = options.threads;
  wanted.stop = &Interruption::noted();
  wanted.seed = options.seed;
  const GoodputStudy study = studied(read_scenario(options.scenario), wanted);
  if (!options.svg.empty()) {
    if (study.model)
      write_file(options.svg, scene_svg(life_chart(
                                  study, picture_space(study.report.scenario.job.name, 1200.0))));
    else
      write_diagnostic("no picture: goodput is unknown, or was not simulated");
  }
  const int delivered =
      deliver_answer(options.output, {"goodput of a run", [&] { return goodput_json(study); }},
                     [&] { return goodput_answer(study, source_words(options.scenario)); });
  if (delivered != exit_ok) return delivered;
  if (study.stopped) return Interruption::exit_code();
  return study.report.prediction.feasible() ? exit_ok : exit_infeasible;
}

}  // namespace

Command add_goodput_command(CLI::App& program) {
  const auto options = std::make_shared<GoodputCommandOptions>();
  CLI::App* app = program.add_subcommand(
      "goodput", "Forecast a whole run: interruptions, checkpoints, goodput, with percentiles");
  app->add_option("scenario", options->scenario.file, "Scenario file, or - for standard input")
      ->required()
      ->type_name("SCENARIO");
  app->add_option("--engine", options->engine,
                  "How to price a step: closed-form, path, or event, which also\nplays the "
                  "states in which the job runs on, slower")
      ->type_name("NAME");
  app->add_option("--trials", options->trials, "Runs to simulate (default: 400)")
      ->check(CLI::Range(1, most_trials))
      ->type_name("N");
  app->add_option("--seed", options->seed, "Seed of the simulated runs")->type_name("N");
  app->add_option("--threads", options->threads, "Threads; the result is the same with any number")
      ->check(CLI::Range(1, 256))
      ->type_name("N");
  app->add_option("--svg", options->svg, "Draw one simulated run into FILE.svg")->type_name("FILE");
  add_answer_output(*app, options->output, "schema goodput/1", {"--svg"});
  add_scenario_options(*app, options->scenario);
  app->footer(
      "Examples:\n"
      "  foretrain goodput run.yaml\n"
      "  foretrain goodput run.yaml --set operations.checkpoint.every=\"10 min\"\n"
      "  foretrain goodput run.yaml --engine event\n"
      "  foretrain goodput run.yaml --svg life.svg --json | jq .run.split\n"
      "Exit codes: 0 ok (unknown goodput included), 2 bad usage or input, 3 infeasible,\n"
      "130 interrupted.");
  return {app, [options] { return show_goodput(*options); }};
}

}  // namespace foretrain
