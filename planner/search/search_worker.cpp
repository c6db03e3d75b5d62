// SPDX-License-Identifier: Apache-2.0
// What each thread of a search does: rules, memory and bounds block by block, then times.
#include <algorithm>
#include <exception>
#include <functional>
#include <iterator>
#include <thread>
#include <tuple>
#include <utility>

#include "models/forecast/closed_form.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/memory/memory.hpp"
#include "models/step/step_costs.hpp"
#include "models/step/step_time.hpp"
#include "planner/search/internal/nearest_plan.hpp"
#include "planner/search/internal/search_worker.hpp"

namespace foretrain::search_detail {
namespace {

/// Within a block, where machine and batch are the same and every ranking follows the step.
bool faster(const ScoredPlan& a, const ScoredPlan& b) {
  return std::tuple{a.step.value(), a.peak.value(), a.index} <
         std::tuple{b.step.value(), b.peak.value(), b.index};
}

/// Steps below this one make a plan of this machine and batch better than the reference.
double step_to_count(const Job& job, const SearchOptions& options) {
  if (!options.reference) return 0.0;
  const double batch = job.training.global_batch;
  const double gpus = job.cluster.gpus();
  const PlanKey& reference = *options.reference;
  if (options.by == RankBy::time) return reference.first * batch;
  if (options.by != RankBy::gpus) return reference.first / gpus * batch;
  if (gpus != reference.first)
    return gpus < reference.first ? std::numeric_limits<double>::infinity() : 0.0;
  return reference.time * batch;
}

/// Plans that are timed all the same when time is up, those that promise most, so that there is an
/// answer: few enough to end within a second.
constexpr std::size_t timed_at_the_end = 16;

bool promises_more(const Waiting& a, const Waiting& b) {
  return std::tuple{a.least.value(), a.plan.index} < std::tuple{b.least.value(), b.plan.index};
}

class Worker {
 public:
  explicit Worker(SharedSearch& shared) : shared_{shared}, job_{shared.base} {}

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

  /// Plans that waited for all blocks; run() of every worker has ended before.
  void run_waiting(BlockResult& result) {
    apply_block(job_, shared_.space, 0);
    beaten_ = std::numeric_limits<double>::infinity();
    counted_ = step_to_count(job_, shared_.options);
    const std::int64_t size = shared_.space.block();
    for (;;) {
      const std::size_t next = shared_.next_waiting.fetch_add(1);
      if (next >= shared_.waiting.size()) break;
      const Waiting& one = shared_.waiting[next];
      if (may_stay_untimed(one.least)) {
        ++result.feasible;
        continue;
      }
      if (next >= timed_at_the_end && shared_.must_stop()) {
        --result.evaluated;
        continue;
      }
      apply_block(job_, shared_.space, one.plan.index / size);
      apply_within(job_, shared_.space, one.plan.index % size);
      time_plan(one.plan, result);
    }
    std::sort_heap(result.best.begin(), result.best.end(), faster);
  }

 private:
  void run_block(std::int64_t block) {
    BlockResult& result = shared_.blocks[static_cast<std::size_t>(block)];
    apply_block(job_, shared_.space, block);
    beaten_ = std::numeric_limits<double>::infinity();
    counted_ = step_to_count(job_, shared_.options);
    const std::int64_t size = shared_.space.block();
    const std::int64_t alike = shared_.space.same_layout();
    waiting_.clear();
    for (std::int64_t first = 0; first < size && !shared_.stopped; first += alike)
      run_layout(block * size, first, result);
    if (!shared_.waits(waiting_)) time_waiting(block * size, result);
    std::sort_heap(result.best.begin(), result.best.end(), faster);
    result.best.shrink_to_fit();
    shared_.done += result.evaluated;
  }

  /// All plans of the block that differ in neither schedule nor chunks.
  void run_layout(std::int64_t base, std::int64_t first, BlockResult& result) {
    constexpr std::int64_t between_looks_at_the_clock = 32;
    const std::int64_t alike = shared_.space.same_layout();
    if (shared_.must_stop()) return;
    apply_within(job_, shared_.space, first);
    if (auto reason = layout_refusal(job_, shared_.space)) {
      reject(result, reason->rule, std::move(reason->message), alike);
      result.evaluated += alike;
      return;
    }
    const StageLayout layout = stage_layout(job_.model, job_.parallel);
    for (std::int64_t within = first; within < first + alike; ++within) {
      if (within % between_looks_at_the_clock == 0 && shared_.must_stop()) return;
      apply_within(job_, shared_.space, within);
      try_plan(base + within, layout, result);
      ++result.evaluated;
    }
  }

