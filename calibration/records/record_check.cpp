// SPDX-License-Identifier: Apache-2.0
#include "calibration/records/record_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

#include "models/base/percentile.hpp"
#include "models/base/require.hpp"

namespace foretrain {
namespace {

using Checks = std::vector<const RecordCheck*>;

/// Measurements closer than this are not ranked: repeated runs differ by as much.
constexpr double rank_resolution = 0.02;

void add_order(const Checks& made, CheckSummary& summary) {
  std::map<std::pair<std::string, std::string>, std::vector<RankedPair>> grids;
  for (const RecordCheck* check : made)
    grids[{check->source, check->grid}].push_back({check->measured, check->predicted});
  RankAgreement agreement;
  for (const auto& [grid, values] : grids) agreement += rank_agreement(values, rank_resolution);
  summary.pairs = agreement.pairs;
  if (agreement.pairs > 0) summary.tau = agreement.tau();
}

double share_inside(const Checks& made) {
  double inside = 0.0;
  for (const RecordCheck* check : made)
    inside += check->low <= check->measured && check->measured <= check->high ? 1.0 : 0.0;
  return inside / static_cast<double>(made.size());
}

bool is_time(const std::string& quantity) {
  return is_inference(quantity) || quantity == step_quantity || quantity == kernel_quantity ||
         quantity == collective_quantity;
}

/// Error of a constant utilisation fitted to the runs themselves: what a forecast has to beat.
double own_mfu_error(const Checks& made) {
  double log_ratio = 0.0;
  for (const RecordCheck* check : made)
    log_ratio += std::log(check->measured / check->at_half_peak) / static_cast<double>(made.size());
  const double factor = std::exp(log_ratio);
  double sum = 0.0;
  for (const RecordCheck* check : made)
    sum += std::abs(factor * check->at_half_peak / check->measured - 1.0);
  return sum / static_cast<double>(made.size());
}

void add_step_figures(const Checks& made, CheckSummary& summary) {
  summary.own_mfu_mape = own_mfu_error(made);
  for (const RecordCheck* check : made)
    summary.half_peak_mape += std::abs(check->at_half_peak / check->measured - 1.0) / summary.count;
  add_order(made, summary);
}

CheckSummary summary_of(const Checks& checks) {
  CheckSummary summary;
  summary.source = checks.front()->source;
  summary.quantity = checks.front()->quantity;
  summary.group = checks.front()->group;
  summary.item = checks.front()->item;
  Checks made;
  std::vector<double> sizes;
  for (const RecordCheck* check : checks) {
    if (check->skipped) {
      ++summary.skipped;
      continue;
    }
    const double error = check->error();
    summary.bias += error;
    if (summary.worst_id.empty() || std::abs(error) > std::abs(summary.worst)) {
      summary.worst = error;
      summary.worst_id = check->id;
    }
    sizes.push_back(std::abs(error));
    made.push_back(check);
  }
  summary.count = static_cast<int>(sizes.size());
  if (sizes.empty()) return summary;
  for (const double size : sizes) summary.mape += size;
  summary.bias /= summary.count;
  summary.mape /= summary.count;
  summary.median = percentile_of(sizes, 0.5);
  summary.p90 = percentile_of(sizes, 0.9);
  if (is_time(summary.quantity)) summary.covered = share_inside(made);
  if (summary.quantity == step_quantity) add_step_figures(made, summary);
  if (is_inference(summary.quantity)) add_order(made, summary);
  return summary;
}

/// Groups of checks in order of first appearance.
template <class Key>
class Ordered {
 public:
  Checks& operator[](const Key& key) {
    if (groups_.find(key) == groups_.end()) order_.push_back(key);
    return groups_[key];
  }
  [[nodiscard]] const std::vector<Key>& order() const { return order_; }

 private:
  std::map<Key, Checks> groups_;
  std::vector<Key> order_;
};

}  // namespace

double RankAgreement::tau() const {
  FORETRAIN_REQUIRE(pairs > 0);
  return static_cast<double>(right - wrong) / pairs;
}

RankAgreement& RankAgreement::operator+=(const RankAgreement& other) {
  pairs += other.pairs;
  right += other.right;
  wrong += other.wrong;
  return *this;
}

RankAgreement rank_agreement(const std::vector<RankedPair>& values, double resolution) {
  RankAgreement agreement;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i + 1; j < values.size(); ++j) {
      const double measured = values[j].measured - values[i].measured;
      if (std::abs(measured) < resolution * std::min(values[i].measured, values[j].measured))
        continue;
      const double predicted = values[j].predicted - values[i].predicted;
      ++agreement.pairs;
      if (measured * predicted > 0.0) ++agreement.right;
      if (measured * predicted < 0.0) ++agreement.wrong;
    }
  }
  return agreement;
}

bool is_inference(const std::string& quantity) {
  return quantity == output_tokens_quantity || quantity == first_token_quantity ||
         quantity == low_load_first_token_quantity || quantity == output_token_quantity ||
         quantity == rl_step_quantity || quantity == rl_generation_quantity ||
         quantity == rl_train_quantity;
}

double RecordCheck::error() const {
  return quantity == fits_quantity ? predicted - measured : predicted / measured - 1.0;
}

void skip(RecordCheck& check, std::string why) {
  check.skipped = true;
  check.why = std::move(why);
}

std::vector<CheckSummary> summarize(const std::vector<RecordCheck>& checks) {
  Ordered<std::tuple<std::string, std::string, std::string, std::string>> by_source;
  Ordered<std::pair<std::string, std::string>> by_group;
  Ordered<std::string> by_quantity;
  for (const RecordCheck& check : checks) {
    by_source[{check.source, check.quantity, check.group, check.item}].push_back(&check);
    if (!check.group.empty()) by_group[{check.quantity, check.group}].push_back(&check);
    by_quantity[check.quantity].push_back(&check);
  }
  std::vector<CheckSummary> summaries;
  for (const auto& key : by_source.order()) summaries.push_back(summary_of(by_source[key]));
  const auto add_all = [&](const Checks& of, const std::string& group) {
    summaries.push_back(summary_of(of));
    summaries.back().source = "all";
    summaries.back().group = group;
    summaries.back().item.clear();
  };
  for (const std::string& quantity : by_quantity.order()) {
    for (const auto& key : by_group.order())
      if (key.first == quantity) add_all(by_group[key], key.second);
    add_all(by_quantity[quantity], "");
  }
  return summaries;
}

}  // namespace foretrain
