// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/quantity.hpp"
#include "models/collectives/collective_choice.hpp"
#include "models/collectives/collective_cost.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// The process groups of a training job. Every rank is in one of each kind, but for neighbours (in
/// two), ends (only the first and the last stage), and holders where stages mirror each other.
enum class GroupKind : std::uint8_t {
  tensor,
  context,
  data,          ///< ranks that see other sequences, at the same part of them
  data_context,  ///< data and context ranks
  holders,       ///< ranks that hold the same weights outside of experts: data and context ranks,
                 ///< with DualPipe also those of the stage that mirrors theirs
  pipeline,
  neighbours,  ///< a rank and the one of the same place on the next stage
  ends,        ///< the same of the first and the last stage: share an embedding
  expert,
  expert_tensor,
  expert_data,  ///< ranks that hold the same experts
  world
};
FORETRAIN_ENUM_NAMES(GroupKind, {GroupKind::tensor, "tensor"}, {GroupKind::context, "context"},
                     {GroupKind::data, "data"}, {GroupKind::data_context, "data and context"},
                     {GroupKind::holders, "holders"}, {GroupKind::pipeline, "pipeline"},
                     {GroupKind::neighbours, "neighbours"},
                     {GroupKind::ends, "ends of the pipeline"}, {GroupKind::expert, "expert"},
                     {GroupKind::expert_tensor, "expert tensor"},
                     {GroupKind::expert_data, "expert data"}, {GroupKind::world, "world"});

/// `size` places, `stride` ranks from one to the next.
struct RankSpan {
  int size = 1;
  int stride = 1;
};

/// How far the members of a process group are from its first one, the same for all groups of a
/// kind. Spans lie within each other, from the inside out; a lone rank has none. Where every member
/// is as far from the next there is one.
class Group {
 public:
  Group() = default;

  /// The next span outwards; one that goes on where the last ends is merged with it.
  /// @pre span.size, span.stride >= 1; the last span lies within span.stride
  void add(RankSpan span);

  [[nodiscard]] int ranks() const { return ranks_; }
  /// Ranks from the first member to the second; 1 for a lone rank.
  [[nodiscard]] int stride() const { return count_ > 0 ? spans_[0].stride : 1; }
  /// Ranks from the first member to the last.
  [[nodiscard]] int reach() const;
  /// Members in group order, `first` being the lowest.
  [[nodiscard]] std::vector<int> members(int first = 0) const;
  /// The lowest member of the group that `rank` is in.
  [[nodiscard]] int first_of(int rank) const;

  /// The first `ranks` members, which is how states are sharded; every shard's group is like it
  /// where `ranks` fits into the spans. @pre 1 <= ranks <= this->ranks()
  [[nodiscard]] Group part(int ranks) const;
  /// Every `ranks`th member: those that hold the same shard. As many as are whole.
  [[nodiscard]] Group copies(int ranks) const;

  /// How the group sits on hosts and domains that ranks fill in order.
  [[nodiscard]] CommGroup on_hosts(const Packing& packing) const;

 private:
  std::array<RankSpan, 5> spans_{};
  int count_ = 0;
  int ranks_ = 1;
};

/// `ranks` ranks, each `stride` from the next: groups without a job around them, as benchmarks run
/// them. @pre ranks, stride >= 1
[[nodiscard]] Group spaced_group(int ranks, int stride);

/// Place of a global rank in every kind of parallelism.
struct RankPlace {
  int stage = 0;
  int data = 0;
  int context = 0;
  int tensor = 0;
  int expert = 0;         ///< group of experts that the rank holds
  int expert_tensor = 0;  ///< its part of them
};

/// Ranks of a data replica, also of a plan that is not whole yet; sizes up to 10^6 do not overflow.
[[nodiscard]] constexpr std::int64_t replica_ranks(std::int64_t tensor, std::int64_t context,
                                                   std::int64_t pipeline) {
  return tensor * context * pipeline;
}
[[nodiscard]] constexpr std::int64_t replica_ranks(const Parallel& plan) {
  return replica_ranks(plan.tensor, plan.context, plan.pipeline);
}

/// Which rank of a job is where, and which ranks talk to each other: the one place that knows rank
/// order (Parallel::order). As in Megatron-Core, two grids share the ranks: tensor x context x data
/// x pipeline, and for experts expert tensor x expert x expert data x pipeline, both in the same
/// order; groups are all ranks that agree on the other axes. Source: models/grid/README.md,
/// "Process groups".
class ProcessGrid {
 public:
  explicit ProcessGrid(const Parallel& plan);

