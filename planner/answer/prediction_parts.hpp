// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "models/base/prediction.hpp"
#include "planner/text/palette.hpp"

namespace foretrain {

/// One row per category of memory: JSON, stacks in text, pictures, pages and windows, and `explain`
/// read it.
struct MemoryPart {
  Bytes StageMemory::*size;
  const char* key;  ///< MemoryRow::category; "weights_bytes" in the JSON
  char letter;      ///< where there is no colour
  Paint paint;
  bool counted;  ///< by torch, as allocated
  std::string_view meaning;
  std::string_view formula;
  std::string_view inputs;

  [[nodiscard]] std::string json_key() const { return std::string(key) + "_bytes"; }
};

/// In the order of the stack, from the bottom; they sum to the peak.
[[nodiscard]] std::span<const MemoryPart> memory_parts();

/// One row per part of a run's time.
struct RunPart {
  Seconds RunSplit::*time;
  std::string_view key;  ///< of the JSON: "lost_s"
  std::string_view label;
  std::string_view meaning;
  std::string_view formula;
  std::string_view inputs;
};

/// In the order of the JSON; they sum to the expected duration.
[[nodiscard]] std::span<const RunPart> run_parts();

/// Which layer of constants a number rests on besides its inputs.
enum class ConstantSource { none, device, kernels, collectives, stack };

struct ConstantLayers {
  ConstantSource first = ConstantSource::none;
  ConstantSource second = ConstantSource::none;
};
constexpr ConstantLayers rests_on(ConstantSource first = ConstantSource::none,
                                  ConstantSource second = ConstantSource::none) {
  return {first, second};
}

/// One row per part of a step: breakdown, waterfall, legends, comparisons and `explain` read it.
struct StepPart {
  Seconds TimeBreakdown::*time;
  std::string_view key;  ///< of the JSON: "compute_s"
  std::string_view label;
  Paint paint;
  std::string_view meaning;
  std::string_view formula;
  std::string_view inputs;
  ConstantLayers constants{};
  /// What has to hold for a plan to gain here what the forecast says; empty: nothing in particular.
  std::string_view condition;
};

/// In the order of the JSON; their times sum to the step.
[[nodiscard]] std::span<const StepPart> step_parts();

/// Names of the two pieces into which the waterfall cuts the compute of a step.
inline constexpr std::string_view ideal_key = "ideal";
inline constexpr std::string_view kernels_key = "kernels";

/// The waterfall's name of a part: compute is what kernels take beyond the ideal.
[[nodiscard]] std::string_view waterfall_key(const StepPart& part);
/// The colour of a part of the waterfall; grey for a name that is none.
[[nodiscard]] Paint part_paint(std::string_view key);

}  // namespace foretrain
