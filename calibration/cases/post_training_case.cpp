// SPDX-License-Identifier: Apache-2.0
#include "calibration/cases/post_training_case.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "calibration/cases/inference_case.hpp"
#include "calibration/cases/internal/record_parts.hpp"
#include "calibration/records/internal/words.hpp"
#include "models/post_training/post_training_plan.hpp"
#include "models/post_training/rollout.hpp"
#include "models/serving/serving_memory.hpp"

namespace foretrain {
namespace {

/// Of prompts, and of answers' lengths over their mean, where no source states them.
constexpr double usual_prompt = 150.0;
constexpr double usual_variation = 0.7;

/// Total lengths that published recipes of a loop set, by model; NeMo-RL's performance recipes.
struct RecipeLimit {
  std::string_view table;
  std::string_view model;
  double tokens;
};
constexpr std::array recipe_limits{RecipeLimit{"nemo_rl", "DeepSeek-V3", 1536.0},
                                   RecipeLimit{"nemo_rl", "", 4096.0}};

struct NamedTrainer {
  std::string_view word;  ///< in the record's trainer, algorithm or source
  PolicyLoop loop;
};
constexpr std::array trainers{NamedTrainer{"nemo", PolicyLoop::nemo_rl},
                              NamedTrainer{"verl", PolicyLoop::verl},
                              NamedTrainer{"openrlhf", PolicyLoop::openrlhf},
                              NamedTrainer{"slime", PolicyLoop::slime},
                              NamedTrainer{"relax", PolicyLoop::slime},
                              NamedTrainer{"skyrl", PolicyLoop::skyrl},
                              NamedTrainer{"trl", PolicyLoop::trl}};

PolicyLoop loop_of(const InferenceRecord& record) {
  const std::string words = lower(record.group + " " + record.source + " " + record.rl->trainer);
  for (const NamedTrainer& trainer : trainers)
    if (has_part(words, std::string(trainer.word))) return trainer.loop;
  return PolicyLoop::generic;
}

PolicyAlgorithm algorithm_of(const std::string& words) {
  const std::string word = lower(words);
  if (has_part(word, "dapo")) return PolicyAlgorithm::dapo;
  if (has_part(word, "ppo") && !has_part(word, "grpo")) return PolicyAlgorithm::ppo;
  if (has_part(word, "rloo")) return PolicyAlgorithm::rloo;
  return PolicyAlgorithm::grpo;
}

/// Tokens of an answer, and where a total rate is stated what it leaves for its prompt.
void lengths_of(const InferenceRecord& record, double samples, PostTrainingCase& made) {
  const PostTrainingRecord& rl = *record.rl;
  PostTrainingPlan& plan = made.setup.plan;
  const double step = record.rl_step_s.value_or(0.0);
  const double gpus = record.gpus.value_or(0);
  double answer = rl.answer.value_or(0.0);
  double whole = 0.0;
  if (samples > 0.0 && step > 0.0 && rl.tokens_per_s_per_gpu)
    whole = *rl.tokens_per_s_per_gpu * step * gpus / samples;
  if (answer <= 0.0 && samples > 0.0 && step > 0.0 && rl.response_tokens_per_s_per_gpu)
    answer = *rl.response_tokens_per_s_per_gpu * step * gpus / samples;
  double prompt = rl.prompt.value_or(0.0);
  if (prompt <= 0.0) prompt = whole > answer && answer > 0.0 ? whole - answer : usual_prompt;
  if (answer <= 0.0 && whole > prompt) answer = whole - prompt;
  if (answer <= 0.0) throw Skip{"the length of answers is not stated"};
  plan.prompt = {.mean = prompt};
  plan.answer = {.mean = answer, .variation = usual_variation};
  if (!rl.prompt) made.assumptions.emplace_back("prompts of usual length");
  if (rl.longest_answer) {
    plan.answer.most = static_cast<int>(*rl.longest_answer);
    if (answer >= *rl.longest_answer) plan.answer.variation = 0.0;
    return;
  }
  if (rl.longest_sequence) {
    const double most = *rl.longest_sequence - prompt;
    if (answer >= most) plan.answer.variation = 0.0;
    plan.answer.most = static_cast<int>(std::max(most, answer));
    return;
  }
  for (const RecipeLimit& limit : recipe_limits) {
    if (!has_part(lower(record.group), std::string(limit.table))) continue;
    if (!limit.model.empty() && record.model.name != limit.model) continue;
    made.assumptions.push_back(
        fmt::format("sequences of {:.0f} tokens at most, as the loop's "
                    "recipes set it",
                    limit.tokens));
    plan.answer.most = static_cast<int>(limit.tokens - prompt);
    if (plan.answer.most <= answer) plan.answer.most = 0;
    return;
  }
  made.assumptions.emplace_back("answers without a limit");
}

/// Answers of a step.
double samples_of(const InferenceRecord& record) {
  const PostTrainingRecord& rl = *record.rl;
  if (rl.batch) return *rl.batch;
  if (rl.prompts && rl.answers) return *rl.prompts * *rl.answers;
  const bool rate = rl.tokens_per_s && rl.answer && record.rl_step_s;
  if (rate) return std::round(*rl.tokens_per_s * *record.rl_step_s / *rl.answer);
  throw Skip{"answers per step are not stated"};
}

void batch_of(const InferenceRecord& record, PostTrainingCase& made) {
  const PostTrainingRecord& rl = *record.rl;
  PostTrainingPlan& plan = made.setup.plan;
  const double samples = samples_of(record);
  lengths_of(record, samples, made);
  double answers = rl.answers.value_or(rl.prompts ? std::round(samples / *rl.prompts) : 8.0);
  answers = std::clamp(answers, 1.0, samples);
  plan.answers = static_cast<int>(answers);
  plan.prompts = std::max(1, static_cast<int>(std::lround(samples / answers)));
  made.setup.policy.training.global_batch =
      static_cast<int>(std::min(samples, rl.update.value_or(samples)));
}

void placement_of(const InferenceRecord& record, PostTrainingCase& made) {
  const PostTrainingRecord& rl = *record.rl;
  PostTrainingPlan& plan = made.setup.plan;
  const bool apart = rl.placement.starts_with("separate");
  plan.placement = apart ? RolloutPlacement::separate : RolloutPlacement::colocated;
  if (apart && (!rl.generation_gpus || !rl.train_gpus))
    throw Skip{"how many GPUs generate and how many train is not stated"};
  const std::string id = lower(record.id);
  if (apart) plan.staleness = rl.staleness.value_or(1.0);
  plan.partial_rollouts = has_part(rl.placement, "async") || has_part(id, "async");
  if (plan.partial_rollouts && apart) plan.staleness = std::max(1.0, plan.staleness);
  if (has_part(id, "nemorl") && !plan.partial_rollouts && apart)
    made.assumptions.emplace_back("one step off policy");
  if (apart && plan.loop == PolicyLoop::nemo_rl) plan.sync = SyncPath::checkpoint_engine;
}

/// The narrowest replica that holds the weights and several long answers.
void widen_replica(Deployment& rollout, const PostTrainingPlan& plan) {
  constexpr double wanted = 8.0;
  const double request = plan.prompt.mean + 2.0 * plan.answer.mean;
  for (int tensor = 1; tensor <= 8; tensor *= 2) {
    rollout.layout.tensor = tensor;
    if (!deployment_reasons(rollout).empty()) continue;
    if (cache_size(rollout).sequences(request) >= wanted) return;
  }
}

void rollout_of(const InferenceRecord& record, const RunCatalog& catalog, PostTrainingCase& made) {
  const PostTrainingRecord& rl = *record.rl;
  Deployment& rollout = made.setup.rollout;
  const int gpus = rl.generation_gpus.value_or(record.gpus.value_or(0));
  if (gpus < 1) throw Skip{"the number of GPUs is not stated"};
  if (has_part(record.model.name, "-VL-")) throw Skip{"the tokens of its images are not stated"};
  rollout.model = recorded_model(record, catalog);
  rollout.cluster = recorded_cluster(record, gpus, catalog, made.assumptions);
  rollout.kernels = catalog.device_profiles.at(rollout.cluster.host.device.name);
  rollout.site = catalog.sites.at("default");
  const auto engine = catalog.engines.find(engine_of_record(record.engine));
  rollout.engine = catalog.engines.at(engine == catalog.engines.end() ? "generic" : engine->first);
  if (record.engine == "hf" || has_part(record.engine, "hybrid engine"))
    throw Skip{"generation by " + record.engine + " is not modelled"};
  if (record.weights == "fp8") {
    rollout.precision.attention = rollout.precision.linear = WeightFormat::fp8;
    rollout.precision.experts = WeightFormat::fp8;
  }
  rollout.layout.pipeline = rl.generation.pipeline.value_or(1);
  rollout.layout.expert = rl.generation.expert.value_or(1);
  if (rl.generation.tensor) {
    rollout.layout.tensor = *rl.generation.tensor;
  } else {
    widen_replica(rollout, made.setup.plan);
    made.assumptions.emplace_back("the narrowest replicas that fit");
  }
  rollout.layout.replicas = std::max(1, gpus / rollout.layout.gpus());
}

void policy_of(const InferenceRecord& record, const RunCatalog& catalog, PostTrainingCase& made) {
  const PostTrainingRecord& rl = *record.rl;
  Job& job = made.setup.policy;
  const bool apart = made.setup.plan.placement == RolloutPlacement::separate;
  const int gpus = apart ? *rl.train_gpus : record.gpus.value_or(0);
  job.name = record.id;
  job.model = made.setup.rollout.model;
  job.cluster = recorded_cluster(record, gpus, catalog, made.assumptions);
  if (gpus < job.cluster.host.gpus) job.cluster.host = part_of(job.cluster.host, gpus);
  job.device_profile = catalog.device_profiles.at(job.cluster.host.device.name);
  job.site = catalog.sites.at("default");
  const std::string words = lower(rl.trainer + " " + record.source + " " + record.group);
  const bool megatron = has_part(words, "megatron") || has_part(words, "nemo") || rl.train.pipeline;
  const bool deepspeed = has_part(words, "deepspeed") || has_part(words, "openrlhf");
  job.stack = catalog.stacks.at(megatron    ? "megatron-core"
                                : deepspeed ? "deepspeed-zero3"
                                            : "fsdp2");
  Parallel& parallel = job.parallel;
  parallel.tensor = rl.train.tensor.value_or(1);
  parallel.sequence = parallel.tensor > 1;
  parallel.context = rl.train.context.value_or(1);
  parallel.pipeline = rl.train.pipeline.value_or(1);
  parallel.expert = rl.train.expert.value_or(1);
  // Frameworks spread experts over tensor ranks unless they are told not to.
  if (parallel.expert > 1) parallel.expert_tensor = rl.train.expert_tensor.value_or(1);
  parallel.zero = megatron ? 1 : 3;
  const int model = parallel.tensor * parallel.context * parallel.pipeline;
  if (gpus < 1 || gpus % model != 0) throw Skip{"the trainer's layout does not divide its GPUs"};
  parallel.data = gpus / model;
  const PostTrainingPlan& plan = made.setup.plan;
  const double longest = TokenLengths{plan.answer}.longest(std::ceil(plan.generated()));
  // Rows of NeMo-RL are as long as the longest sequence, those of the others hold a budget of
  // tokens.
  constexpr double usual_row = 16384.0;
  const double least = plan.loop == PolicyLoop::nemo_rl ? 0.0 : usual_row;
  const double whole = std::max(least, plan.prompt.mean + longest);
  const int multiple = 2 * parallel.tensor * parallel.context;
  job.training.sequence = static_cast<int>(std::ceil(whole / multiple)) * multiple;
  job.training.samples.layout = SampleLayout::packed;
  if (record.compute == "fp8" && job.cluster.host.device.peak_of(Precision::fp8) > FlopPerSecond{})
    job.training.precision = Precision::fp8;
}

PostTrainingForecast forecast_of(PostTrainingCase& made) {
  PostTrainingForecast forecast;
  for (const RecomputeKind kind : {RecomputeKind::none, RecomputeKind::full}) {
    made.setup.policy.memory.recompute = {};
    made.setup.policy.memory.recompute.kind = kind;
    forecast = post_training_step(made.setup);
    if (forecast.reasons.empty()) break;
  }
  if (!forecast.reasons.empty()) throw Skip{forecast.reasons.front().message};
  return forecast;
}

PostTrainingCase made_step(const InferenceRecord& record, const RunCatalog& catalog) {
  PostTrainingCase made;
  PostTrainingPlan& plan = made.setup.plan;
  plan.algorithm = algorithm_of(record.rl->algorithm);
  if (record.rl->algorithm == "dapo")
    throw Skip{"dynamic sampling: the share of prompts that it keeps is not stated"};
  plan.loop = loop_of(record);
  batch_of(record, made);
  placement_of(record, made);
  rollout_of(record, catalog, made);
  policy_of(record, catalog, made);
  made.forecast = forecast_of(made);
  return made;
}

}  // namespace

BandedTime PostTrainingCase::generation() const {
  BandedTime time = forecast.generation;
  if (!generation_counts_sync(setup.plan.loop)) return time;
  const Seconds added = forecast.parts.sync + forecast.parts.turn;
  return {time.time + added, time.low + added, time.high + added};
}

PostTrainingQuestion post_training_case(const InferenceRecord& record, const RunCatalog& catalog) {
  PostTrainingQuestion question;
  try {
    question.asked = made_step(record, catalog);
  } catch (const Skip& skip) {
    question.why = skip.why;
  }
  return question;
}

}  // namespace foretrain
