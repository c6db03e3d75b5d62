// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "models/base/ranges.hpp"
#include "planner/cli/answer_output.hpp"
#include "planner/cli/ask/cluster_run.hpp"
#include "planner/cli/commands.hpp"
#include "planner/cli/interruption.hpp"
#include "planner/cli/plan_options.hpp"
#include "planner/cli/source_options.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/search/search.hpp"
#include "planner/solve/solve.hpp"
#include "planner/text/format.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

struct SolveCommandOptions {
  ScenarioOptions scenario;
  SolveFor question = SolveFor::gpus;
  std::string deadline;
  std::string start;
  std::string budget;
  RoomOptions room;
  std::string exposed;
  std::string against;
  std::string wait;
  std::string deadlines;
  std::string ttft;
  std::string tpot;
  std::string requests;
  std::string step;
  AnswerOutput output;
  std::optional<int> most_gpus;
  std::optional<double> time_limit;
  int threads = 2;
  bool search = false;
};

SolveOptions solve_options(const SolveCommandOptions& options, SolveFor question, const Job& job) {
  SolveOptions result;
  result.limits = room_limits(options.room);
  const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  if (!options.deadline.empty())
    result.limits.max_run =
        deadline_value("--deadline", options.deadline,
                       options.start.empty() ? today : date_value("--start", options.start));
  if (!options.budget.empty()) result.limits.max_price = money_value("--budget", options.budget);
  if (question == SolveFor::gpus && !result.limits.max_run && !result.limits.max_price)
    throw UsageError("solve gpus needs --deadline (or --budget): \"30 days\" or 2027-03-01");
  if (std::string problem = limit_problem(result.limits, job); !problem.empty())
    throw UsageError(problem);
  if (!options.exposed.empty()) result.exposed = share_value("--exposed", options.exposed);
  if (options.most_gpus) {
    if (*options.most_gpus < job.cluster.host.gpus)
      throw UsageError(fmt::format("--max-gpus {}: one host has {} already", *options.most_gpus,
                                   job.cluster.host.gpus));
    result.most_gpus = *options.most_gpus;
  }
  result.threads = options.threads;
  if (options.time_limit) {
    if (!(*options.time_limit > 0.0 && *options.time_limit <= 1e6))
      throw UsageError(
          fmt::format("--time-limit takes seconds above 0, not {}", *options.time_limit));
    result.time_limit = Seconds{*options.time_limit};
  }
  result.stop = &Interruption::noted();
  return result;
}

Scenario searched(Scenario scenario, const SolveCommandOptions& options) {
  if (!options.search) return scenario;
  auto best = best_plan(scenario, RankBy::time, options.threads, room_limits(options.room));
  if (!best)
    throw UsageError(scenario.job.name + ": --search found no plan that leaves enough memory free");
  return std::move(best->scenario);
}

/// "P90 <= 1 s" or "1 s" as settings of serving.goals.
void add_goal(const char* option, const char* key, const std::string& text,
              std::vector<std::string>& settings) {
  if (text.empty()) return;
  std::string_view limit = text;
  if (const std::size_t at = limit.find("<="); at != limit.npos) {
    std::string_view percentile = limit.substr(0, at);
    limit.remove_prefix(at + 2);
    while (percentile.ends_with(' ')) percentile.remove_suffix(1);
    if (!percentile.starts_with('P') || percentile.size() < 2)
      throw UsageError(std::string(option) + " takes a goal like \"P90 <= 1 s\" or \"1 s\"");
    const std::string wanted = "serving.goals.percentile=" + std::string(percentile.substr(1));
    for (const std::string& other : settings)
      if (other.starts_with("serving.goals.percentile=") && other != wanted)
        throw UsageError("--ttft and --tpot hold for the same percentile of requests");
    settings.push_back(wanted);
  }
  while (limit.starts_with(' ')) limit.remove_prefix(1);
  settings.push_back(std::string(key) + "=" + std::string(limit));
}

/// Goals and load that options give, as settings.
std::vector<std::string> serving_settings(const SolveCommandOptions& options) {
  std::vector<std::string> settings;
  add_goal("--ttft", "serving.goals.ttft", options.ttft, settings);
  add_goal("--tpot", "serving.goals.tpot", options.tpot, settings);
  if (!options.requests.empty()) {
    settings.emplace_back("serving.requests.arrivals=poisson");
    settings.push_back("serving.requests.rate=" + options.requests);
  }
  return settings;
}

/// Of a scenario that serves.
SolveAnswer serving_answer_of(const Scenario& scenario, SolveFor question) {
  if (question != SolveFor::gpus && question != SolveFor::rate)
    throw UsageError(fmt::format("solve {} is for training; of serving ask for gpus or rate",
                                 name_of(question)));
  if (!scenario.serving->goals.any())
    throw UsageError(fmt::format(
        "solve {} needs goals: --ttft \"P90 <= 1 s\", --tpot \"30 ms\", or serving.goals",
        name_of(question)));
  if (question == SolveFor::rate && scenario.serving->load.arrivals == ArrivalKind::trace)
    throw UsageError(
        "solve rate: a trace has times of its own; write serving.requests.prompt, output and "
        "arrivals: poisson");
  const Interruption interruption;
  return question == SolveFor::gpus ? fewest_serving_gpus(scenario, &Interruption::noted())
                                    : most_requests(scenario, &Interruption::noted());
}

