// SPDX-License-Identifier: Apache-2.0

#include "planner/serving/serving_fit.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <utility>

#include "models/base/too_large.hpp"
#include "planner/answer/value_json.hpp"
#include "planner/serving/serving_study.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
namespace {

using serving_words::reasons_section;
using serving_words::replicas_text;

PoolFit pool_fit(std::string name, const ReadyPool& pool, double request) {
  PoolFit fit;
  fit.name = std::move(name);
  fit.pool = pool;
  const int groups = pool.deployment.layout.attention_data;
  const double of_group = std::floor(pool.cache.sequences(request));
  fit.requests = of_group * groups;
  fit.memory = serving_memory(pool.deployment, of_group, request);
  fit.longest = pool.cache.longest();
  for (double tokens = 1024.0; tokens <= fit.longest && tokens <= 2e6; tokens *= 4.0)
    fit.rooms.push_back({tokens, std::floor(pool.cache.sequences(tokens)) * groups});
  return fit;
}

AnswerSection pool_section(const PoolFit& fit, double request) {
  AnswerTable rows{{words_column(), number_column(), number_column()}};
  for (const MemoryRow& row : fit.memory.rows)
    rows.add({row.name, bytes_text(row.size), percent_text(row.size / fit.memory.usable)});
  rows.add(
      {"together", bytes_text(fit.memory.need), percent_text(fit.memory.need / fit.memory.usable)});
  rows.add({"usable by the engine", bytes_text(fit.memory.usable), ""});
  AnswerLine holds{fmt::format(
      "A replica holds {} requests of {} tokens at once, {} of cache for a token on a GPU; one "
      "request alone may have {} tokens.",
      with_thousands(std::llround(fit.requests)), with_thousands(std::llround(request)),
      bytes_text(Bytes{fit.pool.cache.bytes_per_token()}),
      with_thousands(std::llround(std::min(fit.longest, 1e15))))};
  AnswerTable room{{number_column("tokens"), number_column("requests")}};
  for (const ServingRoom& each : fit.rooms)
    room.add(
        {with_thousands(std::llround(each.tokens)), with_thousands(std::llround(each.requests))});
  return {fmt::format("{}: {}, heaviest GPU", fit.name, replicas_text(fit.pool.deployment.layout)),
          {std::move(rows), std::move(holds), std::move(room)}};
}

const ValueTable<MemoryRow> memory_values = ValueTable<MemoryRow>{}
                                                .add("name", &MemoryRow::name)
                                                .add("category", &MemoryRow::category)
                                                .add("bytes", &MemoryRow::size);

const ValueTable<ServingRoom> room_values =
    ValueTable<ServingRoom>{}
        .add("tokens", &ServingRoom::tokens, "Length of a request.")
        .add("requests", &ServingRoom::requests, "Requests of that length that fit at once.");

ValueTable<PoolFit> make_pool_values() {
  using R = const PoolFit&;
  return ValueTable<PoolFit>{}
      .add_from(serving_words::layout_values().rows(), "",
                [](R fit) -> const ServingLayout& { return fit.pool.deployment.layout; })
      .add("pool", &PoolFit::name)
      .add(
          "rows", [](R fit) { return fit.memory.rows; }, memory_values)
      .add("need_bytes", [](R fit) { return fit.memory.need; })
      .add("usable_bytes", [](R fit) { return fit.memory.usable; })
      .add("cache_bytes_per_token", [](R fit) { return fit.pool.cache.bytes_per_token(); })
      .add("requests", &PoolFit::requests, "Requests of mean length that fit at once.")
      .add("longest_tokens", &PoolFit::longest, "Longest request that fits alone, in tokens.")
      .add("room", &PoolFit::rooms, room_values);
}

const ValueTable<ServingFit>& serving_fit_table() {
  static const auto pools = make_pool_values();
  static const auto table =
      ValueTable<ServingFit>{"serving-memory/1",
                             "foretrain fit --json of a deployment: schema serving-memory/1"}
          .add("name", &ServingFit::name)
          .add("model", &ServingFit::model)
          .add("fits", [](const ServingFit& fit) { return fit.reasons.empty(); })
          .add("reasons", &ServingFit::reasons, reason_values())
          .add("request_tokens", &ServingFit::request, "Tokens of the mean request.")
          .add("pools", &ServingFit::pools, pools);
  return table;
}

}  // namespace

