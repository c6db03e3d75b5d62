// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks/importers.hpp"

#include <algorithm>
#include <filesystem>

#include "models/grid/process_grid.hpp"
#include "scenarios/huggingface/huggingface.hpp"
#include "scenarios/imports/frameworks/dialect.hpp"
#include "scenarios/imports/frameworks/tree_reader.hpp"

namespace foretrain {
namespace {

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

/// What no single key says: the batch, the length of the run, and gradients that have the type of
/// the weights.
void read_nanotron_batch(TreeReader& in, Job& job) {
  const int gathered =
      in.required({"tokens.batch_accumulation_per_replica"}, 1, 100'000, "micro-batches per step");
  const auto steps = in.integer({"tokens.train_steps"}, 1, 2'000'000'000);
  set_batch("tokens", gathered, steps, in, job);
  Precision& gradients = job.communication.gradient_dtype;
  if (gradients != Precision::fp32) gradients = job.training.precision;
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
  read_dialect(*dialect_of(Framework::nanotron, options.catalogs), in, plan.job);
  read_nanotron_batch(in, plan.job);
  plan.notes.assumed.emplace_back("attention by FlashAttention-2, as nanotron's models do");
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
