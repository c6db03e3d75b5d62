// SPDX-License-Identifier: Apache-2.0
#include "planner/serving/serving_fit.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "planner/serving/internal/serving_words.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

using serving_words::layout_tree;
using serving_words::reasons_section;
using serving_words::reasons_tree;
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

Json pool_tree(const PoolFit& fit) {
  Json rows = Json::array();
  for (const MemoryRow& row : fit.memory.rows)
    rows.push_back({{"name", row.name}, {"category", row.category}, {"bytes", row.size.value()}});
  Json rooms = Json::array();
  for (const ServingRoom& room : fit.rooms)
    rooms.push_back({{"tokens", room.tokens}, {"requests", room.requests}});
  Json tree = layout_tree(fit.pool.deployment.layout);
  tree["pool"] = fit.name;
  tree["rows"] = std::move(rows);
  tree["need_bytes"] = fit.memory.need.value();
  tree["usable_bytes"] = fit.memory.usable.value();
  tree["cache_bytes_per_token"] = fit.pool.cache.bytes_per_token();
  tree["requests"] = fit.requests;
  tree["longest_tokens"] = fit.longest;
  tree["room"] = std::move(rooms);
  return tree;
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

std::string serving_fit_json(const ServingFit& fit) {
  Json pools = Json::array();
  for (const PoolFit& pool : fit.pools) pools.push_back(pool_tree(pool));
  return dump({{"schema", "serving-memory/1"},
               {"foretrain_version", version},
               {"name", fit.name},
               {"model", fit.model},
               {"fits", fit.reasons.empty()},
               {"reasons", reasons_tree(fit.reasons)},
               {"request_tokens", fit.request},
               {"pools", std::move(pools)}});
}

}  // namespace foretrain
