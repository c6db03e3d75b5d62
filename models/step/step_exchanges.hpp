// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "models/grid/process_grid.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/inputs/job.hpp"
#include "models/schedules/schedule.hpp"
#include "models/step/step_costs.hpp"

namespace foretrain {

/// What the tasks of a step exchange.
struct StepExchanges {
  using ByPass = std::array<std::vector<Exchange>, EnumNames<PassKind>::names.size()>;

  ExchangePrices prices;
  std::array<ByPass, piece_kinds> operators;  ///< tensor, context and expert exchanges of a piece
  std::array<ByPass, piece_kinds> shards;     ///< of its weights and gradients, in every pass
  std::array<PieceTraffic, piece_kinds> alone{};  ///< what those take without kernels beside them
  std::vector<Exchanges> gradients;               ///< by stage, once per step
  std::vector<Exchanges> weights;
  std::vector<Exchanges> transfers;  ///< of a micro-batch, by the stage that sends it on
  Exchanges tied;
};

/// @param job outlives the result @pre as for step_costs()
[[nodiscard]] StepExchanges step_exchanges(const Job& job, const StageLayout& layout,
                                           const PieceOperators& operators);

/// What an operator exchanges in a forward pass, or in the backward pass that gives the gradient of
/// its input; nothing of kernels.
[[nodiscard]] std::vector<Exchange> exchanges_of(const Operator& op, bool forward);

/// Adds `more` times `count`; exchanges that differ in payload alone become one.
void add_exchanges(const std::vector<Exchange>& more, double count, std::vector<Exchange>& sum);

/// The order of passes that a step runs: zero-bubble orders are fitted to the times of its passes
/// (to about 2 %, so that like plans share an order), the others follow from their shape alone.
[[nodiscard]] Schedule step_schedule(const StepCosts& costs);

/// What step_schedule() looks at besides the shape: empty where the shape decides.
/// Equal times and shapes give equal orders.
[[nodiscard]] ScheduleTimes schedule_times(const StepCosts& costs);

}  // namespace foretrain