  [[nodiscard]] int ranks() const { return replica_ranks() * size_of(dense_, RankAxis::data); }
  /// Of a pipeline stage: tensor, context and data ranks.
  [[nodiscard]] int stage_ranks() const { return shard_ranks() * size_of(dense_, RankAxis::data); }
  /// Of a data replica: tensor, context and pipeline ranks.
  [[nodiscard]] int replica_ranks() const {
    return shard_ranks() * size_of(dense_, RankAxis::pipeline);
  }
  /// Of a stage and a data replica: tensor and context ranks.
  [[nodiscard]] int shard_ranks() const {
    return size_of(dense_, RankAxis::tensor) * size_of(dense_, RankAxis::context);
  }

  [[nodiscard]] Group group(GroupKind kind) const;
  /// Group `kind` of a rank. @pre 0 <= rank < ranks(); kind is neither neighbours nor ends
  /// Of holders: the rank's own stage first.
  [[nodiscard]] std::vector<int> group_of(GroupKind kind, int rank) const;
  /// All groups of a kind, by their lowest ranks (neighbours: by pipeline).
  [[nodiscard]] std::vector<std::vector<int>> groups(GroupKind kind) const;

  /// @pre 0 <= rank < ranks()
  [[nodiscard]] RankPlace place(int rank) const;
  /// A rank by its number among those of its stage, in rank order.
  /// @pre 0 <= stage < pipeline, 0 <= number < stage_ranks()
  [[nodiscard]] int rank(int stage, int number) const;

  /// Whether a GPU of the stage has its neighbour in the next one (of the last stage: in the first)
  /// in another scale-up domain.
  [[nodiscard]] bool leaves_domain(int stage, int gpus_per_domain) const;
  /// Whether experts are on the same stage as the layer around them: the pipeline takes the same
  /// steps in both grids. Not so for every order.
  [[nodiscard]] bool stages_agree() const;

 private:
  using Spans = std::array<RankSpan, std::tuple_size_v<RankOrder>>;  ///< by axis

  [[nodiscard]] static const RankSpan& of(const Spans& spans, RankAxis axis) {
    return spans[static_cast<std::size_t>(axis)];
  }
  [[nodiscard]] static int size_of(const Spans& spans, RankAxis axis) {
    return of(spans, axis).size;
  }
  [[nodiscard]] Group only(const Spans& spans, RankAxis axis) const;

  RankOrder order_;
  bool mirrored_ = false;
  Spans dense_;
  Spans expert_;
};

/// What an exchange can run beside, where the stack lets it.
enum class Cover : std::uint8_t {
  nothing,
  kernels,  ///< of the same pass, or of the micro-batch that goes the other way
  passes    ///< of its stage: the last backward passes of a step, or its first forward passes
};
FORETRAIN_ENUM_NAMES(Cover, {Cover::nothing, "nothing"}, {Cover::kernels, "kernels"},
                     {Cover::passes, "passes"});

/// What every rank of a stage exchanges with the others of its group.
struct Exchange {
  CollectiveOp op = CollectiveOp::send;
  GroupKind group = GroupKind::neighbours;
  /// The whole buffer that is summed or gathered; of all-to-alls and sends what a rank hands over
  /// (context ranks: to the next one, over all rounds).
  Bytes payload{};
  Bytes across{};  ///< all-to-alls: what of it a rank sends to other hosts itself
  int shard = 0;   ///< members that states are sharded over; 0: all
  Cover cover = Cover::nothing;
  /// As the price and the fabric have it; a step's library is not asked for another one.
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::ring;
};

/// Exchanges of one task, one after another, and what they take alone.
struct Exchanges {
  std::vector<Exchange> each;
  Seconds latency;  ///< without payload
  Seconds time;
};

/// Prices the exchanges of a job's steps: the one place that turns an Exchange into a time.
class ExchangePrices {
 public:
  /// @param job outlives this
  explicit ExchangePrices(const Job& job);

  /// What an exchange takes alone. Sums of sharded states go on between the ranks that hold the
  /// same shard. Equations: models/collectives/README.md, "Collectives in training";
  /// models/layers/README.md, "Time of a layer".
  [[nodiscard]] Seconds time(const Exchange& exchange) const;
  /// With their prices; those without payload are left out.
  [[nodiscard]] Exchanges priced(const std::vector<Exchange>& exchanges) const;

 private:
  const Job& job_;
  ProcessGrid grid_;
};

}  // namespace foretrain
