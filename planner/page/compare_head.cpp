// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "planner/forecast/summary.hpp"
#include "planner/page/compare.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
namespace {

constexpr std::size_t most_named = 3;  // settings in the name of a side

using BandOfSide = std::function<std::optional<Banded>(const Report&)>;

std::optional<Banded> time_per_token(const Report& report) {
  const auto& step = report.prediction.step;
  if (!step) return std::nullopt;
  const Training& t = report.scenario.job.training;
  const double tokens = static_cast<double>(t.global_batch) * t.sequence;
  return Banded{step->low.value() / tokens, step->time.value() / tokens,
                step->high.value() / tokens};
}

std::optional<Banded> price_band(const Report& report) {
  const CostForecast& cost = report.prediction.cost;
  if (!cost.price || !cost.low.price || !cost.high.price || *cost.low.price <= Dollars{})
    return std::nullopt;
  // Electricity may lie below both ends, where the scenario leaves out hosts and cooling.
  const double low = cost.low.price->value();
  const double high = cost.high.price->value();
  return Banded{low, std::clamp(cost.price->value(), low, high), high};
}

/// Errors of two machines are apart, those of two plans of one mostly are not.
Machines machines_of(const Job& a, const Job& b) {
  const bool same = a.cluster.host.name == b.cluster.host.name &&
                    a.cluster.network.preset == b.cluster.network.preset &&
                    a.stack.name == b.stack.name && a.training.precision == b.training.precision;
  return same ? Machines::same : Machines::different;
}

/// The side with the least, against the next.
struct Lead {
  std::size_t best = 0;
  std::size_t next = 0;
  double less = 0.0;  ///< share
  double sure = 0.5;
  bool tie = true;
};

std::optional<Lead> lead_of(const Comparison& c, const BandOfSide& band_of) {
  std::vector<std::pair<Banded, std::size_t>> sides;
  for (std::size_t side = 0; side < c.reports.size(); ++side)
    if (const auto band = band_of(c.reports[side])) sides.emplace_back(*band, side);
  if (sides.size() < 2) return std::nullopt;
  std::stable_sort(sides.begin(), sides.end(),
                   [](const auto& a, const auto& b) { return a.first.value < b.first.value; });
  const auto& [best, best_side] = sides[0];
  const auto& [next, next_side] = sides[1];
  const Contest result =
      contest(best, next,
              machines_of(c.reports[best_side].scenario.job, c.reports[next_side].scenario.job));
  return Lead{best_side, next_side, 1.0 - best.value / next.value, result.first_is_less,
              result.ahead == Ahead::tie};
}

std::string lead_sentence(const Lead& lead, const std::string& of_what) {
  const std::string best = side_name(lead.best);
  const std::string next = side_name(lead.next);
  if (lead.less == 0.0) return fmt::format("{} and {} have the same {}.", best, next, of_what);
  const std::string amount = fmt::format("{} less {}", percent_text(lead.less), of_what);
  if (lead.tie)
    return fmt::format("{} and {} are a tie: {} has {}, {} sure.", best, next, best, amount,
                       percent_text(lead.sure));
  return fmt::format("{} has {} than {} ({} sure).", best, amount, next, percent_text(lead.sure));
}

/// What a side sets otherwise than the first: "parallel.tensor=4, ..."; its host where that is
/// another.
std::string name_of_side(const Comparison& c, std::size_t side) {
  std::string text;
  std::size_t more = 0;
  std::size_t told = 0;
  for (const ComparedSetting& setting : c.settings) {
    const auto& value = setting.values[side];
    const bool derived = value && value->origin.starts_with("derived");
    if (setting.catalog || derived || setting.path.starts_with("operations.")) continue;
    if (told == most_named) {
      ++more;
      continue;
    }
    ++told;
    text +=
        fmt::format("{}{}={}", text.empty() ? "" : ", ", setting.path, value ? value->value : "-");
  }
  return more == 0 ? text : text + fmt::format(" and {} more", more);
}

std::string words_of(const Comparison& c) {
  const auto lead = lead_of(c, time_per_token);
  if (!lead) return "no side to choose";
  return lead->tie ? "TIE" : side_name(lead->best) + " IS FASTER";
}

}  // namespace

std::vector<std::string> lead_sentences(const Comparison& comparison) {
  std::vector<std::string> sentences;
  if (const auto lead = lead_of(comparison, time_per_token))
    sentences.push_back(lead_sentence(*lead, "time per token"));
  if (const auto lead = lead_of(comparison, price_band))
    sentences.push_back(lead_sentence(*lead, "cost"));
  return sentences;
}

AnswerHead comparison_head(const Comparison& c) {
  AnswerHead head;
  head.subject = fmt::format("Comparison of {} forecasts", c.reports.size());
  head.made_by = name_of(c.reports.front().prediction.engine);
  head.words = words_of(c);
  if (!c.feasible()) {
    head.verdict = Verdict::no;
    head.words = "NOT ALL CAN RUN";
  }
  for (std::size_t side = 0; side < c.reports.size(); ++side)
    if (const auto& reasons = c.reports[side].prediction.reasons; !reasons.empty())
      head.sentence += fmt::format("{}{} cannot run: {}.", head.sentence.empty() ? "" : " ",
                                   side_name(side), reasons.front().message);
  for (const std::string& sentence : lead_sentences(c))
    head.sentence += (head.sentence.empty() ? "" : " ") + sentence;
  for (std::size_t side = 0; side < c.reports.size(); ++side) {
    const Prediction& p = c.reports[side].prediction;
    if (p.step)
      head.figures.push_back({side_name(side), seconds_text(p.step->time),
                              seconds_text(p.step->low) + " to " + seconds_text(p.step->high),
                              name_of_side(c, side)});
    else
      head.figures.push_back({side_name(side), verdict_words(p), "", name_of_side(c, side)});
  }
  return head;
}

}  // namespace foretrain
