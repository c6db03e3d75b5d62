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
  EngineKind engine = EngineKind::closed_form;
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
  wanted.engine = options.engine;
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

CommandRow goodput_command() {
  const auto options = std::make_shared<GoodputCommandOptions>();
  CommandRow command{"goodput",
                     "Forecast a whole run: interruptions, checkpoints, goodput, with percentiles"};
  add_scenario_argument(command, options->scenario);
  command.option("--engine", options->engine, "NAME",
                 "How to price a step: closed-form, path, or event, which also\nplays the "
                 "states in which the job runs on, slower");
  command.option("--trials", options->trials, "N", "Runs to simulate (default: 400)",
                 {.range = {{1, most_trials}}});
  command.option("--seed", options->seed, "N", "Seed of the simulated runs");
  add_threads_option(command, options->threads);
  command.option("--svg", options->svg, "FILE", "Draw one simulated run into FILE.svg",
                 {.writes = FileUse::report});
  add_answer_output(command, options->output, "schema goodput/1");
  add_scenario_options(command, options->scenario);
  command.texts = {
      .examples = {"foretrain goodput run.yaml",
                   "foretrain goodput run.yaml --set operations.checkpoint.every=\"10 min\"",
                   "foretrain goodput run.yaml --engine event",
                   "foretrain goodput run.yaml --svg life.svg --json | jq .run.split"},
      .exits = {{exit_ok, "ok (unknown goodput included)"}, {exit_infeasible}, {exit_interrupted}}};
  command.run = [options] { return show_goodput(*options); };
  return command;
}

}  // namespace foretrain
