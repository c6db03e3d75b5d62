// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "planner/cli/ask/cluster_run.hpp"
#include "planner/cli/commands.hpp"
#include "planner/cli/interruption.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/cluster/cluster_file.hpp"
#include "planner/cluster/cluster_report.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

struct ClusterCommandOptions {
  ClusterRunOptions run;
  std::string svg;
};

/// Until the first signal.
std::optional<QueueSummary> simulated_queue(const ClusterFile& file,
                                            const ClusterRunOptions& options) {
  const Interruption guard;
  return study_queue(file.queue, queue_study_options(options, file));
}

/// The first replication's, where it is not too large to be kept.
std::vector<ScheduledStretch> drawn_schedule(const ClusterFile& file) {
  constexpr double most_jobs = 1e6;
  if (expected_jobs(file.queue) > most_jobs) return {};
  const Interruption guard;
  QueueRunOptions options;
  options.schedule = true;
  options.stop = &Interruption::noted();
  QueueSample sample = simulate_queue(file.queue, options);
  return sample.complete ? std::move(sample.schedule) : std::vector<ScheduledStretch>{};
}

int show_queue(const ClusterCommandOptions& options) {
  const ClusterFile file = read_cluster(options.run.scenario);
  const auto summary = simulated_queue(file, options.run);
  if (!summary) {
    write_diagnostic("foretrain: interrupted before one replication ended");
    return Interruption::exit_code();
  }
  if (!options.svg.empty())
    write_file(options.svg,
               scene_svg(cluster_chart(file, *summary, picture_space(file.name, 920.0, 470.0))));
  const AnswerForms forms{"queue of a cluster", [&] { return cluster_json(file, *summary); },
                          [&] { return cluster_csv(file, *summary); }};
  const int delivered = deliver_answer(options.run.output, forms, [&] {
    return cluster_answer(
        file, *summary,
        options.run.output.html.empty() ? std::vector<ScheduledStretch>{} : drawn_schedule(file));
  });
  if (delivered != exit_ok) return delivered;
  return summary->stopped ? Interruption::exit_code() : int{exit_ok};
}

int run_cluster(const ClusterCommandOptions& options) {
  const int asked = static_cast<int>(!options.run.hosts.empty()) +
                    static_cast<int>(!options.run.wait.empty()) +
                    static_cast<int>(!options.run.deadlines.empty());
  if (asked == 0) return show_queue(options);
  if (asked > 1) throw UsageError("--hosts, --wait and --deadlines exclude each other");
  if (options.run.output.csv || !options.svg.empty())
    throw UsageError(
        "--csv and --svg show one number of hosts: leave --hosts, --wait and --deadlines out");
  return show_hosts(options.run);
}

}  // namespace

CommandRow cluster_command() {
  const auto options = std::make_shared<ClusterCommandOptions>();
  CommandRow command{"cluster",
                     "Simulate the queue of a cluster that many jobs share: waits, utilisation"};
  command.option("file", options->run.scenario.file, "FILE",
                 "Cluster file, or - for standard input");
  command.option("--replications", options->run.replications, "N",
                 "Independent simulations; by default the file's, or as many as precision takes",
                 {.range = {{1, 100000}}});
  add_threads_option(command, options->run.threads);
  command.option("--hosts", options->run.hosts, "LIST",
                 "Waits by number of hosts, with the same jobs: \"24,28..40+4\"");
  command.option("--wait", options->run.wait, "GOAL",
                 "Fewest hosts that keep a wait: \"P90 <= 4 h\", \"CLASS mean <= 30 min\"");
  command.option("--deadlines", options->run.deadlines, "GOAL",
                 "Fewest hosts on which that share of deadlines is met: \"95 %\", \"CLASS 95 %\"");
  command.option("--svg", options->svg, "FILE", "Draw hosts and queue over time into FILE.svg",
                 {.writes = FileUse::report});
  add_answer_output(command, options->run.output,
                    "schema cluster/1 (with --hosts, --wait or --deadlines cluster-hosts/1)",
                    "a row per class");
  add_scenario_options(command, options->run.scenario);
  command.texts = {
      .examples = {"foretrain cluster lab.yaml",
                   "foretrain cluster lab.yaml --set cluster.hosts=48 --json",
                   "foretrain cluster lab.yaml --hosts 24..40+4",
                   "foretrain cluster lab.yaml --wait \"P90 <= 4 h\"",
                   "foretrain cluster lab.yaml --set policy.backfill=easy --html lab.html",
                   "foretrain cluster fit jobs.txt --host dgx-h100 --out fitted.yaml"},
      .exits = {{exit_infeasible, "no number of hosts does"}, {exit_interrupted}}};
  command.commands = {cluster_fit_command()};
  command.run = [options] {
    if (options->run.scenario.file.empty())
      throw UsageError("cluster: which file? foretrain cluster FILE, or foretrain cluster fit LOG");
    return run_cluster(*options);
  };
  return command;
}

}  // namespace foretrain
