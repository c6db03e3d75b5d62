// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "planner/post_training/post_training_study.hpp"
#include "planner/serving/internal/serving_words.hpp"
#include "planner/text/json.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

Json banded_tree(const BandedTime& time) {
  return {{"time_s", time.time.value()}, {"low_s", time.low.value()}, {"high_s", time.high.value()}};
}

/// "weight_synchronisation_s".
std::string part_key(const char* name) {
  std::string key;
  for (const char* letter = name; *letter != '\0'; ++letter)
    key += *letter == ' ' || *letter == '-' ? '_' : *letter;
  return key + "_s";
}

Json parts_tree(const PostTrainingParts& parts) {
  Json tree = Json::object();
  for (const PostTrainingRow& row : post_training_rows)
    tree[part_key(row.name)] = (parts.*row.time).value();
  return tree;
}

Json rollout_tree(const PostTrainingReport& report) {
  const RolloutForecast& rollout = report.forecast.rollout;
  Json tree = serving_words::layout_tree(report.setup.rollout.layout);
  tree["engine"] = report.setup.rollout.engine.name;
  tree["answers"] = rollout.answers;
  tree["tokens"] = rollout.tokens;
  tree["half_s"] = rollout.half.value();
  tree["p90_s"] = rollout.most.value();
  tree["last_s"] = rollout.time.value();
  tree["longest_tokens"] = rollout.longest;
  tree["running_at_start"] = rollout.first_running;
  tree["running_mean"] = rollout.running;
  tree["restarted"] = rollout.restarted;
  tree["steady_tokens_per_s"] = rollout.steady_tokens_per_s;
  return tree;
}

Json cost_tree(const std::optional<PostTrainingCost>& cost) {
  if (!cost) return nullptr;
  return {{"usd_per_step", cost->per_step},
          {"usd_per_thousand_samples", cost->per_thousand_samples}};
}

}  // namespace

std::string post_training_json(const PostTrainingReport& report) {
  const PostTrainingForecast& forecast = report.forecast;
  const bool runs = forecast.reasons.empty();
  Json tree{{"schema", "post-training/1"},
            {"foretrain_version", version},
            {"name", report.name},
            {"model", report.setup.policy.model.name},
            {"algorithm", name_of(report.setup.plan.algorithm)},
            {"feasible", runs},
            {"reasons", serving_words::reasons_tree(forecast.reasons)}};
  if (!runs) return dump(tree);
  tree["gpus"] = forecast.gpus;
  tree["step"] = banded_tree(forecast.step);
  tree["generation"] = banded_tree(forecast.generation);
  tree["training"] = banded_tree(forecast.training);
  tree["parts"] = parts_tree(forecast.parts);
  tree["rollout"] = rollout_tree(report);
  tree["updates"] = forecast.updates;
  tree["samples_per_s"] = forecast.samples_per_s;
  tree["tokens_per_s"] = forecast.tokens_per_s;
  const bool apart = report.setup.plan.placement == RolloutPlacement::separate;
  const auto idle = [&](Seconds time) { return apart ? Json(time.value()) : Json(nullptr); };
  tree["generation_idle_s"] = idle(forecast.generation_idle);
  tree["training_idle_s"] = idle(forecast.training_idle);
  tree["trainer_memory_bytes"] =
      forecast.policy.memory ? Json(forecast.policy.memory->peak.value()) : Json(nullptr);
  tree["host_bytes_per_gpu"] = forecast.sleeping.value();
  tree["cost"] = cost_tree(report.cost);
  Json warnings = Json::array();
  for (const Warning& warning : forecast.warnings)
    warnings.push_back({{"id", warning.id}, {"message", warning.message}});
  tree["warnings"] = std::move(warnings);
  return dump(tree);
}

}  // namespace foretrain
