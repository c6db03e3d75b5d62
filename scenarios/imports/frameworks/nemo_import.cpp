// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks/importers.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "scenarios/catalog/catalog.hpp"
#include "scenarios/imports/frameworks/frameworks.hpp"
#include "scenarios/imports/frameworks/override_tree.hpp"
#include "scenarios/imports/frameworks/tree_reader.hpp"
#include "scenarios/imports/megatron/megatron_import.hpp"
#include "scenarios/imports/megatron/megatron_shape.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace {

struct Rename {
  std::string_view key, argument;
};

/// Keys of `model` whose values are those of a Megatron-LM argument of another name.
constexpr auto renamed_values = std::to_array<Rename>({
    {"activations_checkpoint_granularity", "recompute-granularity"},
    {"activations_checkpoint_method", "recompute-method"},
    {"activations_checkpoint_num_layers", "recompute-num-layers"},
    {"attention_dropout", "attention-dropout"},
    {"context_parallel_size", "context-parallel-size"},
    {"encoder_seq_length", "seq-length"},
    {"expert_model_parallel_size", "expert-model-parallel-size"},
    {"expert_tensor_parallel_size", "expert-tensor-parallel-size"},
    {"ffn_hidden_size", "ffn-hidden-size"},
    {"global_batch_size", "global-batch-size"},
    {"hidden_dropout", "hidden-dropout"},
    {"hidden_size", "hidden-size"},
    {"kv_channels", "kv-channels"},
    {"layernorm_epsilon", "norm-epsilon"},
    {"make_vocab_size_divisible_by", "make-vocab-size-divisible-by"},
    {"max_position_embeddings", "max-position-embeddings"},
    {"micro_batch_size", "micro-batch-size"},
    {"moe_expert_capacity_factor", "moe-expert-capacity-factor"},
    {"moe_router_topk", "moe-router-topk"},
    {"moe_token_dispatcher_type", "moe-token-dispatcher-type"},
    {"num_attention_heads", "num-attention-heads"},
    {"num_layers", "num-layers"},
    {"num_moe_experts", "num-experts"},
    {"override_vocab_size", "vocab-size"},
    {"pipeline_model_parallel_size", "pipeline-model-parallel-size"},
    {"rotary_base", "rotary-base"},
    {"rotary_percentage", "rotary-percent"},
    {"seq_len_interpolation_factor", "rotary-seq-len-interpolation-factor"},
    {"tensor_model_parallel_size", "tensor-model-parallel-size"},
    {"virtual_pipeline_model_parallel_size", "num-virtual-stages-per-pipeline-rank"},
});

/// Keys of `model` that are a flag of Megatron-LM where they are true.
constexpr auto flags = std::to_array<Rename>({
    {"fp8", "fp8-hybrid"},
    {"fp8_hybrid", ""},  // a format, which fp8 turns on
    {"fp8_dot_product_attention", "fp8-dot-product-attention"},
    {"fp8_params", "fp8-param-gather"},
    {"cross_entropy_loss_fusion", "cross-entropy-loss-fusion"},
    {"deterministic_mode", "deterministic-mode"},
    {"qkv_bias", "add-qkv-bias"},
    {"moe_pad_expert_input_to_capacity", "moe-pad-expert-input-to-capacity"},
    {"moe_grouped_gemm", "moe-grouped-gemm"},
    {"overlap_p2p_comm", ""},
    {"sequence_parallel", "sequence-parallel"},
    {"ub_tp_comm_overlap", "tp-comm-overlap"},
    {"use_tp_pp_dp_mapping", "use-tp-pp-dp-mapping"},
});

