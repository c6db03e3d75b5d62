// SPDX-License-Identifier: Apache-2.0
// Optimizers, recomputation and kernels of fine-tuning frameworks.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "scenarios/imports/frameworks/frameworks.hpp"
#include "scenarios/imports/frameworks/internal/tuning_reader.hpp"

namespace foretrain::tuning {
namespace {

constexpr auto adams = std::to_array<std::string_view>(
    {"adamw", "adamw_torch", "adamw_torch_fused", "adamw_hf", "adamw_apex_fused", "adamw_torch_xla",
     "paged_adamw", "paged_adamw_32bit", "optimi_adamw"});
constexpr auto small_adams = std::to_array<std::string_view>(
    {"adamw_8bit", "adamw_bnb_8bit", "adamw_torch_8bit", "paged_adamw_8bit", "ao_adamw_8bit"});

constexpr auto attention_kernels = std::to_array<std::string_view>(
    {"auto", "none", "sdpa", "flash_attention_2", "flash_attn", "flash_attention", "flash", "fa2",
     "flex_attention", "flex", "xformers", "eager", "disabled", "true", "false"});

/// Optimizers with other states than Adam's two: bytes of what they keep per parameter.
struct OtherStates {
  std::string_view name;
  double first, second;
};
constexpr double four_bits = 0.5 + 4.0 / 128.0;   // torchao: a scale of 32 bits per 128
constexpr double eight_bits = 1.0 + 4.0 / 256.0;  // bitsandbytes: one per 256
constexpr auto other_states =
    std::to_array<OtherStates>({{"adamw_torch_4bit", four_bits, four_bits},
                                {"ao_adamw_4bit", four_bits, four_bits},
                                {"rmsprop", 0.0, 4.0},
                                {"rmsprop_bnb", 0.0, 4.0},
                                {"rmsprop_bnb_8bit", 0.0, eight_bits},
                                {"adagrad", 0.0, 4.0},
                                {"lion_32bit", 4.0, 0.0},
                                {"paged_lion_32bit", 4.0, 0.0},
                                {"lion_8bit", eight_bits, 0.0},
                                {"paged_lion_8bit", eight_bits, 0.0}});

bool is_one_of(const auto& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Framework importer_of(TuningFramework framework) {
  switch (framework) {
    case TuningFramework::axolotl:
      return Framework::axolotl;
    case TuningFramework::llamafactory:
      return Framework::llamafactory;
    case TuningFramework::swift:
      return Framework::swift;
    case TuningFramework::transformers:
      break;
  }
  return Framework::transformers;
}

}  // namespace

void TuningReader::read_optimizer() {
  const std::string name = in_.text(keys_.optimizer, "adamw_torch");
  OptimizerKind& optimizer = job_.training.optimizer;
  if (is_one_of(small_adams, name))
    optimizer = OptimizerKind::adam8bit;
  else if (name == "sgd")
    optimizer = OptimizerKind::sgd;
  else if (name == "adafactor")
    optimizer = OptimizerKind::adafactor;
  else if (const auto states =
               std::find_if(other_states.begin(), other_states.end(),
                            [&](const OtherStates& row) { return row.name == name; });
           states != other_states.end()) {
    job_.training.first_moment_bytes = states->first;
    job_.training.second_moment_bytes = states->second;
    assume(fmt::format("{} keeps {} B per parameter and takes as long as AdamW", name,
                       states->first + states->second));
  } else if (name != "muon" && !is_one_of(adams, name))
    refuse(keys_.optimizer, in_quotes(name) + " is not modelled");
  if (name == "adamw_torch_fused" || name == "adamw_apex_fused")
    job_.training.fused_kernels.add(FusedKernel::optimizer);
  if (in_.truth({"adafactor"}, false)) optimizer = OptimizerKind::adafactor;
  if (in_.truth({"use_muon"}, name == "muon")) optimizer = OptimizerKind::muon;
  if (in_.truth({"use_adam_mini"}, false)) {
    job_.training.second_moment_bytes = 0.0;
    assume("Adam-mini keeps one moment per parameter and takes as long as AdamW");
  }
  for (const char* key : {"use_galore", "use_apollo", "use_badam"})
    refuse_if_on({key}, "is not modelled");
  if (!words_of({"optim_target_modules"}).empty())
    refuse({"optim_target_modules"}, "gradients of low rank are not modelled");
}

void TuningReader::read_checkpointing() {
  bool again = keys_.checkpoints || trl_;
  const std::string said = keys_.checkpointing.empty() ? "" : in_.text(keys_.checkpointing);
  if (said == "true" || said == "false")
    again = said == "true";
  else if (!said.empty())
    refuse(keys_.checkpointing, in_quotes(said) + " is not modelled: true, false");
  if (in_.truth({"disable_gradient_checkpointing"}, false)) again = false;
  const bool silent = said.empty() && !keys_.checkpoints && !fsdp_checkpoints_;
  if (silent && trl_)
    assume(
        "recomputation of whole layers, TRL's default since 0.20 (2025); write "
        "gradient_checkpointing: false for older ones");
  else if (silent && framework_ == TuningFramework::transformers)
    assume(
        "no recomputation, the Trainer's default; TRL's since 2025 is gradient_checkpointing: true "
        "(write it)");
  else if (silent)
    assume(fmt::format("no recomputation, {}'s default", keys_.title));
  job_.memory.recompute.kind =
      again || fsdp_checkpoints_ ? RecomputeKind::full : RecomputeKind::none;
  refuse_if_on({"activation_offloading", "use_unsloth", "use_unsloth_gc", "unsloth"},
               "is not modelled");
}

void TuningReader::read_attention() {
  bool eager = in_.truth({"eager_attention"}, false);
  for (const char* key : {"attn_implementation", "attn_impl", "flash_attn"}) {
    const std::string kernel = in_.text({key}, "auto");
    eager = eager || kernel == "eager" || kernel == "disabled";
    const bool third = kernel.ends_with("flash_attention_3") || kernel == "fa3" ||
                       kernel.find("flash-attn3") != std::string::npos;
    if (third) assume("attention as fast as FlashAttention 2's: the third was not measured here");
    if (!third && !is_one_of(attention_kernels, kernel) &&
        !kernel.starts_with("kernels-community/"))
      refuse({key}, in_quotes(kernel) + " is not modelled: sdpa, flash_attention_2, eager");
  }
  if (eager) job_.memory.attention = AttentionKind::unfused;
  for (const char* key :
       {"flash_attention", "sdp_attention", "xformers_attention", "use_flash_attn"})
    (void)in_.truth({key}, false);
  for (const char* key : {"s2_attention", "shift_attn", "sage_attention"})
    refuse_if_on({key}, "is not modelled");
}

/// Liger's kernels (all of a model by default but what is switched off), Cut Cross-Entropy, and the
/// LoRA kernels of Axolotl (Unsloth's).
void TuningReader::read_fused_kernels() {
  using enum FusedKernel;
  FusedKernels& fused = job_.training.fused_kernels;
  const auto add_if = [&](bool on, FusedKernel kernel) {
    if (on) fused.add(kernel);
  };
  const auto on = [&](const Keys& keys, bool usual) { return in_.truth(keys, usual); };
  const bool plain_loss = job_.fine_tuning.objective == Objective::next_token;
  const bool liger =
      on({"use_liger_kernel", "liger_kernel", "enable_liger_kernel", "use_liger"}, false);
  const bool linear = on({"liger_kernel_config.fused_linear_cross_entropy"}, true) && plain_loss;
  const bool whole = on({"liger_kernel_config.cross_entropy"}, false) && plain_loss;
  add_if(on({"liger_kernel_config.rms_norm"}, true) && liger, norm);
  add_if(on({"liger_kernel_config.rope"}, true) && liger, rope);
  add_if(on({"liger_kernel_config.swiglu"}, true) && liger, swiglu);
  add_if(linear && liger, linear_loss);
  add_if(whole && liger, loss);
  add_if(on({"liger_rms_norm", "liger_layer_norm"}, false), norm);
  add_if(on({"liger_rope"}, false), rope);
  add_if(on({"liger_glu_activation"}, false), swiglu);
  add_if(on({"liger_cross_entropy"}, false), loss);
  const bool own_loss = on({"liger_fused_linear_cross_entropy"}, false);
  const bool pairs = on({"use_liger_loss"}, false);
  add_if(own_loss || pairs, linear_loss);
  bool plugged = false;
  for (const std::string& name : words_of({"plugins"})) {
    const bool cuts = name.find("cut_cross_entropy") != std::string::npos;
    plugged = plugged || cuts;
    if (!cuts && name.find("liger") == std::string::npos &&
        name.find("lm_eval") == std::string::npos && name.find("swanlab") == std::string::npos)
      in_.refuse("plugins", in_quotes(name) + " is not modelled: Liger, Cut Cross-Entropy");
  }
  add_if(on({"cut_cross_entropy"}, plugged), linear_loss);
  for (const char* key : {"lora_mlp_kernel", "lora_qkv_kernel", "lora_o_kernel"})
    add_if(on({key}, false), lora);
  in_.approximate({"liger_kernel_config.*", "liger_use_token_scaling", "chunked_cross_entropy",
                   "chunked_cross_entropy_num_chunks"});
}

bool TuningReader::compiles() {
  const bool flag = in_.text({"torch_compile"}) == "true";
  const std::string dynamo = in_.text({"dynamo_config.dynamo_backend", "dynamo_backend"}, "no");
  in_.approximate({"torch_compile_backend", "torch_compile_mode", "dynamo_config.*"});
  return flag || dynamo != "no";
}

void TuningReader::choose_profile() {
  const bool compiled = compiles();
  if (deepspeed_) {
    // The DeepSpeed file chose; a profile of compiled kernels is there for ZeRO-3 alone.
    if (compiled && job_.stack.name != "fsdp2")
      refuse({"torch_compile", "dynamo_config", "dynamo_backend"},
             "under DeepSpeed below ZeRO-3 is not modelled");
    if (!compiled || job_.stack.name != "fsdp2") return;
  }
  choose_stack(plan_, compiled ? "fsdp2-compile" : "hf-trainer",
               compiled ? "kernels of PyTorch with torch.compile, as torchtitan runs them"
                        : "models of transformers, eager, as the Trainer runs them");
}

/// Checkpoints in MXFP4 that are unpacked when they are loaded; experts packed as all else is.
void TuningReader::read_loading() {
  const std::string kind = in_.text({"model_quantization_config"});
  const bool unpacks = in_.truth({"model_quantization_config_kwargs.dequantize"}, false);
  if (!kind.empty() && !(kind == "mxfp4config" && unpacks))
    in_.refuse("model_quantization_config", "loads a model that stays packed: not modelled");
  if (in_.truth({"quantize_moe_experts"}, false) && !job_.fine_tuning.packs_frozen())
    in_.refuse("quantize_moe_experts", "packs experts alone, which is not modelled");
}

void TuningReader::read_rest() {
  refuse_if_on({"use_cpu", "no_cuda", "use_ipex"}, "trains without GPUs, which is not modelled");
  const bool trains = in_.truth({"do_train"}, false);
  if (!trains) refuse_if_on({"do_predict"}, "answers, and do_train is not set: nothing is trained");
  const Keys experts{"experts_implementation", "experts_impl"};
  const std::string kernel = in_.text(experts);
  if (!kernel.empty()) job_.training.grouped_experts = kernel != "eager";
  if (!kernel.empty() && kernel != "eager" && kernel != "grouped_mm")
    refuse(experts, in_quotes(kernel) + " is not modelled: grouped_mm, eager");
  for (const char* key :
       {"freeze_vit", "freeze_aligner", "freeze_vision_tower", "freeze_multi_modal_projector"})
    if (!in_.truth({key}, true))
      in_.refuse(key, "false trains a vision tower, or what joins it, which is not modelled");
  if (const auto share = in_.number({"label_smoothing_factor"}); share && *share > 0.0)
    in_.refuse("label_smoothing_factor", "keeps another copy of the logits, which is not modelled");
  if (const std::string backend = in_.text({"ddp_backend"}, "nccl"); backend != "nccl")
    in_.refuse("ddp_backend", in_quotes(backend) + " is not modelled: nccl");
  if (const auto size = in_.integer({"ddp_bucket_cap_mb"}, 1, 1'000'000); size && !deepspeed_)
    job_.communication.bucket = 1.0 * *size * MiB;
  // chunked_nll never holds all logits.
  if (in_.text({"loss_type"}) == "chunked_nll") job_.memory.fused_loss = true;
  read_loading();
  in_.harmless(importer_of(framework_));
}

}  // namespace foretrain::tuning
