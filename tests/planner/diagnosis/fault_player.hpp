// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "models/inputs/job.hpp"

namespace foretrain::test {

/// How much of a run its log tells.
enum class LogDetail {
  steps,   ///< Megatron-LM's lines of steps and memory
  timers,  ///< with --timing-log-level 2 --timing-log-option minmax, --log-straggler and NCCL's
           ///< NICs
  titan    ///< torchtitan's lines: stamps, rates, memory
};

/// A run with one fault, or with none, as its log tells it.
struct PlayedRun {
  std::string cause;  ///< of hypothesis_registry()
  std::string log;
  double effect = 0.0;  ///< what the fault adds to a step, as a share of it
};

/// Plays a run of the job by the path evaluator with a fault of a degree that is drawn, adds what a
/// forecast does not know of a real run (errors of its constants within its band, steps that
/// scatter, single slow ones), and writes the log.
/// @return nothing where the job cannot have the fault, or shows it by less than `least` of a step
[[nodiscard]] std::optional<PlayedRun> play_run(const Job& job, std::string_view cause,
                                                LogDetail detail, std::uint64_t seed,
                                                double least = 0.15);

}  // namespace foretrain::test