void read_values(TreeReader& in, MegatronArguments& arguments) {
  for (const Rename& rename : renamed_values) {
    const YamlNode* node = in.take("model." + std::string(rename.key));
    if (node != nullptr) arguments[std::string(rename.argument)] = node->text;
  }
  const auto stages = arguments.find("pipeline-model-parallel-size");
  if (stages == arguments.end() || stages->second == "1")
    arguments.erase("num-virtual-stages-per-pipeline-rank");
  for (const Rename& rename : flags)
    if (in.truth({"model." + std::string(rename.key)}, false) && !rename.argument.empty())
      arguments[std::string(rename.argument)] = "true";
  if (arguments.count("fp8-hybrid") == 0)
    for (const char* name : {"fp8-dot-product-attention", "fp8-param-gather"})
      arguments.erase(name);
  if (const YamlNode* groups = in.take("model.num_query_groups")) {
    arguments["group-query-attention"] = "true";
    arguments["num-query-groups"] = groups->text;
  }
}

/// Keys that say in words what Megatron-LM says by flags; defaults of NeMo's megatron_gpt_config.
void read_choices(TreeReader& in, MegatronArguments& arguments) {
  const std::string activation = in.text({"model.activation"}, "gelu");
  if (activation == "swiglu" || activation == "fast-swiglu")
    arguments["swiglu"] = "true";
  else if (activation == "squared-relu" || activation == "fast-squared-relu")
    arguments["squared-relu"] = "true";
  else if (activation == "geglu" || activation == "fast-geglu")
    arguments["quick-geglu"] = "true";
  else if (activation != "gelu")
    in.refuse("model.activation", in_quotes(activation) + " is not known");
  const std::string norm = in.text({"model.normalization"}, "layernorm1p");
  if (norm == "rmsnorm" || norm == "rmsnorm1p") arguments["normalization"] = "RMSNorm";
  if (!in.truth({"model.bias"}, true)) arguments["disable-bias-linear"] = "true";
  if (!in.truth({"model.share_embeddings_and_output_weights"}, true))
    arguments["untie-embeddings-and-output-weights"] = "true";
  const std::string position = in.text({"model.position_embedding_type"}, "learned_absolute");
  arguments["position-embedding-type"] = position;
  const auto sequence = arguments.find("seq-length");  // the configuration's own default
  if (sequence != arguments.end()) arguments.emplace("max-position-embeddings", sequence->second);
  if (!in.truth({"model.transformer_engine"}, true)) arguments["transformer-impl"] = "local";
  if (in.truth({"model.use_flash_attention"}, false)) arguments["use-flash-attn"] = "true";
  if (arguments.count("vocab-size") == 0) {
    const std::string library = in.text({"model.tokenizer.library"});
    const std::string type = in.text({"model.tokenizer.type", "model.tokenizer.model"});
    arguments["tokenizer-type"] =
        type.find("gpt2") != std::string::npos ? "GPT2BPETokenizer" : library + " " + type;
    arguments["tokenizer-model"] = type;
  } else {
    arguments["tokenizer-type"] = "given";
  }
}

