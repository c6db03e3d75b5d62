// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/cli/ask/event_simulation.hpp"
#include "planner/cli/commands.hpp"
#include "planner/cli/interruption.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/plan_options.hpp"
#include "planner/cli/source_options.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/forecast/budget.hpp"
#include "planner/page/compare.hpp"
#include "planner/page/report_page.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

struct ReportOptions {
  std::vector<std::string> files;
  ScenarioOptions scenario;  ///< its file is not used
  std::string engine = "path";
  std::string flops = "full";
  std::string html;
  std::string markdown;
  int plans = 0;
  std::string gpus;
};

/// The search that --plans asks for, from the first scenario, with the place of its own plan.
std::optional<PlanReport> searched(const ReportOptions& options, const Scenario& scenario) {
  if (options.plans == 0) {
    if (!options.gpus.empty())
      throw UsageError("--gpus lists the machines of a search; ask for one with --plans N");
    return std::nullopt;
  }
  if (scenario.work != Work::training)
    throw UsageError(
        fmt::format("--plans searches plans of training; for {} type foretrain plan {}",
                    name_of(scenario.work), scenario.path));
  PlanOptions plan_options;
  plan_options.top = options.plans;
  plan_options.gpus = options.gpus;
  SearchOptions search = search_options(plan_options);
  search.stop = &Interruption::noted();
  const Interruption interruption;
  return plan(scenario, space_of(plan_options, scenario), search, PlanQuestion{scenario, {}});
}

int report(const ReportOptions& options) {
  if (options.html.empty() && options.markdown.empty())
    throw UsageError("report needs --html FILE, --markdown FILE or both");
  constexpr int most_plans_of_page = 1000;
  if (options.plans < 0 || options.plans > most_plans_of_page)
    throw UsageError(fmt::format("--plans takes 1 to {}, the plans to show, not {}",
                                 most_plans_of_page, options.plans));
  const auto convention = option_value<AttentionFlops>("--flops", options.flops);
  const EngineKind engine = engine_value(options.engine);
  ReportPage page;
  for (const Scenario& scenario : read_sides(options.files, options.scenario)) {
    auto side = report_by(scenario, convention, engine);
    if (!side) return Interruption::exit_code();
    page.sides.push_back(page_side(std::move(side->report), std::move(side->played)));
  }
  for (const PageSide& side : page.sides)
    if (!side.not_drawn.empty()) write_diagnostic("no picture of the step: " + side.not_drawn);
  page.plans = searched(options, page.sides.front().report.scenario);
  int delivered = exit_ok;
  if (!options.html.empty())
    delivered = deliver(page_html(page), options.html == "-" ? "" : options.html);
  if (!options.markdown.empty() && delivered == exit_ok)
    delivered = deliver(page_markdown(page), options.markdown == "-" ? "" : options.markdown);
  if (delivered != exit_ok) return delivered;
  if (Interruption::noted()) return Interruption::exit_code();
  bool feasible = true;
  bool within = true;
  for (std::size_t at = 0; at < page.sides.size(); ++at) {
    const Report& side = page.sides[at].report;
    within = within && within_budget(side.budget);
    for (const Infeasible& reason : side.prediction.reasons)
      write_diagnostic("infeasible: " + side_name(at) + ": " + reason.message);
    feasible = feasible && side.prediction.feasible();
  }
  if (!feasible) return exit_infeasible;
  return within ? exit_ok : exit_budget;
}

}  // namespace

Command add_report_command(CLI::App& program) {
  const auto options = std::make_shared<ReportOptions>();
  CLI::App* app =
      program.add_subcommand("report", "Write forecasts as a page to read, print and share");
  app->add_option("scenarios", options->files, "Scenario files, or - for standard input")
      ->required()
      ->type_name("SCENARIO...");
  app->add_option("--html", options->html, "Write one HTML file, all in it; - for standard output")
      ->type_name("FILE");
  app->add_option("--markdown", options->markdown,
                  "Write the numbers as Markdown; - for standard output")
      ->type_name("FILE");
  guard_outputs(*app, FileUse::report, {"--html", "--markdown"});
  app->add_option("--plans", options->plans,
                  "Search for the best N plans of the first scenario, and show them")
      ->type_name("N");
  app->add_option("--gpus", options->gpus, "With --plans: numbers of GPUs to try, as for plan")
      ->type_name("LIST");
  app->add_option("--engine", options->engine,
                  "How to compute: path (default), closed-form or event")
      ->type_name("NAME");
  app->add_option("--flops", options->flops, "Attention scores in model FLOPs: full or causal")
      ->type_name("NAME");
  add_scenario_options(*app, options->scenario);
  app->footer(
      "Several scenarios are compared; --set B:KEY=VALUE changes one side, as in compare.\n"
      "The page needs no network, prints to PDF from any browser, and is the same bytes for the\n"
      "same scenarios.\n"
      "Examples:\n"
      "  foretrain report run.yaml --html run.html\n"
      "  foretrain report run.yaml --html run.html --plans 40 --markdown run.md\n"
      "  foretrain report run.yaml --set B:parallel.tensor=4 --set B:parallel.data=32 --html "
      "ab.html\n"
      "  chromium --headless --no-pdf-header-footer --print-to-pdf=run.pdf run.html\n"
      "Exit codes: 0 ok, 2 bad usage or input, 3 a scenario is infeasible (the page says why),\n"
      "4 budget violated.");
  return {app, [options] { return report(*options); }};
}

}  // namespace foretrain
