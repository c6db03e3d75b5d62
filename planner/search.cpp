// SPDX-License-Identifier: Apache-2.0
#include "planner/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <thread>
#include <tuple>
#include <utility>

#include "models/memory.hpp"
#include "models/plan_rules.hpp"
#include "models/require.hpp"
#include "models/stage_layout.hpp"
#include "models/step_costs.hpp"
#include "models/step_time.hpp"

namespace foretrain {
namespace {

using Clock = std::chrono::steady_clock;

/// Takes the last digit of a mixed-radix number: the value that it selects.
template <class T>
const T& take(std::int64_t& rest, const std::vector<T>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  const T& value = values[static_cast<std::size_t>(rest % count)];
  rest /= count;
  return value;
}

/// Machine, batch and the sizes that split the model.
void apply_block(Job& job, const SearchSpace& space, std::int64_t block) {
  Parallel& plan = job.parallel;
  plan.expert = take(block, space.expert);
  plan.context = take(block, space.context);
  plan.pipeline = take(block, space.pipeline);
  plan.tensor = take(block, space.tensor);
  job.training.global_batch = take(block, space.global_batch);
  const Cluster& machine = take(block, space.machines);
  if (space.machines.size() > 1) job.cluster = machine;
  plan.sequence = space.sequence && plan.tensor > 1;
  const std::int64_t replica = std::int64_t{plan.tensor} * plan.context * plan.pipeline;
  const std::int64_t gpus = job.cluster.gpus();
  plan.data = gpus % replica == 0 ? static_cast<int>(gpus / replica) : 0;
}

/// What can change without another split of the model.
const RecomputeChoice& apply_within(Job& job, const SearchSpace& space, std::int64_t within) {
  const RecomputeChoice& recompute = take(within, space.recompute);
  job.memory.recompute = recompute.value;
  job.training.micro_batch = take(within, space.micro_batch);
  job.parallel.zero = take(within, space.zero);
  job.parallel.schedule = take(within, space.schedule);
  job.parallel.virtual_stages = take(within, space.virtual_stages);
  return recompute;
}

const Cluster& machine_at(const SearchSpace& space, std::int64_t index) {
  std::int64_t rest = index / space.block();
  take(rest, space.expert);
  take(rest, space.context);
  take(rest, space.pipeline);
  take(rest, space.tensor);
  take(rest, space.global_batch);
  return take(rest, space.machines);
}

int batch_at(const SearchSpace& space, std::int64_t index) {
  std::int64_t rest = index / space.block();
  take(rest, space.expert);
  take(rest, space.context);
  take(rest, space.pipeline);
  take(rest, space.tensor);
  return take(rest, space.global_batch);
}

/// On one stage every schedule is the same: only the first one that can run there is tried.
bool repeats_another_schedule(const Job& job, const SearchSpace& space) {
  if (job.parallel.pipeline > 1) return false;
  for (const ScheduleKind kind : space.schedule) {
    if (kind == ScheduleKind::interleaved) continue;
    return kind != job.parallel.schedule;
  }
  return false;
}

/// All combinations of one block, or as many of them as there was time for.
struct BlockResult {
  std::int64_t evaluated = 0;
  std::int64_t feasible = 0;
  std::map<std::string, Rejection> rejected;
  std::vector<ScoredPlan> best;     ///< fastest first
  std::optional<ScoredPlan> heavy;  ///< least memory of those that lack some
  std::optional<ScoredPlan> slow;   ///< fastest of those beyond max_step
};

/// Within a block, where machine and batch are the same.
bool faster(const ScoredPlan& a, const ScoredPlan& b) {
  return std::tuple{a.step.value(), a.peak.value(), a.index} <
         std::tuple{b.step.value(), b.peak.value(), b.index};
}

bool lighter(const ScoredPlan& a, const ScoredPlan& b) {
  return std::tuple{a.peak.value(), a.index} < std::tuple{b.peak.value(), b.index};
}

/// A stage runs all its passes one after the other: no step is shorter than the busiest stage's
/// work. DualPipe runs two passes at a time, so that nothing is said about it.
Seconds least_step(const StepCosts& costs) {
  if (costs.shape.kind == ScheduleKind::dualpipe) return Seconds{};
  constexpr double rounding = 1.0 - 1e-9;
  return stage_work(costs).busiest * ((1.0 + costs.jitter) * costs.release * rounding);
}

using Order = bool (*)(const ScoredPlan&, const ScoredPlan&);

void keep_first(std::optional<ScoredPlan>& kept, const std::optional<ScoredPlan>& plan,
                Order before) {
  if (plan && (!kept || before(*plan, *kept))) kept = plan;
}

/// Shared by the threads of one search.
struct Shared {
  const Job& base;
  const SearchSpace& space;
  const SearchOptions& options;
  Clock::time_point end = Clock::time_point::max();
  std::atomic<std::int64_t> next{0};
  std::atomic<std::int64_t> done{0};
  std::atomic<bool> stopped{false};
  /// A step that `top` plans of the same machine and batch are known to keep, in seconds.
  std::atomic<double> beaten{std::numeric_limits<double>::infinity()};
  std::vector<BlockResult> blocks{};

