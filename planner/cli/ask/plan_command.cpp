// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "planner/cli/ask/serving_search_run.hpp"
#include "planner/cli/commands.hpp"
#include "planner/cli/interruption.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/plan_options.hpp"
#include "planner/cli/source_options.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/post_training/post_training_search.hpp"
#include "planner/search/plan_report.hpp"
#include "planner/text/format.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

/// What the scenario says that is written: the user's --set first, then the plan.
std::string emitted(const PlanOptions& options, const Finalist& plan, int number,
                    const std::filesystem::path& file) {
  namespace fs = std::filesystem;
  if (options.scenario.file == "-")
    throw UsageError("--emit writes a scenario that extends a file; standard input is none");
  const fs::path folder = fs::absolute(file).parent_path();
  const std::string base =
      fs::weakly_canonical(options.scenario.file).lexically_relative(fs::weakly_canonical(folder));
  LoadOptions load = load_options(options.scenario);
  load.overrides.clear();
  if (load.root.empty()) load.root = repository_of(folder);
  if (base.empty() || (base.starts_with("..") && load.root.empty()))
    throw UsageError("--emit " + file.string() +
                     ": outside of a repository, a scenario extends files of its own folder or "
                     "below; write it to " +
                     fs::absolute(options.scenario.file).parent_path().string());
  std::vector<std::string> settings = options.scenario.overrides;
  settings.insert(settings.end(), plan.settings.begin(), plan.settings.end());
  std::string text = scenario_with(
      base, fmt::format("{}-plan{}", plan.report.scenario.job.name, number), settings);
  static_cast<void>(load_scenario_text(text, file.string(), folder, load));  // throws if it is bad
  return text;
}

int plan_to_emit(const PlanOptions& options) {
  if (options.emit.empty()) return 0;
  return whole_numbers("--emit", options.emit.front(), 1, options.top).front();
}

void emit(const PlanOptions& options, const PlanReport& report, int number) {
  if (number == 0) return;
  if (static_cast<std::size_t>(number) > report.plans.size())
    throw UsageError(fmt::format("--emit {}: there are {} plans", number, report.plans.size()));
  const std::filesystem::path file = options.emit.back();
  write_file(file,
             emitted(options, report.plans[static_cast<std::size_t>(number - 1)], number, file),
             FileUse::to_edit);
}

PlanReport searched(const PlanOptions& options, const Scenario& scenario, const SearchSpace& space,
                    SearchOptions search) {
  search.stop = &Interruption::noted();
  const bool terminal = error_is_terminal();
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  double shown = 0.0;
  if (terminal)
    search.progress = [&](std::int64_t done) {
      if (elapsed() - shown < 0.1) return;
      shown = elapsed();
      static_cast<void>(write_progress(fmt::format("{} of {} combinations", with_thousands(done),
                                                   with_thousands(space.size()))));
    };
  const Interruption interruption;
  PlanReport report = plan(scenario, space, search, plan_question(options, scenario));
  if (shown > 0.0) write_diagnostic("");
  if (terminal || options.timing)
    write_diagnostic(
        fmt::format("{} combinations in {:.2f} s: {} per second, {} threads",
                    with_thousands(report.result.evaluated), elapsed(),
                    significant_text(static_cast<double>(report.result.evaluated) / elapsed()),
                    search.threads));
  return report;
}

/// Of serving: the fewest GPUs that keep its goals; without goals, latency against throughput.
int plan_serving(const PlanOptions& options, const Scenario& scenario) {
  return show_serving_search(
      scenario, scenario.serving->goals.any() ? ServingQuestion::fewest : ServingQuestion::pareto,
      options.output);
}

/// Of post-training: which GPUs generate and which train.
int plan_splits(const PlanOptions& options, const Scenario& scenario) {
  const Interruption guard;
  const PostTrainingSearch search = search_splits(scenario, true, &Interruption::noted());
  const int delivered = deliver_answer(
      options.output, {"plan", [&] { return post_training_plan_json(search, options.top); }}, [&] {
        return post_training_plan_answer(search, source_words(options.scenario), options.top);
      });
  if (delivered != exit_ok) return delivered;
  if (search.stopped) return Interruption::exit_code();
  return search.splits.empty() ? int{exit_infeasible} : int{exit_ok};
}