SolveAnswer post_training_answer_of(const SolveCommandOptions& options, const Scenario& scenario,
                                    SolveFor question) {
  if (question != SolveFor::gpus || options.step.empty())
    throw UsageError(
        "of post-training solve answers gpus: foretrain solve FILE gpus --step \"60 s\"");
  const Interruption interruption;
  return fewest_post_training_gpus(scenario, duration_value("--step", options.step),
                                   options.most_gpus.value_or(0), &Interruption::noted());
}

/// Others do not look at signals, and end at once.
bool looks(SolveFor question) { return question == SolveFor::gpus || question == SolveFor::rate; }

SolveAnswer answer_of(const SolveCommandOptions& options, const CommandRow& command) {
  const SolveFor question = options.question;
  const auto file = [&] { return read_scenario(options.scenario, Purpose::any); };
  const Scenario read = looks(question) ? while_noting(file) : file();
  refuse_other_works(command, name_of(read.work));
  if (read.work == Work::serving) return serving_answer_of(read, question);
  if (read.work == Work::post_training) return post_training_answer_of(options, read, question);
  if (options.room.given() && !options.search &&
      (question == SolveFor::price || question == SolveFor::bandwidth))
    throw UsageError(
        fmt::format("--headroom and --max-memory-share have no effect on {} without --search",
                    name_of(question)));
  if (question == SolveFor::price && options.against.empty())
    throw UsageError("solve price needs --against OTHER.yaml: the cluster whose price is sought");
  const Scenario scenario = searched(read, options);
  const SolveOptions how = solve_options(options, question, scenario.job);
  switch (question) {
    case SolveFor::gpus: {
      const Interruption interruption;
      return fewest_gpus(scenario, how);
    }
    case SolveFor::model:
      return largest_model(scenario, how);
    case SolveFor::sequence:
      return longest_sequence(scenario, how);
    case SolveFor::bandwidth:
      return needed_bandwidth(scenario, how);
    case SolveFor::headroom:
      return memory_headroom(scenario, how);
    case SolveFor::change:
      return fitting_change(scenario, how);
    case SolveFor::batch:
      return batch_growth(scenario, how);
    case SolveFor::rate:
      throw UsageError("solve rate is for scenarios that serve");
    case SolveFor::price:
    case SolveFor::hosts:
      break;
  }
  ScenarioOptions other = options.scenario;
  other.file = options.against;
  other.overrides.clear();
  SolveAnswer answer = break_even_price(scenario, searched(read_scenario(other), options));
  if (options.search)
    answer.notes.back() = "each with the best plan that leaves enough memory free, in closed form";
  return answer;
}

/// Of a cluster file: the fewest hosts that keep a wait or deadlines.
int solve_hosts(const SolveCommandOptions& options) {
  if (options.wait.empty() == options.deadlines.empty())
    throw UsageError("solve hosts needs --wait \"P90 <= 4 h\" or --deadlines \"95 %\"");
  ClusterRunOptions wanted;
  wanted.scenario = options.scenario;
  wanted.threads = options.threads;
  wanted.wait = options.wait;
  wanted.deadlines = options.deadlines;
  wanted.output = options.output;
  return show_hosts(wanted);
}

/// Before goals make a scenario of training one that lacks most of `serving`.
void refuse_goals(const SolveCommandOptions& options, const CommandRow& command) {
  if (options.scenario.file == "-") return;  // is read once
  try {
    refuse_other_works(command, name_of(read_scenario(options.scenario, Purpose::any).work));
  } catch (const ScenarioError&) {
    return;  // the goals may be what it lacks; else that is told when they are there
  }
}

int run_solve(SolveCommandOptions options, const CommandRow& command) {
  std::optional<Interruption> guard;
  if (looks(options.question)) guard.emplace();
  std::vector<std::string> goals = serving_settings(options);
  if (!goals.empty()) refuse_goals(options, command);
  std::ranges::move(goals, std::back_inserter(options.scenario.overrides));
  if (options.question == SolveFor::hosts) return solve_hosts(options);
  const SolveAnswer answer = answer_of(options, command);
  const int delivered =
      deliver_answer(options.output, {"answer", [&] { return solve_json(answer); }},
                     [&] { return solve_answer(answer, source_words(options.scenario)); });
  if (delivered != exit_ok) return delivered;
  if (Interruption::noted()) return Interruption::exit_code();
  if (answer.found) return delivered;
  if (options.output.json || !options.output.out.empty())
    write_diagnostic("infeasible: " + answer.sentence);
  return exit_infeasible;
}

