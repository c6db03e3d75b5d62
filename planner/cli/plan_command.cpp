// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>

#include "planner/cli/command.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/format.hpp"
#include "planner/search_report.hpp"
#include "planner/usage_error.hpp"
#include "scenarios/diagnostics.hpp"

namespace foretrain {
namespace {

constexpr std::size_t most_plans = 1000;
constexpr int most_threads = 256;
constexpr int exit_interrupted = 128 + SIGINT;
constexpr std::string_view hosts_key = "cluster.hosts=";

struct PlanOptions {
  ScenarioOptions scenario;
  std::vector<std::string> fixed;
  std::vector<std::string> varied;
  std::string gpus;
  std::string by = "time";
  double max_memory_share = 1.0;
  std::optional<double> max_step;
  std::optional<double> time_box;
  int top = 10;
  int threads = 2;
  std::vector<std::string> emit;  ///< number, file
  std::string out;
  bool all_schedules = false;
  bool timing = false;
  bool json = false;
  bool csv = false;
};

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): all a handler can reach
std::atomic<bool> interrupted{false};

/// The first Ctrl-C ends the search, the second one the program.
void interrupt(int signal) {
  interrupted = true;
  std::signal(signal, SIG_DFL);
}

/// Loads one scenario several times, standard input included.
class Source {
 public:
  explicit Source(const PlanOptions& options) : options_{options.scenario} {
    if (options_.file == "-") text_ = read_standard_input();
  }

  [[nodiscard]] Scenario load() const { return load_with(options_); }

  /// The machine of `job` with another number of hosts; its data ranks follow, whatever the
  /// scenario writes, since the search gives them anyway.
  [[nodiscard]] Cluster machine(const Job& job, int hosts) const {
    if (hosts == job.cluster.hosts) return job.cluster;
    ScenarioOptions options = options_;
    options.overrides.push_back(std::string(hosts_key) + std::to_string(hosts));
    const int gpus = hosts * job.cluster.host.gpus;
    const int model_gpus = job.parallel.gpus() / job.parallel.data;
    if (gpus % model_gpus == 0)
      options.overrides.push_back("parallel.data=" + std::to_string(gpus / model_gpus));
    return load_with(options).job.cluster;
  }

 private:
  [[nodiscard]] Scenario load_with(const ScenarioOptions& options) const {
    if (!text_) return read_scenario(options);
    return load_scenario_text(*text_, "<stdin>", std::filesystem::current_path(),
                              load_options(options));
  }

