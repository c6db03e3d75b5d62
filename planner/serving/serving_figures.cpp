// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include "planner/serving/serving_study.hpp"

namespace foretrain {
namespace {

using Rows = ValueTable<ServingReport>;
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
    const auto value = [times = kind.times, percentile](const ServingReport& report) {
      return report.summary.*times.*percentile;
    };
    rows.figure(std::string(kind.path) + "." + name, kind.label, value, kind.meaning, simulated);
    if (kind.band == &ServingBands::ttft)
      rows.banded([percentile](const ServingReport& report) {
        return first_token_banded(report, percentile);
      });
    else if (kind.band != nullptr)
      rows.banded([value, band = kind.band](const ServingReport& report) {
        return banded(value(report), report.bands.*band);
      });
    if (kind.band != nullptr && std::string_view(name) == "p90") rows.leads();
  }
}

/// A number of the summary or the sample, as the simulation has it.
template <class Of, class Number>
Rows& add(Rows& rows, Of ServingReport::*of, Number Of::*number, const char* path,
          const char* label, const char* meaning) {
  return rows.figure(
      path, label, [=](const ServingReport& report) { return report.*of.*number; }, meaning,
      simulated);
}

template <class Rate>
Rows& add_rate(Rows& rows, const char* path, const char* label, Rate rate, const char* meaning,
               const char* formula = simulated) {
  return rows.figure(path, label, rate, meaning, formula)
      .more_is_better()
      .banded([rate](const ServingReport& report) { return rate_banded(report, rate(report)); });
}

void add_rates(Rows& rows) {
  using R = const ServingReport&;
  constexpr auto summary = &ServingReport::summary;
  add_rate(
      rows, "results.requests_per_s", "requests/s",
      [](R report) { return report.summary.requests_per_s; }, "Requests answered per second.");
  add_rate(
      rows, "results.output_tokens_per_s", "output tokens/s",
      [](R report) { return report.summary.output_tokens_per_s; }, "Tokens of answers per second.")
      .leads();
  add_rate(
      rows, "results.output_tokens_per_s_per_gpu", "output tokens/s per GPU",
      [](R report) { return report.summary.output_tokens_per_s / report.mean_gpus(); },
      "Tokens of answers per second and GPU.")
      .leads();
  // What ranks: a deployment that breaks its goals earns nothing by its tokens.
  add_rate(
      rows, "results.good_output_tokens_per_s_per_gpu", "good output tokens/s per GPU",
      [](R report) {
        return report.summary.within_limits * report.summary.output_tokens_per_s /
               report.mean_gpus();
      },
      "Output tokens per second and GPU, times the share of requests that keep every goal; all of "
      "them without goals.",
      "results.output_tokens_per_s_per_gpu x results.within_goals")
      .leads()
      .ranks();
  add_rate(
      rows, "results.prompt_tokens_per_s", "prompt tokens/s",
      [](R report) { return report.summary.prompt_tokens_per_s; },
      "Tokens of answered prompts per second.");
  add(rows, summary, &ServingSummary::within_limits, "results.within_goals",
      "share of requests that keep the goals", "Share of requests that keep every goal, 0 to 1.")
      .more_is_better()
      .leads();
  add(rows, summary, &ServingSummary::goodput_per_s, "results.goodput_requests_per_s",
      "requests/s that keep the goals", "Requests per second that keep every goal.")
      .more_is_better();
}

