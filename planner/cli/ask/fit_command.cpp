// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "models/grid/process_grid.hpp"
#include "planner/cli/answer_output.hpp"
#include "planner/cli/commands.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/source_options.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/forecast/fit_room.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/post_training/post_training_study.hpp"
#include "planner/scene/scene.hpp"
#include "planner/serving/serving_fit.hpp"
#include "planner/text/json.hpp"
#include "planner/text/usage_error.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

struct FitOptions {
  SourceOptions source;
  std::optional<int> stage;
  std::optional<int> rank;
  std::string svg;
  AnswerOutput output;
  bool timeline = false;
  bool serve = false;
};

/// The stage that was asked for, by its number or by a rank on it.
std::optional<int> chosen_stage(const Parallel& plan, const FitOptions& options) {
  if (options.stage) {
    if (*options.stage < 0 || *options.stage >= plan.pipeline)
      throw UsageError(fmt::format("--stage {}: the plan has stages 0 to {}", *options.stage,
                                   plan.pipeline - 1));
    return options.stage;
  }
  if (!options.rank) return std::nullopt;
  if (*options.rank < 0 || *options.rank >= plan.gpus())
    throw UsageError(
        fmt::format("--rank {}: the plan has ranks 0 to {}", *options.rank, plan.gpus() - 1));
  return ProcessGrid{plan}.place(*options.rank).stage;
}

void draw(const FitReport& report, const std::string& file) {
  if (!report.memory) {
    write_diagnostic("no picture: memory is not forecast for a plan that is not legal");
    return;
  }
  const auto stages = static_cast<double>(report.memory->stages.size());
  const SceneSpace space =
      picture_space(report.scenario.job.name, std::clamp(340.0 + 48.0 * stages, 900.0, 1760.0));
  write_file(file, scene_svg(memory_chart(*report.memory, space), space.subject));
}

/// Memory of the scenario's deployment.
int fit_serving(const FitOptions& options, const Scenario& scenario) {
  const ServingFit report = judge_serving_fit(scenario);
  const int delivered = deliver_answer(
      options.output, {"memory of serving", [&] { return serving_fit_json(report); }},
      [&] { return serving_fit_answer(report); });
  if (delivered != exit_ok) return delivered;
  return report.reasons.empty() ? int{exit_ok} : int{exit_infeasible};
}

int fit_training(const FitOptions& options, const Scenario& scenario) {
  const FitView view{chosen_stage(scenario.job.parallel, options), options.timeline, options.rank};
  const FitReport report = judge_fit(scenario);
  if (!options.svg.empty()) draw(report, options.svg);
  const int delivered =
      deliver_answer(options.output, {"memory", [&] { return fit_json(report, view); }},
                     [&] { return fit_answer(report, view, source_words(options.source)); });
  if (delivered != exit_ok) return delivered;
  if (report.memory && (report.memory->fits() || report.memory->may_fit())) return exit_ok;
  if (options.output.json || !options.output.out.empty()) {
    for (const Infeasible& reason : report.reasons)
      write_diagnostic("infeasible: " + reason.message);
    if (report.memory) write_diagnostic("infeasible: " + memory_verdict(*report.memory));
  }
  return exit_infeasible;
}

/// The trainer, and the engine that generates.
int fit_post_training(const FitOptions& options, const Scenario& scenario) {
  const FitReport trainer = judge_fit(scenario);
  const ServingFit engine = judge_serving_fit(scenario, ready_rollout(scenario));
  const auto tree = [&] {
    return dump({{"schema", "post-training-memory/1"},
                 {"foretrain_version", version},
                 {"name", scenario.job.name},
                 {"trainer", Json::parse(fit_json(trainer, {}))},
                 {"engine", Json::parse(serving_fit_json(engine))}});
  };
  const int delivered = deliver_answer(options.output, {"memory of post-training", tree}, [&] {
    Answer answer = fit_answer(trainer, {}, "");
    Answer rollout = serving_fit_answer(engine);
    for (HeadFigure& figure : rollout.head.figures) {
      figure.label = "Engine";
      answer.head.figures.push_back(std::move(figure));
    }
    if (!engine.reasons.empty()) {
      answer.head.verdict = Verdict::no;
      answer.head.words = "ENGINE CANNOT RUN";
    }
    answer.head.next = "foretrain simulate " + source_words(options.source);
    for (AnswerSection& section : rollout.sections) {
      section.title = "Engine that generates, " + section.title;
      answer.add(std::move(section));
    }
    return answer;
  });
  if (delivered != exit_ok) return delivered;
  const bool may_run = trainer.memory && (trainer.memory->fits() || trainer.memory->may_fit());
  return engine.reasons.empty() && may_run ? int{exit_ok} : int{exit_infeasible};
}

int fit(const FitOptions& options, const CommandRow& command) {
  const Scenario scenario =
      read_scenario(options.source, options.serve ? Purpose::serving : Purpose::any);
  const Work work = options.serve ? Work::serving : scenario.work;
  refuse_other_works(command, name_of(work));
  if (work == Work::serving) return fit_serving(options, scenario);
  if (work == Work::post_training) return fit_post_training(options, scenario);
  return fit_training(options, scenario);
}

}  // namespace

CommandRow fit_command() {
  const auto options = std::make_shared<FitOptions>();
  CommandRow command{"fit", "Show whether a plan fits in memory, and what would"};
  add_source_options(command, options->source);
  command.option("--stage", options->stage, "N", "Show the rows of this pipeline stage, from 0");
  command.option("--rank", options->rank, "N",
                 "Show this global rank: its place in the plan and its rows",
                 {.excludes = {"--stage"}});
  command.flag("--timeline", options->timeline,
               "Show the memory timeline of the stage over a step");
  command.flag("--serve", options->serve,
               "Memory of `serving`, of a scenario that also trains: weights, cache, concurrency");
  command.option("--svg", options->svg, "FILE", "Draw the memory of every stage into this file",
                 {.writes = FileUse::report});
  add_answer_output(command, options->output, "schema memory/1 (with --serve serving-memory/1)");
  add_scenario_options(command, options->source.scenario);
  command.limit({"--megatron", "--hf", "--stage", "--rank", "--timeline", "--svg"},
                names_of({Work::training}),
                "fit of the others takes --set, --json, --markdown, --html and --out");
  command.texts = {
      .examples = {"foretrain fit run.yaml", "foretrain fit run.yaml --stage 0 --timeline",
                   "foretrain fit run.yaml --set training.micro_batch=4 --svg memory.svg",
                   "foretrain fit run.yaml --json | jq .room",
                   "foretrain fit --megatron \"--num-layers 32 --hidden-size 4096 ...\" --gpus 64",
                   "foretrain fit --serve chat.yaml",
                   "foretrain fit --hf config.json --set parallel.tensor=4",
                   "foretrain fit --hf config.json --gpus 1 --device rtx4090 --lora 16"},
      .exits = {{exit_ok, "it fits"}, {exit_infeasible, "it does not fit or is not a legal plan"}}};
  command.run = [options, row = command] { return fit(*options, row); };
  return command;
}

}  // namespace foretrain