ServingFit judge_serving_fit(const Scenario& scenario) {
  return judge_serving_fit(scenario, ready_serving(scenario));
}

ServingFit judge_serving_fit(const Scenario& scenario, const ReadyServing& ready) {
  ServingFit fit;
  fit.name = scenario.job.name;
  fit.model = scenario.job.model.name;
  fit.request = mean_request(ready.plan.load);
  fit.reasons = ready.reasons;
  if (!fit.reasons.empty()) return fit;
  if (ready.prefill) fit.pools.push_back(pool_fit("prefill", *ready.prefill, fit.request));
  fit.pools.push_back(pool_fit(ready.prefill ? "decode" : "serve", ready.serve, fit.request));
  return fit;
}

Answer serving_fit_answer(const ServingFit& fit) {
  Answer answer;
  answer.head.subject = fit.name;
  answer.head.made_by = "memory";
  answer.head.verdict = fit.reasons.empty() ? Verdict::safe : Verdict::no;
  answer.head.words = fit.reasons.empty() ? "FITS" : "CANNOT RUN";
  answer.head.sentence = "Memory of serving " + fit.model + ".";
  for (const PoolFit& pool : fit.pools)
    answer.head.figures.push_back(
        {pool.name, bytes_text(pool.memory.need), "", bytes_text(pool.memory.usable) + " usable"});
  answer.add(reasons_section(fit.reasons));
  for (const PoolFit& pool : fit.pools) answer.add(pool_section(pool, fit.request));
  return answer;
}

std::string serving_fit_json(const ServingFit& fit) { return json_text(serving_fit_table(), fit); }

const ValueRows& serving_fit_document() { return serving_fit_table().rows(); }

namespace {

/// Chance that what is `ratio` 1 in the forecast turns out to be at most that.
double share_below(double ratio, const ResidualBand& band) {
  return chance_below({band.low, 1.0, band.high}, ratio);
}

bool keeps_up(const ServingReport& report, double pace, const std::atomic<bool>* stop) {
  try {
    return !summary_of(simulate_serving(serving_model(report.ready, pace), {60, stop}), {})
                .overloaded;
  } catch (const TooLarge&) {
    return false;
  }
}

/// The share of the forecast's throughput that the load needs, between the ends of the band and a
/// little beyond; halved until it is known to a few percent.
double chance_to_keep_up(const ServingReport& report, const std::atomic<bool>* stop) {
  constexpr int halvings = 4;
  const ResidualBand& band = report.bands.throughput;
  const bool over = report.summary.overloaded;
  const double end = over ? std::max(1.0, band.high) : std::min(1.0, band.low);
  double enough = over ? end * end : 1.0;
  double too_little = over ? 1.0 : end * end;
  for (int i = 0; i < halvings && enough > too_little; ++i) {
    // The ends themselves are known.
    const double middle = i == 0 ? end : std::sqrt(enough * too_little);
    const bool known = i == 0 && (over ? report.ends.fast : report.ends.slow).has_value();
    const bool kept = known ? !(over ? report.ends.fast : report.ends.slow)->summary.overloaded
                            : keeps_up(report, 1.0 / middle, stop);
    (kept ? enough : too_little) = middle;
  }
  return 1.0 - share_below(std::sqrt(enough * too_little), band);
}

}  // namespace

std::optional<double> chance_of_goals(const ServingReport& report, const std::atomic<bool>* stop) {
  if (report.goals.empty() && !report.ends.asked) return std::nullopt;
  if (report.sample.rejected > 0) return 0.0;
  double chance = report.ends.asked ? chance_to_keep_up(report, stop) : 1.0;
  for (const GoalVerdict& goal : report.goals) {
    const ResidualBand& band = goal.name == "ttft" ? report.bands.ttft : report.bands.tpot;
    // Of an overloaded deployment waiting times say how long it was watched.
    if (report.summary.overloaded && goal.name == "ttft") continue;
    if (goal.reached > Seconds{})
      chance = std::min(chance, share_below(goal.limit / goal.reached, band));
  }
  return chance;
}

}  // namespace foretrain
