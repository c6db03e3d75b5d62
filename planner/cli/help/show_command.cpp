// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <memory>

#include "models/base/ranges.hpp"
#include "planner/cli/answer_output.hpp"
#include "planner/cli/commands.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/explain/catalog_text.hpp"
#include "planner/network/fabric_chart.hpp"
#include "planner/network/fabric_text.hpp"
#include "planner/text/quoting.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/catalog/catalog_files.hpp"
#include "scenarios/catalog/machine_names.hpp"
#include "scenarios/fields/reference.hpp"
#include "scenarios/sections/scenario_fields.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/nearest.hpp"

namespace foretrain {
namespace {

struct ShowOptions {
  ScenarioOptions scenario;  ///< its file is the subject
  std::string entry;
  std::string svg;
  std::vector<std::string> down;
  bool dot = false;
  AnswerOutput output;
};

std::vector<std::string> catalog_kinds() {
  std::vector<std::string> kinds;
  for (const auto name : all_names<CatalogKind>()) kinds.emplace_back(name);
  return kinds;
}

/// The name that the catalog has for what was asked; as it was asked where it has none.
std::string entry_asked(const std::string& kind, const ShowOptions& options) {
  Diagnostics diagnostics;
  const auto roots = catalog_roots(own_roots(options.scenario.folders), diagnostics);
  diagnostics.throw_if_any();
  const auto known = from_name<CatalogKind>(kind);
  if (!known || (is_entry_name(options.entry) && find_catalog_file(*known, options.entry, roots)))
    return options.entry;
  if (const auto file = find_by_alias(*known, options.entry, roots)) return file->name;
  if (const std::string about = about_machine(*known, options.entry, roots); !about.empty())
    throw UsageError(about);
  return options.entry;
}

/// What is a document itself has no other form.
void refuse_forms(const ShowOptions& options) {
  const AnswerOutput& output = options.output;
  if (output.markdown || output.brief || !output.html.empty())
    throw UsageError(
        "--markdown, --html and --brief are of scenarios, lists of catalogs and fabrics");
}

int show_catalog(ShowOptions options) {
  const std::string kind = options.scenario.file;
  if (!options.entry.empty()) options.entry = entry_asked(kind, options);
  const CatalogListing catalog = catalog_listing(kind, load_options(options.scenario));
  const auto& entries = catalog.entries;
  if (options.entry.empty())
    return deliver_answer(options.output, {"catalog", [&] { return catalog_json(catalog); }},
                          [&] { return catalog_answer(catalog, kind); });
  refuse_forms(options);
  for (const BrokenEntry& entry : catalog.broken)
    if (entry.name == options.entry) throw ScenarioError(entry.problems);
  const auto found = std::ranges::find_if(
      entries, [&](const CatalogEntry& entry) { return entry.name == options.entry; });
  if (found == entries.end()) {
    std::vector<std::string> names;
    for (const CatalogEntry& entry : entries) names.push_back(entry.name);
    throw UsageError("no entry " + in_quotes(options.entry) + " among the " + kind +
                     " (foretrain show " + kind + " lists them)" +
                     nearest_hint(options.entry, names));
  }
  const auto inherited = inherited_values(kind, options.entry, load_options(options.scenario));
  const AnswerOutput& output = options.output;
  return deliver(output.json ? catalog_entry_json(*found, inherited)
                             : catalog_entry_text(*found, inherited, output.style()),
                 output.out);
}

/// A word that is neither a file nor a subject was probably meant to be a subject.
void check_subject(const std::string& subject) {
  if (subject == "-" || std::filesystem::exists(subject) ||
      subject.find_first_of("./") != std::string::npos)
    return;
  std::vector<std::string> known = catalog_kinds();
  known.insert(known.end(), {"fabric", "keys", "schema"});
  throw UsageError("there is no file " + in_quotes(subject) + ", and show knows " + joined(known) +
                   nearest_hint(subject, known));
}

int show_fabric(const ShowOptions& options) {
  if (options.entry.empty())
    throw UsageError("show fabric needs a scenario: foretrain show fabric run.yaml");
  ScenarioOptions wanted = options.scenario;
  wanted.file = options.entry;
  const FabricReport report = judge_fabric(read_scenario(wanted), options.down);
  if (!options.svg.empty()) write_file(options.svg, fabric_svg(report));
  const int delivered =
      options.dot
          ? deliver(fabric_dot(report), options.output.out)
          : deliver_answer(options.output, {"fabric", [&] { return fabric_json(report); }}, [&] {
              Answer answer = fabric_answer(report);
              answer.head.next =
                  "foretrain show fabric " + shell_word(options.entry) + " --svg fabric.svg";
              return answer;
            });
  if (delivered != exit_ok) return delivered;
  return report.disconnected ? exit_infeasible : exit_ok;
}

int show(const ShowOptions& options) {
  const std::string& subject = options.scenario.file;
  if (subject == "fabric") return show_fabric(options);
  if (options.dot || !options.svg.empty() || !options.down.empty())
    throw UsageError("--dot, --svg and --down belong to show fabric SCENARIO");
  const auto kinds = catalog_kinds();
  if (contains(kinds, subject)) return show_catalog(options);
  if (!options.entry.empty())
    throw UsageError("show " + subject + " takes no second word; catalogs do: show models NAME");
  if (subject == "keys" || subject == "schema") {
    refuse_forms(options);
    return deliver(
        subject == "keys" ? reference_page(scenario_fields()) : schema_json(scenario_fields()),
        options.output.out);
  }
  check_subject(subject);
  const Scenario scenario = read_scenario(options.scenario, Purpose::any);
  return deliver_answer(options.output, {"scenario", [&] { return scenario_json(scenario); }},
                        [&] { return scenario_answer(scenario); });
}

}  // namespace

CommandRow show_command() {
  const auto options = std::make_shared<ShowOptions>();
  CommandRow command{"show", "Show a resolved scenario, a catalog, or the scenario keys"};
  command.option(
      "subject", options->scenario.file, "SUBJECT",
      "A scenario file, fabric, a catalog (" + joined(catalog_kinds()) + "), keys or schema",
      {.required = true});
  command.option("entry", options->entry, "NAME",
                 "One entry of a catalog; the scenario of a fabric");
  command.option("--svg", options->svg, "FILE", "Fabric: draw it into FILE",
                 {.writes = FileUse::report});
  add_answer_output(command, options->output, "schemas scenario/1, catalog/1, fabric/1");
  command.flag("--dot", options->dot, "Fabric: print it for Graphviz",
               {.excludes = {"--json", "--markdown", "--brief"}});
  command.option(
      "--down", options->down, "NAME",
      "Fabric: what has failed, as in spine0, leaf3-spine1, nic0.2, tray3; may be repeated",
      {.repeated = true});
  add_scenario_options(command, options->scenario);
  command.texts = {
      .examples = {"foretrain show run.yaml             every value with its origin",
                   "foretrain show models", "foretrain show models llama2-70b",
                   "foretrain show fabric run.yaml --svg fabric.svg --down spine0",
                   "foretrain show keys                 reference of the scenario file",
                   "foretrain show schema               JSON Schema of the scenario file"},
      .exits = {{exit_infeasible, "what has failed separates GPUs of the fabric"}}};
  command.run = [options] { return show(*options); };
  return command;
}

}  // namespace foretrain
