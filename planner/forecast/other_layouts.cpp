// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "models/forecast/closed_form.hpp"
#include "models/grid/process_grid.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/rules/plan_rules.hpp"
#include "models/rules/plan_sizes.hpp"
#include "models/step/step_bounds.hpp"
#include "planner/forecast/internal/other_layouts.hpp"

namespace foretrain {
namespace {

constexpr std::size_t most_layouts = 6;  ///< as many as a report shows

/// A plan that fits and waits to be timed.
struct Fitting {
  Job job;
  Bytes peak;
  Seconds least;  ///< that its step is not below
};

/// Ways to need less memory in the same layout, one more at a time, the cheaper ones first; false
/// where one changes nothing.
template <class Value>
bool lower(Value& value, Value to, bool applies) {
  if (applies) value = std::move(to);
  return applies;
}
bool recompute_all(Job& job) {
  Recompute& now = job.memory.recompute;
  return lower(now, Recompute{RecomputeKind::full, RecomputeMethod::uniform, 1},
               now.kind != RecomputeKind::full);
}
bool one_sequence(Job& job) {
  return lower(job.training.micro_batch, 1, job.training.micro_batch > 1);
}
bool shard_states(Job& job) { return lower(job.parallel.zero, 1, job.parallel.zero < 1); }
bool shard_all(Job& job) { return lower(job.parallel.zero, 3, job.parallel.zero < 3); }
bool offload_states(Job& job) {
  return lower(job.memory.offload, OffloadKind::optimizer, job.memory.offload == OffloadKind::none);
}

constexpr std::array frugality{recompute_all, one_sequence, shard_states, shard_all,
                               offload_states};

/// Chunks and schedule of another number of stages are those that always go.
void lay_out(Job& job, int tensor, int pipeline) {
  Parallel& plan = job.parallel;
  if (pipeline != plan.pipeline) {
    plan.virtual_stages = 1;
    plan.schedule = default_schedule;
  }
  plan.sequence = tensor > 1 && (plan.sequence || plan.tensor == 1);
  plan.tensor = tensor;
  plan.pipeline = pipeline;
}

/// What fits of all layouts.
class Layouts {
 public:
  Layouts(const SearchLimits& limits, PlanScope scope) : limits_{limits}, scope_{scope} {}

  void try_all(const Job& base) {
    const PlanSizes sizes = plan_sizes(base);
    const bool fixed = !base.parallel.stage_layers.empty();
    for (const int tensor : sizes.tensor)
      for (const int pipeline : fixed ? std::vector{base.parallel.pipeline} : sizes.pipeline)
        for (const int context : sizes.context) {
          Job job = base;
          lay_out(job, tensor, pipeline);
          job.parallel.context = context;
          const std::int64_t replica = replica_ranks(job.parallel);
          if (job.cluster.gpus() % replica != 0) continue;
          job.parallel.data = static_cast<int>(job.cluster.gpus() / replica);
          for (const int expert : sizes.expert) {
            job.parallel.expert = expert;
            try_layout(job);
          }
        }
  }

  [[nodiscard]] std::vector<Fitting>& found() { return found_; }

 private:
  void try_layout(Job job) {
    if (!broken_layout_rules(job).empty() || keep_if_it_goes(job)) return;
    for (const auto save : frugality) {
      Job lighter = job;
      if (!save(lighter)) continue;
      if (keep_if_it_goes(lighter)) return;
      if (refusals(lighter).empty() || !refusals(job).empty()) job = std::move(lighter);
    }
  }

  bool keep_if_it_goes(const Job& job) {
    const PlanJudgement judged = judge_plan(job, limits_, scope_, &needs_);
    if (!judged.goes()) return false;
    const Seconds least = scope_ == PlanScope::run
                              ? bounds_.least(job, stage_layout(job.model, job.parallel))
                              : Seconds{};
    found_.push_back({job, judged.need.peak, least});
    return true;
  }

  const SearchLimits& limits_;
  PlanScope scope_;
  MemoryNeeds needs_;
  StepBounds bounds_;
  std::vector<Fitting> found_;
};

/// What leads from one plan to the other, as for --set.
std::vector<std::string> settings_between(const Job& now, const Job& then) {
  std::vector<std::string> settings;
  const auto set = [&](const char* key, const auto& was, const auto& is) {
    if (was != is) settings.push_back(fmt::format("{}={}", key, is));
  };
  const Parallel& from = now.parallel;
  const Parallel& to = then.parallel;
  set("cluster.hosts", now.cluster.hosts, then.cluster.hosts);
  set("cluster.gpus_per_host", now.cluster.host.gpus, then.cluster.host.gpus);
  set("parallel.tensor", from.tensor, to.tensor);
  set("parallel.sequence", from.sequence, to.sequence);
  set("parallel.context", from.context, to.context);
  set("parallel.pipeline", from.pipeline, to.pipeline);
  set("parallel.virtual_stages", from.virtual_stages, to.virtual_stages);
  set("parallel.schedule", name_of(from.schedule), name_of(to.schedule));
  set("parallel.expert", from.expert, to.expert);
  if (!settings.empty()) settings.push_back(fmt::format("parallel.data={}", to.data));
  set("parallel.zero", from.zero, to.zero);
  set("training.micro_batch", now.training.micro_batch, then.training.micro_batch);
  set("memory.recompute", name_of(now.memory.recompute.kind), name_of(then.memory.recompute.kind));
  set("memory.offload", name_of(now.memory.offload), name_of(then.memory.offload));
  return settings;
}

bool faster(const Change& a, const Change& b) { return a.step && b.step && *a.step < *b.step; }

}  // namespace

std::vector<Change> layouts_that_fit(const Job& now, const Job& job, const SearchLimits& limits,
                                     PlanScope scope) {
  Layouts layouts(limits, scope);
  layouts.try_all(job);
  std::vector<Fitting>& fitting = layouts.found();
  std::stable_sort(fitting.begin(), fitting.end(),
                   [](const Fitting& a, const Fitting& b) { return a.least < b.least; });
  std::vector<Change> best;
  for (const Fitting& plan : fitting) {
    const bool full = best.size() == most_layouts;
    if (full && (!best.back().step || plan.least >= *best.back().step)) break;
    Change change{settings_between(now, plan.job), plan.peak, std::nullopt};
    if (scope == PlanScope::run) change.step = closed_form(plan.job).step.value().time;
    best.insert(std::upper_bound(best.begin(), best.end(), change, faster), std::move(change));
    best.resize(std::min(best.size(), most_layouts));
  }
  return best;
}

}  // namespace foretrain
