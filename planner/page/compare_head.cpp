// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "planner/answer/quantity.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/page/compare.hpp"
#include "planner/text/format.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

constexpr std::size_t most_named = 3;  // settings in the name of a side

using BandOfSide = std::function<std::optional<Banded>(const Report&)>;

/// Of a number of which more is better, its inverse.
std::optional<Banded> least_of(const StudyFigure* figure) {
  if (figure == nullptr || !figure->band || figure->band->low <= 0.0) return std::nullopt;
  const Banded& band = *figure->band;
  if (!figure->more_is_better) return band;
  return Banded{1.0 / band.high, 1.0 / band.value, 1.0 / band.low};
}

double tokens_per_step(const Job& job) {
  return static_cast<double>(job.training.global_batch) * job.training.sequence;
}

/// What sides are ranked by, least first: time per token of training, else the inverse of what the
/// study is ranked by.
std::optional<Banded> time_per_token(const Report& report) {
  if (report.study) return least_of(&ranking(report.study->figures));
  const auto& step = report.prediction.step;
  if (!step) return std::nullopt;
  const double tokens = tokens_per_step(report.scenario.job);
  return Banded{step->low.value() / tokens, step->time.value() / tokens,
                step->high.value() / tokens};
}

/// The same of every GPU.
std::optional<Banded> gpu_time_per_token(const Report& report) {
  auto time = report.study ? std::nullopt : time_per_token(report);
  const double gpus = report.scenario.job.cluster.gpus();
  if (time) time = Banded{time->low * gpus, time->value * gpus, time->high * gpus};
  return time;
}

/// Whether sides differ in what follows from their scenario.
bool differ(const Comparison& c, double (*of)(const Job&)) {
  return std::any_of(c.reports.begin(), c.reports.end(), [&](const Report& report) {
    return of(report.scenario.job) != of(c.reports.front().scenario.job);
  });
}

double gpus_of(const Job& job) { return job.cluster.gpus(); }

std::optional<Banded> price_band(const Report& report) {
  const CostForecast& cost = report.prediction.cost;
  if (!cost.price || !cost.low.price || !cost.high.price || *cost.low.price <= Dollars{})
    return std::nullopt;
  return Banded{cost.low.price->value(), cost.price->value(), cost.high.price->value()};
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

/// A deployment that is overloaded or misses its goals, whatever it answers beside that, or that
/// answers nothing within them.
bool fails(const Report& report) {
  if (report.scenario.work != Work::serving) return false;
  return run_verdict(report) == Verdict::no || ranking(report.study->figures).value == 0.0;
}

/// Whether some sides fail and others do not: then only these are ranked.
bool some_fail(const Comparison& c) {
  const auto failing = std::count_if(c.reports.begin(), c.reports.end(), fails);
  return failing > 0 && failing < static_cast<std::ptrdiff_t>(c.reports.size());
}

/// Sides of different kinds have no number in common.
bool comparable(const Comparison& c) {
  return std::all_of(c.reports.begin(), c.reports.end(), [&](const Report& report) {
    return report.scenario.work == c.reports.front().scenario.work;
  });
}

std::optional<Lead> lead_of(const Comparison& c, const BandOfSide& band_of) {
  if (!comparable(c)) return std::nullopt;
  std::vector<std::pair<Banded, std::size_t>> sides;
  const bool some = some_fail(c);
  for (std::size_t side = 0; side < c.reports.size(); ++side) {
    if (some && fails(c.reports[side])) continue;
    if (const auto band = band_of(c.reports[side])) sides.emplace_back(*band, side);
  }
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
  if (lead.less < 0.0005) return fmt::format("{} and {} have the same {}.", best, next, of_what);
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
  if (!lead && some_fail(c)) {
    const auto good = std::find_if_not(c.reports.begin(), c.reports.end(), fails);
    return "ONLY " + side_name(static_cast<std::size_t>(good - c.reports.begin())) +
           (verdict_words(*good).starts_with("LIKELY") ? " MAY SERVE" : " SERVES") +
           " WHAT IS ASKED";
  }
  if (!lead) return "no side to choose";
  if (lead->tie) return "TIE";
  const bool serves = c.reports.front().scenario.work == Work::serving;
  return side_name(lead->best) + (serves ? " SERVES MORE PER GPU" : " IS FASTER");
}

/// What lead_of(time_per_token) compares, in words.
const char* ranked_words(Work work) {
  return work == Work::serving         ? "GPU time per output token"
         : work == Work::post_training ? "time per sample"
                                       : "time per token";
}

HeadFigure side_figure(const Comparison& c, std::size_t side) {
  const Report& report = c.reports[side];
  HeadFigure figure{side_name(side), verdict_words(report), "", name_of_side(c, side)};
  if (const auto& step = report.prediction.step) {
    if (differ(c, tokens_per_step)) {
      // Steps of other tokens are no measure of each other: the basis of the ranking.
      const double tokens = tokens_per_step(report.scenario.job);
      const auto rate = [&](Seconds time) { return count_text(tokens / time.value()); };
      figure.value = rate(step->time) + " tokens/s";
      figure.band = rate(step->high) + " to " + rate(step->low);
      figure.difference = fmt::format("step {}{}{}", seconds_text(step->time),
                                      figure.difference.empty() ? "" : "; ", figure.difference);
    } else {
      figure.value = seconds_text(step->time);
      figure.band = seconds_text(step->low) + " to " + seconds_text(step->high);
    }
  }
  if (!report.study) return figure;
  const Study& study = *report.study;
  const StudyFigure& number = ranking(study.figures);
  if (!number.value) return figure;
  figure.value = quantity_text(number.path, number.value) + " " + std::string(number.label);
  if (number.band) figure.band = range_text(number.path, *number.band);
  return figure;
}

}  // namespace

