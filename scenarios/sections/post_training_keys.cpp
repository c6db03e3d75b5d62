// SPDX-License-Identifier: Apache-2.0
#include "scenarios/sections/sections.hpp"

#include <utility>

#include "scenarios/sections/internal/usual_fields.hpp"

namespace foretrain {
namespace {

using keys::bind;
using keys::count_of;
using keys::group;
using keys::time_of;
using keys::with_default;

Field required_field(Field field) {
  field.required = true;
  return field;
}

KeyRow post_training_head_key() {
  KeyRow key = group(
      "post_training",
      "Reinforcement learning on the model's own answers: `serving` generates them, `training` "
      "learns from them, `foretrain simulate` forecasts the step. training.global_batch counts "
      "answers per update.");
  key.field.only_written = true;
  return key;
}

KeyRows post_training_batch_keys() {
  return {
      post_training_head_key(),
      with_default({.path = "post_training.algorithm",
                    .help = "What is learnt: ppo has a critic as large as the policy; dapo has no "
                            "reference unless one is asked for.",
                    .example = "grpo"},
                   &PostTrainingPlan::algorithm),
      with_default({.path = "post_training.loop",
                    .help = "The program that runs the loop, for reports and logs; its own time is "
                            "taken alike for all.",
                    .example = "verl"},
                   &PostTrainingPlan::loop),
      keys::always(
          required_field(count_of("post_training.prompts", "Prompts of a step.", "64", 1, 1e6)),
          &PostTrainingPlan::prompts),
      with_default(count_of("post_training.answers", "Answers to each prompt.", "16", 1, 1e5),
                   &PostTrainingPlan::answers),
      with_default(count_of("post_training.epochs", "Passes of training over a step's answers.",
                            "1", 1, 100),
                   &PostTrainingPlan::epochs),
      with_default(Field{.path = "post_training.kept",
                         .help = "Dynamic sampling: share of the prompts generated that are "
                                 "trained on, the others being all right or all wrong.",
                         .example = "0.6",
                         .min = 0,
                         .max = 1,
                         .above_min = true},
                   &PostTrainingPlan::kept),
  };
}

/// Tokens of prompts or of answers.
KeyRows post_training_length_keys(const std::string& at, const std::string& help,
                                  TokenLaw PostTrainingPlan::*law) {
  KeyRows keys{
      group(at.c_str(), help.c_str()),
      keys::always(
          required_field(Field{
              .path = at + ".tokens", .help = "Mean.", .example = "1024", .min = 1, .max = 1e7}),
          law, &TokenLaw::mean),
      bind(Field{.path = at + ".variation",
                 .help = "Log-normal with this standard deviation over the mean.",
                 .example = "0.8",
                 .min = 0,
                 .max = 10},
           law, &TokenLaw::variation),
      bind(count_of(at + ".most", "Longer ones are cut to it; the mean is of what is left.", "8192",
                    1, 1e7),
           law, &TokenLaw::most)};
  keys.front().field.scalar_child = "tokens";
  keys.front().field.required = true;
  return keys;
}

KeyRows post_training_role_keys() {
  return {
      with_default({.path = "post_training.old_log_probs",
                    .help = "The trainer computes log-probabilities of the answers before its "
                            "update; false: the engine's are taken.",
                    .example = "true"},
                   &PostTrainingPlan::old_log_probs),
      bind({.path = "post_training.reference",
            .help = "Log-probabilities of a frozen copy (a KL term); left out, with every "
                    "algorithm but dapo.",
            .example = "false"},
           &PostTrainingPlan::reference),
      with_default({.path = "post_training.reward_model",
                    .help = "Rewards come from a model of the policy's size; false: from rules.",
                    .example = "false"},
                   &PostTrainingPlan::reward_model),
      bind(time_of("post_training.reward_time", "Time of all rewards of a step that nothing hides.",
                   "5 s", false),
           &PostTrainingPlan::reward_time),
      with_default(count_of("post_training.turns",
                            "Times that an answer of mean length is generated on, tools or "
                            "environments between; longer ones in proportion.",
                            "1", 1, 10000),
                   &PostTrainingPlan::turns),
      bind(time_of("post_training.tool_wait", "Between two turns, on average.", "2 s", false),
           &PostTrainingPlan::tool_wait),
  };
}

KeyRows post_training_placement_keys() {
  return {
      with_default({.path = "post_training.placement",
                    .help = "Generation and training take turns on the same GPUs, or have their "
                            "own.",
                    .example = "separate"},
                   &PostTrainingPlan::placement),
      bind(count_of("post_training.generation_gpus",
                    "With placement: separate, GPUs that generate; the others train. Whole "
                    "hosts, or a part of a single one.",
                    "16"),
           &PostTrainingPlan::generation_gpus),
      with_default(Field{.path = "post_training.staleness",
                         .help = "Steps that generation may be ahead of training: 0 waits for new "
                                 "weights, 1 is one step off policy.",
                         .example = "1",
                         .min = 0,
                         .max = 100},
                   &PostTrainingPlan::staleness),
      with_default({.path = "post_training.partial_rollouts",
                    .help = "Answers under way continue after the weights changed, so that no step "
                            "waits for the longest.",
                    .example = "true"},
                   &PostTrainingPlan::partial_rollouts),
      with_default({.path = "post_training.sync",
                    .help = "With placement: separate, how new weights reach the engine.",
                    .example = "checkpoint-engine"},
                   &PostTrainingPlan::sync),
      with_default({.path = "post_training.offload",
                    .help = "With placement: colocated, the trainer's states rest in host memory "
                            "while answers are generated.",
                    .example = "true"},
                   &PostTrainingPlan::offload),
  };
}

}  // namespace

const BoundTable<PostTrainingPlan>& post_training_keys() {
  static const BoundTable<PostTrainingPlan> table(
      "post_training",
      joined_rows({post_training_batch_keys(),
                   post_training_length_keys("post_training.prompt", "Tokens of a prompt.",
                                             &PostTrainingPlan::prompt),
                   post_training_length_keys("post_training.answer", "Tokens of an answer.",
                                             &PostTrainingPlan::answer),
                   post_training_role_keys(), post_training_placement_keys()}));
  return table;
}

}  // namespace foretrain
