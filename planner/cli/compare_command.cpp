// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "planner/cli/command.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/compare.hpp"
#include "planner/usage_error.hpp"

namespace foretrain {
namespace {

constexpr std::size_t most_sides = 26;

struct CompareOptions {
  std::vector<std::string> files;
  ScenarioOptions scenario;  ///< its file is not used
  std::string engine = "closed-form";
  std::string flops = "full";
  std::string out;
  bool json = false;
  bool csv = false;
  bool markdown = false;
  bool all = false;
};

/// The side that "B:parallel.tensor=4" changes; nothing for "parallel.tensor=4".
std::optional<std::size_t> side_of(const std::string& setting) {
  if (setting.size() < 2 || setting[1] != ':' || setting[0] < 'A' || setting[0] > 'Z')
    return std::nullopt;
  return static_cast<std::size_t>(setting[0] - 'A');
}

std::vector<ScenarioOptions> sides_of(const CompareOptions& options) {
  std::size_t count = options.files.size();
  std::size_t named = 0;
  for (const std::string& setting : options.scenario.overrides)
    if (const auto side = side_of(setting)) named = std::max(named, *side + 1);
  // One file is compared with itself, changed.
  if (count == 1) count = named;
  if (count < 2)
    throw UsageError(
        "compare needs two scenarios: name another file, or change a side of this one with --set "
        "B:key=value");
  if (named > count)
    throw UsageError("--set " + side_name(named - 1) + ":... names a side that is not there");
  if (count > most_sides) throw UsageError("compare takes up to 26 scenarios");
  std::vector<ScenarioOptions> sides;
  for (std::size_t side = 0; side < count; ++side) {
    ScenarioOptions own{
        options.files[std::min(side, options.files.size() - 1)], {}, options.scenario.catalogs};
    for (const std::string& setting : options.scenario.overrides) {
      const auto only = side_of(setting);
      if (!only) own.overrides.push_back(setting);
      if (only && *only == side) own.overrides.push_back(setting.substr(2));
    }
    sides.push_back(std::move(own));
  }
  return sides;
}

std::vector<Report> reports_of(const CompareOptions& options) {
  const auto convention = option_value<AttentionFlops>("--flops", options.flops);
  const EngineKind engine = fast_engine_value(options.engine);
  std::optional<std::string> standard_input;  // can be read only once
  std::vector<Report> reports;
  for (const ScenarioOptions& side : sides_of(options)) {
    if (side.file != "-") {
      reports.push_back(evaluate(read_scenario(side), convention, engine));
      continue;
    }
    if (!standard_input) standard_input = read_standard_input();
    reports.push_back(
        evaluate(load_scenario_text(*standard_input, "<stdin>", std::filesystem::current_path(),
                                    load_options(side)),
                 convention, engine));
  }
  return reports;
}

std::string rendered(const Comparison& comparison, const CompareOptions& options) {
  if (options.json) return comparison_json(comparison);
  if (options.csv) return comparison_csv(comparison);
  if (options.markdown) return comparison_markdown(comparison);
  return comparison_text(comparison, options.all ? CatalogValues::listed : CatalogValues::counted,
                         options.out.empty() ? output_style() : TextStyle{});
}

int run_compare(const CompareOptions& options) {
  const Comparison comparison = compare(reports_of(options));
  const int delivered = deliver(rendered(comparison, options), options.out);
  if (delivered != exit_ok || comparison.feasible()) return delivered;
  if (options.json || options.csv || !options.out.empty())
    for (std::size_t side = 0; side < comparison.reports.size(); ++side)
      for (const Infeasible& reason : comparison.reports[side].prediction.reasons)
        write_diagnostic("infeasible: " + side_name(side) + ": " + reason.message);
  return exit_infeasible;
}

}  // namespace

Command add_compare_command(CLI::App& program) {
  const auto options = std::make_shared<CompareOptions>();
  CLI::App* app = program.add_subcommand("compare", "Hold scenarios against each other");
  app->add_option("scenarios", options->files, "Scenario files, or - for standard input")
      ->required()
      ->type_name("SCENARIO...");
  app->add_option("--engine", options->engine, "How to compute: closed-form or path")
      ->type_name("NAME");
  app->add_option("--flops", options->flops, "Attention scores in model FLOPs: full or causal")
      ->type_name("NAME");
  auto* json = app->add_flag("--json", options->json, "Print JSON, schema comparison/1");
  auto* csv = app->add_flag("--csv", options->csv, "Print CSV, one row per number");
  auto* markdown = app->add_flag("--markdown", options->markdown, "Print Markdown tables");
  json->excludes(csv)->excludes(markdown);
  csv->excludes(markdown);
  app->add_flag("--all", options->all, "List the catalog values that differ, too");
  app->add_option("--out", options->out, "Write to a file instead of standard output")
      ->type_name("FILE");
  add_scenario_options(*app, options->scenario);
  app->footer(
      "The first scenario is A, the next B, and so on. --set KEY=VALUE changes all of them,\n"
      "--set B:KEY=VALUE one; a single file is compared with itself, changed.\n"
      "Examples:\n"
      "  foretrain compare a.yaml b.yaml\n"
      "  foretrain compare run.yaml --set B:parallel.tensor=4 --set B:parallel.data=32\n"
      "  foretrain compare a.yaml b.yaml c.yaml --set training.micro_batch=2 --csv\n"
      "Exit codes: 0 ok, 2 bad usage or input, 3 a scenario is infeasible.");
  return {app, [options] { return run_compare(*options); }};
}

}  // namespace foretrain
