// SPDX-License-Identifier: Apache-2.0
// What each thread of a search does: rules, memory and bounds block by block, then times.
#include "planner/search/internal/search_worker.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "models/base/parallel.hpp"
#include "models/forecast/closed_form.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/memory/memory.hpp"
#include "models/rules/plan_rules.hpp"
#include "models/step/step_bounds.hpp"
#include "models/step/step_costs.hpp"
#include "models/step/step_time.hpp"
#include "planner/search/search_space.hpp"

namespace foretrain::search_detail {
namespace {

/// Which plans of one layout (SearchSpace::same_layout()) are refused: each rule is asked once per
/// value of the axis that it looks at, not once per plan. The same answers as refusal().
class LayoutRules {
 public:
  /// @param space outlives this
  explicit LayoutRules(const SearchSpace& space) : space_{space} {}

  /// Asks for the layout that `job` has; leaves the other axes of `job` at their last values.
  /// @pre layout_refusal() is empty
  void ask(Job& job);

  /// Places in the lists of SearchSpace.
  struct Choice {
    std::size_t zero = 0;
    std::size_t micro_batch = 0;
    std::size_t offload = 0;
    std::size_t recompute = 0;
  };
  /// The first rule that a plan breaks; null: none.
  [[nodiscard]] const Infeasible* refusal(const Choice& choice) const;
  /// The same of all plans with this ZeRO stage and micro-batch, where they share it.
  [[nodiscard]] const Infeasible* refusal_of_all(std::size_t zero, std::size_t micro_batch) const;

 private:
  using Answers = std::vector<std::optional<Infeasible>>;

  const SearchSpace& space_;
  Answers recompute_;
  bool recompute_breaks_ = false;
  Answers batch_;
  Answers shards_;
  Answers modelled_;  ///< by ZeRO stage and offloading
};

using Answer = std::optional<Infeasible>;

Answer first_of(std::vector<Infeasible> broken) {
  if (broken.empty()) return std::nullopt;
  return std::move(broken.front());
}

const Infeasible* broken(const Answer& answer) { return answer ? &*answer : nullptr; }

void LayoutRules::ask(Job& job) {
  for (Answers* answers : {&recompute_, &batch_, &shards_, &modelled_}) answers->clear();
  for (const RecomputeChoice& way : space_.recompute) {
    job.memory.recompute = way.value;
    recompute_.push_back(first_of(broken_recompute_rules(job)));
  }
  recompute_breaks_ = std::ranges::any_of(recompute_, [](const Answer& a) { return !!a; });
  for (const int micro_batch : space_.micro_batch) {
    job.training.micro_batch = micro_batch;
    batch_.push_back(first_of(broken_batch_rules(job)));
  }
  for (const int zero : space_.zero) {
    job.parallel.zero = zero;
    shards_.push_back(first_of(broken_shard_rules(job)));
    for (const OffloadKind offload : space_.offload) {
      job.memory.offload = offload;
      modelled_.push_back(shards_.back() ? std::nullopt : first_of(not_modelled(job)));
    }
  }
}

const Infeasible* LayoutRules::refusal_of_all(std::size_t zero, std::size_t micro_batch) const {
  if (recompute_breaks_) return nullptr;
  if (batch_[micro_batch]) return broken(batch_[micro_batch]);
  return broken(shards_[zero]);
}

const Infeasible* LayoutRules::refusal(const Choice& choice) const {
  if (recompute_[choice.recompute]) return broken(recompute_[choice.recompute]);
  if (batch_[choice.micro_batch]) return broken(batch_[choice.micro_batch]);
  if (shards_[choice.zero]) return broken(shards_[choice.zero]);
  return broken(modelled_[choice.zero * space_.offload.size() + choice.offload]);
}

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

/// What is no number promises everything.
Seconds finite_bound(Seconds least) { return is_finite(least) ? least : Seconds{}; }

class Worker {
 public:
  explicit Worker(SharedSearch& shared)
      : shared_{shared}, job_{shared.base}, rules_{shared.space} {}

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
    while (auto one = shared_.most_promising()) {
      if (may_stay_untimed(one->least)) {
        ++result.feasible;
        continue;
      }
      if (shared_.timed >= timed_at_the_end && shared_.must_stop()) {
        --result.evaluated;
        continue;
      }
      apply_block(job_, shared_.space, one->plan.index / size);
      apply_within(job_, shared_.space, one->plan.index % size);
      const StepCosts costs = step_costs(job_, stage_layout(job_.model, job_.parallel));
      if (one->close) {
        ++shared_.timed;
        time_plan(one->plan, costs, result);
        continue;
      }
      one->least = max(one->least, finite_bound(least_step_seconds(costs)));
      one->close = true;
      shared_.put_back(*one);
    }
    std::sort_heap(result.best.begin(), result.best.end(), faster);
  }

