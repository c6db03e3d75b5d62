// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/quantity.hpp"
#include "models/collectives/collective_choice.hpp"
#include "models/grid/process_grid.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

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