  ScenarioOptions options_;
  std::optional<std::string> text_;
};

std::vector<int> hosts_asked_for(const PlanOptions& options, const Job& job) {
  std::vector<int> hosts;
  for (const auto* list : {&options.fixed, &options.varied})
    for (const std::string& axis : *list)
      if (axis.starts_with(hosts_key))
        hosts = whole_numbers("cluster.hosts", axis.substr(hosts_key.size()), 1, 1'000'000);
  if (options.gpus.empty()) return hosts;
  if (!hosts.empty()) throw UsageError("--gpus and cluster.hosts ask for the same; give one");
  const int per_host = job.cluster.host.gpus;
  for (const int gpus : whole_numbers("--gpus", options.gpus, 1, 8'000'000)) {
    if (gpus % per_host != 0)
      throw UsageError(fmt::format("--gpus {}: a host has {} GPUs, so {} or {}", gpus, per_host,
                                   std::max(gpus / per_host, 1) * per_host,
                                   (gpus / per_host + 1) * per_host));
    hosts.push_back(gpus / per_host);
  }
  return hosts;
}

void refuse_doubled_axes(const PlanOptions& options) {
  std::vector<std::string> keys;
  for (const std::string& axis : options.fixed) {
    if (axis.find(',') != std::string::npos)
      throw UsageError("--fix takes one value; for several, write --vary " + axis);
    keys.push_back(axis.substr(0, axis.find('=')));
  }
  for (const std::string& axis : options.varied) keys.push_back(axis.substr(0, axis.find('=')));
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  if (twice != keys.end()) throw UsageError(*twice + " is given twice");
  if (options.all_schedules &&
      std::find(keys.begin(), keys.end(), "parallel.schedule") != keys.end())
    throw UsageError("--all-schedules and parallel.schedule ask for the same; give one");
}

SearchSpace space_of(const PlanOptions& options, const Source& source, const Scenario& scenario) {
  refuse_doubled_axes(options);
  std::vector<Cluster> machines;
  for (const int hosts : hosts_asked_for(options, scenario.job))
    machines.push_back(source.machine(scenario.job, hosts));
  if (machines.empty()) machines.push_back(scenario.job.cluster);
  Job largest = scenario.job;
  largest.cluster =
      *std::max_element(machines.begin(), machines.end(),
                        [](const Cluster& a, const Cluster& b) { return a.gpus() < b.gpus(); });
  SearchSpace space = default_space(largest);
  space.machines = std::move(machines);
  if (options.all_schedules) {
    space.schedule.clear();
    for (const auto& [kind, name] : EnumNames<ScheduleKind>::names) space.schedule.push_back(kind);
  }
  for (const auto* list : {&options.fixed, &options.varied})
    for (const std::string& axis : *list)
      if (!axis.starts_with(hosts_key)) set_axis(space, scenario.job, axis);
  check_size(space);
  return space;
}

SearchOptions search_options(const PlanOptions& options) {
  const auto positive = [](const char* name, double value) {
    if (!(value > 0.0)) throw UsageError(fmt::format("{} must be above 0, not {}", name, value));
    return value;
  };
  SearchOptions result;
  result.by = option_value<RankBy>("--by", options.by);
  if (options.top < 1 || options.top > static_cast<int>(most_plans))
    throw UsageError(fmt::format("--top takes 1 to {}, not {}", most_plans, options.top));
  result.top = static_cast<std::size_t>(options.top);
  if (options.threads < 1 || options.threads > most_threads)
    throw UsageError(fmt::format("--threads takes 1 to {}, not {}", most_threads, options.threads));
  result.threads = options.threads;
  result.max_memory_share = positive("--max-memory-share", options.max_memory_share);
  if (result.max_memory_share > 1.0)
    throw UsageError("--max-memory-share is a share of the usable memory: at most 1");
  if (options.max_step) result.max_step = Seconds{positive("--max-step", *options.max_step)};
  if (options.time_box) result.time_box = Seconds{positive("--time-box", *options.time_box)};
  result.stop = &interrupted;
  return result;
}

/// What the scenario says that is written: the user's --set first, then the plan.
std::string emitted(const PlanOptions& options, const Finalist& plan, int number,
                    const std::filesystem::path& file) {
  namespace fs = std::filesystem;
  if (options.scenario.file == "-")
    throw UsageError("--emit writes a scenario that extends a file; standard input is none");
  const fs::path folder = fs::absolute(file).parent_path();
  const std::string base =
      fs::weakly_canonical(options.scenario.file).lexically_relative(fs::weakly_canonical(folder));
  if (base.empty() || base.starts_with(".."))
    throw UsageError("--emit " + file.string() +
                     ": a scenario extends files of its own folder or below; write it to " +
                     fs::absolute(options.scenario.file).parent_path().string());
  std::vector<std::string> settings = options.scenario.overrides;
  settings.insert(settings.end(), plan.settings.begin(), plan.settings.end());
  const std::string text = scenario_with(
      base, fmt::format("{}-plan{}", plan.report.scenario.job.name, number), settings);
  LoadOptions load = load_options(options.scenario);
  load.overrides.clear();
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
             emitted(options, report.plans[static_cast<std::size_t>(number - 1)], number, file));
}

void write_progress(std::int64_t done, std::int64_t all) {
  const std::string text =
      fmt::format("\rforetrain: {} of {} combinations", with_thousands(done), with_thousands(all));
  static_cast<void>(::write(STDERR_FILENO, text.data(), text.size()) < 0);
}

PlanReport searched(const PlanOptions& options, const Scenario& scenario, const SearchSpace& space,
                    SearchOptions search) {
  const bool terminal = isatty(STDERR_FILENO) == 1;
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  double shown = 0.0;
  if (terminal)
    search.progress = [&](std::int64_t done) {
      if (elapsed() - shown < 0.1) return;
      shown = elapsed();
      write_progress(done, space.size());
    };
  std::signal(SIGINT, interrupt);
  PlanReport report = plan(scenario, space, search);
  std::signal(SIGINT, SIG_DFL);
  if (shown > 0.0) write_diagnostic("");
  if (terminal || options.timing)
    write_diagnostic(
        fmt::format("{} combinations in {:.2f} s: {} per second, {} threads",
                    with_thousands(report.result.evaluated), elapsed(),
                    significant_text(static_cast<double>(report.result.evaluated) / elapsed()),
                    search.threads));
  return report;
}

