// SPDX-License-Identifier: Apache-2.0
// Names and defaults: LLaMA-Factory's src/llamafactory/v1/config, as of August 2026.
#include "scenarios/imports/frameworks/internal/factory_keys.hpp"

#include <array>
#include <string_view>

#include "scenarios/imports/frameworks/override_tree.hpp"

namespace foretrain::tuning {
namespace {

struct Move {
  std::string_view from, to;
};
constexpr auto moves = std::to_array<Move>({
    {"model", "model_name_or_path"},
    {"train_dataset", "dataset"},
    {"micro_batch_size", "per_device_train_batch_size"},
    {"peft_config.name", "finetuning_type"},
    {"peft_config.r", "lora_rank"},
    {"peft_config.lora_alpha", "lora_alpha"},
    {"peft_config.lora_dropout", "lora_dropout"},
    {"peft_config.target_modules", "lora_target"},
    {"quant_config.quantization_bit", "quantization_bit"},
    {"optim_config.name", "optim"},
    {"dist_config.config_file", "deepspeed"},
    {"dist_config.reshard_after_forward", "fsdp_config.reshard_after_forward"},
    {"dist_config.offload_params", "fsdp_config.offload_params"},
    {"mp_replicate_size", "dp_replicate_size"},
    {"mp_shard_size", "dp_shard_size"},
});

/// Values that are the first trainer's default.
constexpr auto plain_values = std::to_array<Move>({
    {"kernel_config.name", "auto"},
    {"quant_config.name", "auto"},
    {"quant_config.name", "bnb"},
    {"init_config.name", "init_on_meta"},
    {"init_config.name", "init_on_rank0"},
    {"init_config.name", "init_on_default"},
    {"cp_mode", "ulysses"},
});

std::string text_at(const YamlNode& root, std::string_view path) {
  const YamlNode* const node = node_at(root, path);
  return node == nullptr ? std::string() : node->text;
}

void put_text(YamlNode& root, const char* path, const char* text) {
  YamlNode node;
  node.kind = YamlNode::Kind::scalar;
  node.text = text;
  node.mark = root.mark;
  put_value(root, path, std::move(node));
}

/// Plain fine-tuning, pairs or rewards are verbs of the command.
void turn_stage(YamlNode& root, std::vector<std::string>& assumed) {
  if (root.find("stage") != nullptr) return;
  const std::string file = root.mark.file ? *root.mark.file : std::string();
  const bool pairs = root.find("pref_loss") != nullptr || root.find("pref_beta") != nullptr ||
                     file.find("dpo") != std::string::npos;
  put_text(root, "stage", pairs ? "dpo" : "sft");
  assumed.emplace_back(pairs ? "DPO, as its keys or the file's name say (stage)"
                             : "plain fine-tuning: the file does not say whether its command is "
                               "llamafactory-cli sft, dpo or rm (stage)");
}

}  // namespace

void turn_factory_keys(YamlNode& root, std::vector<std::string>& assumed) {
  if (root.find("model_class") == nullptr) return;
  static_cast<void>(take_out(root, "model_class"));
  turn_stage(root, assumed);
  for (const Move& value : plain_values)
    if (text_at(root, value.from) == value.to) static_cast<void>(take_out(root, value.from));
  if (text_at(root, "kernel_config.name") == "liger_kernel") {
    static_cast<void>(take_out(root, "kernel_config.name"));
    put_text(root, "enable_liger_kernel", "true");
  }
  const std::string sharder = text_at(root, "dist_config.name");
  if (sharder == "fsdp2" || sharder == "deepspeed")
    static_cast<void>(take_out(root, "dist_config.name"));
  if (sharder == "fsdp2") put_text(root, "fsdp_config.fsdp_version", "2");
  if (auto ranks = take_out(root, "cp_size"))
    put_value(root, "sequence_parallel_size", std::move(*ranks));
  if (auto again = take_out(root, "enable_activation_checkpointing"))
    put_text(root, "disable_gradient_checkpointing",
             again->text == "false" || again->text == "False" ? "true" : "false");
  if (node_at(root, "peft_config.name") == nullptr) put_text(root, "finetuning_type", "full");
  if (root.find("bf16") == nullptr) put_text(root, "bf16", "true");
  if (node_at(root, "micro_batch_size") == nullptr) put_text(root, "micro_batch_size", "1");
  for (const Move& move : moves)
    if (auto value = take_out(root, move.from))
      put_value(root, std::string(move.to), std::move(*value));
}

}  // namespace foretrain::tuning
