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
  std::string engine = "closed-form";
  std::string flops = "full";
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
  const auto convention = option_value<AttentionFlops>("--flops", options.flops);
  const EngineKind engine = engine_value(options.engine);
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

Command add_compare_command(CLI::App& program) {
  const auto options = std::make_shared<CompareOptions>();
  CLI::App* app = program.add_subcommand("compare", "Compare forecasts of scenarios");
  app->add_option("scenarios", options->files, "Scenario files, or - for standard input")
      ->required()
      ->type_name("SCENARIO...");
  app->add_option("--engine", options->engine, "How to compute: closed-form, path or event")
      ->type_name("NAME");
  app->add_option("--flops", options->flops, "Attention scores in model FLOPs: full or causal")
      ->type_name("NAME");
  add_answer_output(*app, options->output, "schema comparison/1", {}, "one row per number");
  app->add_option("--replay", options->replay,
                  "Engine event: a page that plays the steps of all sides by one clock")
      ->type_name("FILE.html");
  guard_outputs(*app, FileUse::report, {"--replay"});
  app->add_flag("--all", options->all, "List the catalog values that differ, too");
  add_scenario_options(*app, options->scenario);
  app->footer(
      "The first scenario is A, the next B, and so on. --set KEY=VALUE changes all of them,\n"
      "--set B:KEY=VALUE one; a single file is compared with itself, changed.\n"
      "Examples:\n"
      "  foretrain compare a.yaml b.yaml\n"
      "  foretrain compare run.yaml --set B:parallel.tensor=4 --set B:parallel.data=32\n"
      "  foretrain compare a.yaml b.yaml c.yaml --set training.micro_batch=2 --csv\n"
      "  foretrain compare run.yaml --set B:simulation.routing=adaptive --engine event\n"
      "  foretrain compare a.yaml b.yaml --engine event --replay both.html\n"
      "Exit codes: 0 ok, 2 bad usage or input, 3 a scenario is infeasible, 130 interrupted.");
  return {app, [options] { return run_compare(*options); }};
}

}  // namespace foretrain
