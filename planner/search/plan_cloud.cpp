// SPDX-License-Identifier: Apache-2.0

#include "planner/search/plan_cloud.hpp"

#include <fmt/format.h>
#include <limits>
#include <string_view>
#include <utility>

#include "models/base/ranges.hpp"
#include "models/base/require.hpp"
#include "models/grid/process_grid.hpp"
#include "models/rules/plan_rules.hpp"
#include "models/schedules/registry.hpp"
#include "planner/forecast/smallest_change.hpp"
#include "planner/search/search_space.hpp"
#include "scenarios/sections/parallel_keys.hpp"

namespace foretrain {

SearchSpace cloud_space(const Scenario& scenario) {
  SearchSpace space = default_space(scenario.job);
  set_axis(space, scenario.job, "parallel.zero=0,1,2,3");
  return space;
}

PlanCloud plan_cloud(const Scenario& scenario, const SearchSpace& space,
                     const SearchOptions& options) {
  FORETRAIN_REQUIRE(space.machines.size() == 1 && space.global_batch.size() == 1);
  FORETRAIN_REQUIRE(options.by == RankBy::time);
  SearchResult result = search(scenario.job, space, options);
  PlanCloud cloud{space, result.combinations, result.evaluated, result.feasible, {}, std::nullopt};
  double lightest = std::numeric_limits<double>::infinity();
  for (const ScoredPlan& plan : result.best) {  // the fastest first
    const BlockChoice choice = block_choice(space, plan.index / space.block());
    const bool front = plan.peak.value() < lightest;
    if (front) lightest = plan.peak.value();
    cloud.points.push_back(
        {plan.index, plan.step, plan.peak, choice.tensor, choice.pipeline, front});
  }
  if (!refusals(scenario.job).empty()) return cloud;
  const ScoredPlan own = score(scenario.job);
  if (own.peak <= scenario.job.cluster.host.device.usable_memory) cloud.own = own;
  return cloud;
}

std::vector<std::string> cloud_settings(const Scenario& scenario, const PlanCloud& cloud,
                                        const CloudPoint& point) {
  return settings_at(scenario.job, cloud.space, point.index);
}

namespace {

/// Takes the last digit of a mixed-radix number: its value.
template <class T>
std::size_t take(std::int64_t& rest, const std::vector<T>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  const auto digit = static_cast<std::size_t>(rest % count);
  rest /= count;
  return digit;
}

/// On one stage every schedule is the same: only the first one that can run there is tried.
bool repeats_another_schedule(const Job& job, const SearchSpace& space) {
  if (job.parallel.pipeline > 1) return false;
  for (const ScheduleKind kind : space.schedule) {
    if (traits_of(kind).chunks == chunks_chosen) continue;
    return kind != job.parallel.schedule;
  }
  return false;
}

/// On one stage, and with one replica, every order is the same: only the first one is tried.
bool repeats_another_order(const Job& job, const SearchSpace& space) {
  const Parallel& plan = job.parallel;
  return (plan.pipeline == 1 || plan.data == 1) && plan.order != space.order.front();
}

}  // namespace

std::int64_t SearchSpace::block() const {
  return static_cast<std::int64_t>(virtual_stages.size() * schedule.size()) * same_layout();
}

std::int64_t SearchSpace::same_layout() const {
  return static_cast<std::int64_t>(zero.size() * micro_batch.size() * offload.size() *
                                   recompute.size());
}

std::int64_t SearchSpace::size() const {
  return static_cast<std::int64_t>(machines.size() * global_batch.size() * tensor.size() *
                                   pipeline.size() * context.size() * expert.size() *
                                   expert_tensor.size() * sequence.size() * order.size()) *
         block();
}

BlockChoice block_choice(const SearchSpace& space, std::int64_t block) {
  BlockChoice choice;
  choice.order = space.order[take(block, space.order)];
  choice.sequence = space.sequence[take(block, space.sequence)];
  choice.expert_tensor = space.expert_tensor[take(block, space.expert_tensor)];
  choice.expert = space.expert[take(block, space.expert)];
  choice.context = space.context[take(block, space.context)];
  choice.pipeline = space.pipeline[take(block, space.pipeline)];
  choice.tensor = space.tensor[take(block, space.tensor)];
  choice.global_batch = space.global_batch[take(block, space.global_batch)];
  choice.machine = &space.machines[take(block, space.machines)];
  return choice;
}

void apply_block(Job& job, const SearchSpace& space, std::int64_t block) {
  const BlockChoice choice = block_choice(space, block);
  Parallel& plan = job.parallel;
  plan.expert = choice.expert;
  plan.expert_tensor = choice.expert_tensor;
  plan.context = choice.context;
  plan.pipeline = choice.pipeline;
  plan.tensor = choice.tensor;
  plan.order = choice.order;
  job.training.global_batch = choice.global_batch;
  if (space.machines.size() > 1) job.cluster = *choice.machine;
  // Where both are tried, the rule refuses what would be the same plan twice.
  plan.sequence = choice.sequence && (plan.tensor > 1 || space.sequence.size() > 1);
  const std::int64_t replica = replica_ranks(plan);
  const std::int64_t gpus = job.cluster.gpus();
  plan.data = gpus % replica == 0 ? static_cast<int>(gpus / replica) : 0;
}

const RecomputeChoice& apply_within(Job& job, const SearchSpace& space, std::int64_t within) {
  const RecomputeChoice& recompute = space.recompute[take(within, space.recompute)];
  job.memory.recompute = recompute.value;
  job.memory.offload = space.offload[take(within, space.offload)];
  job.training.micro_batch = space.micro_batch[take(within, space.micro_batch)];
  job.parallel.zero = space.zero[take(within, space.zero)];
  job.parallel.schedule = space.schedule[take(within, space.schedule)];
  job.parallel.virtual_stages = space.virtual_stages[take(within, space.virtual_stages)];
  return recompute;
}

Job job_at(const Job& base, const SearchSpace& space, std::int64_t index) {
  FORETRAIN_REQUIRE(0 <= index && index < space.size());
  Job job = base;
  const std::int64_t block = index / space.block();
  job.cluster = *block_choice(space, block).machine;
  apply_block(job, space, block);
  apply_within(job, space, index % space.block());
  return job;
}

std::optional<Infeasible> layout_refusal(const Job& job, const SearchSpace& space) {
  const Parallel& plan = job.parallel;
  if (plan.data == 0)
    return Infeasible{"gpus", "parallel.data",
                      fmt::format("tensor {} x context {} x pipeline {} does not divide {} GPUs",
                                  plan.tensor, plan.context, plan.pipeline, job.cluster.gpus()),
                      ""};
  if (!space.data.empty() && !contains(space.data, plan.data))
    return Infeasible{"data-not-listed", "parallel.data",
                      fmt::format("data {} is what is left", plan.data), ""};
  if (repeats_another_schedule(job, space))
    return Infeasible{"schedule-needs-pipeline", "parallel.schedule",
                      fmt::format("on one stage {} is the same as another schedule that is tried",
                                  name_of(plan.schedule)),
                      ""};
  if (repeats_another_order(job, space))
    return Infeasible{"order-needs-both", "parallel.order",
                      "with one stage or one replica a rank order is the same as another", ""};
  std::vector<Infeasible> broken = broken_layout_rules(job);
  if (!broken.empty()) return std::move(broken.front());
  return std::nullopt;
}

std::optional<Infeasible> refusal(const Job& job) {
  std::vector<Infeasible> refused = refusals(job);
  if (!refused.empty()) return std::move(refused.front());
  return std::nullopt;
}

std::vector<std::string> settings_at(const Job& base, const SearchSpace& space,
                                     std::int64_t index) {
  const Job job = job_at(base, space, index);
  const Parallel& plan = job.parallel;
  std::vector<std::string> settings;
  const auto set = [&](std::string_view key, const auto& value) {
    settings.push_back(fmt::format("{}={}", key, value));
  };
  if (job.cluster.hosts != base.cluster.hosts || space.machines.size() > 1)
    set("cluster.hosts", job.cluster.hosts);
  if (job.cluster.host.gpus != base.cluster.host.gpus || has_parts(space))
    set("cluster.gpus_per_host", job.cluster.host.gpus);
  if (job.training.global_batch != base.training.global_batch || space.global_batch.size() > 1)
    set("training.global_batch", job.training.global_batch);
  set("training.micro_batch", job.training.micro_batch);
  set("parallel.tensor", plan.tensor);
  set("parallel.sequence", plan.sequence);
  set("parallel.context", plan.context);
  set("parallel.pipeline", plan.pipeline);
  set("parallel.virtual_stages", plan.virtual_stages);
  set("parallel.schedule", name_of(plan.schedule));
  if (job.model.moe) set("parallel.expert", plan.expert);
  if (plan.expert_tensor != base.parallel.expert_tensor)
    set("parallel.expert_tensor", plan.expert_tensor);
  set("parallel.data", plan.data);
  if (plan.order != base.parallel.order) set("parallel.order", rank_order_text(plan.order));
  set("parallel.zero", plan.zero);
  for (std::string& setting : stranded_settings(base.parallel, plan))
    settings.push_back(std::move(setting));
  const RecomputeChoice& recompute =
      space.recompute[static_cast<std::size_t>(index) % space.recompute.size()];
  if (!recompute.given) set("memory.recompute", recompute.name);
  if (job.memory.offload != base.memory.offload) set("memory.offload", name_of(job.memory.offload));
  return settings;
}

}  // namespace foretrain
