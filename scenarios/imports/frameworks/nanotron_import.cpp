// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks/importers.hpp"

#include <algorithm>
#include <filesystem>

#include "models/grid/process_grid.hpp"
#include "scenarios/huggingface/huggingface.hpp"
#include "scenarios/imports/frameworks/frameworks.hpp"
#include "scenarios/imports/frameworks/tree_reader.hpp"

namespace foretrain {
namespace {

constexpr int largest_degree = 100'000;

/// Keys of model_config that nanotron adds to those of Hugging Face.
bool is_own_key(const std::string& key) {
  return key.starts_with("is_") || key == "rope_interleaved" || key == "_attn_implementation" ||
         key == "_fused_rms_norm" || key == "_fused_rotary_emb" || key == "_use_doc_masking" ||
         key == "_use_qkv_packed" || key == "log_attn_probs" || key == "ring_attn_heads_k_stride" ||
         key == "moe_config" || key == "no_rope_layer" || key == "z_loss_coefficient" ||
         key == "z_loss_enabled" || key == "flex_attention_mask";
}

std::string model_type(const YamlNode& config) {
  for (const auto& [flag, type] :
       {std::pair{"is_llama_config", "llama"}, std::pair{"is_qwen2_config", "qwen2"},
        std::pair{"is_starcoder2_config", "starcoder2"}})
    if (const YamlNode* node = config.find(flag); node != nullptr && node->text == "true")
      return type;
  return {};
}

void read_nanotron_model(TreeReader& in, const YamlNode& root, ImportedPlan& plan,
                         Diagnostics& diagnostics) {
  const YamlNode* model = root.find("model");
  const YamlNode* config = model == nullptr ? nullptr : model->find("model_config");
  if (config == nullptr || !config->is_map())
    return in.refuse("model.model_config", "is missing; it holds the model's sizes");
  const std::string type = model_type(*config);
  if (type.empty())
    return in.refuse("model.model_config",
                     "is of no known kind; is_llama_config, is_qwen2_config and "
                     "is_starcoder2_config are known");
  if (const YamlNode* moe = config->find("moe_config"); moe != nullptr && !moe->is_null())
    return in.refuse("model.model_config.moe_config", "nanotron's experts are not modelled");
  YamlNode plain;  // the same keys as a Hugging Face configuration
  plain.kind = YamlNode::Kind::map;
  plain.mark = config->mark;
  YamlNode name;
  name.kind = YamlNode::Kind::scalar;
  name.text = type;
  name.mark = config->mark;
  plain.entries.push_back({"model_type", config->mark, name});
  for (const YamlEntry& entry : config->entries)
    if (!is_own_key(entry.key)) plain.entries.push_back(entry);
  const auto shape = import_huggingface(plain, {"nanotron"}, diagnostics);
  if (!shape) return;
  plan.job.model = shape->shape;
  plan.notes.assumed = shape->assumed;
  for (const YamlEntry& entry : plain.entries) {
    const bool unknown = std::ranges::find(shape->unknown, entry.key) != shape->unknown.end();
    const bool ignored = std::ranges::find(shape->ignored, entry.key) != shape->ignored.end();
    const std::string path = "model.model_config." + entry.key;
    if (ignored) in.harmless({path});
    if (!unknown && !ignored) static_cast<void>(in.take(path));
  }
  for (const YamlEntry& entry : config->entries)
    if (is_own_key(entry.key)) in.harmless({"model.model_config." + entry.key});
}

void read_nanotron_parallel(TreeReader& in, Job& job) {
  Parallel& parallel = job.parallel;
  parallel.data = in.required({"parallelism.dp"}, 1, largest_degree, "the data-parallel degree");
  parallel.tensor =
      in.required({"parallelism.tp"}, 1, largest_degree, "the tensor-parallel degree");
  parallel.pipeline =
      in.required({"parallelism.pp"}, 1, largest_degree, "the number of pipeline stages");
  parallel.context =
      in.integer({"parallelism.context_parallel_size"}, 1, largest_degree).value_or(1);
  parallel.expert = in.integer({"parallelism.expert_parallel_size"}, 1, largest_degree).value_or(1);
  const std::string engine = in.text({"parallelism.pp_engine"}, "1f1b");
  if (engine == "afab")
    parallel.schedule = ScheduleKind::gpipe;
  else if (engine != "1f1b")
    in.refuse("parallelism.pp_engine", in_quotes(engine) + " is neither 1f1b nor afab");
  const std::string mode = in.text({"parallelism.tp_mode"}, "all_reduce");
  parallel.sequence = mode == "reduce_scatter" && parallel.tensor > 1;
  job.communication.overlap.tensor =
      in.truth({"parallelism.tp_linear_async_communication"}, false) && parallel.sequence;
  if (in.truth({"parallelism.recompute_layer"}, false))
    job.memory.recompute.kind = RecomputeKind::full;
}

void read_nanotron_training(TreeReader& in, Job& job, std::vector<std::string>& assumed) {
  Training& training = job.training;
  training.sequence =
      in.required({"tokens.sequence_length"}, 1, 100'000'000, "the tokens of a sequence");
  training.micro_batch =
      in.required({"tokens.micro_batch_size"}, 1, 100'000, "the sequences of a micro-batch");
  const int gathered =
      in.required({"tokens.batch_accumulation_per_replica"}, 1, 100'000, "micro-batches per step");
  const double batch = 1.0 * training.micro_batch * gathered * job.parallel.data;
  if (batch > 1e8) return in.refuse("tokens", "gives a global batch above 100,000,000");
  training.global_batch = static_cast<int>(batch);
  if (const auto steps = in.integer({"tokens.train_steps"}, 1, 2'000'000'000))
    training.tokens = 1.0 * *steps * training.global_batch * training.sequence;
  const std::string dtype = in.text({"model.dtype"}, "bfloat16");
  if (dtype == "float32")
    training.precision = Precision::fp32;
  else if (dtype == "float16")
    training.precision = Precision::fp16;
  else if (dtype != "bfloat16")
    in.refuse("model.dtype", in_quotes(dtype) + " is none of bfloat16, float16 and float32");
  training.vocabulary_multiple =
      in.integer({"model.make_vocab_size_divisible_by"}, 1, 8192).value_or(1);
  if (const auto bucket = in.integer({"model.ddp_bucket_cap_mb"}, 1, 1'000'000))
    job.communication.bucket = *bucket * MiB;
  assumed.emplace_back("attention by FlashAttention-2, as nanotron's models do");
}

void read_nanotron_optimizer(TreeReader& in, Job& job) {
  job.parallel.zero = in.integer({"optimizer.zero_stage"}, 0, 1).value_or(0);
  const std::string name = in.text({"optimizer.optimizer_factory.name"}, "adamw");
  if (name == "sgd")
    job.training.optimizer = OptimizerKind::sgd;
  else if (name != "adamw")
    in.refuse("optimizer.optimizer_factory.name", in_quotes(name) + " is neither adamW nor sgd");
  const bool fp32 = in.truth({"optimizer.accumulate_grad_in_fp32"}, false);
  job.communication.gradient_dtype = fp32 ? Precision::fp32 : job.training.precision;
  // Shards are updated where they are and gathered after the step, not beside the next one.
  job.communication.overlap.parameters = false;
}

}  // namespace

std::vector<int> nanotron_stage_layers(const LlmShape& model, int stages) {
  const double heads = static_cast<double>(model.heads + model.kv_heads) * model.head_dim;
  const double layer = model.hidden * (2.0 * heads + 3.0 * model.ffn_hidden);
  const double head = static_cast<double>(model.hidden) * model.vocabulary;
  const double total = model.layers * layer + head;
  std::vector<int> counts(static_cast<std::size_t>(stages), 0);
  std::size_t stage = 0;
  for (int index = 0; index < model.layers; ++index) {
    ++counts[stage];
    const double limit =
        total * static_cast<double>(stage + 1) / static_cast<double>(counts.size());
    if ((index + 1) * layer > limit && stage + 1 < counts.size()) ++stage;
  }
  return counts;
}

ImportedScenario import_nanotron(const ImportSource& source, const PlanImportOptions& options) {
  Diagnostics diagnostics;
  const auto root = parse_yaml(source.text, source.name, YamlLimits{}, diagnostics);
  diagnostics.throw_if_any();
  TreeReader in(*root, diagnostics, options.left_out);
  ImportedPlan plan;
  plan.job.name = std::filesystem::path(source.name).stem().string();
  read_nanotron_model(in, *root, plan, diagnostics);
  plan.job.model.name = plan.job.name;
  read_nanotron_parallel(in, plan.job);
  read_nanotron_training(in, plan.job, plan.notes.assumed);
  read_nanotron_optimizer(in, plan.job);
  in.harmless(Framework::nanotron);
  in.finish(options, plan.notes);
  diagnostics.throw_if_any();
  Parallel& parallel = plan.job.parallel;
  if (parallel.pipeline > 1) {
    parallel.stage_layers = nanotron_stage_layers(plan.job.model, parallel.pipeline);
    plan.notes.assumed.emplace_back(
        "layers are assigned to stages by their work, as nanotron does");
  }
  const double gpus = static_cast<double>(replica_ranks(parallel)) * parallel.data;
  if (gpus > 1e6) diagnostics.add(root->mark, "parallelism", "asks for more than 1,000,000 GPUs");
  choose_stack(plan, "nanotron", "the only release of nanotron that was measured");
  return finish_import(std::move(plan), source, options, diagnostics);
}

}  // namespace foretrain