void add_use(Rows& rows) {
  constexpr auto sample = &ServingReport::sample;
  add(rows, sample, &ServingSample::mean_running, "results.mean_running", "running",
      "Requests that run, on average.");
  add(rows, sample, &ServingSample::mean_waiting, "results.mean_waiting", "waiting",
      "Requests that wait, on average.");
  add(rows, sample, &ServingSample::longest_queue, "results.longest_queue", "longest queue",
      "Most requests that waited at once.");
  add(rows, sample, &ServingSample::waiting_at_end, "results.waiting_at_end", "waiting at the end",
      "Requests that wait when the load ends.");
  add(rows, sample, &ServingSample::preemptions, "results.preemptions", "preemptions",
      "Requests that made room in the cache and started over.");
  add(rows, sample, &ServingSample::busy, "results.busy", "busy",
      "Share of the time in which replicas compute; of those that prefill where there are some, 0 "
      "to 1.");
  rows.figure(
      "results.decode_busy", "decode busy",
      [](const ServingReport& report) {
        return report.ready.prefill ? std::optional(report.sample.decode_busy) : std::nullopt;
      },
      "The same of replicas that only decode; null: there are none.", simulated);
  add(rows, sample, &ServingSample::most_cache, "results.most_cache", "fullest cache",
      "Share of the cache that was taken at most, 0 to 1.");
  rows.figure(
          "results.prompt_found", "prompts found in caches",
          [](const ServingReport& report) {
            const ServingSample& seen = report.sample;
            return seen.asked > 0.0 ? std::optional(seen.found / seen.asked) : std::nullopt;
          },
          "Share of prompt tokens that caches held: shared prefixes, earlier turns, 0 to 1.",
          simulated)
      .more_is_better();
  add(rows, sample, &ServingSample::mean_replicas, "results.mean_replicas", "replicas on average",
      "Replicas that were there, starting ones included; those that prefill where there are some.");
  add(rows, sample, &ServingSample::most_replicas, "results.most_replicas", "replicas at most",
      "Most replicas that were there at once.");
  add(rows, sample, &ServingSample::transferred, "results.transferred_bytes", "moved cache",
      "Bytes of caches from replicas that prefill to others.");
  add(rows, sample, &ServingSample::steps, "results.steps", "steps", "Steps that were simulated.");
}

Rows& add_cost(Rows& rows, double ServingCost::*dollars, const char* path, const char* label,
               const char* meaning) {
  return rows.figure(
      path, label,
      [dollars](const ServingReport& report) {
        return report.cost ? std::optional((*report.cost).*dollars) : std::nullopt;
      },
      meaning, "price per GPU-hour x GPUs / tokens per hour");
}

/// Its band is that of the output that it is divided by.
auto of_output(double ServingCost::*dollars) {
  return [dollars](const ServingReport& report) {
    return report.cost ? std::optional(inverse_banded(report, (*report.cost).*dollars))
                       : std::nullopt;
  };
}

Rows make_rows() {
  constexpr auto sample = &ServingReport::sample;
  Rows rows;
  rows.figure(
          "gpus", "GPUs", [](const ServingReport& report) { return report.ready.gpus(); },
          "GPUs that the deployment takes.", "replicas x tensor x pipeline x attention data ranks")
      .leads();
  add(rows, &ServingReport::summary, &ServingSummary::requests, "results.requests", "requests",
      "Requests that were counted.");
  add(rows, sample, &ServingSample::submitted, "results.submitted", "submitted",
      "Requests that came, the warm-up included.");
  add(rows, sample, &ServingSample::rejected, "results.rejected", "refused",
      "Requests that are larger than a replica's cache.");
  add(rows, sample, &ServingSample::counted_s, "results.counted_s", "counted time",
      "Time in which requests were counted.");
  for (const TimesRow& kind : kinds_of_time) add_times(kind, rows);
  add_rates(rows);
  rows.figure(
          "results.chance", "chance to keep the goals", &ServingReport::chance,
          "Chance that the deployment keeps up with its load and keeps every goal, 0 to 1; null: "
          "nothing is asked of it.",
          "from the bands of the engine's profile")
      .more_is_better();
  add_use(rows);
  using Cost = ServingCost;
  add_cost(rows, &Cost::dollars_per_hour, "cost.usd_per_hour", "cost per hour",
           "Dollars per hour of all GPUs.");
  add_cost(rows, &Cost::per_million_output, "cost.usd_per_million_output_tokens",
           "cost per million output tokens", "Dollars per million tokens of answers.")
      .banded(of_output(&Cost::per_million_output))
      .leads();
  add_cost(rows, &Cost::per_million_tokens, "cost.usd_per_million_tokens",
           "cost per million tokens", "Dollars per million tokens of prompts and answers.")
      .banded(of_output(&Cost::per_million_tokens));
  rows.figure("prompt_s", "one prompt alone", &ServingReport::prompt,
              "One mean prompt on an idle replica.", "models/serving/README.md, \"Step\"");
  return rows;
}

}  // namespace

const ValueTable<ServingReport>& serving_values() {
  static const Rows rows = make_rows();
  return rows;
}

}  // namespace foretrain
