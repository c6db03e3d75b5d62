// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/ask/sweep_run.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <utility>

#include "models/base/ranges.hpp"
#include "planner/cli/help/program_build.hpp"
#include "planner/cli/interruption.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/sweep/sweep.hpp"
#include "planner/sweep/sweep_choices.hpp"
#include "planner/sweep/sweep_pool.hpp"
#include "planner/sweep/sweep_report.hpp"
#include "planner/sweep/sweep_store.hpp"
#include "planner/text/format.hpp"
#include "planner/text/quoting.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/sections/compose.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr double commit_every = 0.25;  ///< seconds; what a kill -9 can cost
constexpr double show_every = 0.2;
constexpr int default_tasks = 16;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Points whose number leaves `rest` when divided by `of`.
struct Shard {
  int rest = 0;
  int of = 1;
};

Shard shard_of(const std::string& text) {
  if (text.empty()) return {};
  int part = 0;
  int of = 0;
  const char* end = text.data() + text.size();
  auto read = std::from_chars(text.data(), end, part);
  if (read.ec == std::errc{} && read.ptr != end && *read.ptr == '/')
    read = std::from_chars(read.ptr + 1, end, of);
  else
    read.ec = std::errc::invalid_argument;
  if (read.ec != std::errc{} || read.ptr != end || part < 1 || of > most_shards || part > of)
    throw UsageError("--shard: " + in_quotes(text) +
                     " is not I/N, such as 3/16, with I from 1 to N");
  return {part - 1, of};
}

/// Processors that this process may use.
int processors() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::clamp(CPU_COUNT(&set), 1, most_workers);
}

FamilyBase base_of(const ScenarioOptions& options) {
  FamilyBase base;
  base.options = load_options(options);
  base.options.purpose = Purpose::any;
  if (options.file == "-") {
    base.text = read_standard_input();
    base.name = "<stdin>";
    base.folder = fs::current_path();
    return base;
  }
  Diagnostics diagnostics;
  const fs::path file = options.file;
  auto text = read_text_file(file, options.file, YamlLimits{}.file_bytes, diagnostics);
  diagnostics.throw_if_any();
  base.text = std::move(*text);
  base.name = options.file;
  base.folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  if (base.options.root.empty()) base.options.root = repository_of(base.folder);
  return base;
}

/// The keys that --set settles.
std::vector<std::string> settled_keys(const SweepOptions& options) {
  std::vector<std::string> keys;
  for (const std::string& text : options.scenario.overrides)
    keys.push_back(text.substr(0, text.find('=')));
  return keys;
}

/// Data ranks are what the machine has left once other degrees change, unless the user asks for a
/// number of them.
bool data_follows(const SweepOptions& options, const SweepGrid& grid) {
  const auto keys = grid.keys();
  if (contains(keys, "parallel.data") || contains(keys, "parallel") ||
      contains(settled_keys(options), "parallel.data"))
    return false;
  return contains(keys, "cluster.hosts") || contains(keys, "cluster.host") ||
         contains(keys, "parallel.tensor") || contains(keys, "parallel.context") ||
         contains(keys, "parallel.pipeline");
}

/// Keys of the scenario's plan that the axes carry along, or leave out.
void let_plan_follow(const SweepOptions& options, SweepQuestion& question, bool tell) {
  Diagnostics ignored;  // told when the sweep reads the scenario
  FamilyBase& base = question.base;
  const ComposedDocument document =
      compose_scenario(base.text, base.name, base.folder, base.options, ignored);
  const YamlNode* parallel = document.root.find("parallel");
  if (parallel == nullptr) return;
  const auto said = [&](const char* key, const char* otherwise) {
    const YamlNode* node = parallel->find(key);
    return node ? node->text : std::string(otherwise);
  };
  const auto added =
      follow_axes(question.grid,
                  following_keys(said("sequence", "false") == "true", said("virtual_stages", "1"),
                                 said("schedule", "interleaved")),
                  settled_keys(options));
  for (const FollowingKey& one : added)
    if (tell)
      write_diagnostic(fmt::format("{} follows {}: {} where that is 1; --set {}=... keeps it",
                                   one.key, one.of, one.alone, one.key));
  if (parallel->find("data") == nullptr || !data_follows(options, question.grid)) return;
  base.options.left_out = {"parallel.data"};
  if (!tell) return;
  write_diagnostic("parallel.data follows from the machine and the other degrees (the scenario's " +
                   said("data", "") + " is left out); --set parallel.data=... keeps it");
}