 private:
  void run_block(std::int64_t block) {
    BlockResult& result = shared_.blocks[static_cast<std::size_t>(block)];
    apply_block(job_, shared_.space, block);
    forget_other_machines(block);
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

  /// What is kept holds for one machine and batch, whose blocks follow each other.
  void forget_other_machines(std::int64_t block) {
    const BlockChoice choice = block_choice(shared_.space, block);
    if (choice.machine != machine_ || choice.global_batch != batch_) {
      memory_.clear();
      bounds_.clear();
    }
    machine_ = choice.machine;
    batch_ = choice.global_batch;
  }

  /// All plans of the block that differ in neither schedule nor chunks.
  void run_layout(std::int64_t base, std::int64_t first, BlockResult& result) {
    const std::int64_t alike = shared_.space.same_layout();
    if (shared_.must_stop()) return;
    apply_within(job_, shared_.space, first);
    if (const auto reason = layout_refusal(job_, shared_.space)) {
      reject(
          result, reason->rule, [&] { return reason->message; }, alike);
      result.evaluated += alike;
      return;
    }
    rules_.ask(job_);
    layout_ = stage_layout(job_.model, job_.parallel);
    const SearchSpace& space = shared_.space;
    LayoutRules::Choice choice;
    for (choice.zero = 0; choice.zero < space.zero.size(); ++choice.zero)
      for (choice.micro_batch = 0; choice.micro_batch < space.micro_batch.size();
           ++choice.micro_batch) {
        if (shared_.must_stop()) return;
        first = run_alike(base, first, choice, result);
      }
  }

  /// All plans of the layout with one ZeRO stage and micro-batch, from `within` of the block on:
  /// the place behind them.
  std::int64_t run_alike(std::int64_t base, std::int64_t within, LayoutRules::Choice choice,
                         BlockResult& result) {
    const SearchSpace& space = shared_.space;
    if (const Infeasible* const reason = rules_.refusal_of_all(choice.zero, choice.micro_batch)) {
      const auto plans = static_cast<std::int64_t>(space.offload.size() * space.recompute.size());
      reject(
          result, reason->rule, [reason] { return reason->message; }, plans);
      result.evaluated += plans;
      return within + plans;
    }
    for (choice.offload = 0; choice.offload < space.offload.size(); ++choice.offload)
      for (choice.recompute = 0; choice.recompute < space.recompute.size(); ++choice.recompute) {
        apply_within(job_, space, within);
        if (const Infeasible* const reason = rules_.refusal(choice))
          reject(result, reason->rule, [reason] { return reason->message; });
        else
          try_plan(base + within, result);
        ++result.evaluated;
        ++within;
      }
    return within;
  }

  /// Memory; what fits is timed when the whole block is known, best bound first.
  void try_plan(std::int64_t index, BlockResult& result) {
    const SearchLimits& limits = shared_.options.limits;
    const Device& device = job_.cluster.host.device;
    const MemoryNeed need = memory_.of(job_, layout_);
    const ScoredPlan plan{index, Seconds{}, need.peak, need.high};
    if (const std::string_view rule = memory_rule(limits, device, need); !rule.empty()) {
      const auto excess = [&] { return *memory_excess(limits, device, need); };
      reject(result, rule, [&] { return excess().message; });
      if (!result.heavy || lighter(plan, result.heavy->plan))
        result.heavy = NearPlan{plan, excess()};
      return;
    }
    const Seconds least = finite_bound(bounds_.least(job_, layout_));
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
      std::ranges::sort(waiting_,
                        [](const Waiting& a, const Waiting& b) { return promises_less(b, a); });
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
      apply_within(job_, shared_.space, one.plan.index - base);
      const StepCosts costs = step_costs(job_, stage_layout(job_.model, job_.parallel));
      if (may_stay_untimed(finite_bound(least_step_seconds(costs)))) {
        ++result.feasible;
        continue;
      }
      ++timed;
      time_plan(one.plan, costs, result);
    }
    waiting_.clear();
  }

  void time_plan(ScoredPlan plan, const StepCosts& costs, BlockResult& result) {
    const SearchLimits& limits = shared_.options.limits;
    plan.step = closed_form_step(job_, costs);
    if (!is_finite(plan.step) || !(plan.step > Seconds{})) {  // what is unknown never wins
      reject(result, "no-step-time", [] { return "how long a step takes is not known"; });
      return;
    }
    if (auto excess = run_excess(limits, job_, plan.step)) {
      reject(result, excess->rule, [&] { return excess->message; });
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

  /// @param example makes the message, which the first plan of a rule is asked for
  template <class Example>
  static void reject(BlockResult& result, std::string_view rule, const Example& example,
                     std::int64_t plans = 1) {
    auto place = result.rejected.find(rule);
    if (place == result.rejected.end())
      place = result.rejected.emplace(std::string(rule), Rejection{0, example()}).first;
    place->second.count += plans;
  }

  static constexpr std::size_t most_waiting = 100'000;  // 4 MB

  SharedSearch& shared_;
  Job job_;
  LayoutRules rules_;
  MemoryNeeds memory_;
  StepBounds bounds_;
  const Cluster* machine_ = nullptr;  ///< that these two hold for
  int batch_ = 0;
  StageLayout layout_;  ///< of the plans that are being tried
  std::vector<Waiting> waiting_;
  double beaten_ = 0.0;   ///< as SharedSearch::beaten, for the block that is being searched
  double counted_ = 0.0;  ///< step_to_count() of that block
};

/// Runs every worker in a thread of its own, the first in this one.
void run_threads(SharedSearch& shared, std::vector<Worker>& workers,
                 const std::function<void(Worker&, std::size_t)>& part) {
  run_workers(workers.size(), [&](std::size_t i) {
    try {
      part(workers[i], i);
    } catch (...) {
      shared.stopped = true;
      throw;
    }
  });
}

}  // namespace

void try_all(SharedSearch& shared) {
  std::vector<Worker> workers;
  for (int i = 0; i < shared.options.threads; ++i) workers.emplace_back(shared);
  run_threads(shared, workers, [](Worker& worker, std::size_t i) { worker.run(i == 0); });
  std::make_heap(shared.waiting.begin(), shared.waiting.end(), promises_less);
  std::vector<BlockResult> late(workers.size());
  run_threads(shared, workers, [&](Worker& worker, std::size_t i) { worker.run_waiting(late[i]); });
  std::move(late.begin(), late.end(), std::back_inserter(shared.blocks));
}

}  // namespace foretrain::search_detail
