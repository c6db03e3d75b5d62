// SPDX-License-Identifier: Apache-2.0
#include "calibration/records/post_training_record.hpp"

#include "calibration/records/internal/record_values.hpp"

namespace foretrain {
namespace {

using record_values::double_of;
using record_values::integer_of;
using record_values::text_of;

const YamlNode* group_of(const YamlNode* node, const char* key) {
  if (node == nullptr) return nullptr;
  const YamlNode* const found = node->find(key);
  return found != nullptr && found->is_map() ? found : nullptr;
}

PostTrainingRecord::Layout layout_of(const YamlNode* node) {
  if (node == nullptr) return {};
  return {integer_of(*node, "tp"), integer_of(*node, "cp"), integer_of(*node, "pp"),
          integer_of(*node, "ep"), integer_of(*node, "etp")};
}

}  // namespace

PostTrainingRecord post_training_record_of(const YamlNode& node) {
  PostTrainingRecord record;
  record.algorithm = text_of(node, "algorithm");
  record.trainer = text_of(node, "trainer");
  if (const YamlNode* const rollout = group_of(&node, "rollout")) {
    record.answers = double_of(*rollout, "n");
    record.prompt = double_of(*rollout, "prompt_len");
    record.answer = double_of(*rollout, "response_len");
    record.longest_answer = double_of(*rollout, "response_len_max");
    if (!record.longest_answer) record.longest_answer = double_of(*rollout, "max_response_len");
    record.longest_sequence = double_of(*rollout, "max_seq_len");
    record.batch = double_of(*rollout, "batch");
    record.prompts = double_of(*rollout, "prompts_per_step");
    record.update = double_of(*rollout, "train_batch");
  }
  if (const YamlNode* const placement = group_of(&node, "placement")) {
    record.placement = text_of(*placement, "kind");
    record.generation_gpus = integer_of(*placement, "generation_gpus");
    record.train_gpus = integer_of(*placement, "train_gpus");
    record.staleness = double_of(*placement, "staleness");
  }
  const YamlNode* const parallel = group_of(&node, "parallel");
  record.train = layout_of(group_of(parallel, "train"));
  record.generation = layout_of(group_of(parallel, "generation"));
  if (const YamlNode* const measured = group_of(&node, "measured")) {
    record.tokens_per_s_per_gpu = double_of(*measured, "tokens_per_s_per_gpu");
    record.tokens_per_s = double_of(*measured, "tokens_per_s_total");
    record.response_tokens_per_s_per_gpu = double_of(*measured, "response_tokens_per_s_per_gpu");
  }
  return record;
}

}  // namespace foretrain