SweepQuestion question_of(const SweepOptions& options, bool tell = true) {
  if (options.axes.empty())
    throw UsageError("sweep: nothing varies; add for example --vary parallel.tensor=1,2,4,8");
  SweepQuestion question;
  question.grid = make_grid(options.axes);
  question.engine = options.engine;
  if (!options.metrics.empty()) question.metrics = split_metrics(options.metrics);
  question.base = base_of(options.scenario);
  let_plan_follow(options, question, tell);
  question.program = program_build();
  return question;
}

/// The bar on a terminal's standard error.
class Progress {
 public:
  Progress(std::int64_t done, std::int64_t all) : first_(done), done_(done), all_(all) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() {
    if (drawn_) write_diagnostic("");
  }

  void add(std::int64_t rows) { done_ += rows; }
  [[nodiscard]] double elapsed() const { return seconds_since(start_); }
  [[nodiscard]] std::int64_t fresh() const { return done_ - first_; }

  void show() {
    if (elapsed() - shown_ < show_every) return;
    shown_ = elapsed();
    const double rate = static_cast<double>(fresh()) / shown_;
    const double share = all_ > 0 ? static_cast<double>(done_) / static_cast<double>(all_) : 1.0;
    std::string left = "unknown";
    if (rate > 0.0) left = duration_text(Seconds{static_cast<double>(all_ - done_) / rate});
    drawn_ |= write_progress(
        fmt::format("[{}] {} of {}, {}/s, {} left", span_bar(0.0, share, 24, TextStyle{}),
                    with_thousands(done_), with_thousands(all_), significant_text(rate), left));
  }

 private:
  Clock::time_point start_ = Clock::now();
  double shown_ = 0.0;
  bool drawn_ = false;
  std::int64_t first_;
  std::int64_t done_;
  std::int64_t all_;
};

/// Writes what the workers answer, and knows what is left to do.
class Collector {
 public:
  Collector(const Sweep& sweep, SweepStore& store, const Shard& shard, bool retry)
      : sweep_(sweep), store_(store) {
    const std::vector<bool> done = store.done(retry);
    std::int64_t all = 0;
    for (std::int64_t point = shard.rest; point < sweep.size(); point += shard.of, ++all)
      if (!done[static_cast<std::size_t>(point)]) pending_.push_back(point);
    progress_.emplace(all - static_cast<std::int64_t>(pending_.size()), all);
  }

  [[nodiscard]] bool nothing_to_do() const { return pending_.empty(); }
  [[nodiscard]] const Progress& progress() const { return *progress_; }
  /// Rows of all points that this run was to do are there.
  [[nodiscard]] bool complete() const {
    return progress_->fresh() == static_cast<std::int64_t>(pending_.size());
  }

  [[nodiscard]] PoolTraffic traffic() {
    PoolTraffic result;
    result.take = [this](std::size_t wanted) {
      const std::size_t end = std::min(next_ + wanted, pending_.size());
      std::vector<std::int64_t> points(pending_.begin() + static_cast<std::ptrdiff_t>(next_),
                                       pending_.begin() + static_cast<std::ptrdiff_t>(end));
      next_ = end;
      return points;
    };
    result.deliver = [this](const std::vector<SweepRow>& rows) {
      store_.insert(sweep_, rows);
      progress_->add(static_cast<std::int64_t>(rows.size()));
    };
    result.idle = [this] {
      if (seconds_since(committed_) > commit_every) commit();
      progress_->show();
    };
    return result;
  }

  void commit() {
    store_.commit();
    committed_ = Clock::now();
  }

 private:
  const Sweep& sweep_;
  SweepStore& store_;
  std::vector<std::int64_t> pending_;
  std::size_t next_ = 0;
  Clock::time_point committed_ = Clock::now();
  std::optional<Progress> progress_;
};

