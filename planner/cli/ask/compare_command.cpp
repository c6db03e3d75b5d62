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
#include "planner/cli/scenario_sides.hpp"
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
  AnswerOutput output;
  bool all = false;
};

/// A side by the engine that was asked for; nothing when Ctrl-C ended its run on the fabric.
std::optional<Report> report_of(const Scenario& side, AttentionFlops convention,
                                EngineKind engine) {
  if (side.work != Work::training) {
    require_own_engine(side, engine);
    const Interruption guard;
    Report report = evaluate(side, convention, EngineKind::closed_form, &Interruption::noted());
    return report.study->stopped ? std::nullopt : std::optional(std::move(report));
  }
  if (engine != EngineKind::event) return evaluate(side, convention, engine);
  EventSimulation played = simulate_events(side, convention, {}, {});
  if (played.interrupted) return std::nullopt;
  return std::move(played.event.report);
}

/// Nothing when Ctrl-C ended it.
std::optional<std::vector<Report>> reports_of(const CompareOptions& options) {
  const auto convention = option_value<AttentionFlops>("--flops", options.flops);
  const EngineKind engine = engine_value(options.engine);
  const std::vector<Scenario> sides = read_sides(options.files, options.scenario);
  if (sides.size() < 2)
    throw UsageError(
        "compare needs two scenarios: name another file, or change a side of this one with --set "
        "B:key=value");
  std::vector<Report> reports;
  for (const Scenario& side : sides) {
    auto report = report_of(side, convention, engine);
    if (!report) return std::nullopt;
    reports.push_back(std::move(*report));
  }
  return reports;
}

std::string page_of(const Comparison& comparison) {
  ReportPage page;
  for (const Report& report : comparison.reports) page.sides.push_back(page_side(report));
  return page_html(page);
}

int run_compare(const CompareOptions& options) {
  auto reports = reports_of(options);
  if (!reports) {
    write_diagnostic("interrupted: a side was not played to its end, so there is no comparison");
    return Interruption::exit_code();
  }
  const Comparison comparison = compare(std::move(*reports));
  const AnswerForms forms{"comparison", [&] { return comparison_json(comparison); },
                          [&] { return comparison_csv(comparison); },
                          [&] { return page_of(comparison); }};
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
      "Exit codes: 0 ok, 2 bad usage or input, 3 a scenario is infeasible, 130 interrupted.");
  return {app, [options] { return run_compare(*options); }};
}

}  // namespace foretrain