  /// Whether steps of all blocks compare with each other.
  [[nodiscard]] bool one_machine_and_batch() const {
    return space.machines.size() == 1 && space.global_batch.size() == 1;
  }
  void lower_beaten(double seconds) {
    double known = beaten.load();
    while (seconds < known && !beaten.compare_exchange_weak(known, seconds)) continue;
  }
  [[nodiscard]] bool must_stop() {
    if ((options.stop != nullptr && options.stop->load()) || Clock::now() >= end) stopped = true;
    return stopped;
  }
};

class Worker {
 public:
  explicit Worker(Shared& shared) : shared_{shared}, job_{shared.base} {}

  void run(bool reports_progress) {
    const auto blocks = static_cast<std::int64_t>(shared_.blocks.size());
    for (;;) {
      const std::int64_t block = shared_.next.fetch_add(1);
      if (block >= blocks || shared_.must_stop()) return;
      run_block(block);
      if (reports_progress && shared_.options.progress)
        shared_.options.progress(shared_.done.load());
    }
  }

 private:
  void run_block(std::int64_t block) {
    constexpr std::int64_t between_looks_at_the_clock = 32;
    BlockResult& result = shared_.blocks[static_cast<std::size_t>(block)];
    apply_block(job_, shared_.space, block);
    beaten_ = std::numeric_limits<double>::infinity();
    const std::int64_t size = shared_.space.block();
    for (std::int64_t within = 0; within < size; ++within) {
      if (within % between_looks_at_the_clock == 0 && shared_.must_stop()) break;
      apply_within(job_, shared_.space, within);
      try_plan(block * size + within, result);
      ++result.evaluated;
    }
    keep_best(result);
    shared_.done += result.evaluated;
  }

  void try_plan(std::int64_t index, BlockResult& result) {
    if (auto reason = refusal(job_, shared_.space)) {
      reject(result, reason->rule, std::move(reason->message));
      return;
    }
    const SearchOptions& options = shared_.options;
    const Bytes usable = job_.cluster.host.device.usable_memory;
    const StageLayout layout = stage_layout(job_.model, job_.parallel);
    ScoredPlan plan{index, Seconds{}, peak_memory(job_, layout)};
    if (plan.peak > usable * options.max_memory_share) {
      const bool never = plan.peak > usable;
      reject(result, never ? "out-of-memory" : "max-memory-share",
             fmt::format("{:.1f} GiB of {:.1f} GiB", plan.peak.in(GiB), usable.in(GiB)));
      keep_first(result.heavy, plan, lighter);
      return;
    }
    const StepCosts costs = step_costs(job_, layout);
    // Only a plan that cannot be among the best is left untimed, and never where a limit asks.
    if (!options.max_step && least_step(costs).value() > std::min(beaten_, shared_.beaten.load())) {
      ++result.feasible;
      return;
    }
    plan.step = step_seconds(costs);
    if (options.max_step && plan.step > *options.max_step) {
      reject(result, "max-step", fmt::format("a step takes {:.3g} s", plan.step.value()));
      keep_first(result.slow, plan, faster);
      return;
    }
    ++result.feasible;
    result.best.push_back(plan);
    if (result.best.size() >= 2 * options.top) keep_best(result);
  }

  void keep_best(BlockResult& result) {
    const std::size_t top = shared_.options.top;
    std::sort(result.best.begin(), result.best.end(), faster);
    if (result.best.size() < top) return;
    result.best.resize(top);
    beaten_ = result.best.back().step.value();
    if (shared_.one_machine_and_batch()) shared_.lower_beaten(beaten_);
  }

  static void reject(BlockResult& result, const std::string& rule, std::string example) {
    const auto [place, first] = result.rejected.try_emplace(rule);
    ++place->second.count;
    if (first) place->second.example = std::move(example);
  }