void read_nemo_optimizer(TreeReader& in, MegatronArguments& arguments) {
  const std::string name = in.text({"model.optim.name"}, "fused_adam");
  if (name == "distributed_fused_adam" || name == "mcore_distributed_optim") {
    arguments["use-distributed-optimizer"] = "true";
    if (in.truth({"model.optim.overlap_grad_sync"}, true))
      arguments["overlap-grad-reduce"] = "true";
    if (in.truth({"model.optim.overlap_param_sync"}, false))
      arguments["overlap-param-gather"] = "true";
  } else if (name != "fused_adam" && name != "adamw" && name != "adam") {
    in.refuse("model.optim.name", in_quotes(name) + " is not modelled");
  }
  const std::string type = in.text({"model.optim.grad_sync_dtype"}, "fp32");
  if (type == "bf16" || type == "bfloat16") arguments["grad-reduce-in-bf16"] = "true";
  const std::string precision = in.text({"trainer.precision", "model.precision"}, "bf16");
  if (precision.starts_with("bf16"))
    arguments["bf16"] = "true";
  else if (precision.starts_with("16"))
    arguments["fp16"] = "true";
  else if (!precision.starts_with("32"))
    in.refuse("trainer.precision", in_quotes(precision) + " is none of bf16, 16 and 32");
  if (const auto steps = in.integer({"trainer.max_steps"}, -1, 2'000'000'000); steps && *steps > 0)
    arguments["train-iters"] = std::to_string(*steps);
}

void declare_nemo_rest(TreeReader& in) {
  for (const char* path : {"model.fp32_residual_connection", "model.headscale"})
    if (in.truth({path}, false)) in.refuse(path, "is not modelled");
  if (!in.truth({"model.fp8_wgrad"}, true) && in.truth({"model.fp8"}, false))
    in.refuse("model.fp8_wgrad", "false, weight gradients in 16 bits, is not modelled");
  if (const auto dropout = in.number({"model.ffn_dropout"}); dropout && *dropout > 0.0)
    in.refuse("model.ffn_dropout", "is not modelled");
  if (in.integer({"trainer.accumulate_grad_batches"}, 1, 1).value_or(1) != 1) return;
  for (const auto& [path, only] : {std::pair{"model.transformer_block_type", "pre_ln"},
                                   std::pair{"model.attention_type", "multihead"}})
    if (const std::string text = in.text({path}, only); text != only)
      in.refuse(path, fmt::format("{} is not modelled: {}", in_quotes(text), only));
  in.harmless(Framework::nemo);
}

/// Names of NeMo 1's LoRA.
struct NemoTarget {
  std::string_view name;
  EnumSet<AdapterTarget> targets;
};
const std::array<NemoTarget, 7> nemo_targets{
    {{"attention_qkv", {AdapterTarget::qkv}},
     {"attention_dense", {AdapterTarget::projection}},
     {"mlp_fc1", {AdapterTarget::fc1}},
     {"mlp_fc2", {AdapterTarget::fc2}},
     {"attention", {AdapterTarget::qkv, AdapterTarget::projection}},
     {"mlp", {AdapterTarget::fc1, AdapterTarget::fc2}},
     {"all",
      {AdapterTarget::qkv, AdapterTarget::projection, AdapterTarget::fc1, AdapterTarget::fc2}}}};

FineTuning read_nemo_adapter(TreeReader& in) {
  FineTuning fine;
  const std::string scheme = in.text({"model.peft.peft_scheme"}, "none");
  if (scheme == "none" || scheme == "null") return fine;
  if (scheme != "lora") {
    in.refuse("model.peft.peft_scheme", in_quotes(scheme) + " is not modelled: lora, null");
    return fine;
  }
  const std::string group = "model.peft.lora_tuning.";
  fine.adapter = AdapterKind::lora;
  fine.rank = in.integer({group + "adapter_dim"}, 1, 65536).value_or(32);
  fine.dropout = in.number({group + "adapter_dropout"}).value_or(0.0);
  fine.targets = {AdapterTarget::qkv};
  if (const YamlNode* names = in.take(group + "target_modules")) {
    fine.targets = {};
    for (const YamlNode& name : names->items) {
      const auto known = std::ranges::find_if(
          nemo_targets, [&](const NemoTarget& row) { return row.name == name.text; });
      if (known == nemo_targets.end())
        in.refuse(group + "target_modules", in_quotes(name.text) + " is not modelled");
      else
        for (const auto& [target, word] : EnumNames<AdapterTarget>::names)
          if (known->targets.has(target)) fine.targets.add(target);
    }
  }
  if (in.take(group + "layer_selection") != nullptr || in.truth({group + "weight_tying"}, false))
    in.refuse(group + "layer_selection", "adapters beside some layers are not modelled");
  return fine;
}

/// Of a run that restores a .nemo file the shape is not in the configuration: --model gives it.
std::optional<LlmShape> restored_shape(TreeReader& in, const PlanImportOptions& options,
                                       Diagnostics& diagnostics) {
  if (in.take("model.num_layers") != nullptr) return std::nullopt;
  if (options.model.empty()) {
    in.refuse("model.num_layers",
              "is missing: the shape is in the .nemo file that is restored; give --model NAME");
    return std::nullopt;
  }
  if (options.shape) return options.shape;
  std::vector<SourceFile> files;
  std::vector<ResolvedValue> values;
  CatalogContext context{options.catalogs, ".", diagnostics, files, values};
  const Mark place{std::make_shared<const std::string>("--model"), 0, 0};
  return load_model({options.model, "model", place}, context);
}

/// Rows and batches of fine-tuning stand with its data.
void read_tuning_batch(TreeReader& in, MegatronArguments& arguments) {
  for (const auto& [key, argument] :
       {std::pair{"model.data.train_ds.max_seq_length", "seq-length"},
        std::pair{"model.data.train_ds.micro_batch_size", "micro-batch-size"},
        std::pair{"model.data.train_ds.global_batch_size", "global-batch-size"}})
    if (const YamlNode* node = in.take(key)) arguments.emplace(argument, node->text);
}

YamlNode tree_of(const ImportSource& source, Diagnostics& diagnostics) {
  std::string text = source.text;
  const std::vector<std::string> overrides = split_overrides(text);
  YamlNode root = empty_map({std::make_shared<const std::string>(source.name), 1, 1});
  if (text.find_first_not_of(" \t\r\n") != std::string::npos) {
    auto parsed = parse_yaml(text, source.name, YamlLimits{}, diagnostics);
    if (!parsed || !parsed->is_map()) {
      diagnostics.add(root.mark, "", "must be a YAML map or overrides key=value");
      return root;
    }
    root = std::move(*parsed);
  }
  for (const std::string& word : overrides) put_override(root, word, root.mark);
  resolve_references(root);
  return root;
}

}  // namespace

ImportedScenario import_nemo(const ImportSource& source, const PlanImportOptions& options) {
  if (is_automodel(source)) return import_automodel(source, options);
  Diagnostics diagnostics;
  const Mark top{std::make_shared<const std::string>(source.name), 1, 1};
  if (!check_encoding(source.text, top, diagnostics)) diagnostics.throw_if_any();
  const YamlNode root = tree_of(source, diagnostics);
  diagnostics.throw_if_any();
  TreeReader in(root, diagnostics, options.left_out);
  MegatronSource found;
  found.size.nodes = in.integer({"trainer.num_nodes"}, 1, 1'000'000);
  found.size.gpus_per_node = in.integer({"trainer.devices"}, 1, 1'000);
  const auto shape = restored_shape(in, options, diagnostics);
  if (shape) {
    found.arguments = megatron_shape_arguments(*shape);
    for (const char* name : {"hidden-dropout", "attention-dropout"}) found.arguments[name] = "0.0";
  }
  read_values(in, found.arguments);
  read_tuning_batch(in, found.arguments);
  if (!shape) read_choices(in, found.arguments);
  const FineTuning fine = read_nemo_adapter(in);
  read_nemo_optimizer(in, found.arguments);
  found.arguments["no-create-attention-mask-in-dataloader"] = "true";
  declare_nemo_rest(in);
  PlanNotes notes;
  in.finish(options, notes);
  diagnostics.throw_if_any();
  auto plan = megatron_plan(std::move(found), source, options, diagnostics);
  diagnostics.throw_if_any();
  notes.stack = plan->notes.stack;
  notes.assumed.insert(notes.assumed.end(), plan->notes.assumed.begin(), plan->notes.assumed.end());
  plan->notes = std::move(notes);
  plan->job.fine_tuning = fine;
  if (shape) {
    plan->job.model = *shape;
    plan->model = options.model;
  }
  if (plan->job.stack.name == "megatron-core")
    choose_stack(*plan, "nemo", "the newest NeMo that was measured (containers of 2024 and 2025)");
  return finish_import(std::move(*plan), source, options, diagnostics);
}

}  // namespace foretrain
