// SPDX-License-Identifier: Apache-2.0
#include "calibration/diagnosis/memory_causes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/grid/stage_layout.hpp"
#include "models/memory/memory.hpp"
#include "models/rules/plan_rules.hpp"

namespace foretrain {
namespace {

double bytes_of(const Job& job, bool reserved) {
  double most = 0.0;
  for (const StageMemory& stage :
       forecast_memory(job, stage_layout(job.model, job.parallel)).stages)
    most = std::max(most, reserved ? stage.reserved.value() : stage.counted.value());
  return most;
}

class PlanChanges {
 public:
  explicit PlanChanges(const Job& job) : job_{job} {}

  std::vector<std::pair<std::string, Job>> all() {
    for (const RecomputeKind kind :
         {RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full})
      if (kind != job_.memory.recompute.kind)
        add(fmt::format("memory.recompute={}", name_of(kind)),
            [&](Job& job) { job.memory.recompute.kind = kind; });
    for (const int zero : {0, 1, 2, 3})
      if (zero != job_.parallel.zero)
        add(fmt::format("parallel.zero={}", zero), [&](Job& job) { job.parallel.zero = zero; });
    if (job_.memory.attention == AttentionKind::flash)
      add("memory.attention=unfused",
          [](Job& job) { job.memory.attention = AttentionKind::unfused; });
    if (job_.memory.offload == OffloadKind::none)
      add("memory.offload=optimizer",
          [](Job& job) { job.memory.offload = OffloadKind::optimizer; });
    add_micro_batches();
    return std::move(changed_);
  }

 private:
  template <class Change>
  void add(std::string setting, const Change& change) {
    Job job = job_;
    change(job);
    if (broken_rules(job).empty() && not_modelled(job).empty())
      changed_.emplace_back(std::move(setting), std::move(job));
  }

  void add_micro_batches() {
    const int now = job_.training.micro_batch;
    std::vector<int> others{2 * now};
    if (now % 2 == 0) others.push_back(now / 2);
    for (const int micro_batch : others)
      add(fmt::format("training.micro_batch={}", micro_batch),
          [&](Job& job) { job.training.micro_batch = micro_batch; });
  }

  const Job& job_;
  std::vector<std::pair<std::string, Job>> changed_;
};

}  // namespace

std::vector<MemoryCause> memory_causes(const Job& job, const TrainingLog& log,
                                       const ExpectedRun& expected) {
  const bool reserved = log.memory_kind == "reserved";
  const auto apart = [&](double bytes) {
    return std::abs(std::log(*log.memory_max_bytes / bytes));
  };
  const double as_planned = apart(reserved ? expected.reserved : expected.allocated);
  std::vector<MemoryCause> causes;
  for (const auto& [setting, changed] : PlanChanges(job).all())
    if (const double bytes = bytes_of(changed, reserved);
        bytes > 0.0 && apart(bytes) <= 0.5 * as_planned)
      causes.push_back({setting, bytes});
  std::stable_sort(causes.begin(), causes.end(), [&](const MemoryCause& a, const MemoryCause& b) {
    return apart(a.bytes) < apart(b.bytes);
  });
  return causes;
}

}  // namespace foretrain
