// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include "planner/post_training/post_training_study.hpp"

namespace foretrain {
namespace {

using Rows = std::vector<StudyRow<PostTrainingReport>>;
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
  const auto add = [&](const char* key, const char* of, Seconds BandedTime::*end) {
    rows.push_back({{std::string(kind.name) + "." + key, kind.label, kind.meaning, of, false,
                     end == &BandedTime::time},
                    [time = kind.time, end](const PostTrainingReport& report) {
                      return std::optional((report.forecast.*time.*end).value());
                    }});
  };
  add("time_s", equation, &BandedTime::time);
  rows.back().band = [time = kind.time](const PostTrainingReport& report) {
    const BandedTime& banded = report.forecast.*time;
    return Banded{banded.low.value(), banded.time.value(), banded.high.value()};
  };
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
StudyRow<PostTrainingReport> rollout_row(Number RolloutForecast::*number, const char* path,
                                         const char* label, const char* meaning) {
  return {{path, label, meaning, "models/post_training/README.md, \"Generation\""},
          [number](const PostTrainingReport& report) {
            if constexpr (std::is_same_v<Number, Seconds>)
              return std::optional((report.forecast.rollout.*number).value());
            else
              return std::optional<double>(report.forecast.rollout.*number);
          }};
}

void add_rollout(Rows& rows) {
  using R = RolloutForecast;
  rows.push_back(rollout_row(&R::answers, "rollout.answers", "answers",
                             "Answers that are generated in a step."));
  rows.push_back(
      rollout_row(&R::tokens, "rollout.tokens", "tokens of answers", "Tokens of these answers."));
  rows.push_back(
      rollout_row(&R::half, "rollout.half_s", "half of the answers", "When half are done."));
  rows.push_back(
      rollout_row(&R::most, "rollout.p90_s", "90 % of the answers", "When 90 % are done."));
  rows.push_back(
      rollout_row(&R::time, "rollout.last_s", "last answer", "When the last answer is done."));
  rows.push_back(rollout_row(&R::longest, "rollout.longest_tokens", "longest answer",
                             "Tokens of the longest answer."));
  rows.push_back(rollout_row(&R::first_running, "rollout.running_at_start", "running at the start",
                             "Answers per replica at the start."));
  rows.push_back(rollout_row(&R::running, "rollout.running_mean", "running on average",
                             "Answers per replica on average."));
  rows.push_back(rollout_row(&R::restarted, "rollout.restarted", "restarted",
                             "Answers that made room in the cache and started over."));
  rows.push_back(rollout_row(&R::steady_tokens_per_s, "rollout.steady_tokens_per_s",
                             "tokens/s while the engine is full",
                             "Tokens per second while the engine is full."));
}

template <class Get>
void add(Rows& rows, StudyWords words, Get get) {
  rows.push_back({std::move(words), get});
}

void add_rates(Rows& rows) {
  using R = const PostTrainingReport&;
  add(rows, {"updates", "updates", "Updates of the policy in a step.", equation},
      [](R r) { return std::optional<double>(r.forecast.updates); });
  rows.push_back({{"samples_per_s", "samples/s", "Answers that are trained on, per second.",
                   "answers of a step / step.time_s", true, true, true},
                  [](R r) { return std::optional(r.forecast.samples_per_s); },
                  [](R r) {
                    const BandedTime& step = r.forecast.step;
                    const double samples = r.forecast.samples_per_s * step.time.value();
                    return Banded{samples / step.high.value(), r.forecast.samples_per_s,
                                  samples / step.low.value()};
                  }});
  add(rows,
      {"tokens_per_s", "tokens/s", "Tokens of prompts and answers that are trained on, per second.",
       "tokens of a step / step.time_s", true, true},
      [](R r) { return std::optional(r.forecast.tokens_per_s); });
  const auto idle = [](Seconds PostTrainingForecast::*time) {
    return [time](R r) {
      const bool apart = r.setup.plan.placement == RolloutPlacement::separate;
      return apart ? std::optional((r.forecast.*time).value()) : std::nullopt;
    };
  };
  add(rows,
      {"generation_idle_s", "idle, generation",
       "GPUs that generate wait for the trainer; null: "
       "colocated.",
       equation},
      idle(&PostTrainingForecast::generation_idle));
  add(rows,
      {"training_idle_s", "idle, training", "GPUs that train wait for answers; null: colocated.",
       equation},
      idle(&PostTrainingForecast::training_idle));
}

void add_memory_and_cost(Rows& rows) {
  using R = const PostTrainingReport&;
  add(rows,
      {"trainer_memory_bytes", "trainer's peak memory", "Peak of the trainer per GPU.",
       "models/memory/README.md", false, true},
      [](R r) {
        const auto& memory = r.forecast.policy.memory;
        return memory ? std::optional(memory->peak.value()) : std::nullopt;
      });
  add(rows,
      {"host_bytes_per_gpu", "host memory per GPU",
       "States of the trainer that rest in host memory while answers are generated.", equation},
      [](R r) { return std::optional(r.forecast.sleeping.value()); });
  const auto dollars = [](double PostTrainingCost::*part) {
    return [part](R r) { return r.cost ? std::optional((*r.cost).*part) : std::nullopt; };
  };
  const char* price = "price per GPU-hour x GPUs x step.time_s";
  add(rows, {"cost.usd_per_step", "cost per step", "Dollars per step.", price, false, true},
      dollars(&PostTrainingCost::per_step));
  add(rows,
      {"cost.usd_per_thousand_samples", "cost per thousand samples",
       "Dollars per thousand answers that are trained on.", price, false, true},
      dollars(&PostTrainingCost::per_thousand_samples));
}

Rows make_rows() {
  Rows rows{{{"gpus", "GPUs", "GPUs that generate or train.", equation, false, true},
             [](const PostTrainingReport& r) { return std::optional(r.forecast.gpus); }}};
  for (const BandedRow& kind : banded_rows) add_banded(kind, rows);
  for (const PostTrainingRow& part : post_training_rows)
    add(rows,
        {part_path(part.name), part.name, "A part of the step, as if it were alone.", equation},
        [time = part.time](const PostTrainingReport& r) {
          return std::optional((r.forecast.parts.*time).value());
        });
  add_rollout(rows);
  add_rates(rows);
  add_memory_and_cost(rows);
  return rows;
}

}  // namespace

std::span<const StudyRow<PostTrainingReport>> post_training_figure_rows() {
  static const Rows rows = make_rows();
  return rows;
}

}  // namespace foretrain
