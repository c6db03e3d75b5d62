// SPDX-License-Identifier: Apache-2.0
// Causes on the GPUs, on the hosts (what drives, feeds and interrupts them), and in the network
// between hosts and what hides its traffic.

#include "calibration/diagnosis/hypotheses.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <numeric>

#include "calibration/cases/step_case.hpp"
#include "models/rules/plan_rules.hpp"

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

std::vector<Variation> host_bound(const DiagnosisCase& of) {
  std::vector<Variation> all;
  for (const double factor : {1.5, 2.0, 3.0, 4.0, 6.0, 10.0}) {
    Job job = of.job;
    job.stack.times.launch_forward *= factor;
    job.stack.times.launch_backward *= factor;
    for (Variation& one :
         variation_of(job, fmt::format("launches take {:.3g} times as long", factor)))
      if (one.run.step > 1.01 * of.expected.step) all.push_back(std::move(one));
  }
  return all;
}

std::vector<Variation> data_loading(const DiagnosisCase& of) {
  std::vector<Variation> all;
  for (const double share : {0.05, 0.1, 0.2, 0.35, 0.6, 1.0}) {
    Variation one{fmt::format("{} % of the forecast", 100.0 * share), of.expected};
    const double wait = share * of.expected.step;
    one.run.step += wait;
    one.run.sections[LogSection::input].least += wait;
    one.run.sections[LogSection::input].most += wait;
    all.push_back(std::move(one));
  }
  return all;
}

/// The median step stays as it is.
std::vector<Variation> pauses_alone(const DiagnosisCase& of) { return {{"", of.expected}}; }

constexpr std::array launch_signs{SignRate{Sign::gpus_idle, 0.9}, SignRate{Sign::wide_spread, 0.3}};
constexpr std::array loading_signs{SignRate{Sign::irregular_stalls, 0.4},
                                   SignRate{Sign::wide_spread, 0.5},
                                   SignRate{Sign::gpus_idle, 0.6}};
constexpr std::array checkpoint_signs{SignRate{Sign::checkpoint_pauses, 0.98}};
constexpr std::array collection_signs{SignRate{Sign::periodic_stalls, 0.95},
                                      SignRate{Sign::collections, 0.3}};

constexpr std::array host_causes{
    Hypothesis{"host-bound", "The processor launches kernels too slowly", 0.05, host_bound,
               launch_signs,
               "GPU utilisation (nvidia-smi dmon, --log-straggler) or gaps between kernels in a "
               "trace; a larger micro-batch then costs nothing"},
    Hypothesis{"data-loading", "Steps wait for their data", 0.07, data_loading, loading_signs,
               "the batch-generator timer (--timing-log-level 2), or a run on mock data "
               "(--mock-data)"},
    Hypothesis{"checkpoint-stalls", "Training stands still while checkpoints are written", 0.04,
               pauses_alone, checkpoint_signs,
               "the save-checkpoint timer; asynchronous saving (--async-save)",
               [](const RunCourse& course) { return course.lost_at_checkpoints(); }},
    Hypothesis{
        "garbage-collection", "Python collects garbage at equal distances", 0.03, pauses_alone,
        collection_signs, "--manual-gc --manual-gc-interval N moves the slow steps to every Nth",
        [](const RunCourse& course) { return course.period ? course.lost_in_slow_steps() : 0.0; }},
};

std::vector<Variation> fewer_nics(const DiagnosisCase& of) {
  if (of.job.cluster.hosts < 2) return {};
  std::vector<Variation> all;
  for (const double share : {0.875, 0.75, 0.5, 0.25, 0.125}) {
    Job job = of.job;
    job.cluster.network.nic_link.bandwidth *= share;
    for (Variation& one : variation_of(job, fmt::format("{:.3g} of the NICs' rate", share)))
      all.push_back(std::move(one));
  }
  return all;
}

