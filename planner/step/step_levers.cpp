// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "models/forecast/closed_form.hpp"
#include "models/inputs/recipe.hpp"
#include "models/schedules/registry.hpp"
#include "planner/forecast/search_limits.hpp"
#include "planner/forecast/waterfall.hpp"
#include "planner/step/internal/step_causes.hpp"

namespace foretrain {
namespace {

/// A job with the settings that make it from the scenario's.
struct Trial {
  Job job;
  std::vector<std::string> settings;

  template <class Value>
  Trial& set(const char* key, Value& field, Value value) {
    field = value;
    settings.push_back(fmt::format("{}={}", key, value));
    return *this;
  }
};

/// Changes a trial; false where it does not apply.
using Try = std::function<bool(Trial&)>;

Try halve(int Parallel::*degree, const char* key) {
  return [degree, key](Trial& t) {
    Parallel& plan = t.job.parallel;
    if (plan.*degree % 2 != 0) return false;
    if (degree == &Parallel::pipeline && !plan.stage_layers.empty()) return false;
    t.set(key, plan.*degree, plan.*degree / 2).set("parallel.data", plan.data, plan.data * 2);
    return true;
  };
}

Try twice(int Parallel::*degree, const char* key) {
  return [degree, key](Trial& t) {
    Parallel& plan = t.job.parallel;
    if (plan.data % 2 != 0) return false;
    if (degree == &Parallel::pipeline && !plan.stage_layers.empty()) return false;
    t.set(key, plan.*degree, plan.*degree * 2).set("parallel.data", plan.data, plan.data / 2);
    return true;
  };
}

bool half_expert(Trial& t) {
  int& ranks = t.job.parallel.expert;
  if (ranks % 2 != 0) return false;
  t.set("parallel.expert", ranks, ranks / 2);
  return true;
}

bool half_micro_batch(Trial& t) {
  int& size = t.job.training.micro_batch;
  if (size % 2 != 0) return false;
  t.set("training.micro_batch", size, size / 2);
  return true;
}

bool twice_micro_batch(Trial& t) {
  int& size = t.job.training.micro_batch;
  t.set("training.micro_batch", size, size * 2);
  return true;
}

Try virtual_stages(int count) {
  return [count](Trial& t) {
    Parallel& plan = t.job.parallel;
    if (plan.pipeline < 2 || plan.virtual_stages >= count) return false;
    const ScheduleTraits& traits = traits_of(plan.schedule);
    if (traits.chunks != chunks_chosen && !traits.in_chunks) return false;
    plan.schedule = traits.in_chunks.value_or(plan.schedule);
    t.settings.push_back(fmt::format("parallel.schedule={}", name_of(plan.schedule)));
    t.set("parallel.virtual_stages", plan.virtual_stages, count);
    return true;
  };
}

Try schedule(ScheduleKind kind) {
  return [kind](Trial& t) {
    Parallel& plan = t.job.parallel;
    if (plan.pipeline < 2 || plan.schedule == kind || plan.virtual_stages > 1) return false;
    plan.schedule = kind;
    t.settings.push_back(fmt::format("parallel.schedule={}", name_of(kind)));
    return true;
  };
}

Try recompute(RecomputeKind kind) {
  return [kind](Trial& t) {
    Recompute& now = t.job.memory.recompute;
    if (static_cast<int>(now.kind) <= static_cast<int>(kind)) return false;
    now.kind = kind;
    t.settings.push_back(fmt::format("memory.recompute={}", name_of(kind)));
    return true;
  };
}

bool flash(Trial& t) {
  if (t.job.memory.attention == AttentionKind::flash) return false;
  t.job.memory.attention = AttentionKind::flash;
  t.settings.emplace_back("memory.attention=flash");
  return true;
}

bool fp8(Trial& t) {
  if (quantised(t.job.training.precision)) return false;
  t.job.training.precision = Precision::fp8;
  t.settings.emplace_back("training.precision=fp8");
  return true;
}

bool sequence_parallel(Trial& t) {
  if (t.job.parallel.sequence || t.job.parallel.tensor < 2) return false;
  t.set("parallel.sequence", t.job.parallel.sequence, true);
  return true;
}

bool sharded_optimizer(Trial& t) {
  if (t.job.parallel.zero >= 1 || t.job.parallel.data < 2) return false;
  t.set("parallel.zero", t.job.parallel.zero, 1);
  return true;
}

bool bf16_gradients(Trial& t) {
  if (t.job.communication.gradient_dtype != Precision::fp32) return false;
  t.job.communication.gradient_dtype = Precision::bf16;
  t.settings.emplace_back("communication.gradient_dtype=bf16");
  return true;
}

bool process_per_gpu(Trial& t) {
  if (t.job.parallel.processes == ProcessKind::per_gpu) return false;
  t.job.parallel.processes = ProcessKind::per_gpu;
  t.settings.emplace_back("parallel.processes=per-gpu");
  return true;
}

Try overlap(bool Overlap::*what, const char* key) {
  return [what, key](Trial& t) {
    bool& now = t.job.communication.overlap.*what;
    if (now) return false;
    t.set(key, now, true);
    return true;
  };
}

/// What people try against a loss.
std::vector<Try> tries_for(std::string_view key) {
  const Try less_tensor = halve(&Parallel::tensor, "parallel.tensor");
  const Try less_pipeline = halve(&Parallel::pipeline, "parallel.pipeline");
  const Try less_context = halve(&Parallel::context, "parallel.context");
  if (key == "kernels") return {twice_micro_batch, less_tensor, flash, fp8};
  if (key == "recompute_s")
    return {recompute(RecomputeKind::none), recompute(RecomputeKind::selective)};
  if (key == "tensor_s")
    return {less_tensor, twice(&Parallel::pipeline, "parallel.pipeline"),
            overlap(&Overlap::tensor, "communication.overlap.tensor")};
  if (key == "context_s") return {less_context};
  if (key == "expert_s") return {half_expert};
  if (key == "bubble_s") {
    std::vector<Try> tries{virtual_stages(2), virtual_stages(4), virtual_stages(5),
                           half_micro_batch, less_pipeline};
    for (const auto& [kind, name] : EnumNames<ScheduleKind>::names)
      if (traits_of(kind).drop_in) tries.push_back(schedule(kind));
    return tries;
  }
  if (key == "pipeline_s")
    return {overlap(&Overlap::pipeline, "communication.overlap.pipeline"), sequence_parallel,
            less_pipeline, twice_micro_batch};
  if (key == "data_s")
    return {process_per_gpu,
            overlap(&Overlap::gradients, "communication.overlap.gradients"),
            overlap(&Overlap::parameters, "communication.overlap.parameters"),
            bf16_gradients,
            twice(&Parallel::tensor, "parallel.tensor"),
            twice(&Parallel::pipeline, "parallel.pipeline")};
  if (key == "optimizer_s") return {sharded_optimizer, bf16_gradients};
  if (key == "launch_s") return {process_per_gpu, twice_micro_batch};
  return {};
}

std::optional<Seconds> part_time(std::string_view key, const Job& job, const Prediction& p) {
  if (!p.feasible() || !p.step || !p.flops) return std::nullopt;
  for (const WaterfallPart& part : whole_waterfall(job, p))
    if (part.key == key) return part.time;
  return std::nullopt;
}

}  // namespace

std::optional<Lever> lever_for(std::string_view key, const Job& job) {
  constexpr double least_gain = 0.05;  // of the loss
  const Prediction now = closed_form(job);
  const auto before = part_time(key, job, now);
  if (!before || *before <= Seconds{}) return std::nullopt;
  std::optional<Lever> best;
  for (const Try& change : tries_for(key)) {
    Trial trial{job, {}};
    if (!change(trial)) continue;
    const Prediction then = closed_form(trial.job);
    const auto after = part_time(key, trial.job, then);
    if (!after || *after > (1.0 - least_gain) * *before) continue;
    if (memory_excess({}, trial.job.cluster.host.device, then.memory->need())) continue;
    if (best && best->step_after <= then.step->time) continue;
    best =
        Lever{trial.settings, *before, *after, now.step->time, then.step->time, then.memory->peak};
  }
  return best;
}

}  // namespace foretrain
