// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "planner/answer/study_json.hpp"
#include "planner/serving/internal/serving_words.hpp"
#include "planner/serving/serving_study.hpp"
#include "planner/text/json.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace serving_words {

Json layout_tree(const ServingLayout& layout) {
  return {{"replicas", layout.replicas},
          {"gpus", layout.gpus() * layout.replicas},
          {"tensor", layout.tensor},
          {"pipeline", layout.pipeline},
          {"attention_data", layout.attention_data},
          {"expert", layout.expert}};
}

Json reasons_tree(const std::vector<Infeasible>& reasons) {
  Json tree = Json::array();
  for (const Infeasible& reason : reasons)
    tree.push_back({{"rule", reason.rule},
                    {"key", reason.key},
                    {"message", reason.message},
                    {"remedy", reason.remedy}});
  return tree;
}

Json cost_tree(const std::optional<ServingCost>& cost) {
  if (!cost) return nullptr;
  return {{"usd_per_hour", cost->dollars_per_hour},
          {"usd_per_million_output_tokens", cost->per_million_output},
          {"usd_per_million_tokens", cost->per_million_tokens}};
}

Json warnings_tree(const std::vector<Warning>& warnings) {
  Json tree = Json::array();
  for (const Warning& warning : warnings)
    tree.push_back({{"id", warning.id}, {"message", warning.message}});
  return tree;
}

}  // namespace serving_words

namespace {

using serving_words::layout_tree;
using serving_words::reasons_tree;

Json goals_tree(const ServingReport& report) {
  Json tree = Json::array();
  for (const GoalVerdict& goal : report.goals)
    tree.push_back({{"metric", goal.name},
                    {"percentile", report.ready.plan.goals.percentile},
                    {"limit_s", goal.limit.value()},
                    {"reached_s", goal.reached.value()},
                    {"low_s", number_or_null(goal.band.low)},
                    {"high_s", number_or_null(goal.band.high)},
                    {"kept", goal.kept()}});
  return tree;
}

Json pool_tree(const ReadyPool& pool) {
  Json tree = layout_tree(pool.deployment.layout);
  tree["sequences"] = pool.scheduler.sequences;
  tree["token_budget"] = pool.scheduler.token_budget;
  tree["mixed_steps"] = pool.scheduler.chunked_prefill;
  tree["cache"] = {{"block_tokens", pool.scheduler.block_tokens},
                   {"blocks", pool.blocks},
                   {"bytes_per_token_per_gpu", pool.cache.bytes_per_token()},
                   {"available_bytes_per_gpu", pool.cache.available.value()},
                   {"weight_bytes_per_gpu", pool.cache.weights.value()}};
  return tree;
}

Json step_tree(const StepTime& time) {
  return {{"total", time.total().value()},
          {"attention_projections", time.attention_projections.value()},
          {"attention", time.attention.value()},
          {"mlp", time.mlp.value()},
          {"experts", time.experts.value()},
          {"state", time.state.value()},
          {"elementwise", time.elementwise.value()},
          {"tensor_exchange", time.tensor_exchange.value()},
          {"expert_exchange", time.expert_exchange.value()},
          {"stage_exchange", time.stage_exchange.value()},
          {"output", time.output.value()},
          {"launch", time.launch.value()},
          {"host", time.host.value()},
          {"draft", time.draft.value()}};
}

Json series_of(const ServingSample& sample) {
  Json waiting = Json::array();
  Json running = Json::array();
  Json tokens = Json::array();
  const double bin_s =
      sample.counted_s / std::max<double>(1.0, static_cast<double>(sample.bins.size()));
  for (const ServingBin& bin : sample.bins) {
    waiting.push_back(bin.waiting);
    running.push_back(bin.running);
    tokens.push_back(bin_s > 0.0 ? bin.tokens / bin_s : 0.0);
  }
  return {{"step_s", bin_s},
          {"waiting_requests", std::move(waiting)},
          {"running_requests", std::move(running)},
          {"output_tokens_per_s", std::move(tokens)}};
}

/// The numbers of the rows; groups without any stay null.
void put_results(const ServingReport& report, bool counted, Json& tree) {
  put_figures(figures_of(serving_rows(), report, counted), tree);
  if (!report.cost) tree["cost"] = nullptr;
  tree["results"]["overloaded"] = report.summary.overloaded;
  tree["results"]["series"] = series_of(report.sample);
}

/// 10th to 90th percentile of every number that has them; a high end of null has no bound.
Json ranges_of(const ServingReport& report) {
  Json tree = Json::array();
  if (report.ready.reasons.empty() && report.summary.requests > 0)
    for (const StudyFigure& figure : figures_of(serving_rows(), report, true))
      if (figure.band)
        tree.push_back({{"path", figure.path},
                        {"low", number_or_null(figure.band->low)},
                        {"high", number_or_null(figure.band->high)}});
  return tree;
}

}  // namespace

std::string serving_json(const ServingReport& report) {
  const ReadyServing& ready = report.ready;
  const EngineProfile& engine = ready.serve.deployment.engine;
  const bool runs = ready.reasons.empty();
  Json tree = {
      {"schema", "serving/1"},
      {"foretrain_version", version},
      {"name", report.name},
      {"model", report.model},
      {"device", report.device},
      {"engine", engine.name},
      {"seed", ready.plan.seed},
      {"gpus", ready.gpus()},
      {"verdict", name_of(report.verdict())},
      {"stopped", report.stopped},
      {"reasons", reasons_tree(ready.reasons)},
      {"serve", runs ? pool_tree(ready.serve) : layout_tree(ready.serve.deployment.layout)},
      {"prefill", nullptr}};
  if (ready.prefill)
    tree["prefill"] =
        runs ? pool_tree(*ready.prefill) : layout_tree(ready.prefill->deployment.layout);
  tree["results"] = nullptr;
  tree["goals"] = goals_tree(report);
  tree["cost"] = nullptr;
  tree["decode_step"] = runs ? Json{{"sequences", report.decode.sequences},
                                    {"context", report.decode.context},
                                    {"time_s", step_tree(report.decode.time)}}
                             : Json(nullptr);
  tree["prompt_s"] = nullptr;
  if (runs) put_results(report, report.summary.requests > 0, tree);
  const auto band = [](const ResidualBand& range) -> Json {
    return {{"low", range.low}, {"high", range.high}};
  };
  const ServingBands bands =
      runs ? report.bands : ServingBands{engine.ttft, engine.tpot, engine.throughput};
  tree["band"] = {{"ttft", band(bands.ttft)},
                  {"tpot", band(bands.tpot)},
                  {"throughput", band(bands.throughput)}};
  tree["ranges"] = ranges_of(report);
  tree["warnings"] =
      serving_words::warnings_tree(runs ? serving_warnings(report) : std::vector<Warning>{});
  return dump(tree);
}

std::string serving_csv(const ServingReport& report) {
  std::string text = "submitted_s,started_s,first_token_s,ended_s,prompt,output,preempted\n";
  for (const ServedRequest& request : report.sample.requests)
    text += fmt::format("{},{},{},{},{},{},{}\n", request.submitted, request.started,
                        request.first_token, request.ended, request.prompt, request.output,
                        request.preempted);
  return text;
}

}  // namespace foretrain
