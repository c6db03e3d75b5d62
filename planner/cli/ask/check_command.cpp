// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>

#include "planner/check/check.hpp"
#include "planner/cli/answer_output.hpp"
#include "planner/cli/commands.hpp"
#include "planner/cli/interruption.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/forecast/run_end.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

struct CheckOptions {
  std::vector<std::string> paths;
  ScenarioOptions scenario;  ///< its catalogs and root
  EngineKind engine = EngineKind::closed_form;
  double tolerance = 1e-6;
  std::string junit;
  std::string markdown;
  std::string sarif;
  bool update = false;
  bool github = false;
  AnswerOutput output;  ///< of it the page and --brief
};

bool is_yaml(const fs::path& file) {
  return file.extension() == ".yaml" || file.extension() == ".yml";
}

std::vector<std::string> scenario_files(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(path, error))
      if (is_yaml(entry.path()) && entry.is_regular_file()) found.push_back(entry.path().string());
    if (found.empty())
      throw UsageError("check: there is no scenario (*.yaml) in " + in_quotes(path));
    std::ranges::sort(found);
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

fs::path baseline_path(const std::string& file) {
  return fs::path(file).replace_extension(".baseline.json");
}

std::optional<Baseline> read_baseline(const std::string& file, bool update) {
  const fs::path path = baseline_path(file);
  std::error_code error;
  if (!fs::exists(path, error)) return std::nullopt;
  Diagnostics diagnostics;
  const auto text = read_text_file(path, path.string(), std::size_t{1} << 20U, diagnostics);
  diagnostics.throw_if_any();
  try {
    return parse_baseline(*text, path.string());
  } catch (const ScenarioError&) {
    if (!update) throw;
    return std::nullopt;  // a new one is written over it
  }
}

CheckedScenario check_file(const std::string& file, const CheckOptions& options,
                           EngineKind engine) {
  try {
    ScenarioOptions scenario = options.scenario;
    scenario.file = file;
    Report report = evaluate(read_scenario(scenario, Purpose::any), AttentionFlops::full, engine,
                             &Interruption::noted());
    report.budget = judge_budget(report);
    return check_scenario(file, std::move(report), read_baseline(file, options.update),
                          options.tolerance);
  } catch (const ScenarioError& error) {
    CheckedScenario checked;
    checked.file = file;
    checked.errors = error.diagnostics();
    return checked;
  }
}

/// Agrees with what the forecast says now, and tells what is new about that.
void update(CheckedScenario& checked) {
  if (!checked.errors.empty()) return;
  const bool moved = std::ranges::any_of(checked.violations, [](const Violation& violation) {
    return violation.kind == Violation::Kind::baseline;
  });
  if (checked.baseline && !moved) return;
  const fs::path path = baseline_path(checked.file);
  write_diagnostic((checked.baseline ? "updated " : "new ") + path.string());
  for (const Violation& violation : checked.violations)
    if (violation.kind == Violation::Kind::baseline) write_diagnostic("  " + violation.message);
  Baseline agreed = baseline_of(*checked.report);
  write_file(path, baseline_json(agreed), FileUse::rewrite);
  checked.baseline = std::move(agreed);
  checked.drifts.clear();
  std::erase_if(checked.violations, [](const Violation& violation) {
    return violation.kind != Violation::Kind::budget;
  });
}

void append_step_summary(const std::string& markdown) {
  const char* file = std::getenv("GITHUB_STEP_SUMMARY");  // NOLINT(concurrency-mt-unsafe)
  if (file == nullptr || *file == '\0') return;
  std::ofstream summary(file, std::ios::app | std::ios::binary);
  summary << markdown;
  summary.close();
  if (!summary) throw UsageError(std::string("cannot write ") + file);
}

void write_reports(const std::vector<CheckedScenario>& all, const Answer& answer,
                   const CheckOptions& options) {
  if (!options.junit.empty()) write_file(options.junit, check_junit(all));
  if (!options.markdown.empty()) write_file(options.markdown, answer_markdown(answer));
  if (!options.sarif.empty()) write_file(options.sarif, check_sarif(all));
}

int run_check(const CheckOptions& options) {
  if (options.paths.empty())
    throw UsageError("check: which scenarios? foretrain check FILE-OR-FOLDER...");
  if (!(options.tolerance >= 0.0 && options.tolerance < 1.0))
    throw UsageError(fmt::format("--tolerance is a share from 0 to below 1, such as 0.001, not {}",
                                 options.tolerance));
  require_fast_engine(options.engine);
  const EngineKind engine = options.engine;
  const Interruption guard;
  std::vector<CheckedScenario> all;
  for (const std::string& file : scenario_files(options.paths)) {
    if (Interruption::noted()) return Interruption::exit_code();
    all.push_back(check_file(file, options, engine));
    if (options.update) update(all.back());
  }
  const Answer answer = check_answer(all);
  write_reports(all, answer, options);
  if (options.github) append_step_summary(answer_markdown(answer));
  int delivered = deliver_answer(options.output, {"check"}, [&] { return answer; });
  if (delivered == exit_ok && options.github) delivered = deliver(check_annotations(all));
  if (delivered != exit_ok) return delivered;
  const auto any = [&](auto test) { return std::ranges::any_of(all, test); };
  if (any([](const CheckedScenario& one) { return !one.errors.empty(); })) return exit_usage;
  return any([](const CheckedScenario& one) { return !one.pass(); }) ? int{exit_budget}
                                                                     : int{exit_ok};
}

}  // namespace

CommandRow check_command() {
  const auto options = std::make_shared<CheckOptions>();
  CommandRow command{"check", "Check forecasts against budgets and committed baselines"};
  command.option("scenarios", options->paths, "PATH", "Scenario files, or folders of them");
  command.flag("--update", options->update, "Accept what differs: write the baselines");
  command.option("--tolerance", options->tolerance, "SHARE",
                 "Share by which a number may move, up or down (default: 1e-6)");
  command.option("--engine", options->engine, "NAME", "How to compute: closed-form or path");
  command.option("--junit", options->junit, "FILE", "Write JUnit XML", {.writes = FileUse::report});
  command.option("--markdown", options->markdown, "FILE", "Write tables of what moved",
                 {.writes = FileUse::report});
  command.option("--sarif", options->sarif, "FILE", "Write SARIF 2.1.0 for code scanning",
                 {.writes = FileUse::report});
  add_page_output(command, options->output);
  command.flag("--github", options->github,
               "Print workflow commands, and append the tables to GITHUB_STEP_SUMMARY");
  add_folder_options(command, options->scenario.folders);
  add_root_option(command, options->scenario);
  command.texts = {
      .notes = "The baseline of run.yaml is run.baseline.json beside it: commit both.",
      .examples =
          {"foretrain check scenarios --update              accept all forecasts",
           "foretrain check scenarios                       exit code 4 when one moved",
           "foretrain check run.yaml --tolerance 0.001 --junit check.xml --markdown check.md"},
      .exits = {{exit_budget, "a budget or a baseline is violated"}}};
  command.run = [options] { return run_check(*options); };
  return command;
}

}  // namespace foretrain
