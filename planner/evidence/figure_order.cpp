// SPDX-License-Identifier: Apache-2.0
#include "planner/evidence/figure_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "planner/text/format.hpp"

namespace foretrain {
namespace {

constexpr double resolution = 0.02;  // as for the tables of step times
constexpr double distinct = 1e-9;
constexpr int fewest_runs = 3;

std::string tau_text(const RankAgreement& agreement) {
  return agreement.pairs > 0 ? fixed_text(agreement.tau(), 2) : "-";
}

}  // namespace

std::string figure_of(const std::string& id) {
  const std::size_t dash = id.find('-');
  if (dash == std::string::npos || dash + 2 >= id.size()) return "";
  if (id[dash + 1] != 'f' && id[dash + 1] != 't') return "";
  std::size_t end = dash + 2;
  while (end < id.size() && id[end] >= '0' && id[end] <= '9') ++end;
  if (end == dash + 2 || end >= id.size() || id[end] != '-') return "";
  return id.substr(0, end);
}

std::vector<FigureOrder> figure_orders(const std::vector<RecordCheck>& checks) {
  std::vector<FigureOrder> orders;
  std::map<std::string, std::vector<RankedPair>> values;
  for (const RecordCheck& check : checks) {
    const std::string figure = figure_of(check.id);
    if (check.quantity != step_quantity || figure.empty()) continue;
    auto order =
        std::ranges::find_if(orders, [&](const FigureOrder& o) { return o.figure == figure; });
    if (order == orders.end())
      order = orders.insert(orders.end(), FigureOrder{figure, 0, 0, {}, {}});
    if (check.skipped) {
      ++order->skipped;
      continue;
    }
    ++order->runs;
    // Time at half the peak over time: twice the MFU.
    values[figure].push_back(
        {check.at_half_peak / check.measured, check.at_half_peak / check.predicted});
  }
  std::erase_if(orders, [](const FigureOrder& order) { return order.runs < fewest_runs; });
  for (FigureOrder& order : orders) {
    order.all = rank_agreement(values[order.figure], distinct);
    order.resolved = rank_agreement(values[order.figure], resolution);
  }
  return orders;
}

AnswerSection figure_orders_section(const std::vector<FigureOrder>& orders) {
  AnswerTable table{{words_column("figure"), number_column("runs"), number_column("skip"),
                     number_column("tau"), number_column("pairs"), number_column("tau of all"),
                     number_column("pairs")}};
  for (const FigureOrder& order : orders)
    table.add({order.figure, std::to_string(order.runs), std::to_string(order.skipped),
               tau_text(order.resolved), std::to_string(order.resolved.pairs), tau_text(order.all),
               std::to_string(order.all.pairs)});
  if (table.rows.empty()) return {};
  return {"Order within published figures (f) and tables (t)",
          {std::move(table),
           AnswerLine{"Kendall's tau between measured and predicted model FLOP/s: over pairs at "
                      "least 2 % apart, and over all pairs."}}};
}

}  // namespace foretrain
