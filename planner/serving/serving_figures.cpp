// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include "planner/serving/serving_study.hpp"

namespace foretrain {
namespace {

using Rows = std::vector<StudyRow<ServingReport>>;
constexpr const char* simulated = "simulated request by request (sim/serving/README.md)";

struct TimesRow {
  const char* path;
  const char* label;
  const char* meaning;
  ServingTimes ServingSummary::*times;
  ResidualBand ServingBands::*band;  ///< null: none is known
};
constexpr std::array kinds_of_time{
    TimesRow{"results.ttft_s", "TTFT", "From a request's submission to its first token.",
             &ServingSummary::ttft, &ServingBands::ttft},
    TimesRow{"results.tpot_s", "TPOT", "Time per token of an answer behind its first.",
             &ServingSummary::tpot, &ServingBands::tpot},
    TimesRow{"results.itl_s", "gap between tokens", "Gaps between tokens, one by one.",
             &ServingSummary::itl, nullptr},
    TimesRow{"results.queue_s", "wait", "From a request's submission to its first step.",
             &ServingSummary::queue, nullptr},
    TimesRow{"results.request_s", "whole request", "From submission to the last token.",
             &ServingSummary::whole, nullptr}};
constexpr std::array<std::pair<const char*, double ServingTimes::*>, 5> percentiles{
    {{"mean", &ServingTimes::mean},
     {"p50", &ServingTimes::p50},
     {"p90", &ServingTimes::p90},
     {"p95", &ServingTimes::p95},
     {"p99", &ServingTimes::p99}}};

Banded banded(double value, const ResidualBand& band) {
  return {value * std::min(1.0, band.low), value, value * std::max(1.0, band.high)};
}

/// Of a rate that goes with the output.
Banded rate_banded(const ServingReport& report, double rate) {
  return rate_band(rate, report.bands, report.ends, report.summary);
}

/// Of what the output is divided into: dollars.
Banded inverse_banded(const ServingReport& report, double value) {
  const Banded rate = rate_banded(report, 1.0);
  return {value / rate.high, value, value / rate.low};
}

Banded first_token_banded(const ServingReport& report, double ServingTimes::*percentile) {
  const auto at = [percentile](const ServingSummary& summary) {
    return FirstToken{summary.ttft.*percentile, summary.queue.*percentile};
  };
  const ServingEnds& ends = report.ends;
  return ttft_band(at(report.summary), report.bands, ends,
                   ends.slow ? at(ends.slow->summary) : FirstToken{},
                   ends.fast ? at(ends.fast->summary) : FirstToken{});
}

void add_times(const TimesRow& kind, Rows& rows) {
  for (const auto& [name, percentile] : percentiles) {
    const bool leads = kind.band != nullptr && std::string_view(name) == "p90";
    StudyRow<ServingReport> row{
        {std::string(kind.path) + "." + name, kind.label, kind.meaning, simulated, false, leads}};
    const auto value = [times = kind.times, percentile](const ServingReport& report) {
      return report.summary.*times.*percentile;
    };
    row.get = value;
    if (kind.band == &ServingBands::ttft)
      row.band = [percentile](const ServingReport& report) {
        return first_token_banded(report, percentile);
      };
    else if (kind.band != nullptr)
      row.band = [value, band = kind.band](const ServingReport& report) {
        return banded(value(report), report.bands.*band);
      };
    rows.push_back(std::move(row));
  }
}

/// A number of the summary or the sample.
template <class Of, class Number>
StudyRow<ServingReport> plain(Of ServingReport::*of, Number Of::*number, const char* path,
                              const char* label, const char* meaning) {
  return {{path, label, meaning, simulated},
          [=](const ServingReport& report) { return std::optional<double>(report.*of.*number); }};
}

StudyRow<ServingReport> output_rate(bool per_gpu) {
  const auto rate = [per_gpu](const ServingReport& report) {
    return report.summary.output_tokens_per_s / (per_gpu ? report.mean_gpus() : 1.0);
  };
  return {{per_gpu ? "results.output_tokens_per_s_per_gpu" : "results.output_tokens_per_s",
           per_gpu ? "output tokens/s per GPU" : "output tokens/s",
           per_gpu ? "Tokens of answers per second and GPU." : "Tokens of answers per second.",
           simulated, true, true},
          rate,
          [rate](const ServingReport& report) { return rate_banded(report, rate(report)); }};
}

/// What ranks: a deployment that breaks its goals earns nothing by its tokens.
StudyRow<ServingReport> good_output_rate() {
  const auto rate = [](const ServingReport& report) {
    return report.summary.within_limits * report.summary.output_tokens_per_s / report.mean_gpus();
  };
  return {{"results.good_output_tokens_per_s_per_gpu", "good output tokens/s per GPU",
           "Output tokens per second and GPU, times the share of requests that keep every goal; "
           "all of them without goals.",
           "results.output_tokens_per_s_per_gpu x results.within_goals", true, true, true},
          rate,
          [rate](const ServingReport& report) { return rate_banded(report, rate(report)); }};
}

void add_rates(Rows& rows) {
  constexpr auto summary = &ServingReport::summary;
  rows.push_back(plain(summary, &ServingSummary::requests_per_s, "results.requests_per_s",
                       "requests/s", "Requests answered per second."));
  rows.back().more_is_better = true;
  rows.back().band = [](const ServingReport& report) {
    return rate_banded(report, report.summary.requests_per_s);
  };
  rows.push_back(output_rate(false));
  rows.push_back(output_rate(true));
  rows.push_back(good_output_rate());
  rows.push_back(plain(summary, &ServingSummary::prompt_tokens_per_s, "results.prompt_tokens_per_s",
                       "prompt tokens/s", "Tokens of answered prompts per second."));
  rows.back().more_is_better = true;
  rows.back().band = [](const ServingReport& report) {
    return rate_banded(report, report.summary.prompt_tokens_per_s);
  };
  rows.push_back(plain(summary, &ServingSummary::within_limits, "results.within_goals",
                       "share of requests that keep the goals",
                       "Share of requests that keep every goal, 0 to 1."));
  rows.back().more_is_better = rows.back().leads = true;
  rows.push_back(plain(summary, &ServingSummary::goodput_per_s, "results.goodput_requests_per_s",
                       "requests/s that keep the goals",
                       "Requests per second that keep every goal."));
  rows.back().more_is_better = true;
}

void add_chance(Rows& rows) {
  rows.push_back(
      {{"results.chance", "chance to keep the goals",
        "Chance that the deployment keeps up with its load and keeps every goal, 0 to 1; "
        "null: nothing is asked of it.",
        "from the bands of the engine's profile", true},
       [](const ServingReport& report) { return report.chance; }});
}

void add_use(Rows& rows) {
  constexpr auto sample = &ServingReport::sample;
  rows.push_back(plain(sample, &ServingSample::mean_running, "results.mean_running", "running",
                       "Requests that run, on average."));
  rows.push_back(plain(sample, &ServingSample::mean_waiting, "results.mean_waiting", "waiting",
                       "Requests that wait, on average."));
  rows.push_back(plain(sample, &ServingSample::longest_queue, "results.longest_queue",
                       "longest queue", "Most requests that waited at once."));
  rows.push_back(plain(sample, &ServingSample::waiting_at_end, "results.waiting_at_end",
                       "waiting at the end", "Requests that wait when the load ends."));
  rows.push_back(plain(sample, &ServingSample::preemptions, "results.preemptions", "preemptions",
                       "Requests that made room in the cache and started over."));
  rows.push_back(plain(sample, &ServingSample::busy, "results.busy", "busy",
                       "Share of the time in which replicas compute; of those that prefill where "
                       "there are some, 0 to 1."));
  rows.push_back({{"results.decode_busy", "decode busy",
                   "The same of replicas that only decode; null: there are none.", simulated},
                  [](const ServingReport& report) {
                    return report.ready.prefill ? std::optional(report.sample.decode_busy)
                                                : std::nullopt;
                  }});
  rows.push_back(plain(sample, &ServingSample::most_cache, "results.most_cache", "fullest cache",
                       "Share of the cache that was taken at most, 0 to 1."));
  rows.push_back(
      {{"results.prompt_found", "prompts found in caches",
        "Share of prompt tokens that caches held: shared prefixes, earlier turns, 0 to 1.",
        simulated, true},
       [](const ServingReport& report) {
         const ServingSample& seen = report.sample;
         return seen.asked > 0.0 ? std::optional(seen.found / seen.asked) : std::nullopt;
       }});
  rows.push_back(plain(sample, &ServingSample::mean_replicas, "results.mean_replicas",
                       "replicas on average",
                       "Replicas that were there, starting ones included; those that prefill where "
                       "there are some."));
  rows.push_back(plain(sample, &ServingSample::most_replicas, "results.most_replicas",
                       "replicas at most", "Most replicas that were there at once."));
  rows.push_back(plain(sample, &ServingSample::transferred, "results.transferred_bytes",
                       "moved cache", "Bytes of caches from replicas that prefill to others."));
  rows.push_back(
      plain(sample, &ServingSample::steps, "results.steps", "steps", "Steps that were simulated."));
}

StudyRow<ServingReport> cost_row(double ServingCost::*dollars, const char* path, const char* label,
                                 const char* meaning, bool leads) {
  return {{path, label, meaning, "price per GPU-hour x GPUs / tokens per hour", false, leads},
          [dollars](const ServingReport& report) {
            return report.cost ? std::optional((*report.cost).*dollars) : std::nullopt;
          }};
}

Rows make_rows() {
  Rows rows{
      {{"gpus", "GPUs", "GPUs that the deployment takes.",
        "replicas x tensor x pipeline x attention data ranks", false, true},
       [](const ServingReport& report) { return std::optional<double>(report.ready.gpus()); }}};
  rows.push_back(plain(&ServingReport::summary, &ServingSummary::requests, "results.requests",
                       "requests", "Requests that were counted."));
  rows.push_back(plain(&ServingReport::sample, &ServingSample::submitted, "results.submitted",
                       "submitted", "Requests that came, the warm-up included."));
  rows.push_back(plain(&ServingReport::sample, &ServingSample::rejected, "results.rejected",
                       "refused", "Requests that are larger than a replica's cache."));
  rows.push_back(plain(&ServingReport::sample, &ServingSample::counted_s, "results.counted_s",
                       "counted time", "Time in which requests were counted."));
  for (const TimesRow& kind : kinds_of_time) add_times(kind, rows);
  add_rates(rows);
  add_chance(rows);
  add_use(rows);
  rows.push_back(cost_row(&ServingCost::dollars_per_hour, "cost.usd_per_hour", "cost per hour",
                          "Dollars per hour of all GPUs.", false));
  rows.push_back(cost_row(&ServingCost::per_million_output, "cost.usd_per_million_output_tokens",
                          "cost per million output tokens",
                          "Dollars per million tokens of answers.", true));
  rows.push_back(cost_row(&ServingCost::per_million_tokens, "cost.usd_per_million_tokens",
                          "cost per million tokens",
                          "Dollars per million tokens of prompts and answers.", false));
  for (auto row = rows.end() - 2; row != rows.end(); ++row)
    row->band = [get = row->get](const ServingReport& report) {
      const std::optional<double> dollars = get(report);
      return dollars ? std::optional(inverse_banded(report, *dollars)) : std::nullopt;
    };
  rows.push_back(
      {{"prompt_s", "one prompt alone", "One mean prompt on an idle replica.",
        "models/serving/README.md, \"Step\""},
       [](const ServingReport& report) { return std::optional(report.prompt.value()); }});
  return rows;
}

}  // namespace

std::span<const StudyRow<ServingReport>> serving_rows() {
  static const Rows rows = make_rows();
  return rows;
}

}  // namespace foretrain
