// SPDX-License-Identifier: Apache-2.0
// models/post_training/README.md, "A step".
#include "models/post_training/post_training_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "models/forecast/closed_form.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/layers/row_statistics.hpp"
#include "models/post_training/post_training_plan.hpp"
#include "models/post_training/rollout.hpp"
#include "models/serving/deployment.hpp"
#include "models/serving/serving_memory.hpp"
#include "models/step/step_costs.hpp"

namespace foretrain {
namespace {

int whole_rows(const Job& job, double rows) {
  const double each = 1.0 * job.training.micro_batch * job.parallel.data;
  auto microbatches = static_cast<int>(std::ceil(rows / each - 1e-9));
  microbatches = std::max(1, microbatches);
  // Interleaved schedules take micro-batches in groups as large as the pipeline.
  if (job.parallel.virtual_stages > 1) {
    const int group = job.parallel.pipeline;
    microbatches = (microbatches + group - 1) / group * group;
  }
  return microbatches * job.training.micro_batch * job.parallel.data;
}

/// Each stage's forward pass of one micro-batch.
Seconds forward_of(const StepCosts& costs, int stage) {
  Seconds sum;
  for (int chunk = 0; chunk < costs.shape.chunks; ++chunk)
    sum += costs.at({stage, chunk}).forward.total();
  return sum;
}

/// The longest answer has to fit with its prompt.
void check_longest(const PostTrainingSetup& setup, std::vector<Infeasible>& reasons) {
  const PostTrainingPlan& plan = setup.plan;
  const double longest =
      plan.prompt.mean + TokenLengths{plan.answer}.longest(std::ceil(plan.generated()));
  const CacheSize cache = cache_size(setup.rollout);
  if (cache.longest() >= longest) return;
  reasons.push_back({"out-of-memory", "serving.parallel",
                     fmt::format("The longest answer with its prompt has {:.0f} tokens, and the "
                                 "cache of a GPU holds {:.0f}: {:.1f} GiB beside the weights",
                                 longest, cache.longest(), cache.available.in(GiB)),
                     "more ranks per replica, or fewer bits"});
}

/// Rows of training hold whole answers, and updates no more answers than a step has.
std::vector<Infeasible> batch_reasons(const PostTrainingSetup& setup) {
  const PostTrainingPlan& plan = setup.plan;
  const Training& training = setup.policy.training;
  std::vector<Infeasible> reasons;
  const double longest =
      plan.prompt.mean + TokenLengths{plan.answer}.longest(std::ceil(plan.generated()));
  if (longest > training.sequence + 1.0)
    reasons.push_back(
        {"answers-fit-rows", "training.sequence",
         fmt::format("The longest answer with its prompt has {:.0f} tokens, and a row "
                     "of training holds {}",
                     longest, training.sequence),
         fmt::format("training.sequence: {:.0f}, or post_training.answer.most",
                     std::ceil(longest))});
  if (training.global_batch > plan.samples())
    reasons.push_back({"answers-fill-update", "training.global_batch",
                       fmt::format("An update of {} answers is more than a step has: {:.0f}",
                                   training.global_batch, plan.samples()),
                       fmt::format("training.global_batch: {:.0f}", plan.samples())});
  return reasons;
}

std::vector<Infeasible> rollout_reasons(const PostTrainingSetup& setup) {
  std::vector<Infeasible> reasons = deployment_reasons(setup.rollout);
  if (reasons.empty()) check_longest(setup, reasons);
  return reasons;
}

/// What a GPU keeps between two steps of training, of the stage that keeps most.
Bytes resident_states(const PostTrainingPlan& plan, const Prediction& policy) {
  Bytes most;
  if (!policy.memory) return most;
  for (const StageMemory& stage : policy.memory->stages)
    most = max(most, stage.weights + stage.optimizer);
  // A critic of the policy's size rests beside it.
  return (plan.critic() ? 2.0 : 1.0) * most;
}

/// States of the trainer that stay on the device beside the engine's share of it.
void check_beside(const PostTrainingSetup& setup, const Prediction& policy,
                  std::vector<Infeasible>& reasons) {
  if (setup.plan.placement == RolloutPlacement::separate || setup.plan.offload) return;
  const Bytes usable = setup.policy.cluster.host.device.usable_memory;
  const Bytes engine =
      setup.rollout.engine.rules.memory_share * setup.policy.cluster.host.device.memory;
  const Bytes resident = resident_states(setup.plan, policy);
  if (engine + resident <= usable) return;
  reasons.push_back(
      {"out-of-memory", "post_training.offload",
       fmt::format("The engine takes {:.1f} GiB and the trainer's states {:.1f} GiB "
                   "of {:.1f} GiB",
                   engine.in(GiB), resident.in(GiB), usable.in(GiB)),
       fmt::format("post_training.offload: true, or serving.memory_share: {:.2f}",
                   std::max(0.0, (usable - resident) / setup.policy.cluster.host.device.memory))});
}

void forecast_learning(const PostTrainingSetup& setup, const Job& job,
                       PostTrainingForecast& forecast) {
  const PostTrainingPlan& plan = setup.plan;
  PostTrainingParts& parts = forecast.parts;
  const int per_epoch = forecast.updates / plan.epochs;
  const Seconds scored = scoring_time(job, per_epoch);
  if (plan.old_log_probs) parts.log_probs = scored;
  if (plan.has_reference()) parts.reference = scored;
  if (plan.critic()) parts.values = scored;
  if (plan.reward_model) parts.reward = scored;
  parts.reward += plan.reward_time;
  // The last update of a step may be a short one.
  const double updates = plan.epochs * plan.samples() / setup.policy.training.global_batch;
  parts.training = updates * forecast.policy.step->time;
  if (plan.critic()) parts.critic = parts.training;
}

/// Generation that a step waits for: of partial rollouts, or where the next batch starts beside the
/// last answers of the one before, the engine is full all the time.
Seconds generation_time(const PostTrainingPlan& plan, const RolloutForecast& rollout) {
  const bool full = plan.partial_rollouts || plan.staleness > 1.0;
  if (!full || rollout.steady_tokens_per_s <= 0.0) return rollout.time;
  return min(rollout.time, Seconds{rollout.tokens / rollout.steady_tokens_per_s});
}

Seconds step_of(const PostTrainingPlan& plan, const PostTrainingParts& parts, Seconds learning) {
  const Seconds between = parts.turn + parts.sync + parts.loop;
  if (plan.placement == RolloutPlacement::separate && plan.overlaps())
    return max(parts.generation, learning) + between;
  return parts.generation + learning + between;
}

/// The root of the squares of two parts' logarithms, each with its share of the step.
double combined(double share_a, double ratio_a, double share_b, double ratio_b) {
  const double a = share_a * (ratio_a - 1.0);
  const double b = share_b * (ratio_b - 1.0);
  return std::hypot(a, b);
}

void add_bands(const PostTrainingSetup& setup, Seconds learning, PostTrainingForecast& forecast) {
  const double context = setup.plan.prompt.mean + setup.plan.answer.mean / 2.0;
  const ResidualBand engine =
      serving_bands(setup.rollout, std::max(1.0, std::round(forecast.rollout.running)), context)
          .throughput;
  const StepForecast& update = *forecast.policy.step;
  // Measured throughput over forecast: the time is its inverse.
  const double slow = 1.0 / std::max(1e-3, engine.low);
  const double fast = 1.0 / std::max(1e-3, engine.high);
  const double train_slow = update.high / update.time;
  const double train_fast = update.low / update.time;
  const Seconds generation = forecast.parts.generation;
  forecast.generation = {generation, fast * generation, slow * generation};
  const Seconds training = forecast.parts.training + forecast.parts.critic;
  forecast.training = {training, train_fast * training, train_slow * training};
  const Seconds step = forecast.step.time;
  const bool beside = setup.plan.placement == RolloutPlacement::separate && setup.plan.overlaps();
  const bool waits = beside && generation < learning;
  const double generating = waits ? 0.0 : generation / step;
  const double trained = beside && !waits ? 0.0 : learning / step;
  forecast.step.high = step * (1.0 + combined(generating, slow, trained, train_slow));
  forecast.step.low = step * (1.0 - combined(generating, fast, trained, train_fast));
}

void add_rates(const PostTrainingSetup& setup, PostTrainingForecast& forecast) {
  const PostTrainingPlan& plan = setup.plan;
  const double train_gpus = setup.policy.cluster.gpus();
  const bool apart = plan.placement == RolloutPlacement::separate;
  const ServingLayout& layout = setup.rollout.layout;
  forecast.gpus = train_gpus + (apart ? layout.gpus() * layout.replicas : 0);
  const double step = forecast.step.time.value();
  forecast.samples_per_s = plan.samples() / step;
  forecast.tokens_per_s = forecast.samples_per_s * (plan.prompt.mean + plan.answer.mean);
}

}  // namespace

Job policy_job(const Job& actor, const PostTrainingPlan& plan) {
  Job job = actor;
  job.fine_tuning.objective = Objective::policy;
  // Published loops leave prediction modules out: their logits are of no answer.
  job.model.mtp_layers = 0;
  const double prompt = TokenLengths{plan.prompt}.deviation();
  const double answer = TokenLengths{plan.answer}.deviation();
  job.training.samples.mean = plan.prompt.mean + plan.answer.mean;
  job.training.samples.deviation = std::hypot(prompt, answer);
  job.training.samples.lengths.clear();
  double rows = actor.training.global_batch;
  if (job.training.samples.layout == SampleLayout::packed)
    rows *= std::min<double>(job.training.samples.mean, job.training.sequence) /
            row_statistics(job).tokens;
  job.training.global_batch = whole_rows(job, rows);
  return job;
}

int policy_updates(const Job& actor, const PostTrainingPlan& plan) {
  const double each = std::max(1, actor.training.global_batch);
  return plan.epochs * std::max(1, static_cast<int>(std::ceil(plan.samples() / each - 1e-9)));
}

Seconds scoring_time(const Job& job, int updates_per_epoch) {
  const StepCosts costs = step_costs(job, stage_layout(job.model, job.parallel));
  Seconds slowest;
  Seconds through;
  const int stages = costs.shape.stages;
  for (int stage = 0; stage < stages; ++stage) {
    const Seconds forward = forward_of(costs, stage);
    slowest = max(slowest, forward);
    through += forward + (stage + 1 < stages ? costs.hop(stage, stage + 1) : Seconds{});
  }
  const double microbatches = 1.0 * updates_per_epoch * job.microbatches();
  return (through + (microbatches - 1.0) * slowest) * ((1.0 + costs.jitter) * costs.release);
}

Seconds PostTrainingForecast::learning() const {
  return parts.reward + parts.log_probs + parts.reference + parts.values + parts.training +
         parts.critic;
}

PostTrainingForecast post_training_step(const PostTrainingSetup& setup) {
  const PostTrainingPlan& plan = setup.plan;
  PostTrainingForecast forecast;
  const Job job = policy_job(setup.policy, plan);
  forecast.updates = policy_updates(setup.policy, plan);
  forecast.policy = closed_form(job);
  forecast.reasons = batch_reasons(setup);
  forecast.reasons.insert(forecast.reasons.end(), forecast.policy.reasons.begin(),
                          forecast.policy.reasons.end());
  std::vector<Infeasible> rollout = rollout_reasons(setup);
  std::move(rollout.begin(), rollout.end(), std::back_inserter(forecast.reasons));
  if (forecast.reasons.empty()) check_beside(setup, forecast.policy, forecast.reasons);
  if (!forecast.reasons.empty()) return forecast;
  forecast.warnings = forecast.policy.warnings;
  if (plan.critic() || plan.has_reference() || plan.reward_model)
    forecast.warnings.push_back(
        {"roles-memory",
         "the trainer's peak is the policy's alone: critic, reference and reward model, where they "
         "are not offloaded to host memory, come on top"});
  forecast.rollout = rollout_forecast(setup.rollout, plan);
  forecast_learning(setup, job, forecast);
  PostTrainingParts& parts = forecast.parts;
  const Bytes resident = resident_states(plan, forecast.policy);
  const LoopTimes loop = loop_times();
  parts.turn = turn_time(plan, job, resident);
  parts.generation = generation_time(plan, forecast.rollout);
  parts.sync = weight_sync_time(plan, setup.rollout);
  parts.loop = loop.step + plan.samples() * loop.answer;
  if (plan.placement == RolloutPlacement::colocated && plan.offload) forecast.sleeping = resident;
  const Seconds learning = forecast.learning();
  forecast.step.time = step_of(plan, parts, learning);
  forecast.generation_idle = max(Seconds{}, forecast.step.time - parts.generation - parts.sync);
  forecast.training_idle = max(Seconds{}, forecast.step.time - learning - parts.sync - parts.loop);
  add_bands(setup, learning, forecast);
  add_rates(setup, forecast);
  return forecast;
}

}  // namespace foretrain
