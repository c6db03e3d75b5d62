// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "models/post_training/post_training_plan.hpp"
#include "scenarios/imports/frameworks/frameworks.hpp"

namespace foretrain::policy {

using Paths = std::vector<std::string_view>;

/// What each loop calls the facts of a step; several paths are newer and older names of one.
struct PolicyWords {
  Framework framework;
  PolicyLoop loop;
  Paths model, algorithm, prompts, answers, prompt_most, answer_most, total_most;
  Paths update_prompts, update_answers, epochs, micro_batch, dynamic, row_tokens, packs;
  Paths nodes, gpus_per_node, colocated, generation_nodes, generation_gpus_per_node;
  Paths generation_gpus, engines, staleness, partial;
  Paths engine, gen_tensor, gen_pipeline, gen_expert, gen_memory, gen_sequences, gen_eager;
  Paths megatron, tensor, pipeline, context, expert, expert_tensor, sequence_parallel, zero;
  Paths recompute, offload, reference, reward_model;
  // What the program does where its configuration says nothing.
  int usual_prompts, usual_answers, usual_prompt, usual_answer, usual_nodes, usual_gpus;
  bool usually_colocated, usually_recomputes;
};

/// A row for every loop.
[[nodiscard]] const std::vector<PolicyWords>& policy_words();

}  // namespace foretrain::policy