  /// Rules and memory; what stands is timed when the whole block is known, best bound first.
  void try_plan(std::int64_t index, const StageLayout& layout, BlockResult& result) {
    if (auto reason = refusal(job_)) {
      reject(result, reason->rule, std::move(reason->message));
      return;
    }
    const SearchLimits& limits = shared_.options.limits;
    const MemoryNeed need = memory_need(job_, layout);
    const ScoredPlan plan{index, Seconds{}, need.peak, need.high};
    if (auto excess = memory_excess(limits, job_.cluster.host.device, need)) {
      reject(result, excess->rule, excess->message);
      keep_first(result.heavy, NearPlan{plan, std::move(*excess)}, lighter);
      return;
    }
    const StepCosts costs = step_costs(job_, layout);
    Seconds least = least_step_seconds(costs);
    if (!is_finite(least)) least = Seconds{};
    if (may_stay_untimed(least))
      ++result.feasible;
    else
      waiting_.push_back({plan, least});
    if (waiting_.size() >= most_waiting)
      time_waiting(index - index % shared_.space.block(), result);
  }

  /// In the order of the space where all have to be timed.
  void time_waiting(std::int64_t base, BlockResult& result) {
    if (!shared_.options.limits.judge_time())
      std::sort(waiting_.begin(), waiting_.end(), promises_more);
    std::size_t timed = 0;
    for (const Waiting& one : waiting_) {
      if (may_stay_untimed(one.least)) {
        ++result.feasible;
        continue;
      }
      if (timed >= timed_at_the_end && shared_.must_stop()) {
        --result.evaluated;
        continue;
      }
      ++timed;
      apply_within(job_, shared_.space, one.plan.index - base);
      time_plan(one.plan, result);
    }
    waiting_.clear();
  }

  void time_plan(ScoredPlan plan, BlockResult& result) {
    const SearchLimits& limits = shared_.options.limits;
    plan.step = closed_form_step(job_, step_costs(job_, stage_layout(job_.model, job_.parallel)));
    if (!is_finite(plan.step) || !(plan.step > Seconds{})) {  // what is unknown never wins
      reject(result, "no-step-time", "how long a step takes is not known");
      return;
    }
    if (auto excess = run_excess(limits, job_, plan.step)) {
      reject(result, excess->rule, excess->message);
      keep_first(result.beyond, NearPlan{plan, std::move(*excess)}, nearer);
      return;
    }
    ++result.feasible;
    const auto& reference = shared_.options.reference;
    if (reference && plan_key(job_, shared_.options.by, plan.step) < *reference) ++result.better;
    keep(plan, result);
  }

  /// Only a plan that can neither be among the best nor before the reference, and never where a
  /// limit asks for its time.
  [[nodiscard]] bool may_stay_untimed(Seconds least) const {
    if (shared_.options.limits.judge_time()) return false;
    const double needed = std::max(std::min(beaten_, shared_.beaten.load()), counted_);
    return needed < std::numeric_limits<double>::infinity() && least.value() > needed;
  }

  /// The best so far are a heap, the slowest of them in front.
  void keep(const ScoredPlan& plan, BlockResult& result) {
    result.best.push_back(plan);
    std::push_heap(result.best.begin(), result.best.end(), faster);
    if (result.best.size() > shared_.options.top) {
      std::pop_heap(result.best.begin(), result.best.end(), faster);
      result.best.pop_back();
    }
    if (shared_.one_machine_and_batch())
      shared_.note(plan.step.value());
    else if (result.best.size() == shared_.options.top)
      beaten_ = result.best.front().step.value();
  }

  static void reject(BlockResult& result, const std::string& rule, std::string example,
                     std::int64_t plans = 1) {
    const auto [place, first] = result.rejected.try_emplace(rule);
    place->second.count += plans;
    if (first) place->second.example = std::move(example);
  }

  static constexpr std::size_t most_waiting = 100'000;  // 4 MB

  SharedSearch& shared_;
  Job job_;
  std::vector<Waiting> waiting_;
  double beaten_ = 0.0;   ///< as SharedSearch::beaten, for the block that is being searched
  double counted_ = 0.0;  ///< step_to_count() of that block
};

/// Runs every worker in a thread of its own, the first in this one.
void run_threads(SharedSearch& shared, std::vector<Worker>& workers,
                 const std::function<void(Worker&, std::size_t)>& part) {
  std::vector<std::exception_ptr> failures(workers.size());
  const auto work = [&](std::size_t i) {
    try {
      part(workers[i], i);
    } catch (...) {
      failures[i] = std::current_exception();
      shared.stopped = true;
    }
  };
  std::vector<std::thread> helpers;
  for (std::size_t i = 1; i < workers.size(); ++i) helpers.emplace_back(work, i);
  work(0);
  for (std::thread& helper : helpers) helper.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace

void try_all(SharedSearch& shared) {
  std::vector<Worker> workers;
  for (int i = 0; i < shared.options.threads; ++i) workers.emplace_back(shared);
  run_threads(shared, workers, [](Worker& worker, std::size_t i) { worker.run(i == 0); });
  std::sort(shared.waiting.begin(), shared.waiting.end(), promises_more);
  std::vector<BlockResult> late(workers.size());
  run_threads(shared, workers, [&](Worker& worker, std::size_t i) { worker.run_waiting(late[i]); });
  std::move(late.begin(), late.end(), std::back_inserter(shared.blocks));
}

}  // namespace foretrain::search_detail
