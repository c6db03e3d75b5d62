// SPDX-License-Identifier: Apache-2.0
#include "calibration/cases/record_scenario.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>

#include "calibration/cases/step_case.hpp"
#include "calibration/records/run_job.hpp"
#include "calibration/records/run_options.hpp"
#include "calibration/records/run_source.hpp"
#include "models/base/ranges.hpp"
#include "scenarios/sections/scenario_text.hpp"

namespace foretrain {
namespace {

/// What a record states of the speed of its run; the start of the run is no part of a step.
void set_speed(const RunRecord& record, const Job& job, Seconds start, RunMeasurements& measured) {
  const auto mean = measured_step(record, job);
  if (!mean || !std::isfinite(mean->value()) || !(*mean > start)) return;
  const Seconds step = *mean - start;
  const bool by_tokens = record.tokens_per_s || record.tokens_per_s_per_gpu;
  if (record.iteration_s || !by_tokens) measured.step = step;
  if (by_tokens && !record.iteration_s)
    measured.tokens_per_s = job.training.global_batch * 1.0 * job.training.sequence / step.value();
}

RunMeasurements measured_run(const RunRecord& record, const Job& job, Seconds start) {
  RunMeasurements measured;
  set_speed(record, job, start, measured);
  const auto memory = recorded_memory(record);
  if (!memory || !(memory->size > Bytes{}) || !std::isfinite(memory->size.value())) return measured;
  switch (memory->counter) {
    case MemoryCounter::allocated:
      measured.allocated = memory->size;
      break;
    case MemoryCounter::reserved:
      measured.reserved = memory->size;
      break;
    case MemoryCounter::device:
      measured.device = memory->size;
      break;
  }
  return measured;
}

/// The catalog's name of a model that is there as it is.
std::string catalog_name(const LlmShape& model, const RunCatalog& catalog) {
  const auto found = catalog.models.find(model.name);
  const bool same =
      found != catalog.models.end() && model_shape_text(found->second) == model_shape_text(model);
  return same ? model.name : "";
}

/// What decides time or memory and no job says.
std::string beyond_scenarios(const RunRecord& record, const RunJob& run) {
  if (!run.job) return run.why;
  const int gpus = run.job->parallel.gpus();
  if (record.gpus && *record.gpus != gpus)
    return fmt::format(
        "the layout multiplies to {} GPUs, the run had {}: correct gpus, or "
        "parallel.tp, pp, cp and dp",
        gpus, *record.gpus);
  const auto parts = what_scenarios_cannot_say(*run.job);
  return parts.empty() ? "" : "a scenario has no word for " + joined(parts);
}

std::vector<std::string> assumed_of(const RunRecord& record, const RunSource& source,
                                    const RunJob& run) {
  std::vector<std::string> assumed = run.assumptions;
  if (source.kin) assumed.emplace_back("the band of that framework, which is narrower than due");
  if (source.start > Seconds{})
    assumed.push_back(
        fmt::format("{:.3g} s of every measured step are the start of the run, and "
                    "are taken off",
                    source.start.value()));
  if (std::string why = run_options(record).graphs_why; !why.empty())
    assumed.push_back(why + ": none are taken");
  if (!run.alternatives.empty())
    assumed.push_back(
        fmt::format("{} other plan{} would agree with the record as well: the band "
                    "is of this one alone",
                    run.alternatives.size(), run.alternatives.size() > 1 ? "s" : ""));
  if (record.out_of_memory) assumed.emplace_back("the run went out of memory");
  return assumed;
}

}  // namespace

RecordScenario record_scenario(const RunRecord& record, const RunCatalog& catalog) {
  RecordScenario scenario;
  scenario.why = beyond_jobs(record);
  if (!scenario.why.empty()) return scenario;
  const RunJob run = run_job(record, catalog);
  scenario.why = beyond_scenarios(record, run);
  if (!scenario.why.empty()) return scenario;
  const RunSource source = run_source(record);
  scenario.assumed = assumed_of(record, source, run);
  WrittenScenario draft{*run.job, catalog_name(run.job->model, catalog), {}};
  draft.job.name = record.id;
  draft.job.software_year = source.year;
  draft.job.measured = measured_run(record, *run.job, source.start);
  draft.comments.push_back("A measured run: " + record.id);
  if (!record.source.empty()) draft.comments.push_back("Source: " + record.source);
  for (const std::string& sentence : scenario.assumed)
    draft.comments.push_back("Assumed: " + sentence);
  scenario.text = scenario_text(draft);
  return scenario;
}

}  // namespace foretrain
