// SPDX-License-Identifier: Apache-2.0
#include "scenarios/sections/sections.hpp"

#include <utility>

namespace foretrain {
namespace {

using section::group;
using section::left_out;
using section::with_default;

using Plan = PostTrainingPlan;
using PostTrainingKeys = std::vector<SectionKey<Plan>>;

Field count_of(std::string path, std::string help, std::string example, double least = 1,
               double most = 1e7) {
  return {.path = std::move(path),
          .help = std::move(help),
          .example = std::move(example),
          .min = least,
          .max = most};
}

Field time_of(std::string path, std::string help, std::string example) {
  return {.path = std::move(path),
          .kind = FieldKind::quantity,
          .help = std::move(help),
          .example = std::move(example),
          .dimension = Dimension::time,
          .min = 0};
}

Field required(Field field) {
  field.required = true;
  return field;
}

SectionKey<Plan> head_key() {
  SectionKey<Plan> key = group<Plan>(
      "post_training",
      "Reinforcement learning on the model's own answers: `serving` generates them, `training` "
      "learns from them, `foretrain simulate` forecasts the step. training.global_batch counts "
      "answers per update.");
  key.field.only_written = true;
  return key;
}

PostTrainingKeys batch_keys() {
  return {
      head_key(),
      with_default({.path = "post_training.algorithm",
                    .help = "What is learnt: ppo has a critic as large as the policy; dapo has no "
                            "reference unless one is asked for.",
                    .example = "grpo"},
                   &Plan::algorithm),
      with_default({.path = "post_training.loop",
                    .help = "The program that runs the loop, for reports and logs; its own time is "
                            "taken alike for all.",
                    .example = "verl"},
                   &Plan::loop),
      section::always(
          required(count_of("post_training.prompts", "Prompts of a step.", "64", 1, 1e6)),
          &Plan::prompts),
      with_default(count_of("post_training.answers", "Answers to each prompt.", "16", 1, 1e5),
                   &Plan::answers),
      with_default(count_of("post_training.epochs", "Passes of training over a step's answers.",
                            "1", 1, 100),
                   &Plan::epochs),
      with_default(Field{.path = "post_training.kept",
                         .help = "Dynamic sampling: share of the prompts generated that are "
                                 "trained on, the others being all right or all wrong.",
                         .example = "0.6",
                         .min = 0,
                         .max = 1,
                         .above_min = true},
                   &Plan::kept),
  };
}

/// Tokens of prompts or of answers.
PostTrainingKeys length_keys(const std::string& at, const std::string& help, TokenLaw Plan::*law) {
  PostTrainingKeys keys{
      group<Plan>(at.c_str(), help.c_str()),
      section::always(
          required(Field{
              .path = at + ".tokens", .help = "Mean.", .example = "1024", .min = 1, .max = 1e7}),
          law, &TokenLaw::mean),
      left_out(Field{.path = at + ".variation",
                     .help = "Log-normal with this standard deviation over the mean.",
                     .example = "0.8",
                     .min = 0,
                     .max = 10},
               law, &TokenLaw::variation),
      left_out(count_of(at + ".most", "Longer ones are cut to it; the mean is of what is left.",
                        "8192", 1, 1e7),
               law, &TokenLaw::most)};
  keys.front().field.scalar_child = "tokens";
  return keys;
}

PostTrainingKeys role_keys() {
  return {
      with_default({.path = "post_training.old_log_probs",
                    .help = "The trainer computes log-probabilities of the answers before its "
                            "update; false: the engine's are taken.",
                    .example = "true"},
                   &Plan::old_log_probs),
      left_out({.path = "post_training.reference",
                .help = "Log-probabilities of a frozen copy (a KL term); left out, with every "
                        "algorithm but dapo.",
                .example = "false"},
               &Plan::reference),
      with_default({.path = "post_training.reward_model",
                    .help = "Rewards come from a model of the policy's size; false: from rules.",
                    .example = "false"},
                   &Plan::reward_model),
      left_out(time_of("post_training.reward_time",
                       "Time of all rewards of a step that nothing hides.", "5 s"),
               &Plan::reward_time),
      with_default(count_of("post_training.turns",
                            "Times that an answer of mean length is generated on, tools or "
                            "environments between; longer ones in proportion.",
                            "1", 1, 10000),
                   &Plan::turns),
      left_out(time_of("post_training.tool_wait", "Between two turns, on average.", "2 s"),
               &Plan::tool_wait),
  };
}

PostTrainingKeys placement_keys() {
  return {
      with_default({.path = "post_training.placement",
                    .help = "Generation and training take turns on the same GPUs, or have their "
                            "own.",
                    .example = "separate"},
                   &Plan::placement),
      left_out(count_of("post_training.generation_gpus",
                        "With placement: separate, GPUs that generate; the others train. Whole "
                        "hosts, or a part of a single one.",
                        "16"),
               &Plan::generation_gpus),
      with_default(Field{.path = "post_training.staleness",
                         .help = "Steps that generation may be ahead of training: 0 waits for new "
                                 "weights, 1 is one step off policy.",
                         .example = "1",
                         .min = 0,
                         .max = 100},
                   &Plan::staleness),
      with_default({.path = "post_training.partial_rollouts",
                    .help = "Answers under way continue after the weights changed, so that no step "
                            "waits for the longest.",
                    .example = "true"},
                   &Plan::partial_rollouts),
      with_default({.path = "post_training.sync",
                    .help = "With placement: separate, how new weights reach the engine.",
                    .example = "checkpoint-engine"},
                   &Plan::sync),
      with_default({.path = "post_training.offload",
                    .help = "With placement: colocated, the trainer's states rest in host memory "
                            "while answers are generated.",
                    .example = "true"},
                   &Plan::offload),
  };
}

}  // namespace

const SectionTable<PostTrainingPlan>& post_training_keys() {
  static const SectionTable<PostTrainingPlan> table(section::joined<PostTrainingPlan>(
      {batch_keys(), length_keys("post_training.prompt", "Tokens of a prompt.", &Plan::prompt),
       length_keys("post_training.answer", "Tokens of an answer.", &Plan::answer), role_keys(),
       placement_keys()}));
  return table;
}

}  // namespace foretrain
