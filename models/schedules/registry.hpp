// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "models/base/prediction.hpp"
#include "models/schedules/schedule.hpp"

namespace foretrain {

/// Where the chunks of a stage lie on a micro-batch's way through the model.
enum class Placement {
  rounds,   ///< chunk after chunk round the stages: position chunk * stages + stage
  folded,   ///< down the stages with chunk 0 and back up with chunk 1 (a V)
  mirrored  ///< chunk 1 is a copy of the mirrored stage's weights, for micro-batches going back
};

/// Formula of the closed form that holds for an order on stages of about equal work; the passes of
/// other orders are run one by one. models/step/README.md, "Time of a step".
enum class StepFormula {
  none,
  rounds,       ///< one micro-batch after the other through the whole model and back
  flow_shops,   ///< all forward passes, then all backward passes
  longest_loop  ///< each micro-batch goes back as soon as it has reached the last stage
};

/// What an order may be fitted to the times of its passes (models/schedules/README.md, "Orders
/// fitted to times").
enum class Fitted { nothing, weight_gradients, all_passes };

/// Everything about a schedule. One file defines it, one line of models/inputs/schedule_kind.hpp
/// names it, and nothing else knows which schedules there are.
struct ScheduleTraits {
  /// The order in which every stage runs its passes. @pre is_legal(shape)
  std::vector<std::vector<Pass>> (*order)(const ScheduleShape& shape) = nullptr;
  std::string_view citation{};
  std::string_view aliases{};  ///< other names in papers and logs, in lower case, apart by a blank

  int chunks = 1;  ///< per stage; chunks_chosen: what the plan asks for, two at least
  Placement placement = Placement::rounds;
  bool splits_backward = false;  ///< gradients of inputs and of weights at different times
  bool overlaps = false;         ///< forward passes run together with backward passes
  /// Stages do not meet at the end of a step: the optimizer step is validated afterwards.
  bool staggered = false;
  Fitted fitted = Fitted::nothing;
  int fitted_chunks = 0;  ///< activations of a chunk that a fitted order may hold, per stage
  /// The fitted order that runs holds whole what the one by hand holds for weight gradients.
  bool fills_memory = false;
  StepFormula formula = StepFormula::none;

  /// Beyond the number of chunks: whether the order exists, and why a job cannot run it.
  bool (*legal)(const ScheduleShape& shape) = nullptr;
  std::optional<Infeasible> (*fault)(const Job& job) = nullptr;
  /// Micro-batches after which the order repeats; null: as many as stages.
  int (*period)(const ScheduleShape& shape) = nullptr;

  /// What frameworks make of it with several chunks per stage, and with one.
  std::optional<ScheduleKind> in_chunks{};
  std::optional<ScheduleKind> in_one_chunk{};

  bool common = false;      ///< most frameworks run it: searches try it unasked
  bool drop_in = false;     ///< in place of the default without more memory or other chunks
  bool lean = false;        ///< less memory than 1F1B, for some of the bubble
  bool in_pytorch = false;  ///< torch/distributed/pipelining/schedules.py
  bool sends_beside_passes = false;  ///< the code of its authors does
  /// A vocabulary that is split over the stages delays the first backward pass.
  bool waits_for_vocabulary = false;
};

inline constexpr int chunks_chosen = 0;

/// What frameworks run where a plan asks for several chunks per stage.
inline constexpr ScheduleKind schedule_in_chunks = ScheduleKind::interleaved;

/// By enumerator; the table of registry.cpp.
extern const std::array<const ScheduleTraits*, EnumNames<ScheduleKind>::names.size()>
    registered_schedules;

[[nodiscard]] inline const ScheduleTraits& traits_of(ScheduleKind kind) {
  return *registered_schedules[static_cast<std::size_t>(kind)];
}

/// Whether stages hold the weights of their mirrored stage as well. On one stage there is nobody to
/// mirror.
[[nodiscard]] bool holds_mirror(const Parallel& plan);
/// Whether the first stage holds both ends of the model.
[[nodiscard]] bool folds(const Parallel& plan);
/// Stages that hold the same weights: places over positions of the order.
[[nodiscard]] int weight_copies(const Parallel& plan);

/// Those that searches try unasked.
[[nodiscard]] std::vector<ScheduleKind> common_schedules();

/// The schedule that a text of a paper, a log or a record speaks of: the longest name or alias in
/// it. @pre lower case
[[nodiscard]] std::optional<ScheduleKind> schedule_called(std::string_view text);

}  // namespace foretrain