  Shared& shared_;
  Job job_;
  double beaten_ = 0.0;  ///< as Shared::beaten, for the block that is being searched
};

void run_threads(Shared& shared) {
  const auto count = static_cast<std::size_t>(shared.options.threads);
  std::vector<std::exception_ptr> failures(count);
  const auto work = [&](std::size_t i) {
    try {
      Worker{shared}.run(i == 0);
    } catch (...) {
      failures[i] = std::current_exception();
      shared.stopped = true;
    }
  };
  std::vector<std::thread> helpers;
  for (std::size_t i = 1; i < count; ++i) helpers.emplace_back(work, i);
  work(0);
  for (std::thread& helper : helpers) helper.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

/// {what is ranked by, tie-breakers}; smaller is better.
std::tuple<double, double, double, std::int64_t> rank_of(const SearchSpace& space, RankBy by,
                                                         const ScoredPlan& plan) {
  const double per_sequence = plan.step.value() / batch_at(space, plan.index);
  const double gpus = machine_at(space, plan.index).gpus();
  const double first = by == RankBy::time   ? per_sequence
                       : by == RankBy::cost ? per_sequence * gpus
                                            : gpus;
  return {first, per_sequence, plan.peak.value(), plan.index};
}

/// Nothing else is both faster and cheaper. @pre `fastest` holds each block's fastest plan: within
/// a block, cost and time are proportional
std::vector<ScoredPlan> pareto_of(const SearchSpace& space, std::vector<ScoredPlan> fastest) {
  std::sort(fastest.begin(), fastest.end(), [&](const ScoredPlan& a, const ScoredPlan& b) {
    const auto key = [&](const ScoredPlan& plan) {
      const auto [time, same_time, peak, index] = rank_of(space, RankBy::time, plan);
      return std::tuple{time, std::get<0>(rank_of(space, RankBy::cost, plan)), peak, index};
    };
    return key(a) < key(b);
  });
  std::vector<ScoredPlan> front;
  for (const ScoredPlan& plan : fastest)
    if (front.empty() || std::get<0>(rank_of(space, RankBy::cost, plan)) <
                             std::get<0>(rank_of(space, RankBy::cost, front.back())))
      front.push_back(plan);
  return front;
}

SearchResult combined(Shared& shared) {
  SearchResult result;
  result.combinations = shared.space.size();
  std::vector<ScoredPlan> fastest;
  std::optional<ScoredPlan> heavy;
  std::optional<ScoredPlan> slow;
  for (BlockResult& block : shared.blocks) {
    result.evaluated += block.evaluated;
    result.feasible += block.feasible;
    for (auto& [rule, rejection] : block.rejected) {
      const auto [place, first] = result.rejected.try_emplace(rule);
      place->second.count += rejection.count;
      if (first) place->second.example = std::move(rejection.example);
    }
    if (!block.best.empty()) fastest.push_back(block.best.front());
    result.best.insert(result.best.end(), block.best.begin(), block.best.end());
    keep_first(heavy, block.heavy, lighter);
    keep_first(slow, block.slow, faster);
  }
  std::sort(result.best.begin(), result.best.end(), [&](const auto& a, const auto& b) {
    return rank_of(shared.space, shared.options.by, a) <
           rank_of(shared.space, shared.options.by, b);
  });
  result.best.resize(std::min(result.best.size(), shared.options.top));
  result.pareto = pareto_of(shared.space, std::move(fastest));
  if (result.feasible == 0) result.nearest = slow ? slow : heavy;
  return result;
}

}  // namespace

std::optional<Infeasible> refusal(const Job& job, const SearchSpace& space) {
  const Parallel& plan = job.parallel;
  if (plan.data == 0)
    return Infeasible{"gpus", "parallel.data",
                      fmt::format("tensor {} x context {} x pipeline {} does not divide {} GPUs",
                                  plan.tensor, plan.context, plan.pipeline, job.cluster.gpus()),
                      ""};
  if (!space.data.empty() &&
      std::find(space.data.begin(), space.data.end(), plan.data) == space.data.end())
    return Infeasible{"data-not-listed", "parallel.data",
                      fmt::format("data {} is what is left", plan.data), ""};
  if (repeats_another_schedule(job, space))
    return Infeasible{"schedule-needs-pipeline", "parallel.schedule",
                      fmt::format("on one stage {} is the same as another schedule that is tried",
                                  name_of(plan.schedule)),
                      ""};
  std::vector<Infeasible> broken = broken_rules(job);
  if (!broken.empty()) return std::move(broken.front());
  std::vector<Infeasible> refused = not_modelled(job);
  if (!refused.empty()) return std::move(refused.front());
  return std::nullopt;
}

Job job_at(const Job& base, const SearchSpace& space, std::int64_t index) {
  FORETRAIN_REQUIRE(0 <= index && index < space.size());
  Job job = base;
  job.cluster = machine_at(space, index);
  apply_block(job, space, index / space.block());
  apply_within(job, space, index % space.block());
  return job;
}

SearchResult search(const Job& base, const SearchSpace& space, const SearchOptions& options) {
  FORETRAIN_REQUIRE(options.threads >= 1 && options.top >= 1 && space.size() >= 1);
  Job start = base;
  start.cluster = space.machines.front();
  Shared shared{start, space, options};
  if (options.time_box)
    shared.end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                    std::chrono::duration<double>(options.time_box->value()));
  shared.blocks.resize(static_cast<std::size_t>(space.size() / space.block()));
  run_threads(shared);
  return combined(shared);
}

}  // namespace foretrain
