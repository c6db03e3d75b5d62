// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/ask/step_views.hpp"
#include "planner/scene/scene.hpp"

#include <fmt/format.h>

#include <cmath>

#include "models/base/require.hpp"
#include "models/forecast/path_forecast.hpp"
#include "planner/cli/command.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/forecast/power_chart.hpp"
#include "planner/step/gantt.hpp"
#include "planner/step/trace.hpp"
#include "planner/text/format.hpp"
#include "planner/text/gzip.hpp"
#include "planner/text/usage_error.hpp"
#include "planner/version.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

std::string step_details(const Report& report) {
  const Prediction& p = report.prediction;
  const Job& job = report.scenario.job;
  std::string text = fmt::format("step {} ({} to {}), bubble {}", seconds_text(p.step->time),
                                 seconds_text(p.step->low), seconds_text(p.step->high),
                                 percent_text(p.step->breakdown.bubble / p.step->time));
  if (p.efficiency) text += ", MFU " + percent_text(p.efficiency->mfu);
  text += fmt::format("; {} stages", job.parallel.pipeline);
  if (job.parallel.pipeline > 1) text += fmt::format(", {}", name_of(job.parallel.schedule));
  if (job.parallel.virtual_stages > 1) text += fmt::format(" x {}", job.parallel.virtual_stages);
  return text + fmt::format(", {} micro-batches", with_thousands(job.microbatches()));
}

/// What the timeline does not show of the step.
std::string stretch_text(const StepPath& path) {
  if (std::abs(path.stretch() - 1.0) < 0.0005) return "";
  return fmt::format("{} x what is drawn (stragglers, release)", fixed_text(path.stretch(), 3));
}

std::string chart_page(const Report& report, const StepPath& path, const TextStyle& style) {
  const std::string tail = fmt::format(": one optimizer step (foretrain {}, {})", version,
                                       name_of(report.prediction.engine));
  std::string result =
      toned(cut(report.scenario.job.name, style.width - display_width(tail)), Tone::strong, style) +
      tail + "\n";
  result += hanging("  ", step_details(report), style) + "\n";
  result += gantt_text(path.graph, path.timeline, style);
  if (const std::string rest = stretch_text(path); !rest.empty())
    result += hanging("  ", "The step lasts " + rest + ".", style);
  return result;
}

}  // namespace

void add_step_view_options(CommandRow& command, StepViewOptions& options) {
  command.option("--gantt", options.gantt, "[FILE.svg]",
                 "Draw the step, stage by stage: in place of the report, or into FILE.svg",
                 {.values = {{0, 1}}, .writes = FileUse::report});
  command.option("--trace", options.trace, "FILE",
                 "Write the step's trace for ui.perfetto.dev; .json or .json.gz",
                 {.writes = FileUse::report});
  command.option(
      "--power", options.power, "FILE",
      "Write watts of GPU, host, rack and site over the step, every millisecond: .csv; or "
      "draw them: .svg",
      {.writes = FileUse::report});
  command.option("--detail", options.detail, "NAME", "Of these: pass, layer or operator");
}

EngineKind check_step_views(const StepViewOptions& options, std::optional<EngineKind> engine,
                            bool other_form) {
  if (!options.wanted()) {
    if (options.detail)
      throw UsageError("--detail is for --gantt, --trace and --power; the forecast is the same");
    return engine.value_or(EngineKind::closed_form);
  }
  const EngineKind chosen = engine.value_or(EngineKind::path);
  if (chosen == EngineKind::closed_form)
    throw UsageError(
        "--gantt, --trace and --power show the task graph: they need --engine path or event");
  if (options.drawn() && !options.gantt->ends_with(".svg"))
    throw UsageError("--gantt " + in_quotes(*options.gantt) +
                     ": the picture is an SVG file, its name ends in .svg");
  if (!options.trace.empty() && !options.trace.ends_with(".json") &&
      !options.trace.ends_with(".json.gz"))
    throw UsageError("--trace " + in_quotes(options.trace) +
                     ": the name of a trace ends in .json or .json.gz");
  if (!options.power.empty() && !options.power.ends_with(".csv") &&
      !options.power.ends_with(".svg"))
    throw UsageError("--power " + in_quotes(options.power) + ": its name ends in .csv or .svg");
  if (options.text_chart() && other_form)
    throw UsageError(
        "--gantt without a file prints a chart in place of the report; name a file: x.svg");
  return chosen;
}

std::string make_step_views(const Report& report, const StepPath& path,
                            const StepViewOptions& options, const TextStyle& style,
                            const std::vector<TraceCounter>& counters) {
  if (!options.wanted()) return "";
  FORETRAIN_REQUIRE(report.prediction.step.has_value());
  const Job& job = report.scenario.job;
  if (!options.trace.empty()) {
    std::vector<TraceCounter> tracks = counters;
    // Operators of a pass have no memory of their own.
    if (options.detail != Detail::op)
      for (TraceCounter& memory : memory_counters(job, path)) tracks.push_back(std::move(memory));
    const std::string trace =
        trace_json(path.graph, path.timeline, {job.name, report.prediction.engine}, tracks);
    write_file(options.trace, options.trace.ends_with(".gz") ? gzip(trace) : trace);
  }
  if (options.drawn()) {
    std::string details = step_details(report);
    if (const std::string rest = stretch_text(path); !rest.empty())
      details += "; the step lasts " + rest;
    write_file(*options.gantt,
               scene_svg(gantt_chart(path.graph, path.timeline,
                                     {job.name + ": one optimizer step", details})));
  }
  if (!options.power.empty()) {
    const PowerCourse course = step_power(job, path);
    write_file(
        options.power,
        options.power.ends_with(".csv")
            ? power_csv(course)
            : scene_svg(power_chart(course, picture_space(job.name, 1000.0, 660.0)), job.name));
  }
  return options.text_chart() ? chart_page(report, path, style) : "";
}

}  // namespace foretrain
