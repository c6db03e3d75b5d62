// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/cli/answer_output.hpp"
#include "planner/cli/ask/event_simulation.hpp"
#include "planner/cli/commands.hpp"
#include "planner/cli/interruption.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/source_options.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/page/compare.hpp"
#include "planner/page/report_page.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

struct CompareOptions {
  std::vector<std::string> files;
  ScenarioOptions scenario;  ///< its file is not used
  EngineKind engine = EngineKind::closed_form;
  AttentionFlops flops = AttentionFlops::full;
  std::string replay;
  AnswerOutput output;
  bool all = false;
};

/// Sides as they were forecast; those that were played on their fabrics as they were.
struct Sides {
  std::vector<Report> reports;
  std::vector<EventSimulation> played;
};

/// Nothing when Ctrl-C ended it.
std::optional<Sides> forecast_sides(const CompareOptions& options) {
  const auto convention = options.flops;
  const EngineKind engine = options.engine;
  EventCliOptions event;
  event.replay = options.replay;
  check_event_options(event);
  if (engine != EngineKind::event && event.given())
    throw UsageError("--replay is for --engine event: the others have no links");
  const std::vector<Scenario> scenarios = read_sides(options.files, options.scenario);
  if (scenarios.size() < 2)
    throw UsageError(
        "compare needs two scenarios: name another file, or change a side of this one with --set "
        "B:key=value");
  Sides sides;
  for (const Scenario& scenario : scenarios) {
    if (engine != EngineKind::event || scenario.work != Work::training) {
      auto side = report_by(scenario, convention, engine);
      if (!side) return std::nullopt;
      sides.reports.push_back(std::move(side->report));
      continue;
    }
    sides.played.push_back(simulate_events(scenario, convention, event, {}));
    if (sides.played.back().interrupted) return std::nullopt;
    sides.reports.push_back(sides.played.back().event.report);
  }
  return sides;
}

std::string page_of(const Comparison& comparison, const std::vector<EventSimulation>& played) {
  ReportPage page;
  for (std::size_t side = 0; side < comparison.reports.size(); ++side) {
    std::optional<StepPath> path;
    if (!played.empty() && played[side].event.run) path = played_path(*played[side].event.run);
    page.sides.push_back(page_side(comparison.reports[side], std::move(path)));
  }
  return page_html(page);
}

void write_replay_of(const std::vector<EventSimulation>& played, const std::string& file) {
  if (file.empty()) return;
  std::vector<const EventSimulation*> sides;
  for (const EventSimulation& side : played) sides.push_back(&side);
  write_replay(sides, file);
}

int run_compare(const CompareOptions& options) {
  auto sides = forecast_sides(options);
  if (!sides) {
    write_diagnostic("interrupted: a side was not played to its end, so there is no comparison");
    return Interruption::exit_code();
  }
  write_replay_of(sides->played, options.replay);
  const Comparison comparison = compare(std::move(sides->reports));
  const AnswerForms forms{"comparison", [&] { return comparison_json(comparison); },
                          [&] { return comparison_csv(comparison); },
                          [&] { return page_of(comparison, sides->played); }};
  const int delivered = deliver_answer(options.output, forms, [&] {
    return comparison_answer(comparison,
                             options.all ? CatalogValues::listed : CatalogValues::grouped);
  });
  if (delivered != exit_ok || comparison.feasible()) return delivered;
  if (options.output.json || options.output.csv || !options.output.out.empty())
    for (std::size_t side = 0; side < comparison.reports.size(); ++side)
      for (const Infeasible& reason : comparison.reports[side].prediction.reasons)
        write_diagnostic("infeasible: " + side_name(side) + ": " + reason.message);
  return exit_infeasible;
}

}  // namespace

CommandRow compare_command() {
  const auto options = std::make_shared<CompareOptions>();
  CommandRow command{"compare", "Compare forecasts of scenarios"};
  command.option("scenarios", options->files, "SCENARIO...",
                 "Scenario files, or - for standard input", {.required = true});
  command.option("--engine", options->engine, "NAME", "How to compute: closed-form, path or event");
  command.option("--flops", options->flops, "NAME",
                 "Attention scores in model FLOPs: full or causal");
  add_answer_output(command, options->output, "schema comparison/1", "one row per number");
  command.option("--replay", options->replay, "FILE.html",
                 "Engine event: a page that plays the steps of all sides by one clock",
                 {.writes = FileUse::report});
  command.flag("--all", options->all, "List the catalog values that differ, too");
  add_scenario_options(command, options->scenario);
  command.texts = {
      .notes =
          "The first scenario is A, the next B, and so on. --set KEY=VALUE changes all of them,\n"
          "--set B:KEY=VALUE one; a single file is compared with itself, changed.",
      .examples = {"foretrain compare a.yaml b.yaml",
                   "foretrain compare run.yaml --set B:parallel.tensor=4 --set B:parallel.data=32",
                   "foretrain compare a.yaml b.yaml c.yaml --set training.micro_batch=2 --csv",
                   "foretrain compare run.yaml --set B:simulation.routing=adaptive --engine event",
                   "foretrain compare a.yaml b.yaml --engine event --replay both.html"},
      .exits = {{exit_infeasible, "a scenario is infeasible"}, {exit_interrupted}}};
  command.run = [options] { return run_compare(*options); };
  return command;
}

}  // namespace foretrain
