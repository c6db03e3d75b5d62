// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/base/prediction.hpp"
#include "planner/answer/answer.hpp"
#include "planner/answer/value_rows.hpp"
#include "scenarios/resolve/scenario.hpp"

namespace foretrain {

/// One set of GPUs filled by another.
struct TransferRow {
  std::string name;  ///< "trainer to replica 0"
  Bytes bytes{};
  Seconds alone{};   ///< its price
  Seconds played{};  ///< beside the others, on the fabric
};

/// What goes between parts of a machine that do unlike work, all of it at once, on their fabric:
/// new weights to the engine's replicas, or caches from replicas that prefill.
struct TransferReport {
  std::string name;
  std::string what;                   ///< "new weights"
  std::vector<Infeasible> reasons{};  ///< then nothing else is known
  std::vector<TransferRow> rows{};
  Seconds start{};                      ///< before the first byte, beside every row
  std::string fullest{};                ///< link that is in use longest
  double fullest_share = 0.0;           ///< of its rate over the time
  std::optional<Seconds> step{};        ///< of post-training, with weights as played
  std::optional<Seconds> step_alone{};  ///< as priced

  /// Until the last is filled.
  [[nodiscard]] Seconds alone() const;
  [[nodiscard]] Seconds played() const;
};

/// Post-training on GPUs of their own: from the trainer to the engine's first replica and from each
/// to the next, all at once, as NCCL's broadcast does. Each hop has the rate that the price has.
/// @pre scenario.post_training @throws UsageError where the fabric cannot be built
[[nodiscard]] TransferReport weights_on_fabric(const Scenario& scenario);

/// Disaggregated serving: every replica that prefills hands the cache of a mean prompt over at the
/// same moment, to replicas that decode in turn.
/// @pre scenario.serving with prefill replicas @throws UsageError where the fabric cannot be built
[[nodiscard]] TransferReport caches_on_fabric(const Scenario& scenario);

[[nodiscard]] Answer transfer_answer(const TransferReport& report);
/// Schema transfers/1 (planner/schemas/transfers.schema.json).
[[nodiscard]] std::string transfer_json(const TransferReport& report);
[[nodiscard]] const ValueRows& transfer_document();

}  // namespace foretrain