void add_options(CommandRow& command, SolveCommandOptions& options) {
  using enum SolveFor;
  command.option("--deadline", options.deadline, "TIME",
                 "gpus: deadline, a duration, \"30 days\", or an end date, 2027-03-01",
                 {.questions = names_of({gpus})});
  command.option("--start", options.start, "DATE",
                 "gpus: start date of the run (default: today, UTC)",
                 {.questions = names_of({gpus})});
  command.option("--budget", options.budget, "MONEY", "gpus: budget of the run, \"2.5 M USD\"",
                 {.questions = names_of({gpus})});
  command.option("--max-gpus", options.most_gpus, "N",
                 "gpus: largest machine to try (default: 16 times the scenario's)",
                 {.questions = names_of({gpus})});
  command.option("--time-limit", options.time_limit, "SECONDS",
                 "gpus: stop after so many seconds and print what is known",
                 {.questions = names_of({gpus})});
  // Those of price and bandwidth are of the plan that --search finds.
  add_room_options(
      command, options.room, "",
      {.questions = names_of({gpus, model, sequence, headroom, change, batch, price, bandwidth})});
  command.option("--exposed", options.exposed, "SHARE",
                 "bandwidth: share of a step that counts as none (default: \"1 %\")",
                 {.questions = names_of({bandwidth})});
  command.option("--against", options.against, "SCENARIO", "price: scenario on the other cluster",
                 {.questions = names_of({price})});
  command.option("--ttft", options.ttft, "GOAL",
                 "gpus and rate of serving: time to the first token to keep, \"P90 <= 1 s\"",
                 {.questions = names_of({gpus, rate})});
  command.option("--tpot", options.tpot, "GOAL",
                 "gpus and rate of serving: time per output token to keep, \"30 ms\"",
                 {.questions = names_of({gpus, rate})});
  command.option("--requests", options.requests, "RATE", "gpus of serving: load, \"2000 per min\"",
                 {.questions = names_of({gpus})});
  command.option("--step", options.step, "TIME", "gpus of post-training: longest step, \"60 s\"",
                 {.questions = names_of({gpus})});
  command.option("--wait", options.wait, "GOAL",
                 "hosts: wait to keep, \"P90 <= 4 h\" or \"CLASS mean <= 30 min\"",
                 {.questions = names_of({hosts})});
  command.option("--deadlines", options.deadlines, "GOAL",
                 "hosts: share of deadlines to meet, \"95 %\" or \"CLASS 95 %\"",
                 {.questions = names_of({hosts})});
  command.flag("--search", options.search,
               "price, bandwidth, batch, headroom: with the best plan instead of the scenario's",
               {.questions = names_of({price, bandwidth, batch, headroom})});
  add_threads_option(command, options.threads);
  add_answer_output(command, options.output, "schema solve/1");
  command.limit({"--deadline", "--start", "--budget", "--max-memory-share", "--headroom",
                 "--search", "--time-limit"},
                names_of({Work::training}),
                "of serving give --ttft, --tpot or --requests, of post-training --step");
  command.limit({"--ttft", "--tpot", "--requests"}, names_of({Work::serving}),
                "of training give --deadline or --budget, of post-training --step");
  command.limit({"--step"}, names_of({Work::post_training}),
                "of training give --deadline or --budget, of serving --ttft or --tpot");
}

}  // namespace

CommandRow solve_command() {
  const auto options = std::make_shared<SolveCommandOptions>();
  CommandRow command{"solve", "Answer what it takes: GPUs, bandwidth, price"};
  add_scenario_argument(command, options->scenario);
  command.option("question", options->question, "QUESTION",
                 "gpus, rate, model, sequence, bandwidth, headroom, change, price, batch or hosts",
                 {.required = true});
  add_options(command, *options);
  add_scenario_options(command, options->scenario);
  command.texts = {
      .notes =
          "Questions:\n"
          "  gpus       fewest GPUs that keep a deadline, whatever the plan; of serving those "
          "that\n"
          "             keep TTFT and TPOT, of post-training those that keep a step\n"
          "  rate       most requests per second under which a deployment keeps TTFT and TPOT\n"
          "  model      largest model of this shape that fits into the machine\n"
          "  sequence   longest sequence that fits\n"
          "  bandwidth  rate between hosts from which communication stops being exposed\n"
          "  headroom   memory that is free, and what can grow into it\n"
          "  change     smallest change that makes a plan fit\n"
          "  price      price per GPU-hour at which another cluster breaks even\n"
          "  batch      how far micro-batch and global batch can grow\n"
          "  hosts      fewest hosts on which the jobs of a cluster file keep a wait or deadlines",
      .examples =
          {"foretrain solve run.yaml gpus --deadline \"30 days\"",
           "foretrain solve chat.yaml gpus --requests \"40 per s\" --ttft \"1 s\" --tpot \"30 ms\"",
           "foretrain solve chat.yaml rate --ttft \"1 s\"",
           "foretrain solve rl.yaml gpus --step \"60 s\"",
           "foretrain solve run.yaml bandwidth --exposed \"2 %\" --json",
           "foretrain solve h100.yaml price --against a100.yaml --search"},
      .exits = {{exit_infeasible, "there is no such value"}}};
  command.question = [options] { return std::string(name_of(options->question)); };
  command.run = [options, row = command] { return run_solve(*options, row); };
  return command;
}

}  // namespace foretrain
