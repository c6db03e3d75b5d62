// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/ask/event_simulation.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "planner/cli/command.hpp"
#include "planner/cli/interruption.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/text/format.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

using Clock = std::chrono::steady_clock;

/// A bar on standard error, where that is a terminal, for runs of more than a second; or lines that
/// programs read.
class ProgressBar {
 public:
  explicit ProgressBar(bool lines) : lines_{lines} {}
  void show(const ReplayProgress& progress) {
    const Clock::time_point now = Clock::now();
    if (lines_) {
      if (now - last_ < std::chrono::milliseconds{100}) return;
      last_ = now;
      write_diagnostic(fmt::format("progress {} of {} tasks, {:.6f} s simulated", progress.ended,
                                   progress.tasks, progress.now.value()));
      return;
    }
    if (now - begin_ < std::chrono::seconds{1} || now - last_ < std::chrono::milliseconds{200})
      return;
    last_ = now;
    const double share = static_cast<double>(progress.ended) / static_cast<double>(progress.tasks);
    shown_ = write_progress(fmt::format("[{}] {} of the tasks, {} simulated",
                                        span_bar(0.0, share, 30, TextStyle{}), percent_text(share),
                                        seconds_text(progress.now))) ||
             shown_;
  }
  ~ProgressBar() {
    if (shown_) (void)write_progress("");
  }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

 private:
  Clock::time_point begin_ = Clock::now();
  Clock::time_point last_ = begin_;
  bool lines_ = false;
  bool shown_ = false;
};

}  // namespace

void add_event_options(CommandRow& command, EventCliOptions& options) {
  command.flag("--unfold", options.unfold,
               "Engine event: simulate every data-parallel replica, not two that stand for all");
  command.option("--seed", options.seed, "N",
                 "Engine event: of ECMP hashes, jitter and shuffles, in place of the scenario's");
  command.flag("--progress", options.progress,
               "Engine event: lines 'progress N of M tasks, T s simulated' on standard error");
  command.option("--heat", options.heat, "FILE.svg",
                 "Engine event: draw the fabric by the use of its links",
                 {.writes = FileUse::report});
  command.option("--replay", options.replay, "FILE.html",
                 "Engine event: a page that plays the step, links coloured by their use",
                 {.writes = FileUse::report});
  command.option("--neighbour", options.neighbour, "FILE",
                 "Engine event: another scenario that trains on the same fabric,\nand by how "
                 "much each slows the other");
  command.option("--neighbour-steps", options.neighbour_steps, "N",
                 "Steps played from each of eight places in the neighbour's step (default: 4)",
                 {.range = {{1, 1000}}, .needs = {"--neighbour"}});
}

void check_event_options(const EventCliOptions& options) {
  if (!options.heat.empty() && !options.heat.ends_with(".svg"))
    throw UsageError("--heat " + in_quotes(options.heat) +
                     ": the picture is an SVG file, its name ends in .svg");
  if (!options.replay.empty() && !options.replay.ends_with(".html"))
    throw UsageError("--replay " + in_quotes(options.replay) +
                     ": the page is an HTML file, its name ends in .html");
}

void write_replay(const std::vector<const EventSimulation*>& sides, const std::string& file) {
  std::vector<ReplaySide> played;
  for (const EventSimulation* side : sides) {
    if (side->replay) {
      played.push_back({*side->replay, side->event});
    } else if (side->event.run) {
      write_diagnostic("no replay: routes change during the step");
      return;
    } else {
      write_diagnostic("no replay: the plan cannot run");
      return;
    }
  }
  write_file(file, replay_page(played));
}

std::optional<EngineReport> report_by(const Scenario& scenario, AttentionFlops convention,
                                      EngineKind engine) {
  if (scenario.work != Work::training) {
    require_own_engine(scenario, engine);
    const Interruption guard;
    Report report = evaluate(scenario, convention, EngineKind::closed_form, &Interruption::noted());
    if (report.study->stopped) return std::nullopt;
    return EngineReport{std::move(report), std::nullopt};
  }
  if (engine != EngineKind::event)
    return EngineReport{evaluate(scenario, convention, engine), std::nullopt};
  EventSimulation played = simulate_events(scenario, convention, {}, {});
  if (played.interrupted) {
    write_diagnostic("interrupted: a step was not played to its end, so there is no answer");
    return std::nullopt;
  }
  std::optional<StepPath> path;
  if (played.event.run) path = played_path(*played.event.run);
  return EngineReport{std::move(played.event.report), std::move(path)};
}

EventSimulation simulate_events(Scenario scenario, AttentionFlops convention,
                                const EventCliOptions& options, const StepViewOptions& views) {
  Simulation& simulation = scenario.job.simulation;
  simulation.unfold = simulation.unfold || options.unfold || !options.replay.empty();
  if (options.seed) simulation.seed = *options.seed;
  EventOptions how;
  how.detail = views.detail;
  if (!views.trace.empty()) how.watched_links = 8;
  std::optional<StepReplay> replay;
  if (!options.replay.empty()) replay.emplace(scenario).watch(how);
  ReplayProgress latest;
  ProgressBar bar{options.progress};
  how.on_progress = [&](const ReplayProgress& progress) {
    latest = progress;
    bar.show(progress);
    return !Interruption::noted();
  };
  const Interruption guard;
  EventSimulation result{evaluate_event(scenario, convention, how), std::nullopt, std::nullopt,
                         std::nullopt};
  const auto& run = result.event.run;
  // Also where what a plan would take if it fit was being played.
  if ((run && run->stopped) || Interruption::noted()) result.interrupted = latest;
  if (run && !run->stopped && views.wanted()) result.path = played_path(*run);
  if (run && !run->stopped && !options.heat.empty()) {
    const Scene heat = heat_chart(result.event);
    write_file(options.heat, scene_svg(heat, heat.space.subject));
  }
  if (run && !run->stopped && replay && replay->played()) result.replay = std::move(replay);
  return result;
}

EventSimulation simulate_links(const Scenario& scenario, AttentionFlops convention,
                               LinkQuestion question) {
  ReplayProgress latest;
  ProgressBar bar{false};
  question.on_progress = [&](const ReplayProgress& progress) {
    latest = progress;
    bar.show(progress);
    return !Interruption::noted();
  };
  const Interruption guard;
  EventSimulation result{play_for_links(scenario, convention, question), std::nullopt, std::nullopt,
                         std::nullopt};
  if (Interruption::noted()) result.interrupted = latest;
  return result;
}

std::optional<std::variant<NeighbourReport, Infeasible>> simulate_neighbours(
    Scenario first, const Scenario& other, const EventCliOptions& options) {
  if (options.seed) first.job.simulation.seed = *options.seed;
  NeighbourOptions how;
  how.steps = options.neighbour_steps;
  ProgressBar bar{options.progress};
  how.on_progress = [&](const ReplayProgress& progress) {
    bar.show(progress);
    return !Interruption::noted();
  };
  const Interruption guard;
  auto result = evaluate_neighbours(first, other, how);
  const auto* report = std::get_if<NeighbourReport>(&result);
  if (Interruption::noted() || (report != nullptr && report->run.stopped)) return std::nullopt;
  return result;
}

}  // namespace foretrain
