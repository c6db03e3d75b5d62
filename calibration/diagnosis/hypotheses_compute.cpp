// SPDX-License-Identifier: Apache-2.0
// Causes on the GPUs.
#include <fmt/format.h>

#include <array>

#include "calibration/diagnosis/hypothesis.hpp"

namespace foretrain {
namespace {

void append(std::vector<Variation>& all, std::vector<Variation> more) {
  for (Variation& one : more) all.push_back(std::move(one));
}

std::vector<Variation> slow_clock(const DiagnosisCase& of) {
  std::vector<Variation> all;
  for (const double share : {0.9, 0.8, 0.7, 0.6, 0.5, 0.4}) {
    Job job = of.job;
    job.site.clock *= share;
    append(all, variation_of(job, fmt::format("clock at {:.0f} %", 100.0 * share)));
  }
  return all;
}

std::vector<Variation> older_attention(const DiagnosisCase& of) {
  if (of.job.memory.attention != AttentionKind::flash) return {};
  std::vector<Variation> all;
  Job job = of.job;
  if (has_newer_attention(job)) {
    job.memory.attention_library = AttentionLibrary::flash2;
    append(all, variation_of(job, "FlashAttention-2"));
  }
  job = of.job;
  job.device_profile.attention.rate *= 0.5;
  job.device_profile.attention.flash2_rate *= 0.5;
  append(all, variation_of(job, "attention at half its rate"));
  job = of.job;
  job.memory.attention = AttentionKind::unfused;
  append(all, variation_of(job, "memory.attention=unfused"));
  return all;
}

/// One rank's kernels take longer: its passes and the step get longer, the passes of the others
/// stay as they are.
std::vector<Variation> straggler(const DiagnosisCase& of) {
  if (of.job.parallel.gpus() < 2) return {};
  std::vector<Variation> all;
  for (const double factor : {1.1, 1.2, 1.35, 1.5, 1.75, 2.0, 2.5}) {
    Job job = of.job;
    job.site.clock /= factor;
    for (Variation& one : variation_of(job, fmt::format("{:.2f} times as long", factor))) {
      for (auto& [section, times] : one.run.sections)
        times.least = std::min(times.least, of.expected.sections.at(section).least);
      all.push_back(std::move(one));
    }
  }
  return all;
}

std::vector<Variation> expert_imbalance(const DiagnosisCase& of) {
  if (!of.job.model.moe || of.job.parallel.expert < 2) return {};
  std::vector<Variation> all;
  const double planned = std::max(1.0, of.job.training.moe_imbalance);
  for (const double factor : {1.25, 1.5, 2.0, 3.0, 4.0}) {
    Job job = of.job;
    job.training.moe_imbalance = planned * factor;
    for (Variation& one :
         variation_of(job, fmt::format("the busiest expert rank has {:.3g} times the mean",
                                       job.training.moe_imbalance))) {
      for (auto& [section, times] : one.run.sections)
        times.least = std::min(times.least, of.expected.sections.at(section).least);
      all.push_back(std::move(one));
    }
  }
  return all;
}

std::vector<Variation> other_recomputation(const DiagnosisCase& of) {
  std::vector<Variation> all;
  for (const RecomputeKind kind :
       {RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full}) {
    if (kind == of.job.memory.recompute.kind) continue;
    // Fused attention is recomputed in any case.
    if (kind == RecomputeKind::selective && of.job.memory.attention == AttentionKind::flash)
      continue;
    Job job = of.job;
    job.memory.recompute.kind = kind;
    append(all, variation_of(job, fmt::format("memory.recompute={}", name_of(kind))));
  }
  return all;
}

std::vector<Variation> paging(const DiagnosisCase& of) {
  std::vector<Variation> all;
  for (const double factor : {1.02, 1.1, 1.25, 1.6}) {
    Variation one{fmt::format("steps {:.2f} times as long", factor), of.expected};
    one.run.step *= factor;
    for (auto& [section, times] : one.run.sections) {
      times.least *= factor;
      times.most *= factor;
    }
    one.run.reserved = one.run.usable - one.run.outside;
    all.push_back(std::move(one));
  }
  return all;
}

constexpr std::array clock_signs{SignRate{Sign::clock_low, 0.85}, SignRate{Sign::clock_full, 0.02},
                                 SignRate{Sign::drift_up, 0.1}, SignRate{Sign::level_shift, 0.15}};
constexpr std::array attention_signs{SignRate{Sign::attention_differs, 0.85}};
constexpr std::array straggler_signs{
    SignRate{Sign::level_shift, 0.25}, SignRate{Sign::wide_spread, 0.15},
    SignRate{Sign::clock_low, 0.3}, SignRate{Sign::clock_full, 0.6}};
constexpr std::array expert_signs{SignRate{Sign::wide_spread, 0.6}};
constexpr std::array recompute_signs{SignRate{Sign::recompute_differs, 0.5}};
constexpr std::array paging_signs{
    SignRate{Sign::allocator_retries, 0.6}, SignRate{Sign::memory_full, 0.95},
    SignRate{Sign::irregular_stalls, 0.6}, SignRate{Sign::wide_spread, 0.6}};

constexpr std::array compute_causes{
    Hypothesis{"slow-clock", "GPUs run below their clock", 0.08, slow_clock, clock_signs,
               "nvidia-smi -q -d CLOCK,PERFORMANCE or DCGM_FI_DEV_SM_CLOCK while it trains; "
               "Megatron's --log-straggler prints clocks"},
    Hypothesis{"older-attention", "The attention kernel is an older or slower one", 0.06,
               older_attention, attention_signs,
               "a trace names the kernel (flash_fwd, cudnn_..., softmax); "
               "NVTE_DEBUG=1 NVTE_DEBUG_LEVEL=2 says which one Transformer Engine chose"},
    Hypothesis{"straggler", "One rank is slower than the others", 0.08, straggler, straggler_signs,
               "Megatron's --timing-log-level 2 --timing-log-option minmax, or --log-straggler: "
               "which rank is the slowest, and is it the same one in every step"},
    Hypothesis{"expert-imbalance", "Tokens crowd on few experts", 0.04, expert_imbalance,
               expert_signs,
               "tokens per expert (--moe-per-layer-logging), or a run with "
               "--moe-router-force-load-balancing"},
    Hypothesis{"other-recomputation", "Another part is recomputed than the scenario says", 0.05,
               other_recomputation, recompute_signs,
               "the dump of arguments (recompute_granularity), and the memory: keeping more needs "
               "more"},
    Hypothesis{"paging", "Memory is so full that the allocator stalls", 0.04, paging, paging_signs,
               "torch.cuda.memory_stats()['num_alloc_retries']; a smaller micro-batch runs at its "
               "forecast"},
};

}  // namespace

std::span<const Hypothesis> compute_hypotheses() { return compute_causes; }

}  // namespace foretrain
