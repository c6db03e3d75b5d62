// SPDX-License-Identifier: Apache-2.0
#include "models/forecast/closed_form.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "models/collectives/library.hpp"
#include "models/data/single_process.hpp"
#include "models/forecast/band.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/layers/flops.hpp"
#include "models/layers/row_statistics.hpp"
#include "models/memory/memory.hpp"
#include "models/rules/plan_rules.hpp"
#include "models/run/cost_forecast.hpp"
#include "models/step/data_loading.hpp"
#include "models/step/step_time.hpp"

namespace foretrain {
namespace {

FlopsForecast forecast_flops(const Job& job, AttentionFlops convention) {
  const StepFlops step = job_flops(job, job.memory.recompute.kind, convention);
  FlopsForecast flops;
  flops.model_per_step = step.model;
  flops.hardware_per_step = step.hardware;
  flops.peak_per_gpu = job.cluster.host.device.peak_of(job.training.precision);
  const bool frozen = job.fine_tuning.freezes();
  flops.convention = fmt::format(
      "{} attention scores, backward = 2 x forward{}, dense {} peak", name_of(convention),
      frozen ? " less weight gradients of what is frozen" : "", name_of(job.training.precision));
  return flops;
}

Efficiency efficiency(const Job& job, const FlopsForecast& flops, Seconds step) {
  const double gpus = job.cluster.gpus();
  const FlopPerSecond per_gpu = flops.model_per_step / step / gpus;
  Efficiency result;
  result.mfu = per_gpu / flops.peak_per_gpu;
  result.hfu = flops.hardware_per_step / step / gpus / flops.peak_per_gpu;
  result.tokens_per_s = tokens_per_step(job) / step.value();
  result.tokens_per_s_per_gpu = result.tokens_per_s / gpus;
  result.model_tflops_per_gpu = per_gpu / TFLOPS;
  return result;
}

std::string need_text(const MemoryForecast& memory) {
  const std::string who =
      memory.replica ? std::string("GPU 0 (rank 0)") : fmt::format("stage {}", memory.peak_stage);
  return fmt::format("{} needs {:.1f} GiB of {:.1f} GiB: {:.1f} GiB too much", who,
                     memory.peak.in(GiB), memory.usable.in(GiB),
                     (memory.peak - memory.usable).in(GiB));
}

/// Neither end of the band fits: a no is to be as sure as a yes.
Infeasible out_of_memory(const MemoryForecast& memory) {
  return {"out-of-memory", "", need_text(memory), ""};
}

Warning may_not_fit(const MemoryForecast& memory) {
  return {"may-not-fit", fmt::format("{} as forecast; at the lower end of the band {:.1f} GiB, "
                                     "which fit: try it before you rely on it",
                                     need_text(memory), memory.low.in(GiB))};
}

void add_provenance(const Job& job, Prediction& prediction) {
  prediction.device = job.cluster.host.device.provenance;
  prediction.kernels = job.device_profile.provenance;
  prediction.collectives = job.site.provenance;
  if (job.communication.backend != Backend::nccl)
    prediction.collectives =
        other_library(job.communication.backend, {job.cluster, job.device_profile, job.site})
            .provenance;
  if (job.parallel.single_process()) prediction.collectives = single_process_provenance();
  prediction.stack = job.stack.provenance;
  prediction.software = software_years(job);
}

void add_time(const Job& job, StepForecast step, Prediction& prediction) {
  add_input(job, step, prediction.warnings);
  add_band(job, step, prediction.warnings);
  prediction.efficiency = efficiency(job, *prediction.flops, step.time);
  prediction.run = forecast_run(job, step, prediction.warnings);
  prediction.cost = forecast_cost(job, step, prediction.run, prediction.warnings);
  prediction.step = step;
}

}  // namespace

Prediction forecast(const Job& job, AttentionFlops convention, const StepModel& step) {
  Prediction prediction;
  add_provenance(job, prediction);
  prediction.reasons = broken_rules(job);
  if (!prediction.reasons.empty()) return prediction;

  const StageLayout layout = stage_layout(job.model, job.parallel);
  prediction.flops = forecast_flops(job, convention);
  prediction.memory = forecast_memory(job, layout);
  const MemoryForecast& memory = *prediction.memory;
  if (memory.may_fit())
    prediction.warnings.push_back(may_not_fit(memory));
  else if (!memory.fits())
    prediction.reasons.push_back(out_of_memory(memory));
  std::vector<Infeasible> refused = not_modelled(job);
  std::move(refused.begin(), refused.end(), std::back_inserter(prediction.reasons));
  if (prediction.reasons.empty()) add_time(job, step(job, layout), prediction);
  return prediction;
}

Seconds closed_form_step(const Job& job, const StepCosts& costs) {
  return with_input(job, step_seconds(costs));
}

Prediction closed_form(const Job& job, AttentionFlops convention) {
  return forecast(job, convention, [](const Job& plan, const StageLayout& layout) {
    return step_time(plan, layout);
  });
}

}  // namespace foretrain
