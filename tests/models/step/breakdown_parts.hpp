// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "models/base/prediction.hpp"
#include "tests/models/random_plans.hpp"

namespace foretrain::test {

inline constexpr std::array<std::pair<const char*, Seconds TimeBreakdown::*>, 12> breakdown_parts{
    {{"compute", &TimeBreakdown::compute},
     {"recompute", &TimeBreakdown::recompute},
     {"tensor", &TimeBreakdown::tensor},
     {"context", &TimeBreakdown::context},
     {"expert", &TimeBreakdown::expert},
     {"pipeline", &TimeBreakdown::pipeline},
     {"bubble", &TimeBreakdown::bubble},
     {"data", &TimeBreakdown::data},
     {"optimizer", &TimeBreakdown::optimizer},
     {"input", &TimeBreakdown::input},
     {"launch", &TimeBreakdown::launch},
     {"imbalance", &TimeBreakdown::imbalance}}};

/// The part in which two forecasts of a step differ most, as a share of the step.
inline std::pair<double, std::string> largest_difference(const StepForecast& a,
                                                         const StepForecast& b) {
  std::pair<double, std::string> largest;
  for (const auto& [name, part] : breakdown_parts)
    largest = std::max(
        largest,
        std::pair{std::abs((a.breakdown.*part - b.breakdown.*part) / b.time), std::string(name)});
  return largest;
}

inline constexpr std::array pipelined_schedules{
    ScheduleKind::gpipe,  ScheduleKind::one_f_one_b, ScheduleKind::interleaved,
    ScheduleKind::zb_h1,  ScheduleKind::zb_2p,       ScheduleKind::zb_v,
    ScheduleKind::v_half, ScheduleKind::v_min,       ScheduleKind::dualpipe};

inline std::string plan_text(const Job& job) {
  const Parallel& plan = job.parallel;
  return std::string(name_of(plan.schedule)) + " t" + std::to_string(plan.tensor) + " c" +
         std::to_string(plan.context) + " e" + std::to_string(plan.expert) + " p" +
         std::to_string(plan.pipeline) + " v" + std::to_string(plan.virtual_stages) + " d" +
         std::to_string(plan.data) + " z" + std::to_string(plan.zero) + " m" +
         std::to_string(job.microbatches()) + " layers " + std::to_string(job.model.layers);
}

/// Random plans, some of them with context parallelism, some of mixtures of experts; counts them.
class AllPlans {
 public:
  explicit AllPlans(std::uint64_t seed) : plans_{seed} {}

  Job next() {
    for (;;) {
      Job job = plans_.next();
      widen(job);
      if (!broken_rules(job).empty() || !not_modelled(job).empty()) continue;
      count(job);
      return job;
    }
  }

  [[nodiscard]] int drawn(ScheduleKind kind) const {
    const auto found = drawn_.find(kind);
    return found == drawn_.end() ? 0 : found->second;
  }

  int with_context = 0;
  int with_experts = 0;
  int with_data = 0;
  int without_data = 0;

 private:
  void widen(Job& job) {
    Parallel& plan = job.parallel;
    const int what = plans_.below(4);
    if (what == 1) plan.context = plans_.one_of({2, 4});
    if (what == 2) {
      job.model.moe = MoeShape{8, 2, job.model.ffn_hidden / 2};
      job.training.moe_imbalance = 1.0;
      plan.expert_tensor = 1;
      plan.expert = plans_.one_of({1, 2, 4, 8});
    }
    job.cluster.hosts = plan.gpus() / job.cluster.host.gpus;
    if (plan.gpus() % job.cluster.host.gpus != 0) job.cluster.hosts = 0;  // breaks a rule
  }

  void count(const Job& job) {
    if (job.parallel.pipeline > 1) ++drawn_[job.parallel.schedule];
    with_context += job.parallel.context > 1 ? 1 : 0;
    with_experts += job.parallel.expert > 1 ? 1 : 0;
    (job.parallel.data > 1 ? with_data : without_data) += 1;
  }

  RandomPlans plans_;
  std::map<ScheduleKind, int> drawn_;
};

}  // namespace foretrain::test
