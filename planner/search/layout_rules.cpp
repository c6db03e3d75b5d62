// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "models/rules/plan_rules.hpp"
#include "planner/search/internal/layout_rules.hpp"

namespace foretrain::search_detail {
namespace {

using Answer = std::optional<Infeasible>;

Answer first_of(std::vector<Infeasible> broken) {
  if (broken.empty()) return std::nullopt;
  return std::move(broken.front());
}

const Infeasible* broken(const Answer& answer) { return answer ? &*answer : nullptr; }

}  // namespace

void LayoutRules::ask(Job& job) {
  for (Answers* answers : {&recompute_, &batch_, &shards_, &modelled_}) answers->clear();
  for (const RecomputeChoice& way : space_.recompute) {
    job.memory.recompute = way.value;
    recompute_.push_back(first_of(broken_recompute_rules(job)));
  }
  recompute_breaks_ =
      std::any_of(recompute_.begin(), recompute_.end(), [](const Answer& a) { return !!a; });
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

}  // namespace foretrain::search_detail