std::vector<std::string> lead_sentences(const Comparison& comparison) {
  std::vector<std::string> sentences;
  if (const auto lead = lead_of(comparison, time_per_token))
    sentences.push_back(
        lead_sentence(*lead, ranked_words(comparison.reports.front().scenario.work)));
  if (differ(comparison, gpus_of))
    if (const auto lead = lead_of(comparison, gpu_time_per_token))
      sentences.push_back(lead_sentence(*lead, "GPU time per token"));
  const auto per_token = [](const Report& report) {
    return report.study ? least_of(find_figure(report.study->figures, "results.tpot_s.p90"))
                        : std::nullopt;
  };
  if (const auto lead = lead_of(comparison, per_token))
    sentences.push_back(lead_sentence(*lead, "TPOT (P90)"));
  if (const auto lead = lead_of(comparison, price_band))
    sentences.push_back(lead_sentence(*lead, "cost"));
  return sentences;
}

AnswerHead comparison_head(const Comparison& c) {
  AnswerHead head;
  head.subject = fmt::format("Comparison of {} forecasts", c.reports.size());
  head.made_by = c.reports.front().study
                     ? c.reports.front().study->answer.head.made_by
                     : std::string(name_of(c.reports.front().prediction.engine));
  head.words = words_of(c);
  if (!c.feasible()) {
    head.verdict = Verdict::no;
    head.words = std::all_of(c.reports.begin(), c.reports.end(),
                             [](const Report& r) { return r.study || r.prediction.step; })
                     ? "NOT ALL FINISH IN TIME"
                     : "NOT ALL CAN RUN";
  }
  for (std::size_t side = 0; side < c.reports.size(); ++side)
    if (const auto& reasons = c.reports[side].prediction.reasons; !reasons.empty())
      head.sentence += fmt::format("{}{}: {}.", head.sentence.empty() ? "" : " ", side_name(side),
                                   reasons.front().message);
  for (std::size_t side = 0; some_fail(c) && side < c.reports.size(); ++side)
    if (const Report& report = c.reports[side]; fails(report) && report.study->reasons.empty())
      head.sentence += fmt::format("{}{} is not ranked: {}.", head.sentence.empty() ? "" : " ",
                                   side_name(side), lower_case(verdict_words(report)));
  for (const std::string& sentence : lead_sentences(c))
    head.sentence += (head.sentence.empty() ? "" : " ") + sentence;
  for (std::size_t side = 0; side < c.reports.size(); ++side)
    head.figures.push_back(side_figure(c, side));
  return head;
}

}  // namespace foretrain
