// SPDX-License-Identifier: Apache-2.0
#pragma once

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

}  // namespace foretrain
