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
#include "planner/forecast/run_end.hpp"
#include "planner/page/compare.hpp"
#include "planner/page/report_page.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

struct ReportOptions {
  std::vector<std::string> files;
  ScenarioOptions scenario;  ///< its file is not used
  EngineKind engine = EngineKind::path;
  AttentionFlops flops = AttentionFlops::full;
  std::string html;
  std::string markdown;
  int plans = 0;
  std::string gpus;
};

/// The search that --plans asks for, from the first scenario, with the place of its own plan.
std::optional<PlanReport> searched(const ReportOptions& options, const CommandRow& command,
                                   const Scenario& scenario) {
  if (options.plans == 0) {
    if (!options.gpus.empty())
      throw UsageError("--gpus lists the machines of a search; ask for one with --plans N");
    return std::nullopt;
  }
  refuse_other_works(command, name_of(scenario.work));
  PlanOptions plan_options;
  plan_options.top = options.plans;
  plan_options.gpus = options.gpus;
  SearchOptions search = search_options(plan_options);
  search.stop = &Interruption::noted();
  const Interruption interruption;
  return plan(scenario, space_of(plan_options, scenario), search, PlanQuestion{scenario, {}});
}

int report(const ReportOptions& options, const CommandRow& command) {
  if (options.html.empty() && options.markdown.empty())
    throw UsageError("report needs --html FILE, --markdown FILE or both");
  const auto convention = options.flops;
  const EngineKind engine = options.engine;
  ReportPage page;
  for (const Scenario& scenario : read_sides(options.files, options.scenario)) {
    auto side = report_by(scenario, convention, engine);
    if (!side) return Interruption::exit_code();
    page.sides.push_back(page_side(std::move(side->report), std::move(side->played)));
  }
  for (const PageSide& side : page.sides)
    if (!side.not_drawn.empty()) write_diagnostic("no picture of the step: " + side.not_drawn);
  page.plans = searched(options, command, page.sides.front().report.scenario);
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

CommandRow report_command() {
  const auto options = std::make_shared<ReportOptions>();
  CommandRow command{"report", "Write forecasts as a page to read, print and share"};
  command.option("scenarios", options->files, "SCENARIO...",
                 "Scenario files, or - for standard input", {.required = true});
  command.option("--html", options->html, "FILE",
                 "Write one HTML file, all in it; - for standard output",
                 {.writes = FileUse::report});
  command.option("--markdown", options->markdown, "FILE",
                 "Write the numbers as Markdown; - for standard output",
                 {.writes = FileUse::report});
  command.option("--plans", options->plans, "N",
                 "Search for the best N plans of the first scenario, and show them",
                 {.range = {{1, 1000}}});
  command.option("--gpus", options->gpus, "LIST",
                 "With --plans: numbers of GPUs to try, as for plan");
  command.option("--engine", options->engine, "NAME",
                 "How to compute: path (default), closed-form or event");
  command.option("--flops", options->flops, "NAME",
                 "Attention scores in model FLOPs: full or causal");
  add_scenario_options(command, options->scenario);
  command.limit({"--plans"}, names_of({Work::training}),
                "for plans of others type foretrain plan FILE");
  command.texts = {
      .notes =
          "Several scenarios are compared; --set B:KEY=VALUE changes one side, as in compare.\n"
          "The page needs no network, prints to PDF from any browser, and is the same bytes for "
          "the\n"
          "same scenarios.",
      .examples = {"foretrain report run.yaml --html run.html",
                   "foretrain report run.yaml --html run.html --plans 40 --markdown run.md",
                   "foretrain report run.yaml --set B:parallel.tensor=4 --set B:parallel.data=32 "
                   "--html ab.html",
                   "chromium --headless --no-pdf-header-footer --print-to-pdf=run.pdf run.html"},
      .exits = {{exit_infeasible, "a scenario is infeasible (the page says why)"}, {exit_budget}}};
  command.run = [options, row = command] { return report(*options, row); };
  return command;
}

}  // namespace foretrain
