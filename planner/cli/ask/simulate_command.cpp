// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "planner/cli/answer_output.hpp"
#include "planner/cli/ask/event_simulation.hpp"
#include "planner/cli/ask/step_views.hpp"
#include "planner/cli/commands.hpp"
#include "planner/cli/interruption.hpp"
#include "planner/cli/source_options.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/edit/idle_settings.hpp"
#include "planner/forecast/report_answer.hpp"
#include "planner/forecast/report_json.hpp"
#include "planner/forecast/run_end.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/page/report_page.hpp"
#include "planner/text/usage_error.hpp"
#include "planner/transfers/transfer_report.hpp"

namespace foretrain {
namespace {

struct SimulateOptions {
  SourceOptions source;
  std::optional<EngineKind> engine;  ///< absent: as the views need it
  AttentionFlops flops = AttentionFlops::full;
  StepViewOptions views;
  EventCliOptions event;
  AnswerOutput output;
  bool full = false;
  bool strict = false;

  /// Nobody sees the text report with its verdicts.
  [[nodiscard]] bool silent() const {
    return output.json || output.csv || !output.out.empty() || views.text_chart();
  }
};

/// What charts and traces show; absent where nobody wants any or the plan cannot run.
std::optional<StepPath> path_for_views(const Report& report, const StepViewOptions& views) {
  if (!views.wanted() || !report.prediction.step) return std::nullopt;
  const Job& job = report.scenario.job;
  return step_path(job, stage_layout(job.model, job.parallel), views.detail.value_or(Detail::pass));
}

/// What is drawn besides the report's numbers.
struct Played {
  std::optional<StepPath> path;
  std::vector<TraceCounter> counters;
  std::optional<StepPath> on_fabric{};  ///< by the event engine, for pages
};

int print(const Report& report, const Played& played, const SimulateOptions& options) {
  const AnswerOutput& output = options.output;
  std::string chart;
  if (played.path)
    chart = make_step_views(report, *played.path, options.views, output.style(), played.counters);
  else if (options.views.wanted())
    write_diagnostic("no chart and no trace: the plan cannot run");
  const AnswerForms forms{"forecast",
                          [&] { return report.study ? report.study->json : report_json(report); },
                          [&] { return report_csv({report}); },
                          [&] {
                            return page_html({{page_side(report, played.on_fabric)}, std::nullopt});
                          },
                          chart};
  const bool full = options.full || output.markdown;
  return deliver_answer(output, forms, [&] {
    return report_answer(report, full ? ReportLength::full : ReportLength::screen,
                         source_words(options.source));
  });
}

/// JSON, CSV and charts have no place for verdicts: they go where people look.
void tell_budget(const Report& report) {
  for (const BudgetVerdict& verdict : report.budget)
    write_diagnostic((verdict.pass ? "PASS  " : "FAIL  ") + budget_text(verdict));
}

bool tell_uncalibrated(const Prediction& prediction) {
  bool found = false;
  for (const Warning& warning : prediction.warnings) {
    if (!outside_calibration(warning)) continue;
    write_diagnostic("strict: " + warning.id + ": " + warning.message);
    found = true;
  }
  return found;
}

int finish(Report& report, const Played& played, const SimulateOptions& options) {
  // Judged even when the plan cannot run, so that a wrong metric is always told.
  report.budget = judge_budget(report);
  const bool feasible = report.prediction.feasible();
  if (!report.prediction.feasible() && !report.prediction.step) report.budget.clear();
  const int delivered = print(report, played, options);
  if (options.silent()) tell_budget(report);
  if (delivered != exit_ok) return delivered;
  if (!feasible) {
    if (options.silent())
      for (const Infeasible& reason : report.prediction.reasons)
        write_diagnostic("infeasible: " + reason.message);
    return exit_infeasible;
  }
  if (!within_budget(report.budget)) return exit_budget;
  if (options.strict && tell_uncalibrated(report.prediction)) return exit_uncalibrated;
  return exit_ok;
}

int simulate_beside(const SimulateOptions& options) {
  if (options.output.csv || options.output.markdown || options.views.wanted() ||
      !options.event.heat.empty() || !options.event.replay.empty())
    throw UsageError("--neighbour prints text or --json: take the other outputs out");
  SourceOptions neighbour = options.source;
  neighbour.scenario.file = options.event.neighbour;
  neighbour.scenario.overrides.clear();  // they are said of the scenario
  const auto result =
      simulate_neighbours(read_scenario(options.source), read_scenario(neighbour), options.event);
  if (!result) {
    write_diagnostic("stopped: steps beside a neighbour were not played to their end");
    return Interruption::exit_code();
  }
  if (const auto* refused = std::get_if<Infeasible>(&*result)) {
    write_diagnostic("infeasible: " + refused->message +
                     (refused->remedy.empty() ? "" : " (" + refused->remedy + ")"));
    return exit_infeasible;
  }
  const auto& report = std::get<NeighbourReport>(*result);
  return deliver(
      options.output.json ? neighbour_json(report) : neighbour_text(report, options.output.style()),
      options.output.out);
}

/// What goes between parts of a machine that do unlike work, in place of a step of training.
int simulate_transfers(const SimulateOptions& options, const TransferReport& report) {
  const int delivered =
      deliver_answer(options.output, {"transfers", [&] { return transfer_json(report); }},
                     [&] { return transfer_answer(report); });
  if (delivered != exit_ok) return delivered;
  return report.reasons.empty() ? int{exit_ok} : int{exit_infeasible};
}

int simulate_on_fabric(const SimulateOptions& options, const CommandRow& command,
                       AttentionFlops convention) {
  check_event_options(options.event);
  if (!options.event.neighbour.empty()) return simulate_beside(options);
  Scenario scenario = read_scenario(options.source, Purpose::any);
  refuse_other_works(command, name_of(scenario.work));
  if (options.event.seed) scenario.job.simulation.seed = *options.event.seed;
  if (scenario.work == Work::post_training)
    return simulate_transfers(options, weights_on_fabric(scenario));
  const bool serves = scenario.work == Work::serving;
  if (serves && scenario.serving->prefill.replicas == 0)
    throw UsageError(
        "the scenario serves and does not train; type foretrain serve FILE: of serving, the event "
        "engine plays caches from replicas that prefill alone");
  if (serves) return simulate_transfers(options, caches_on_fabric(scenario));
  EventSimulation simulation =
      simulate_events(std::move(scenario), convention, options.event, options.views);
  EventReport& event = simulation.event;
  if (simulation.interrupted) {
    (void)deliver(stopped_text(event, *simulation.interrupted, output_style()), options.output.out);
    return Interruption::exit_code();
  }
  if (event.run && !options.event.replay.empty()) write_replay({&simulation}, options.event.replay);
  if (event.run && !options.silent()) write_diagnostic("simulated " + played_text(event));
  Played played{simulation.path, {}};
  if (played.path) played.counters = link_counters(event);
  if (event.run) played.on_fabric = played_path(*event.run);
  return finish(event.report, played, options);
}

/// Requests that are served, or a step of generation and training, in place of training alone.
int simulate_study(const SimulateOptions& options, const Scenario& scenario) {
  const Interruption guard;
  Report report =
      evaluate(scenario, AttentionFlops::full, EngineKind::closed_form, &Interruption::noted());
  const bool stopped = report.study->stopped;
  warn_of_idle_settings(AttentionFlops::full, EngineKind::closed_form, report,
                        &Interruption::noted());
  const int said = finish(report, {}, options);
  return stopped ? Interruption::exit_code() : said;
}

int simulate(const SimulateOptions& options, const CommandRow& command, EngineKind engine) {
  const auto convention = options.flops;
  if (engine == EngineKind::event) return simulate_on_fabric(options, command, convention);
  if (options.event.given())
    throw UsageError(
        "--unfold, --seed, --progress, --heat, --replay and --neighbour are for --engine event: "
        "the others "
        "have no links");
  Scenario scenario = read_scenario(options.source, Purpose::any);
  refuse_other_works(command, name_of(scenario.work));
  if (scenario.work != Work::training) return simulate_study(options, scenario);
  Report report = evaluate(std::move(scenario), convention, engine);
  warn_of_idle_settings(convention, engine, report);
  return finish(report, {path_for_views(report, options.views), {}}, options);
}

}  // namespace

CommandRow simulate_command() {
  const auto options = std::make_shared<SimulateOptions>();
  CommandRow command{"simulate", "Forecast one scenario"};
  add_source_options(command, options->source);
  command.option("--engine", options->engine, "NAME", "How to compute: closed-form, path or event");
  command.option("--flops", options->flops, "NAME",
                 "Attention scores in model FLOPs: full or causal");
  add_answer_output(command, options->output, "schema prediction/1", "one header row and one row");
  command.flag("--full", options->full, "Print everything, not just what fits on a screen",
               {.excludes = {"--brief"}});
  command.flag("--strict", options->strict,
               "Exit with 5 when a number lies outside the calibrated range");
  add_step_view_options(command, options->views);
  add_event_options(command, options->event);
  add_scenario_options(command, options->source.scenario);
  command.limit({"--csv", "--gantt", "--trace", "--power", "--heat", "--replay"},
                names_of({Work::training}),
                "the others are text, --json, --markdown and --html; of requests, foretrain serve "
                "FILE --csv has a row each");
  command.texts = {
      .examples =
          {"foretrain simulate run.yaml",
           "foretrain simulate run.yaml --set parallel.tensor=4 --set parallel.data=32",
           "foretrain simulate run.yaml --json | jq .step.time_s",
           "foretrain simulate run.yaml --brief             the answer alone",
           "foretrain simulate run.yaml --full              memory row by row, sources, all "
           "warnings",
           "foretrain simulate run.yaml --markdown --out forecast.md",
           "foretrain simulate run.yaml --engine event      on the fabric, flow by flow",
           "foretrain simulate run.yaml --engine event --neighbour other.yaml",
           "foretrain simulate grpo.yaml --engine event     new weights on their way to the engine",
           "foretrain simulate run.yaml --gantt             the step as a chart",
           "foretrain simulate run.yaml --gantt step.svg --trace step.json.gz",
           "foretrain simulate run.yaml --power power.csv   watts of GPU, host, rack and site",
           "foretrain simulate runs.yaml#my-run             a measured run, beside its forecast",
           "foretrain simulate --megatron pretrain_gpt.sh --gpus 64",
           "foretrain simulate --hf config.json --set parallel.tensor=4"},
      .exits = {{exit_infeasible}, {exit_budget}, {exit_uncalibrated}}};
  command.run = [options, row = command] {
    const AnswerOutput& output = options->output;
    const bool other_form = output.json || output.csv || output.markdown;
    return simulate(*options, row, check_step_views(options->views, options->engine, other_form));
  };
  return command;
}

}  // namespace foretrain
