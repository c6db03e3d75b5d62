// SPDX-License-Identifier: Apache-2.0
// Names and defaults: OpenRLHF's cli/train_sft.py, cli/train_dpo.py, utils/deepspeed.
#include "scenarios/imports/frameworks/internal/openrlhf_keys.hpp"

#include <array>
#include <string_view>

#include "scenarios/imports/frameworks/override_tree.hpp"

namespace foretrain::tuning {
namespace {

struct Renamed {
  std::string_view from, to;
};
constexpr auto renamed_arguments = std::to_array<Renamed>({
    {"pretrain", "model_name_or_path"},
    {"max_len", "max_length"},
    {"micro_train_batch_size", "per_device_train_batch_size"},
    {"train_batch_size", "global_batch_size"},
    {"packing_samples", "packing"},
    {"target_modules", "lora_target_modules"},
});

bool is_on(const std::optional<YamlNode>& node) { return node && node->text != "false"; }

}  // namespace

void turn_openrlhf_keys(TuningFiles& files) {
  YamlNode& root = files.root;
  if (root.find("pretrain") == nullptr || root.find("micro_train_batch_size") == nullptr) return;
  files.openrlhf = true;
  const auto put = [&](YamlNode& into, const char* word) { put_override(into, word, root.mark); };
  if (root.find("max_len") == nullptr) put(root, "max_len=2048");
  if (root.find("train_batch_size") == nullptr) put(root, "train_batch_size=128");
  const auto rank = take_out(root, "lora_rank");
  const bool adapts = rank && rank->text != "0";
  put(root, adapts ? "use_peft=true" : "use_peft=false");
  if (adapts) {
    put_value(root, "lora_r", *rank);
    if (root.find("target_modules") == nullptr) put(root, "target_modules=all-linear");
    if (root.find("lora_dropout") == nullptr) put(root, "lora_dropout=0");
  }
  YamlNode zero;
  zero.kind = YamlNode::Kind::map;
  zero.mark = root.mark;
  put(zero, "bf16.enabled=true");
  if (auto stage = take_out(root, "zero_stage"))
    put_value(zero, "zero_optimization.stage", std::move(*stage));
  else
    put(zero, "zero_optimization.stage=2");
  if (is_on(take_out(root, "adam_offload")))
    put(zero, "zero_optimization.offload_optimizer.device=cpu");
  files.deepspeed = std::move(zero);
  if (root.find("bf16") == nullptr) put(root, "bf16=true");
  for (const Renamed& argument : renamed_arguments)
    if (auto value = take_out(root, argument.from))
      put_value(root, std::string(argument.to), std::move(*value));
}

}  // namespace foretrain::tuning