int run_plan(PlanOptions options, const CommandRow& command) {
  options.scenario = on_device(options.scenario, options.device);
  SearchOptions search = search_options(options);
  const int number = plan_to_emit(options);
  if (number > 0) refuse_to_replace(options.emit.back());
  const Interruption guard;  // from before there is anything to tell until it is told
  const Scenario scenario =
      while_noting([&] { return read_scenario(options.scenario, Purpose::any); });
  refuse_other_works(command, name_of(scenario.work));
  if (scenario.work == Work::serving) return plan_serving(options, scenario);
  if (scenario.work == Work::post_training) return plan_splits(options, scenario);
  const SearchSpace space = space_of(options, scenario);
  search.limits = limits_of(options, scenario.job);
  const PlanReport report = searched(options, scenario, space, search);
  const AnswerForms forms{"plan", [&] { return plan_json(report); },
                          [&] { return plan_csv(report); }};
  const int delivered = deliver_answer(options.output, forms, [&] {
    return plan_answer(report, options.waterfalls ? PlanBars::all : PlanBars::winner,
                       source_words(options.scenario));
  });
  if (delivered != exit_ok) return delivered;
  if (Interruption::noted()) return Interruption::exit_code();
  if (!report.plans.empty()) {
    emit(options, report, number);
    return exit_ok;
  }
  if (options.output.json || options.output.csv || !options.output.out.empty())
    write_diagnostic("infeasible: none of the combinations that were tried fits");
  return exit_infeasible;
}

/// The other searches have axes, limits and forms of their own.
void limit_to_training(CommandRow& command) {
  const std::vector<std::string> training = names_of({Work::training});
  command.limit({"--fix", "--vary", "--all-schedules"}, training,
                "plans of serving and post-training search axes of their own; change a key by "
                "--set");
  command.limit({"--gpus"}, training,
                "plans of serving look for the fewest by themselves, those of post-training divide "
                "the scenario's hosts: set cluster.hosts");
  command.limit({"--max-memory-share", "--headroom", "--max-step", "--deadline", "--start",
                 "--budget", "--power-cap"},
                training,
                "plans of serving keep serving.goals, those of post-training no limits but memory");
  command.limit({"--by", "--on-fabric", "--time-limit", "--rank-of", "--timing", "--waterfalls"},
                training, "the other searches rank and draw in one way");
  command.limit({"--emit", "--csv"}, training,
                "other plans are text, --json, --markdown and --html");
  command.limit({"--top"}, names_of({Work::training, Work::post_training}),
                "a search for serving shows all that it has found");
}

}  // namespace

CommandRow plan_command() {
  const auto options = std::make_shared<PlanOptions>();
  CommandRow command{"plan", "Search for the best plan of a scenario"};
  add_scenario_argument(command, options->scenario);
  add_space_options(command, *options);
  add_limit_options(command, *options);
  add_search_options(command, *options);
  command.option("--emit", options->emit, "N FILE",
                 "Write plan N as a scenario that extends this one",
                 {.values = {{2, 2}}, .writes = FileUse::to_edit});
  add_answer_output(command, options->output, "schema plan/1", "one row per plan");
  command.flag("--waterfalls", options->waterfalls,
               "Draw where every plan's step goes, not only "
               "the winner's");
  command.option("--rank-of", options->rank_of, "SETTINGS",
                 "Rank of this plan among all: \"as-given\", or settings separated by commas");
  add_scenario_options(command, options->scenario);
  limit_to_training(command);
  command.texts = {
      .notes =
          "Tries every combination of parallel.tensor, sequence, pipeline, context, expert,\n"
          "expert_tensor, virtual_stages, schedule, zero, order, training.micro_batch, "
          "global_batch,\n"
          "memory.recompute, memory.offload and cluster.hosts; data parallelism is what the "
          "machine\n"
          "has left. ZeRO stage, rank order, batch, machine, offloading and tensor ranks of "
          "experts\n"
          "stay as the scenario has them unless varied.",
      .examples = {"foretrain plan run.yaml",
                   "foretrain plan run.yaml --fix parallel.tensor=8 --vary parallel.zero=1,2,3",
                   "foretrain plan run.yaml --gpus 512,1024,2048 --by cost --max-step 20",
                   "foretrain plan run.yaml --device l40s --gpus 2,4,8",
                   "foretrain plan run.yaml --headroom \"4 GiB\" --emit 1 best.yaml",
                   "foretrain plan run.yaml --max-memory-share 1",
                   "foretrain plan run.yaml --gpus 1024..8192 --by cost --deadline \"30 days\" \\",
                   "    --budget \"5 M USD\" --power-cap \"4 MW\"",
                   "foretrain plan run.yaml --vary training.global_batch=512..4096",
                   "foretrain plan run.yaml --rank-of \"parallel.tensor=8,parallel.pipeline=16\""},
      .exits = {{exit_infeasible, "nothing fits"}, {exit_interrupted}}};
  command.run = [options, row = command] { return run_plan(*options, row); };
  return command;
}

}  // namespace foretrain
