// SPDX-License-Identifier: Apache-2.0
#include "planner/search/search.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "models/base/require.hpp"
#include "models/forecast/closed_form.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/memory/memory.hpp"
#include "models/step/step_costs.hpp"
#include "planner/search/internal/search_worker.hpp"

namespace foretrain {
namespace {

using search_detail::BlockResult;
using search_detail::SharedSearch;

PlanKey plan_key(RankBy by, double per_sequence, double gpus) {
  const double first = by == RankBy::time   ? per_sequence
                       : by == RankBy::gpus ? gpus
                                            : per_sequence * gpus;
  return {first, per_sequence};
}

/// {what is ranked by, tie-breakers}; smaller is better.
std::tuple<PlanKey, double, std::int64_t> rank_of(const SearchSpace& space, RankBy by,
                                                  const ScoredPlan& plan) {
  const BlockChoice choice = block_choice(space, plan.index / space.block());
  const double per_sequence = plan.step.value() / choice.global_batch;
  const double gpus = choice.machine->gpus();
  return {plan_key(by, per_sequence, gpus), plan.peak.value(), plan.index};
}

/// Nothing else is both faster and cheaper. @pre `fastest` holds each block's fastest plan: within
/// a block, cost and time are proportional
std::vector<ScoredPlan> pareto_of(const SearchSpace& space, std::vector<ScoredPlan> fastest) {
  const auto cost = [&](const ScoredPlan& plan) {
    return std::get<0>(rank_of(space, RankBy::cost, plan)).first;
  };
  std::ranges::sort(fastest, [&](const ScoredPlan& a, const ScoredPlan& b) {
    const auto key = [&](const ScoredPlan& plan) {
      const auto [time, peak, index] = rank_of(space, RankBy::time, plan);
      return std::tuple{time, cost(plan), peak, index};
    };
    return key(a) < key(b);
  });
  std::vector<ScoredPlan> front;
  for (const ScoredPlan& plan : fastest)
    if (front.empty() || cost(plan) < cost(front.back())) front.push_back(plan);
  return front;
}

SearchResult combined(SharedSearch& shared) {
  SearchResult result;
  result.combinations = shared.space.size();
  std::vector<ScoredPlan> fastest;
  std::optional<NearPlan> heavy;
  std::optional<NearPlan> beyond;
  const auto keep_top = [&] {
    std::ranges::sort(result.best, [&](const auto& a, const auto& b) {
      return rank_of(shared.space, shared.options.by, a) <
             rank_of(shared.space, shared.options.by, b);
    });
    result.best.resize(std::min(result.best.size(), shared.options.top));
  };
  for (BlockResult& block : shared.blocks) {
    result.evaluated += block.evaluated;
    result.feasible += block.feasible;
    result.better += block.better;
    for (auto& [rule, rejection] : block.rejected) {
      const auto [place, first] = result.rejected.try_emplace(rule);
      place->second.count += rejection.count;
      if (first) place->second.example = std::move(rejection.example);
    }
    if (!block.best.empty()) fastest.push_back(block.best.front());
    result.best.insert(result.best.end(), block.best.begin(), block.best.end());
    block.best = {};
    if (result.best.size() > 64 * shared.options.top) keep_top();
    search_detail::keep_first(heavy, block.heavy, search_detail::lighter);
    search_detail::keep_first(beyond, block.beyond, search_detail::nearer);
  }
  keep_top();
  result.pareto = pareto_of(shared.space, std::move(fastest));
  if (result.feasible == 0) result.nearest = beyond ? beyond : heavy;
  return result;
}

}  // namespace

PlanKey plan_key(const Job& job, RankBy by, Seconds step) {
  return plan_key(by, step.value() / job.training.global_batch, job.cluster.gpus());
}

ScoredPlan score(const Job& job) {
  const StageLayout layout = stage_layout(job.model, job.parallel);
  const MemoryNeed need = memory_need(job, layout);
  return {0, closed_form_step(job, step_costs(job, layout)), need.peak, need.high};
}

SearchResult search(const Job& base, const SearchSpace& space, const SearchOptions& options) {
  FORETRAIN_REQUIRE(options.threads >= 1 && options.top >= 1 && space.size() >= 1);
  Job start = base;
  start.cluster = space.machines.front();
  SharedSearch shared{start, space, options};
  if (options.time_box)
    shared.end =
        search_detail::Clock::now() + std::chrono::duration_cast<search_detail::Clock::duration>(
                                          std::chrono::duration<double>(options.time_box->value()));
  shared.blocks.resize(static_cast<std::size_t>(space.size() / space.block()));
  search_detail::try_all(shared);
  return combined(shared);
}

std::optional<BestPlan> best_plan(const Scenario& scenario, RankBy by, int threads,
                                  const SearchLimits& limits, const std::atomic<bool>* stop) {
  const SearchSpace space = default_space(scenario.job);
  SearchOptions options;
  options.by = by;
  options.top = 1;
  options.threads = threads;
  options.limits = limits;
  options.stop = stop;
  const SearchResult result = search(scenario.job, space, options);
  if (result.best.empty()) return std::nullopt;
  const std::int64_t index = result.best.front().index;
  BestPlan best{scenario, settings_at(scenario.job, space, index)};
  best.scenario.job = job_at(scenario.job, space, index);
  return best;
}

}  // namespace foretrain
