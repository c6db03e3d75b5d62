// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "models/post_training/post_training_step.hpp"
#include "planner/answer/value_json.hpp"
#include "planner/post_training/post_training_study.hpp"
#include "planner/serving/serving_fit.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
namespace {

std::string range_text(const BandedTime& time) {
  return seconds_text(time.low) + " to " + seconds_text(time.high);
}

std::string law_text(const TokenLaw& law) {
  std::string text = significant_text(law.mean) + " tokens";
  if (law.variation > 0.0) text += fmt::format(" (log-normal, variation {:g})", law.variation);
  if (law.most > 0) text += fmt::format(", {} at most", with_thousands(law.most));
  return text;
}

bool apart(const PostTrainingReport& report) {
  return report.setup.plan.placement == RolloutPlacement::separate;
}

/// Generation and learning at the same time.
bool beside(const PostTrainingReport& report) {
  return apart(report) && report.setup.plan.overlaps();
}

std::string batch_text(const PostTrainingReport& report) {
  const PostTrainingPlan& plan = report.setup.plan;
  const int updates = policy_updates(report.setup.policy, plan);
  std::string text =
      fmt::format("{} prompts x {} answers, {} update{} of {}", with_thousands(plan.prompts),
                  with_thousands(plan.answers), updates, updates == 1 ? "" : "s",
                  with_thousands(report.setup.policy.training.global_batch));
  if (plan.kept < 1.0)
    text += fmt::format("; {} of what is generated is kept", percent_text(plan.kept));
  return text;
}

AnswerFacts setup_facts(const PostTrainingReport& report) {
  const PostTrainingSetup& setup = report.setup;
  const PostTrainingPlan& plan = setup.plan;
  AnswerFacts facts;
  facts.add("Model", fmt::format("{}, {} ({})", setup.policy.model.name, name_of(plan.algorithm),
                                 name_of(plan.loop)));
  facts.add("Step", batch_text(report));
  facts.add("Prompts", law_text(plan.prompt));
  facts.add("Answers", law_text(plan.answer));
  facts.add("Generates",
            fmt::format("{}, engine {}", serving_words::replicas_text(setup.rollout.layout),
                        setup.rollout.engine.name));
  facts.add("Trains", fmt::format("{} GPUs of {}{}", with_thousands(setup.policy.cluster.gpus()),
                                  report.machine, apart(report) ? "" : ", the same"));
  return facts;
}

struct Span {
  double from = 0.0;
  double to = 0.0;
};

/// Parts of the step one after the other; beside generation where that has GPUs of its own.
AnswerTable timeline(const PostTrainingReport& report) {
  const PostTrainingForecast& forecast = report.forecast;
  const double step = forecast.step.time.value();
  AnswerTable table{{words_column(), number_column("time"), number_column("of the step"),
                     words_column("one step")}};
  double clock = 0.0;
  double generated = 0.0;
  for (const PostTrainingRow& row : post_training_rows) {
    const double time = (forecast.parts.*row.time).value();
    if (time <= 0.0) continue;
    const bool generation = row.time == &PostTrainingParts::generation;
    if (row.time == &PostTrainingParts::sync) clock = std::max(clock, generated);
    const Span span{clock, clock + time};
    if (generation && beside(report))
      generated = span.to;
    else
      clock = span.to;
    table.add(
        {row.name, seconds_text(Seconds{time}), percent_text(time / step),
         AnswerCell{AnswerBar{std::min(1.0, span.from / step), std::min(1.0, span.to / step)}}});
  }
  return table;
}

std::string tail_text(const RolloutForecast& rollout) {
  return fmt::format(
      "half of the answers after {}, 90 % after {}, the longest, {} tokens, after "
      "{}; {} answers per replica at the start, {} on average",
      seconds_text(rollout.half), seconds_text(rollout.most),
      with_thousands(std::llround(rollout.longest)), seconds_text(rollout.time),
      significant_text(rollout.first_running), significant_text(rollout.running));
}

std::string rate_text(const PostTrainingReport& report) {
  const PostTrainingForecast& forecast = report.forecast;
  return fmt::format("{} samples/s, {} tokens/s ({} per GPU)",
                     significant_text(forecast.samples_per_s),
                     significant_text(forecast.tokens_per_s),
                     significant_text(forecast.tokens_per_s / forecast.gpus));
}

AnswerFacts result_facts(const PostTrainingReport& report) {
  const PostTrainingForecast& forecast = report.forecast;
  AnswerFacts facts;
  if (forecast.parts.generation >= forecast.rollout.time)
    facts.add("Tail", tail_text(forecast.rollout));
  else
    facts.add("Tail", fmt::format("not waited for: {} tokens/s while the engine is full",
                                  significant_text(forecast.rollout.steady_tokens_per_s)));
  facts.add("Rates", rate_text(report));
  const StepForecast& update = *forecast.policy.step;
  facts.add("Update", fmt::format("{} ({}), MFU {}", seconds_text(update.time),
                                  seconds_text(update.low) + " to " + seconds_text(update.high),
                                  percent_text(forecast.policy.efficiency->mfu)));
  if (forecast.policy.memory)
    facts.add("Memory", fmt::format("trainer at most {} of {} per GPU{}",
                                    bytes_text(forecast.policy.memory->peak),
                                    bytes_text(forecast.policy.memory->usable),
                                    forecast.sleeping > Bytes{}
                                        ? fmt::format("; {} are offloaded to host memory while "
                                                      "answers are generated",
                                                      bytes_text(forecast.sleeping))
                                        : ""));
  if (apart(report))
    facts.add("Idle", fmt::format("GPUs that generate {}, GPUs that train {} of the step",
                                  percent_text(forecast.generation_idle / forecast.step.time),
                                  percent_text(forecast.training_idle / forecast.step.time)));
  if (report.cost)
    facts.add("Cost", fmt::format("${:.2f} per step, ${:.3f} per thousand samples",
                                  report.cost->per_step, report.cost->per_thousand_samples));
  return facts;
}

AnswerHead head_of(const PostTrainingReport& report) {
  const PostTrainingForecast& forecast = report.forecast;
  AnswerHead head;
  head.subject = report.name;
  head.made_by = "closed-form";
  if (!forecast.reasons.empty()) {
    head.verdict = Verdict::no;
    head.words = "CANNOT RUN";
    head.sentence = forecast.reasons.front().message + ".";
    return head;
  }
  const bool barely = forecast.policy.memory && forecast.policy.memory->fits_barely();
  head.verdict = barely ? Verdict::at_risk : Verdict::safe;
  head.words = barely ? "RUNS BARELY" : "RUNS";
  const std::string share =
      beside(report) ? std::string(", generation beside training")
                     : fmt::format(", {} of it generation",
                                   percent_text(forecast.parts.generation / forecast.step.time));
  head.sentence = fmt::format(
      "A step of {} answers takes {} on {} GPU{}{}.",
      with_thousands(std::llround(report.setup.plan.samples())), seconds_text(forecast.step.time),
      with_thousands(std::llround(forecast.gpus)), forecast.gpus > 1.0 ? "s" : "", share);
  head.figures = {
      {"Step", seconds_text(forecast.step.time), range_text(forecast.step)},
      {"Generation", seconds_text(forecast.generation.time), range_text(forecast.generation)},
      {"Training", seconds_text(forecast.training.time), range_text(forecast.training)}};
  if (report.cost)
    head.figures.push_back({"Cost", fmt::format("${:.2f}", report.cost->per_step), "", "per step"});
  return head;
}

bool runs(const PostTrainingReport& report) { return report.forecast.reasons.empty(); }

ValueTable<PostTrainingReport> make_post_training_table() {
  using R = const PostTrainingReport&;
  const auto if_runs = [](R report) { return runs(report) ? &report : nullptr; };
  ValueTable<PostTrainingReport> table{
      "post-training/1",
      "foretrain simulate --json of a scenario with post_training: schema post-training/1; null is "
      "unknown"};
  table.add("name", &PostTrainingReport::name)
      .add("model", [](R report) { return report.setup.policy.model.name; })
      .add("algorithm", [](R report) { return report.setup.plan.algorithm; })
      .add("feasible", runs)
      .add(
          "reasons", [](R report) { return report.forecast.reasons; }, reason_values());
  for (const char* group : {"step", "generation", "training", "parts", "rollout"})
    table.group(group, runs);
  table.group("cost", [](R report) { return runs(report) && report.cost; })
      .add_from(post_training_values().rows(), "", if_runs)
      .add_from(
          serving_words::layout_values().rows(), "",
          [](R report) -> const ServingLayout& { return report.setup.rollout.layout; }, "rollout.")
      .add("rollout.engine", [](R report) { return report.setup.rollout.engine.name; })
      .add(
          "warnings", [](R report) { return report.forecast.warnings; }, warning_values());
  return table;
}

const ValueTable<PostTrainingReport>& post_training_table() {
  static const auto table = make_post_training_table();
  return table;
}

}  // namespace

Answer post_training_answer(const PostTrainingReport& report) {
  Answer answer{head_of(report)};
  answer.add("", setup_facts(report));
  if (!report.forecast.reasons.empty()) {
    answer.add(serving_words::reasons_section(report.forecast.reasons));
    return answer;
  }
  answer.add("", timeline(report));
  answer.add("", result_facts(report));
  answer.add(serving_words::warnings_section(report.forecast.warnings));
  return answer;
}

std::string post_training_json(const PostTrainingReport& report) {
  return json_text(post_training_table(), report);
}

const ValueRows& post_training_document() { return post_training_table().rows(); }

}  // namespace foretrain