std::string rendered(const PlanReport& report, const PlanOptions& options) {
  if (options.json) return plan_json(report);
  if (options.csv) return plan_csv(report);
  return plan_text(report, options.out.empty() ? output_style() : TextStyle{});
}

int run_plan(const PlanOptions& options) {
  const SearchOptions search = search_options(options);
  const int number = plan_to_emit(options);
  const Source source{options};
  const Scenario scenario = source.load();
  const SearchSpace space = space_of(options, source, scenario);
  const PlanReport report = searched(options, scenario, space, search);
  const int delivered = deliver(rendered(report, options), options.out);
  if (delivered != exit_ok) return delivered;
  if (interrupted) return exit_interrupted;
  if (!report.plans.empty()) {
    emit(options, report, number);
    return exit_ok;
  }
  if (options.json || options.csv || !options.out.empty())
    write_diagnostic("infeasible: none of the combinations that were tried fits");
  return exit_infeasible;
}

void add_space_options(CLI::App& app, PlanOptions& options) {
  const auto repeated = [&](const char* name, std::vector<std::string>& values, const char* help) {
    return app.add_option(name, values, help)->expected(1)->take_all()->allow_extra_args(false);
  };
  repeated("--fix", options.fixed, "Give an axis one value: --fix parallel.tensor=8")
      ->type_name("KEY=VALUE");
  repeated("--vary", options.varied, "List an axis' values: --vary parallel.tensor=2,4,8")
      ->type_name("KEY=LIST");
  app.add_flag("--all-schedules", options.all_schedules,
               "Try every schedule, not only 1f1b and interleaved");
  app.add_option("--gpus", options.gpus, "Numbers of GPUs to try: --gpus 512,1024")
      ->type_name("LIST");
}

void add_search_options(CLI::App& app, PlanOptions& options) {
  app.add_option("--by", options.by, "What the best plan has least of: time, cost or gpus")
      ->type_name("NAME");
  app.add_option("--max-memory-share", options.max_memory_share,
                 "Most memory of a GPU, as a share of what is usable")
      ->type_name("SHARE");
  app.add_option("--max-step", options.max_step, "Longest step in seconds")->type_name("SECONDS");
  app.add_option("--top", options.top, "Plans to show (default: 10)")->type_name("N");
  app.add_option("--time-box", options.time_box, "End the search after so many seconds")
      ->type_name("SECONDS");
  app.add_option("--threads", options.threads, "Threads (default: 2); the result is the same")
      ->type_name("N");
  app.add_flag("--timing", options.timing, "Tell time and speed on standard error");
}

}  // namespace

Command add_plan_command(CLI::App& program) {
  const auto options = std::make_shared<PlanOptions>();
  CLI::App* app = program.add_subcommand("plan", "Search for the best plan of a scenario");
  app->add_option("scenario", options->scenario.file, "Scenario file, or - for standard input")
      ->required()
      ->type_name("SCENARIO");
  add_space_options(*app, *options);
  add_search_options(*app, *options);
  auto* json = app->add_flag("--json", options->json, "Print JSON, schema plan/1");
  auto* csv = app->add_flag("--csv", options->csv, "Print CSV, one row per plan");
  json->excludes(csv);
  app->add_option("--emit", options->emit, "Write plan N as a scenario that extends this one")
      ->expected(2)
      ->type_name("N FILE");
  app->add_option("--out", options->out, "Write to a file instead of standard output")
      ->type_name("FILE");
  add_scenario_options(*app, options->scenario);
  app->footer(
      "Tries every combination of parallel.tensor, pipeline, context, expert, virtual_stages,\n"
      "schedule, zero, training.micro_batch, global_batch, memory.recompute and cluster.hosts;\n"
      "data parallelism is what the machine has left. ZeRO stage, batch and machine stay as the\n"
      "scenario has them unless varied.\n"
      "Examples:\n"
      "  foretrain plan run.yaml\n"
      "  foretrain plan run.yaml --fix parallel.tensor=8 --vary parallel.zero=1,2,3\n"
      "  foretrain plan run.yaml --gpus 512,1024,2048 --by cost --max-step 20\n"
      "  foretrain plan run.yaml --max-memory-share 0.9 --emit 1 best.yaml\n"
      "Exit codes: 0 ok, 2 bad usage or input, 3 nothing fits, 130 interrupted.");
  return {app, [options] { return run_plan(*options); }};
}

}  // namespace foretrain