PoolOptions pool_options(const SweepOptions& options, int workers) {
  PoolOptions pool;
  pool.workers = workers;
  pool.stop = &Interruption::noted();
  if (!options.timeout) return pool;
  if (!(*options.timeout > 0.0 && *options.timeout <= 1e6))
    throw UsageError(fmt::format("--timeout takes seconds above 0, not {}", *options.timeout));
  pool.timeout = Seconds{*options.timeout};
  return pool;
}

using SweepWriter = void (*)(const SweepStore&, const TextSink&);

std::string whole_of(const SweepStore& store, SweepWriter write) {
  std::string whole;
  write(store, [&](std::string_view text) {
    whole += text;
    return true;
  });
  return whole;
}

/// Rows go out as they are read where they are all that is asked for.
int deliver_result(const SweepStore& store, const SweepOptions& options, const std::string& next) {
  const AnswerOutput& output = options.output;
  if ((output.json || output.csv) && !output.brief && output.html.empty() && output.out.empty()) {
    bool open = true;
    (output.json ? sweep_json : sweep_csv)(store, [&](std::string_view text) {
      open = write_output(text);
      return open;
    });
    return open ? int{exit_ok} : exit_closed_pipe;
  }
  const AnswerForms forms{"sweep", [&] { return whole_of(store, sweep_json); },
                          [&] { return whole_of(store, sweep_csv); }};
  return deliver_answer(output, forms, [&] {
    Answer answer = sweep_answer(store);
    answer.head.next = next;
    return answer;
  });
}

/// The forecast of the best point; a search where that is not in the scenario's own terms.
std::string next_of(const SweepStore& store, const SweepOptions& options, const Sweep& sweep) {
  const ScenarioOptions& scenario = options.scenario;
  if (scenario.file == "-" || store.counts().missing() == store.counts().points) return "";
  const std::vector<std::string> best = best_settings(store);
  const bool as_it_is = !best.empty() && sweep.question().base.options.left_out.empty();
  std::vector<std::string> words{"foretrain", as_it_is ? "simulate" : "plan", scenario.file};
  for (const auto* settings : {&scenario.overrides, &best})
    for (const std::string& setting : *settings)
      if (as_it_is) words.insert(words.end(), {"--set", setting});
  for (const std::string& word : scenario.folders.arguments()) words.push_back(word);
  return shell_words(words);
}

void tell_timing(const Progress& progress, int workers) {
  write_diagnostic(
      fmt::format("{} points in {:.2f} s: {} per second, {} {}", with_thousands(progress.fresh()),
                  progress.elapsed(),
                  significant_text(static_cast<double>(progress.fresh()) / progress.elapsed()),
                  workers, workers == 1 ? "worker" : "workers"));
}

int verdict(const SweepStore& store, const Collector& collector) {
  if (Interruption::noted()) return Interruption::exit_code();
  const SweepCounts counts = store.counts();
  if (collector.complete() && counts.failed == 0) return exit_ok;
  write_diagnostic("partial: " + counts_text(counts));
  return exit_partial;
}

/// The process that has the result: the only one, or rank 0.
int lead_sweep(const SweepOptions& options, Sweep& sweep, std::optional<MpiPlace> place) {
  const int workers = options.workers.value_or(place ? 1 : processors());
  const PoolOptions pool = pool_options(options, workers);
  SweepStore store(options.db, sweep, options.resume);
  Collector collector(sweep, store, shard_of(options.shard), options.retry);
  std::unique_ptr<Ranks> ranks = place ? std::make_unique<Ranks>(*place) : nullptr;
  {
    const Interruption interruption;
    const PoolTraffic traffic = collector.traffic();
    if (ranks)
      serve_ranks(*ranks, pool, traffic);
    else if (!collector.nothing_to_do())
      run_pool([&](std::int64_t point) { return sweep.forecast(point); },
               sweep.question().metrics.size(), pool, traffic);
  }
  collector.commit();
  if (options.timing || error_is_terminal())
    tell_timing(collector.progress(), ranks ? (place->size - 1) * workers : workers);
  const int delivered = deliver_result(store, options, next_of(store, options, sweep));
  return delivered != exit_ok ? delivered : verdict(store, collector);
}

