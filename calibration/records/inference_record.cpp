// SPDX-License-Identifier: Apache-2.0
#include "calibration/records/inference_record.hpp"

#include "calibration/records/internal/record_values.hpp"
#include "calibration/records/internal/words.hpp"

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

using record_values::bool_of;
using record_values::double_of;
using record_values::integer_of;
using record_values::text_of;

constexpr double per_milli = 1e-3;

const YamlNode* map_of(const YamlNode& node, const char* key) {
  const YamlNode* const found = node.find(key);
  return found != nullptr && found->is_map() ? found : nullptr;
}

InferenceRecord::Model model_of(const YamlNode& node) {
  InferenceRecord::Model model;
  model.name = text_of(node, "name");
  model.layers = integer_of(node, "layers");
  model.hidden = integer_of(node, "hidden");
  model.heads = integer_of(node, "heads");
  model.kv_heads = integer_of(node, "kv_heads");
  model.head_dim = integer_of(node, "head_dim");
  model.ffn_hidden = integer_of(node, "ffn_hidden");
  model.vocabulary = integer_of(node, "vocab");
  model.gated_mlp = bool_of(node, "gated_mlp");
  model.attention_note = text_of(node, "attention_note");
  if (const YamlNode* const moe = map_of(node, "moe"))
    model.moe = {integer_of(*moe, "experts"),    integer_of(*moe, "topk"),
                 integer_of(*moe, "expert_ffn"), integer_of(*moe, "shared"),
                 integer_of(*moe, "shared_ffn"), integer_of(*moe, "first_k_dense"),
                 integer_of(*moe, "moe_every")};
  if (const YamlNode* const mla = map_of(node, "mla"))
    model.mla = {integer_of(*mla, "q_lora"), integer_of(*mla, "kv_lora"),
                 integer_of(*mla, "qk_nope"), integer_of(*mla, "qk_rope"),
                 integer_of(*mla, "v_head")};
  return model;
}

InferenceRecord::Parallel parallel_of(const YamlNode& node) {
  InferenceRecord::Parallel parallel;
  parallel.tensor = integer_of(node, "tp");
  parallel.pipeline = integer_of(node, "pp");
  parallel.expert = integer_of(node, "ep");
  parallel.expert_tensor = integer_of(node, "moe_tp");
  parallel.data = integer_of(node, "dp");
  parallel.attention_data = integer_of(node, "attention_dp");
  parallel.disaggregated = map_of(node, "disaggregated") != nullptr;
  return parallel;
}

InferenceRecord::Workload workload_of(const YamlNode& node) {
  InferenceRecord::Workload workload;
  workload.input = double_of(node, "input_len");
  workload.output = double_of(node, "output_len");
  workload.concurrency = double_of(node, "concurrency");
  workload.requests = double_of(node, "num_requests");
  workload.request_rate = double_of(node, "request_rate");
  workload.data = text_of(node, "dataset");
  const std::string rate = text_of(node, "request_rate");
  workload.all_at_once = has_part(rate, "offline") || rate.starts_with("inf");
  workload.prefix_cache = bool_of(node, "prefix_cache").value_or(false);
  workload.speculative = bool_of(node, "speculative").value_or(false);
  return workload;
}

void measured_of(const YamlNode& node, InferenceRecord& record) {
  const auto scaled = [&](const char* key, double factor) -> std::optional<double> {
    const std::optional<double> value = double_of(node, key);
    if (!value || *value <= 0.0) return std::nullopt;
    return factor * *value;
  };
  record.ttft_s = scaled("ttft_ms", per_milli);
  record.median_ttft = record.ttft_s && record.ttft_s == scaled("ttft_median_ms", per_milli);
  record.tpot_s = scaled("tpot_ms", per_milli);
  record.output_tokens_per_s = scaled("output_tokens_per_s", 1.0);
  record.rl_step_s = scaled("step_s", 1.0);
  record.rl_generation_s = scaled("generation_s", 1.0);
  record.rl_train_s = scaled("train_s", 1.0);
  // TensorRT-LLM's later tables print output tokens per second and GPU.
  if (!record.output_tokens_per_s && record.kind == "inference" && record.gpus)
    record.output_tokens_per_s = scaled("tokens_per_s_per_gpu", *record.gpus);
}

/// @param node of a record of kind rl
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

InferenceRecord inference_record_of(const YamlNode& node) {
  InferenceRecord record;
  record.id = text_of(node, "id");
  record.source = text_of(node, "source");
  record.group = text_of(node, "group");
  record.kind = text_of(node, "kind");
  record.engine = text_of(node, "engine");
  record.engine_version = text_of(node, "engine_version");
  record.gpu = text_of(node, "gpu");
  record.gpus = integer_of(node, "gpus");
  record.gpus_per_node = integer_of(node, "gpus_per_node");
  record.confidence = text_of(node, "confidence");
  record.notes = text_of(node, "notes");
  if (const YamlNode* const bits = map_of(node, "precision")) {
    record.weights = text_of(*bits, "weights");
    record.cache = text_of(*bits, "kv");
    record.compute = text_of(*bits, "compute");
    record.experts = text_of(*bits, "moe");
  }
  if (const YamlNode* const model = map_of(node, "model")) record.model = model_of(*model);
  if (const YamlNode* const plan = map_of(node, "parallel")) record.parallel = parallel_of(*plan);
  if (const YamlNode* const load = map_of(node, "workload")) record.workload = workload_of(*load);
  if (const YamlNode* const measured = map_of(node, "measured")) measured_of(*measured, record);
  if (record.kind == "rl") record.rl = post_training_record_of(node);
  return record;
}

}  // namespace

std::string InferenceRecord::table() const { return group.substr(0, group.find('/')); }

std::vector<InferenceRecord> read_inference_records(const YamlNode& document,
                                                    const std::string& name,
                                                    Diagnostics& diagnostics) {
  return record_values::records_of<InferenceRecord>(document, name, inference_record_of,
                                                    diagnostics);
}

}  // namespace foretrain