/// What sockets reach of a NIC's rate is not modelled: two guesses that are far apart.
std::vector<Variation> sockets(const DiagnosisCase& of) {
  if (of.job.cluster.hosts < 2 || of.job.communication.transport == Transport::tcp) return {};
  std::vector<Variation> all;
  for (const double share : {0.3, 0.1}) {
    Job job = of.job;
    job.cluster.network.nic_link.bandwidth *= share;
    job.cluster.network.step_latency += 30.0 * us;
    for (Variation& one : variation_of(job, fmt::format("TCP at {:.1g} of the NICs' rate", share)))
      all.push_back(std::move(one));
  }
  return all;
}

std::vector<Variation> no_overlap(const DiagnosisCase& of) {
  std::vector<Variation> all;
  const Overlap planned = of.job.communication.overlap;
  const auto without = [&](Overlap overlap, const char* setting) {
    Job job = of.job;
    job.communication.overlap = overlap;
    for (Variation& one : variation_of(job, setting)) all.push_back(std::move(one));
  };
  Overlap overlap = planned;
  overlap.gradients = overlap.parameters = false;
  if (planned.gradients || planned.parameters)
    without(overlap, "gradients and weights travel after the passes");
  overlap = planned;
  overlap.gradients = false;
  if (planned.gradients && planned.parameters)
    without(overlap, "gradients travel after the passes");
  overlap = planned;
  overlap.tensor = false;
  if (planned.tensor) without(overlap, "tensor-parallel exchanges wait");
  return all;
}

constexpr std::array fewer_signs{SignRate{Sign::fewer_nics, 0.6}, SignRate{Sign::level_shift, 0.1}};
constexpr std::array socket_signs{SignRate{Sign::sockets, 0.95}, SignRate{Sign::wide_spread, 0.3}};
constexpr std::array overlap_signs{SignRate{Sign::overlap_off, 0.6}};

constexpr std::array network_causes{
    Hypothesis{"fewer-nics", "NICs are missing or run at a lower rate", 0.06, fewer_nics,
               fewer_signs,
               "NCCL_DEBUG=INFO lists the NICs that are used (NET/IB : Using ...); ibstat "
               "shows their rate, all_reduce_perf of nccl-tests over all hosts the bus bandwidth"},
    Hypothesis{"tcp-fallback", "NCCL falls back to TCP", 0.02, sockets, socket_signs,
               "NCCL_DEBUG=INFO says NET/IB or NET/Socket"},
    Hypothesis{"no-overlap", "Exchanges do not run beside the passes", 0.06, no_overlap,
               overlap_signs,
               "the dump of arguments (overlap_grad_reduce, overlap_param_gather, "
               "tp_comm_overlap), or a trace: do NCCL kernels run beside the backward pass"},
};

std::vector<Variation> unchanged(const DiagnosisCase& of) { return {{"", of.expected}}; }

constexpr double unexplained_prior = 0.05;

}  // namespace

const std::vector<Hypothesis>& hypothesis_registry() {
  static const std::vector<Hypothesis> all = [] {
    std::vector<Hypothesis> made{
        {as_forecast_id, "Consistent with forecast error", 0.0, unchanged, {}, ""}};
    for (const std::span<const Hypothesis> family :
         {std::span<const Hypothesis>(network_causes), std::span<const Hypothesis>(compute_causes),
          std::span<const Hypothesis>(host_causes)})
      made.insert(made.end(), family.begin(), family.end());
    made.push_back({unexplained_id,
                    "No known cause explains it",
                    unexplained_prior,
                    unchanged,
                    {},
                    "a trace of one step (PyTorch profiler, Nsight Systems) beside `foretrain "
                    "simulate`"});
    const double causes =
        std::accumulate(made.begin(), made.end(), 0.0, [](double sum, const Hypothesis& one) {
          return one.interrupts != nullptr ? sum : sum + one.prior;
        });
    made.front().prior = 1.0 - causes;
    return made;
  }();
  return all;
}

std::vector<Variation> variation_of(const Job& job, std::string setting) {
  if (!refusals(job).empty()) return {};
  return {{std::move(setting), expected_run(job)}};
}

}  // namespace foretrain