/// A rank that computes. What is wrong with the sweep, rank 0 says.
int follow_sweep(const SweepOptions& options, const MpiPlace& place) {
  std::unique_ptr<Sweep> sweep;
  std::optional<PoolOptions> pool;
  try {
    sweep = std::make_unique<Sweep>(question_of(options, false));
    pool = pool_options(options, options.workers.value_or(1));
  } catch (const std::exception&) {
    return exit_usage;
  }
  Ranks ranks(place);
  const Interruption interruption;
  run_rank(
      ranks, [&](std::int64_t point) { return sweep->forecast(point); },
      sweep->question().metrics.size(), *pool);
  return exit_ok;
}

std::string plain_name(const std::string& text) {
  std::string name;
  for (const char c : fs::path(text).stem().string())
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
  return name + "-sweep";
}

/// The sweep as the script runs it, from any folder.
std::vector<std::string> script_arguments(const SweepOptions& options) {
  std::vector<std::string> arguments{"sweep", fs::absolute(options.scenario.file).string()};
  const auto add = [&](const char* name, const std::string& value) {
    arguments.emplace_back(name);
    arguments.push_back(value);
  };
  for (const std::string& axis : options.axes) add("--vary", axis);
  for (const std::string& setting : options.scenario.overrides) add("--set", setting);
  for (const std::string& folder : options.scenario.folders.profiles)
    add("--profiles", fs::absolute(folder).string());
  for (const std::string& folder : options.scenario.folders.catalogs)
    add("--catalog", fs::absolute(folder).string());
  if (!options.scenario.root.empty()) add("--root", fs::absolute(options.scenario.root).string());
  add("--engine", std::string(name_of(options.engine)));
  if (!options.metrics.empty()) add("--metrics", options.metrics);
  if (options.timeout) add("--timeout", fmt::format("{}", *options.timeout));
  return arguments;
}

int emit_script(const SweepOptions& options) {
  if (options.emit != "sbatch") refuse_value("--emit", options.emit, {"sbatch"});
  if (options.scenario.file == "-")
    throw UsageError("--emit sbatch: the tasks of an array read a file, not standard input");
  if (!options.db.empty() || !options.shard.empty())
    throw UsageError("--emit sbatch: the script gives each task its own --db and --shard");
  const Sweep sweep(question_of(options));
  SlurmArray array;
  array.name = plain_name(options.scenario.file);
  array.arguments = script_arguments(options);
  array.points = sweep.size();
  array.workers = options.workers.value_or(1);
  array.tasks =
      options.tasks.value_or(static_cast<int>(std::min<std::int64_t>(default_tasks, sweep.size())));
  if (sweep.question().engine == EngineKind::path) array.points_per_s = 50.0;
  if (sweep.question().engine == EngineKind::event) array.points_per_s = 0.2;
  return deliver(sbatch_script(array), options.output.out);
}

}  // namespace

int run_sweep(const SweepOptions& options) {
  if (!options.emit.empty()) return emit_script(options);
  if (options.tasks) throw UsageError("--tasks goes with --emit sbatch");
  if (options.db.empty() && (options.resume || options.retry))
    throw UsageError("--resume and --retry continue a --db; give its file");
  const auto place = rank_place([](const char* name) {
    return std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  });
  if (place && place->rank > 0) return follow_sweep(options, *place);
  Sweep sweep(while_noting([&] { return question_of(options); }));
  return lead_sweep(options, sweep, place);
}

int run_sweep_merge(const std::vector<std::string>& files) {
  if (files.size() < 2) throw UsageError("sweep merge takes the new file, then those to merge");
  merge_sweeps(files.front(), {files.begin() + 1, files.end()});
  const SweepCounts counts = SweepStore(files.front()).counts();
  write_diagnostic(counts_text(counts));
  return counts.complete() ? exit_ok : exit_partial;
}

int run_sweep_export(const std::string& file, const SweepOptions& options) {
  const SweepStore store(file);
  const int delivered =
      deliver_result(store, options, shell_words({"foretrain", "sweep", "export", file, "--csv"}));
  if (delivered != exit_ok) return delivered;
  return store.counts().complete() ? exit_ok : exit_partial;
}

}  // namespace foretrain
