// SPDX-License-Identifier: Apache-2.0
#include "calibration/cases/step_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibration/records/internal/record_terms.hpp"
#include "calibration/records/internal/words.hpp"
#include "calibration/records/run_job.hpp"
#include "calibration/records/run_options.hpp"
#include "calibration/records/run_source.hpp"
#include "models/forecast/possible_plans.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/layers/flops.hpp"
#include "models/memory/memory.hpp"
#include "models/rules/plan_rules.hpp"
#include "models/step/step_time.hpp"

namespace foretrain {
namespace {

/// FLOPs of a step as the source counts them.
std::optional<Flop> printed_flops(const RunRecord& record, const Job& job) {
  const auto convention = from_name<FlopsConvention>(record.flops_convention);
  if (!convention) return std::nullopt;
  const bool by_label =
      *convention == FlopsConvention::six_n_label || *convention == FlopsConvention::bigscience_old;
  const double label = record.parameters_b.value_or(0.0) * 1e9;
  if (by_label && !(label > 0.0)) return std::nullopt;
  const double sequences = job.training.global_batch;
  return sequences * convention_flops_per_sequence(job.model, job.training.sequence,
                                                   job.model.vocabulary, *convention, label);
}

std::optional<FlopPerSecond> printed_rate(const RunRecord& record, const Job& job) {
  if (record.tflops_per_gpu) return *record.tflops_per_gpu * TFLOPS;
  const FlopPerSecond peak = job.cluster.host.device.peak_of(job.training.precision);
  if (!record.mfu_pct || !(peak > FlopPerSecond{})) return std::nullopt;
  return *record.mfu_pct / 100.0 * peak;
}

std::string group_of(const RunRecord& record) {
  if (is_hybrid_architecture(record.architecture)) return hybrid_group;
  if (record.moe) return moe_group;
  const std::string precision = lower(record.precision);
  const bool narrow = has_part(precision, "fp8") || has_part(precision, "fp4");
  return narrow ? dense_fp8_group : dense_half_group;
}

/// Runs with one key do the same work on as many GPUs of one kind.
std::string grid_of(const RunRecord& record, const Job& job) {
  const LlmShape& model = job.model;
  const int experts = model.moe ? model.moe->experts : 0;
  return fmt::format("{} x {}: {} layers {} {} {} {} {} {}, {} x {} {}", job.parallel.gpus(),
                     lower(record.gpu), model.layers, model.hidden, model.heads, model.kv_heads,
                     model.ffn_hidden, experts, model.vocabulary, job.training.global_batch,
                     job.training.sequence, name_of(job.training.precision));
}

/// What in a record has no counterpart in a job and changes the time of a step.
std::string objection(const RunRecord& record) {
  if (std::string why = beyond_jobs(record); !why.empty()) return why;
  if (has_part(record.notes, "power limited"))
    return "the power of the GPUs was limited, to what is not stated";
  const RunOptions options = run_options(record);
  if (!options.graphs_why.empty()) return options.graphs_why;
  if (!record.global_batch) return "the global batch is not stated";
  return "";
}

std::string objection(const RunRecord& record, const Job& job) {
  if (record.gpus && *record.gpus != job.parallel.gpus())
    return fmt::format("the layout multiplies to {} GPUs, the run had {}", job.parallel.gpus(),
                       *record.gpus);
  std::string text;
  for (const Infeasible& reason : refusals(job))
    text += (text.empty() ? "" : "; ") + reason.message;
  return text;
}

Seconds step_at_half_peak(const Job& job) {
  const FlopsPerSequence one =
      flops_per_sequence(job.model, job.training.sequence, job.model.vocabulary,
                         RecomputeKind::none, AttentionFlops::full);
  const FlopPerSecond peak = job.cluster.host.device.peak_of(job.training.precision);
  return flops_per_step(one, job.training.global_batch).model /
         (0.5 * peak * static_cast<double>(job.parallel.gpus()));
}

}  // namespace

std::optional<Seconds> measured_step(const RunRecord& record, const Job& job) {
  const double sequences = job.training.global_batch;
  const double tokens = sequences * job.training.sequence;
  const double gpus = job.parallel.gpus();
  const auto at = [](double work, double rate) { return Seconds{work / rate}; };
  if (record.iteration_s) return Seconds{*record.iteration_s};
  if (record.tokens_per_s_per_gpu) return at(tokens, *record.tokens_per_s_per_gpu * gpus);
  if (record.tokens_per_s) return at(tokens, *record.tokens_per_s);
  if (record.sequences_per_s_per_gpu) return at(sequences, *record.sequences_per_s_per_gpu * gpus);
  const auto flops = printed_flops(record, job);
  const auto rate = printed_rate(record, job);
  if (flops && rate) return *flops / (gpus * *rate);
  // Last, because sources round it to whole sequences.
  if (record.sequences_per_s) return at(sequences, *record.sequences_per_s);
  return std::nullopt;
}

StepForecast predict_step(const Job& job) {
  StepForecast step = step_time(job, stage_layout(job.model, job.parallel));
  std::vector<Warning> warnings;
  add_band(job, step, warnings);
  return step;
}

StepRun step_run(const RunRecord& record, const RunCatalog& catalog) {
  StepRun run;
  RecordCheck& check = run.check;
  check.id = record.id;
  check.source = record.family();
  check.quantity = step_quantity;
  check.group = group_of(record);
  check.measured = record.iteration_s.value_or(0.0);
  run.confidence = record.confidence;
  const RunSource source = run_source(record);
  if (source.kin) check.group = kin_group;
  run.fitted = source.fitted;
  run.year = source.year;
  if (std::string why = objection(record); !why.empty()) {
    skip(check, std::move(why));
    return run;
  }
  RunJob mapped = run_job(record, catalog);
  check.remarks = std::move(mapped.assumptions);
  if (!mapped.job) {
    skip(check, std::move(mapped.why));
    return run;
  }
  mapped.job->software_year = run.year;
  const Job& job = *mapped.job;
  // A record may name a model of the catalog without its shape.
  const bool dense = check.group == dense_half_group || check.group == dense_fp8_group;
  if (dense && job.model.is_hybrid()) check.group = hybrid_group;
  if (dense && !job.model.is_hybrid() && job.model.moe) check.group = moe_group;
  const std::optional<Seconds> measured = measured_step(record, job);
  if (measured) check.measured = measured->value();
  std::string why = objection(record, job);
  if (measured && !(measured->value() > 0.0 && std::isfinite(measured->value())))
    why = "the measured speed is not a positive number";
  if (!measured) why = "how the source counts FLOPs is not known: " + record.flops_convention;
  if (!why.empty()) {
    skip(check, std::move(why));
    return run;
  }
  check.at_half_peak = step_at_half_peak(job).value();
  check.grid = grid_of(record, job);
  run.job = std::move(mapped.job);
  run.alternatives = std::move(mapped.alternatives);
  run.recompute_unknown = mapped.recompute_unknown;
  return run;
}

void predict(StepRun& run) {
  if (!run.job) return;
  const StepForecast step = predict_step(*run.job);
  run.check.predicted = step.time.value();
  run.check.low = step.low.value();
  run.check.high = step.high.value();
  run.check.stack_low = run.job->stack.band_low;
  run.check.stack_high = run.job->stack.band_high;
  for (const Job& other : run.alternatives) {
    const StepForecast possible = predict_step(other);
    run.check.low = std::min(run.check.low, possible.low.value());
    run.check.high = std::max(run.check.high, possible.high.value());
  }
}

void tell_unknown(StepRun& run) {
  if (!run.job || !run.recompute_unknown) return;
  std::vector<PossiblePlan> plans;
  for (const Job& plan : possible_plans(*run.job)) {
    const MemoryForecast memory = forecast_memory(plan, stage_layout(plan.model, plan.parallel));
    plans.push_back({name_of(plan.memory.recompute.kind), predict_step(plan).time, memory.peak});
  }
  run.check.remarks.push_back(unknown_recompute_text(plans));
}

std::vector<StepRun> step_runs(const std::vector<RunRecord>& records, const RunCatalog& catalog) {
  std::vector<StepRun> runs;
  for (const RunRecord& record : records)
    if (record.tells_speed()) runs.push_back(step_run(record, catalog));
  return runs;
}

}  // namespace foretrain
