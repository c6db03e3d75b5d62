// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/commands.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "calibration/diagnosis/logged_job.hpp"
#include "calibration/training_logs/read_training_log.hpp"
#include "models/rules/plan_rules.hpp"
#include "planner/cli/answer_output.hpp"
#include "planner/diagnosis/diagnosis_report.hpp"
#include "planner/post_training/post_training_diagnosis.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace {

struct DiagnoseOptions {
  std::vector<std::string> files;  ///< logs; the last one may be a scenario
  ScenarioOptions scenario;
  std::vector<std::string> fill;
  AnswerOutput output;
};

/// A scenario stands at the end, with the ending of one.
bool is_scenario(const std::string& file) {
  return file.ends_with(".yaml") || file.ends_with(".yml");
}

std::vector<std::pair<std::string, std::string>> pairs_of(const std::vector<std::string>& fill) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& one : fill) {
    const std::size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0)
      throw UsageError("--fill " + in_quotes(one) + ": KEY=VALUE, as model.layers=32");
    pairs.emplace_back(one.substr(0, equals), one.substr(equals + 1));
  }
  return pairs;
}

/// Asks for what the log leaves open, by the names of a record's keys.
std::string asked_for(const std::vector<std::string>& missing) {
  std::string keys;
  std::string example;
  for (const std::string& key : missing) {
    keys += (keys.empty() ? "" : ", ") + key;
    example += " --fill " + key + "=...";
  }
  return "the log does not say " + keys + ": give a SCENARIO, or" + example;
}

void take_logged_plan(const DiagnoseOptions& options, DiagnosisReport& report) {
  if (!options.scenario.overrides.empty())
    throw UsageError("--set changes a scenario; what a log leaves open is given by --fill");
  Diagnostics diagnostics;
  const RunCatalog catalog = load_run_catalog(load_options(options.scenario).catalogs);
  LoggedJob logged = logged_job(report.log, pairs_of(options.fill), catalog, diagnostics);
  diagnostics.throw_if_any();
  if (!logged.missing.empty()) throw UsageError(asked_for(logged.missing));
  if (!logged.job) throw UsageError("the log's plan cannot be forecast: " + logged.why);
  report.job = std::move(*logged.job);
  report.assumptions = std::move(logged.assumptions);
  report.plan_source = "the log";
  report.diagnosis = diagnose(report.log, report.job);
}

void take_scenario(const DiagnoseOptions& options, DiagnosisReport& report) {
  if (!options.fill.empty())
    throw UsageError("--fill completes the plan of a log; a scenario is changed by --set");
  report = compared_with(std::move(report.log), read_scenario(options.scenario).job,
                         options.scenario.file);
}

/// Steps of post-training: which part takes longer than it should.
int diagnose_policy_steps(const DiagnoseOptions& options, const Scenario& scenario) {
  const PostTrainingReport report = study_post_training(scenario);
  if (!report.forecast.reasons.empty())
    throw CannotRun("the scenario cannot run: " + report.forecast.reasons.front().message);
  constexpr std::uintmax_t most_bytes = std::uintmax_t{512} << 20U;
  std::string text;
  Diagnostics diagnostics;
  for (const std::string& file : options.files)
    text += read_text_file(file, file, most_bytes, diagnostics).value_or("") + "\n";
  diagnostics.throw_if_any();
  const PostTrainingDiagnosis diagnosis =
      diagnose_post_training(report, read_post_training_log(text));
  return deliver_answer(options.output,
                        {"diagnosis", [&] { return post_training_diagnosis_json(diagnosis); }},
                        [&] { return post_training_diagnosis_answer(diagnosis); });
}

int run_diagnose(DiagnoseOptions options) {
  if (options.files.size() > 1 && is_scenario(options.files.back())) {
    options.scenario.file = options.files.back();
    options.files.pop_back();
  }
  if (!options.scenario.file.empty()) {
    const Scenario scenario = read_scenario(options.scenario, Purpose::steps);
    if (scenario.post_training) return diagnose_policy_steps(options, scenario);
  }
  DiagnosisReport report;
  report.log = timed_log(options.files);
  if (options.scenario.file.empty())
    take_logged_plan(options, report);
  else
    take_scenario(options, report);
  return deliver_answer(options.output, {"diagnosis", [&] { return diagnosis_json(report); }},
                        [&] { return diagnosis_answer(report); });
}

}  // namespace

CommandRow diagnose_command() {
  const auto options = std::make_shared<DiagnoseOptions>();
  CommandRow command{"diagnose",
                     "Compare a training log with its forecast, and rank what explains the gap"};
  command.option("files", options->files, "LOG... [SCENARIO]",
                 "Logs of one run, then perhaps its scenario (.yaml)", {.required = true});
  command.option("--fill", options->fill, "KEY=VALUE",
                 "What the log leaves open, by a key of its record: --fill model.layers=32");
  add_answer_output(command, options->output, "schema diagnosis/1");
  add_scenario_options(command, options->scenario);
  command.texts = {
      .notes =
          "Says what the run did (median, spread, drift, stalls, pauses, memory), goes from\n"
          "forecast to measurement, and ranks causes by how well their pattern fits:\n"
          "sections that the log times, ranks, clocks, memory, the shape of the series.\n"
          "Causes that the log cannot tell apart are listed as such, each with its test.",
      .examples = {"foretrain diagnose train.log run.yaml",
                   "foretrain diagnose train.log --fill gpu=b200 --fill stack=megatron-core",
                   "foretrain diagnose train.log run.yaml --html diagnosis.html --json"},
      .exits = {{exit_ok, "diagnosed"}, {exit_infeasible, "the scenario cannot run"}}};
  command.run = [options] { return run_diagnose(*options); };
  return command;
}

}  // namespace foretrain
