// SPDX-License-Identifier: Apache-2.0

#include "planner/post_training/post_training_study.hpp"

#include <array>
#include <iterator>
#include <utility>

#include "models/base/require.hpp"

namespace foretrain {

ReadyServing ready_rollout(const Scenario& scenario) {
  FORETRAIN_REQUIRE(scenario.post_training && scenario.serving && scenario.engine);
  ServingPlan plan = *scenario.serving;
  plan.load.prompt = scenario.post_training->prompt;
  plan.load.output = scenario.post_training->answer;
  return ready_serving(scenario, plan, scenario.generation);
}

PostTrainingReport study_post_training(const Scenario& scenario) {
  PostTrainingReport report;
  report.name = scenario.job.name;
  report.machine = scenario.job.cluster.host.title;
  ReadyServing ready = ready_rollout(scenario);
  report.setup = {*scenario.post_training, scenario.job, ready.serve.deployment};
  report.setup.rollout.layout.replicas = ready.plan.layout.replicas;
  if (ready.prefill)
    ready.reasons.push_back({"not-modelled", "serving.prefill.replicas",
                             "replicas that only prefill are not modelled in post-training",
                             "leave serving.prefill out"});
  if (!ready.reasons.empty()) {
    report.forecast.reasons = std::move(ready.reasons);
    return report;
  }
  report.forecast = post_training_step(report.setup);
  const auto& price = scenario.job.operations.price_per_gpu;
  if (price && report.forecast.reasons.empty()) {
    const double step = price->value() * report.forecast.gpus * report.forecast.step.time.value();
    report.cost = PostTrainingCost{step, 1000.0 * step / report.setup.plan.samples()};
  }
  return report;
}

namespace {

using Rows = ValueTable<PostTrainingReport>;
constexpr const char* equation = "models/post_training/README.md, \"A step\"";

struct BandedRow {
  const char* name;
  const char* label;
  const char* meaning;
  BandedTime PostTrainingForecast::*time;
};
constexpr std::array banded_rows{
    BandedRow{"step", "step", "One step of generation and training.", &PostTrainingForecast::step},
    BandedRow{"generation", "generation", "Until the last answer that is waited for.",
              &PostTrainingForecast::generation},
    BandedRow{"training", "training", "Updates of policy and critic.",
              &PostTrainingForecast::training}};

void add_banded(const BandedRow& kind, Rows& rows) {
  const auto add = [&](const char* key, const char* of, Seconds BandedTime::*end) -> Rows& {
    return rows.figure(
        std::string(kind.name) + "." + key, kind.label,
        [time = kind.time, end](const PostTrainingReport& report) {
          return report.forecast.*time.*end;
        },
        kind.meaning, of);
  };
  add("time_s", equation, &BandedTime::time)
      .leads()
      .banded([time = kind.time](const PostTrainingReport& report) {
        const BandedTime& banded = report.forecast.*time;
        return Banded{banded.low.value(), banded.time.value(), banded.high.value()};
      });
  add("low_s", "10th percentile of errors of generation and training", &BandedTime::low);
  add("high_s", "90th percentile of errors of generation and training", &BandedTime::high);
}

/// "parts.weight_synchronisation_s".
std::string part_path(const char* name) {
  std::string path = "parts.";
  for (const char* letter = name; *letter != '\0'; ++letter)
    path += *letter == ' ' || *letter == '-' ? '_' : *letter;
  return path + "_s";
}

template <class Number>
void add_rollout(Rows& rows, Number RolloutForecast::*number, const char* path, const char* label,
                 const char* meaning) {
  rows.figure(
      path, label,
      [number](const PostTrainingReport& report) { return report.forecast.rollout.*number; },
      meaning, "models/post_training/README.md, \"Generation\"");
}

void add_rollout(Rows& rows) {
  using R = RolloutForecast;
  add_rollout(rows, &R::answers, "rollout.answers", "answers",
              "Answers that are generated in a step.");
  add_rollout(rows, &R::tokens, "rollout.tokens", "tokens of answers", "Tokens of these answers.");
  add_rollout(rows, &R::half, "rollout.half_s", "half of the answers", "When half are done.");
  add_rollout(rows, &R::most, "rollout.p90_s", "90 % of the answers", "When 90 % are done.");
  add_rollout(rows, &R::time, "rollout.last_s", "last answer", "When the last answer is done.");
  add_rollout(rows, &R::longest, "rollout.longest_tokens", "longest answer",
              "Tokens of the longest answer.");
  add_rollout(rows, &R::first_running, "rollout.running_at_start", "running at the start",
              "Answers per replica at the start.");
  add_rollout(rows, &R::running, "rollout.running_mean", "running on average",
              "Answers per replica on average.");
  add_rollout(rows, &R::restarted, "rollout.restarted", "restarted",
              "Answers that made room in the cache and started over.");
  add_rollout(rows, &R::steady_tokens_per_s, "rollout.steady_tokens_per_s",
              "tokens/s while the engine is full", "Tokens per second while the engine is full.");
}

void add_rates(Rows& rows) {
  using R = const PostTrainingReport&;
  rows.figure(
      "updates", "updates", [](R r) { return r.forecast.updates; },
      "Updates of the policy in a step.", equation);
  rows.figure(
          "samples_per_s", "samples/s", [](R r) { return r.forecast.samples_per_s; },
          "Answers that are trained on, per second.", "answers of a step / step.time_s")
      .more_is_better()
      .leads()
      .ranks()
      .banded([](R r) {
        const BandedTime& step = r.forecast.step;
        const double samples = r.forecast.samples_per_s * step.time.value();
        return Banded{samples / step.high.value(), r.forecast.samples_per_s,
                      samples / step.low.value()};
      });
  rows.figure(
          "tokens_per_s", "tokens/s", [](R r) { return r.forecast.tokens_per_s; },
          "Tokens of prompts and answers that are trained on, per second.",
          "tokens of a step / step.time_s")
      .more_is_better()
      .leads();
  const auto idle = [](Seconds PostTrainingForecast::*time) {
    return [time](R r) {
      const bool apart = r.setup.plan.placement == RolloutPlacement::separate;
      return apart ? std::optional(r.forecast.*time) : std::nullopt;
    };
  };
  rows.figure("generation_idle_s", "idle, generation", idle(&PostTrainingForecast::generation_idle),
              "GPUs that generate wait for the trainer; null: colocated.", equation);
  rows.figure("training_idle_s", "idle, training", idle(&PostTrainingForecast::training_idle),
              "GPUs that train wait for answers; null: colocated.", equation);
}

void add_memory_and_cost(Rows& rows) {
  using R = const PostTrainingReport&;
  rows.figure(
          "trainer_memory_bytes", "trainer's peak memory",
          [](R r) {
            const auto& memory = r.forecast.policy.memory;
            return memory ? std::optional(memory->peak) : std::nullopt;
          },
          "Peak of the trainer per GPU.", "models/memory/README.md")
      .leads();
  rows.figure(
      "host_bytes_per_gpu", "host memory per GPU", [](R r) { return r.forecast.sleeping; },
      "States of the trainer that rest in host memory while answers are generated.", equation);
  const auto dollars = [](double PostTrainingCost::*part) {
    return [part](R r) { return r.cost ? std::optional((*r.cost).*part) : std::nullopt; };
  };
  const char* price = "price per GPU-hour x GPUs x step.time_s";
  rows.figure("cost.usd_per_step", "cost per step", dollars(&PostTrainingCost::per_step),
              "Dollars per step.", price)
      .leads();
  rows.figure("cost.usd_per_thousand_samples", "cost per thousand samples",
              dollars(&PostTrainingCost::per_thousand_samples),
              "Dollars per thousand answers that are trained on.", price)
      .leads();
}

Rows make_rows() {
  Rows rows;
  rows.figure(
          "gpus", "GPUs", [](const PostTrainingReport& r) { return r.forecast.gpus; },
          "GPUs that generate or train.", equation)
      .leads();
  for (const BandedRow& kind : banded_rows) add_banded(kind, rows);
  for (const PostTrainingRow& part : post_training_rows)
    rows.figure(
        part_path(part.name), part.name,
        [time = part.time](const PostTrainingReport& r) { return r.forecast.parts.*time; },
        "A part of the step, as if it were alone.", equation);
  add_rollout(rows);
  add_rates(rows);
  add_memory_and_cost(rows);
  return rows;
}

}  // namespace

const ValueTable<PostTrainingReport>& post_training_values() {
  static const Rows rows = make_rows();
  return rows;
}

}  // namespace foretrain
