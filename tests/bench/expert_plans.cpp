// SPDX-License-Identifier: Apache-2.0
// Holds the plans that experts published against the search, as a Markdown table: place and gap of
// the published plan among all plans with the features that its software had, and among all axes.
// usage: foretrain_expert_plans [RUNS.yaml [ID-PREFIX...]]
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "calibration/records/run_catalog.hpp"
#include "calibration/records/run_job.hpp"
#include "calibration/records/run_record.hpp"
#include "models/rules/plan_rules.hpp"
#include "planner/evidence/validate.hpp"
#include "planner/forecast/plan_moves.hpp"
#include "planner/search/plan_report.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace {

bool asked_for(const std::string& id, const std::vector<std::string>& prefixes) {
  if (!prefixes.empty())
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](const std::string& prefix) { return id.starts_with(prefix); });
  return id.starts_with("sc21-t1-") || id.starts_with("mlperf-") ||
         (id.starts_with("dgxc-v25.03-") && id.find("-bf16-") != std::string::npos);
}

/// The axes that the framework of the record had: SC21 Megatron recomputed whole layers or nothing
/// and knew neither context nor sequence parallelism; the others have everything.
SearchSpace expert_space(const Job& job, const std::string& id) {
  SearchSpace space = default_space(job);
  if (!id.starts_with("sc21-")) return space;
  space.context = {1};
  space.sequence = {false};
  std::erase_if(space.recompute, [](const RecomputeChoice& choice) {
    return choice.value.kind == RecomputeKind::selective;
  });
  return space;
}

std::string plan_words(const Job& job) {
  const Parallel& plan = job.parallel;
  return fmt::format("{}/{}/{}/{} {} {}", plan.tensor, plan.pipeline, plan.virtual_stages,
                     plan.context, job.training.micro_batch, name_of(job.memory.recompute.kind));
}

std::string gap_text(const PlanReport& report) {
  const auto& own = report.standing->report.prediction.step;
  if (!own || report.plans.empty()) return "-";
  const double gap = own->time / report.plans.front().report.prediction.step->time - 1.0;
  return fmt::format("{:+.1f}", 100.0 * gap);
}

void row(const std::string& id, const Job& job) {
  Scenario scenario;
  scenario.job = job;
  SearchOptions options;
  options.top = 5;
  const PlanReport own = plan(scenario, expert_space(job, id), options, PlanQuestion{scenario, {}});
  const PlanReport all = plan(scenario, default_space(job), options, PlanQuestion{scenario, {}});
  const Standing& standing = *own.standing;
  const std::string place = standing.rank
                                ? fmt::format("{} of {}", *standing.rank, own.result.feasible)
                            : standing.report.prediction.reasons.empty()
                                ? std::string("-")
                                : standing.report.prediction.reasons.front().rule;
  std::string main_part = "-";
  if (standing.report.prediction.step && !all.plans.empty()) {
    const auto parts = part_differences(all.plans.front().report, standing.report);
    if (parts.front().seconds > 0.0)
      main_part = fmt::format(
          "{} {:.1f} %", parts.front().label,
          100.0 * parts.front().seconds / standing.report.prediction.step->time.value());
  }
  fmt::print(
      "| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", id, job.cluster.gpus(), plan_words(job),
      place, gap_text(own),
      own.plans.empty() ? "-" : plan_words(own.plans.front().report.scenario.job), gap_text(all),
      all.plans.empty() ? "-" : plan_words(all.plans.front().report.scenario.job), main_part);
  std::fflush(stdout);
}

int run(const std::string& file, const std::vector<std::string>& prefixes) {
  Diagnostics diagnostics;
  const auto text = read_text_file(file, file, run_record_limits().file_bytes, diagnostics);
  diagnostics.throw_if_any();
  const auto document = parse_yaml(text.value(), file, run_record_limits(), diagnostics);
  diagnostics.throw_if_any();
  const RunCatalog catalog = load_run_catalog();
  fmt::print(
      "| run | GPUs | published | place | gap, % | best with its features | gap, % | best of "
      "all axes | most of it |\n|---|---|---|---|---|---|---|---|---|\n");
  for (const RunRecord& record : read_run_records(document.value(), file, diagnostics)) {
    if (!asked_for(record.id, prefixes) || !record.global_batch) continue;
    const RunJob mapped = run_job(record, catalog);
    if (!mapped.job || !broken_rules(*mapped.job).empty() || !not_modelled(*mapped.job).empty())
      continue;
    row(record.id, *mapped.job);
  }
  return 0;
}

}  // namespace
}  // namespace foretrain

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> prefixes(argv + std::min(argc, 2), argv + argc);
    return foretrain::run(
        argc > 1 ? argv[1] : FORETRAIN_SOURCE_DIR "/calibration/measured/runs.yaml", prefixes);
  } catch (const std::exception& error) {
    fmt::print(stderr, "foretrain_expert_plans: {}\n", error.what());
    return 1;
  }
}
