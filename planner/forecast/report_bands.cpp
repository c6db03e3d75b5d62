// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "planner/answer/quantity.hpp"
#include "planner/answer/run_part.hpp"
#include "planner/forecast/report_answer.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
namespace {

using BandEnd = std::optional<double>;

/// The forecast in the middle of the bar.
void add_band(AnswerTable& table, std::string_view path, BandEnd value, BandEnd low, BandEnd high) {
  if (!value) return;
  AnswerCell drawn{""};
  if (low && high && *low < *high) {
    const double reach = 3.2 * std::max(*high - *value, *value - *low);
    AnswerBar bar{0.5 + (*low - *value) / reach, 0.5 + (*high - *value) / reach};
    bar.mark = 0.5;
    drawn = bar;
  }
  const ValueRow& quantity = *quantities().find(path)->quantity;
  const auto text = [&](BandEnd end) {
    if (!end) return std::string();
    // Its label names the unit.
    return quantity.measure == Measure::token_rate ? fixed_text(*end, 0) : quantity_text(path, end);
  };
  table.add({std::string(quantity.label), text(value), text(low), text(high), drawn});
}

/// Parts of a whole, {name, size}, one behind the other.
AnswerTable whole_table(const std::vector<std::pair<std::string_view, double>>& parts,
                        std::string (*text)(double)) {
  double whole = 0.0;
  for (const auto& part : parts) whole += part.second;
  AnswerTable table{{words_column(), number_column(), number_column(), words_column()}};
  double at = 0.0;
  for (const auto& [name, size] : parts) {
    const double share = size / whole;
    table.add({std::string(name), text(size), percent_text(share), AnswerBar{at, at + share}});
    at += share;
  }
  return table;
}

}  // namespace

AnswerTable bands_table(const Prediction& p) {
  AnswerTable table{{words_column(), number_column("forecast"), number_column("10th percentile"),
                     number_column("90th percentile"), words_column()}};
  const auto number = [&](std::string_view path) -> BandEnd {
    return path.empty() ? std::nullopt : quantities().find(path)->number(p);
  };
  const auto row = [&](std::string_view path, std::string_view low, std::string_view high) {
    add_band(table, path, number(path), number(low), number(high));
  };
  row("memory.peak_bytes", "", "memory.high_bytes");
  row("step.time_s", "step.low_s", "step.high_s");
  // The band of the step carries over to what is proportional to it, directly or inversely.
  const auto scaled = [&](std::string_view path, bool inverse) {
    const BandEnd value = number(path);
    if (!value || !p.step) return;
    const double low = p.step->low / p.step->time;
    const double high = p.step->high / p.step->time;
    add_band(table, path, value, inverse ? *value / high : *value * low,
             inverse ? *value / low : *value * high);
  };
  scaled("mfu", true);
  scaled("tokens_per_s", true);
  if (p.run.expected)
    row("run.expected_s", "run.p10_s", "run.p90_s");
  else
    scaled("run.ideal_s", false);
  row("run.goodput", "", "");
  row("run.interruptions", "", "");
  row("cost.gpu_hours", "cost.gpu_hours_low", "cost.gpu_hours_high");
  row("cost.usd", "cost.price_low_usd", "cost.price_high_usd");
  return table;
}

AnswerTable run_table(const RunForecast& run) {
  std::vector<std::pair<std::string_view, double>> parts;
  if (run.split)
    for (const RunPart& part : run_parts())
      if (const Seconds time = (*run.split).*part.time; time > Seconds{})
        parts.emplace_back(part.label, time.value());
  return whole_table(parts, [](double size) { return duration_text(Seconds{size}); });
}

AnswerTable cost_table(const Prediction& p) {
  std::vector<std::pair<std::string_view, double>> parts;
  for (const ValueRow& row : quantities().rows())
    if (row.path.starts_with("cost.parts."))
      if (const auto price = QuantityAt{&row}.number(p)) parts.emplace_back(row.label, *price);
  return whole_table(parts, [](double size) { return dollars_text(Dollars{size}); });
}

}  // namespace foretrain
