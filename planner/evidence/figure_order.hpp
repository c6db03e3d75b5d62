// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "calibration/records/record_check.hpp"
#include "planner/answer/answer.hpp"

namespace foretrain {

/// How well the runs of one published figure or table are put into the order of their measured
/// model FLOP/s: what such a figure plots, and what a reader chooses a plan by.
struct FigureOrder {
  std::string figure;  ///< as the ids of its records begin, e.g. "sc21-f11"
  int runs = 0;        ///< that were compared
  int skipped = 0;
  RankAgreement all;       ///< every two runs whose measurements are not equal
  RankAgreement resolved;  ///< those at least 2 % apart: closer ones are noise
};

/// "sc21-f11" of "sc21-f11-pp1-b8"; empty for records that belong to no numbered figure (f) or
/// table (t).
[[nodiscard]] std::string figure_of(const std::string& id);

/// One entry per figure with at least three compared step times, in order of first appearance.
[[nodiscard]] std::vector<FigureOrder> figure_orders(const std::vector<RecordCheck>& checks);

/// A table of the agreement of order.
[[nodiscard]] AnswerSection figure_orders_section(const std::vector<FigureOrder>& orders);

}  // namespace foretrain
