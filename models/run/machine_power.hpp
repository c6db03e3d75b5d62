// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/prediction.hpp"
#include "models/inputs/job.hpp"
#include "models/layers/pass_times.hpp"

namespace foretrain {

// Draw of a GPU over its board power where nobody measured it, with the ends of what was measured
// elsewhere. Fits and checks: calibration/docs/power.md.

/// Products that run for seconds on an H200 draw 690 to 693 W of 700. Ends: a node of eight H100
/// that trains language models draws 76 % of its rating on the average (arXiv 2506.14551); all.
inline constexpr double busy_share = 0.98;
inline constexpr double least_busy_share = 0.76;
/// Adam's kernels on an H200 that rest half of the time: 285 to 324 W, with 120 W at rest.
inline constexpr double memory_share = 0.67;
/// Exchanges inside passes over busy power: kernels run beside many of them. Fitted on LoRA over 8
/// and 64 H100, which alone would have it 1 and 0.2.
inline constexpr double exchange_share = 0.79;
/// Waits of 512 H100, and exchanges between stages and replicas (fitted). Ends: idle with memory
/// held; two thirds.
inline constexpr double waiting_share = 0.49;
inline constexpr double least_waiting_share = 0.2;
inline constexpr double most_waiting_share = 0.67;
/// An H200 whose process holds memory and runs nothing: 118 to 123 W of 700.
inline constexpr double idle_share = 0.17;

/// The rest of a host over the board power of its GPUs: B200 cooled by water 0.28, immersed H100
/// 0.30, H100 with fans up to 0.55 (arXiv 2412.08602: 8.48 kW with GPUs at their limit); between.
inline constexpr double host_share = 0.39;
inline constexpr double least_host_share = 0.26;
inline constexpr double most_host_share = 0.55;
/// While its GPUs are idle, over what it draws while they run: 512 H100 (fitted).
inline constexpr double idle_host_share = 0.87;

/// Of a machine whose draws are all known (of ln): checked series of node power are within it.
inline constexpr double known_power_error = 0.05;

// Published maximum of hosts over that of their GPUs: racks of GB200 with 120 kW, DGX A100.
inline constexpr double least_host_power = 1.39;
inline constexpr double most_host_power = 2.04;
// Power usage effectiveness where the scenario does not say it: fleets of large operators (Google,
// Environmental Report 2024: 1.10), and a little over the mean of the Uptime Institute's Global
// Data Center Survey 2024 (1.56).
inline constexpr double least_pue = 1.1;
inline constexpr double most_pue = 1.6;

/// What a GPU draws by what it does, and the rest of a host with it: as the scenario says, else the
/// catalog, else shares of board power that were measured on others (models/run/README.md,
/// "Energy"). The one table that energy and power over time are made from.
struct GpuPower {
  Watts busy;      ///< kernels of passes
  Watts memory;    ///< kernels that memory limits: the optimizer
  Watts exchange;  ///< exchanges of tensor, context and expert ranks inside passes
  Watts waiting;   ///< all else of a step: for other stages and replicas, inside their exchanges
  Watts gap;       ///< between kernels that the host launches too slowly
  Watts idle;      ///< without work, memory held
  bool busy_known = false;
  bool waiting_known = false;
};
[[nodiscard]] GpuPower gpu_power(const Job& job);

/// One host without its GPUs, while these are idle and while they run kernels.
struct HostPower {
  Watts idle;
  Watts busy;
  bool known = false;
};
[[nodiscard]] HostPower host_power(const Job& job);

/// What a GPU draws beyond waiting for the parts of a pass, launches less.
[[nodiscard]] Joules beyond_waiting(const GpuPower& gpu, const TimeParts& parts);

/// One GPU over a step, mean over the stages.
[[nodiscard]] Watts mean_power(const GpuPower& gpu, const StepForecast& step);

/// One host whose GPUs draw `gpus` together: its own draw follows theirs in a straight line.
[[nodiscard]] Watts one_host(const Job& job, Watts gpus);

/// The whole machine at the meter while its GPUs draw `gpu` each on the average.
[[nodiscard]] Watts at_the_meter(const Job& job, Watts gpu);

/// Mean draw of the whole machine at the meter while steps run.
[[nodiscard]] Watts training_power(const Job& job, const StepForecast& step);

/// The same while no step runs: restarts, queues, repairs.
[[nodiscard]] Watts idle_power(const Job& job);

struct PowerRange {
  Watts low;
  Watts high;
};

/// What the machine may draw at most: hosts and network as the scenario says; else the published
/// maximum of the host; else a range, as much more than the GPUs as published hosts draw. Times PUE
/// where the scenario says it. Zero: nothing is known of the GPUs. models/run/README.md, "Energy".
[[nodiscard]] PowerRange most_power(const Job& job);

}  // namespace foretrain
