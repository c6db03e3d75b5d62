// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/base/prediction.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// A way to recompute activations, under the name that a reader sees.
struct RecomputeChoice {
  std::string name;  ///< none, selective, full; "given": as the scenario has it
  Recompute value;
  bool given = false;  ///< the scenario's own: no setting has to say it
};

/// What a search tries: every combination of one value per axis. Data-parallel ranks are what the
/// machine has left. Everything else stays as the scenario has it.
struct SearchSpace {
  std::vector<Cluster> machines;  ///< resolved each for its own number of hosts
  std::vector<int> global_batch;
  std::vector<int> tensor;
  std::vector<int> pipeline;
  std::vector<int> context;
  std::vector<int> expert;
  std::vector<int> expert_tensor;  ///< 0: as many as tensor
  std::vector<bool> sequence;      ///< sequence parallelism, wherever tensor is above 1
  std::vector<RankOrder> order;    ///< how ranks are numbered
  std::vector<int> virtual_stages;
  std::vector<ScheduleKind> schedule;
  std::vector<int> zero;
  std::vector<int> micro_batch;
  std::vector<OffloadKind> offload;
  std::vector<RecomputeChoice> recompute;
  std::vector<int> data;  ///< not an axis: where given, combinations that leave another are refused

  /// Combinations. @pre at most most_combinations, which check_size() ensures
  [[nodiscard]] std::int64_t size() const;
  /// Combinations of one machine, batch and split of the model over tensor, pipeline, context and
  /// expert ranks.
  [[nodiscard]] std::int64_t block() const;
  /// Of these, combinations that follow each other and share schedule and chunks, and so the layers
  /// of every stage.
  [[nodiscard]] std::int64_t same_layout() const;
};

inline constexpr std::int64_t most_combinations = 100'000'000;
inline constexpr std::int64_t most_blocks = 50'000;  ///< some kilobytes each while it is searched
inline constexpr std::int64_t most_machines = 1'000;

/// The axes of the plan where the user says nothing: plan_sizes() for tensor, pipeline, context,
/// expert and the micro-batch; 1 to 8, 10, 12 and 16 virtual stages; 1f1b and interleaved; every
/// granularity of recomputation and the scenario's own; machine, batch, ZeRO stage, tensor ranks of
/// experts, rank order and offloading as the scenario has them, but that fine-tuning tries every
/// ZeRO stage and offloading.
[[nodiscard]] SearchSpace default_space(const Job& job);

/// Gives a space the sizes that plans can have on any of its machines with any of its batches.
void set_sizes(SearchSpace& space, const Job& job);

/// Replaces an axis by the values of "parallel.tensor=2,4,8". Whole numbers may be ranges: "2..16"
/// doubles from 2 on, and ends with 16; "2..16:2" goes up by 2. Machines are no number:
/// "cluster.hosts" is refused here, see planner/cli/plan_options.cpp.
/// @throws UsageError for unknown keys (with the nearest one) and for values that are not legal
void set_axis(SearchSpace& space, const Job& job, const std::string& text);

/// The whole numbers of "2,4,8" or "2..8". @throws UsageError naming `option` and `key`
[[nodiscard]] std::vector<int> whole_numbers(const std::string& key, const std::string& list,
                                             int least, int most);

/// {key, values} of every axis with its values as text, in the order of the enumeration.
[[nodiscard]] std::vector<std::pair<std::string, std::vector<std::string>>> axes_of(
    const SearchSpace& space);

/// Whether machines differ in the GPUs that they take of a host.
[[nodiscard]] bool has_parts(const SearchSpace& space);

/// @throws UsageError where the space has more than most_combinations or most_blocks, or none, or
///   where its sizes contradict each other: no choice multiplies to a machine that is tried
void check_space(const SearchSpace& space);

/// What all combinations of a block share.
struct BlockChoice {
  const Cluster* machine = nullptr;
  int global_batch = 0;
  int tensor = 1;
  int pipeline = 1;
  int context = 1;
  int expert = 1;
  int expert_tensor = 0;
  bool sequence = false;
  RankOrder order = data_in_stage;
};

/// The choice of a block, counted from 0; blocks follow each other in the enumeration.
[[nodiscard]] BlockChoice block_choice(const SearchSpace& space, std::int64_t block);

/// Gives `job` the machine, batch and sizes of a block. parallel.data is zero where the machine
/// does not divide.
void apply_block(Job& job, const SearchSpace& space, std::int64_t block);
/// Gives `job` what can change without another split of the model. @pre within < space.block()
const RecomputeChoice& apply_within(Job& job, const SearchSpace& space, std::int64_t within);

/// The job of a combination.
[[nodiscard]] Job job_at(const Job& base, const SearchSpace& space, std::int64_t index);

/// Why no combination of a layout (SearchSpace::same_layout()) is tried: the first broken rule.
[[nodiscard]] std::optional<Infeasible> layout_refusal(const Job& job, const SearchSpace& space);
/// Why one of its combinations is refused before memory and time are looked at.
/// @pre layout_refusal() is empty.
[[nodiscard]] std::optional<Infeasible> refusal(const Job& job);

/// What a plan sets, as for --set.
[[nodiscard]] std::vector<std::string> settings_at(const Job& base, const SearchSpace& space,
                                                   std::int64_t index);

}  // namespace foretrain
