// SPDX-License-Identifier: Apache-2.0
// Recomputation and kernels of fine-tuning frameworks.
#include <array>

#include <fmt/format.h>

#include "models/base/ranges.hpp"
#include "scenarios/imports/tuning/internal/tuning_reader.hpp"

namespace foretrain::tuning {
namespace {

constexpr auto attention_kernels = std::to_array<std::string_view>(
    {"auto", "none", "sdpa", "flash_attention_2", "flash_attn", "flash_attention", "flash", "fa2",
     "flex_attention", "flex", "xformers", "eager", "disabled", "true", "false"});

}  // namespace

/// Saved tensors of all layers wait in host memory: with checkpoints, their inputs.
void TuningReader::offload_activations() {
  if (const LlmShape* const model = shape()) job_.memory.offloaded_layers = model->layers;
}

void TuningReader::read_activation_offload() {
  if (in_.truth({"use_unsloth_gc"}, false)) offload_activations();
  const std::string away = in_.text({"activation_offloading"}, "false");
  if (away == "true" || away == "legacy")
    offload_activations();
  else if (away != "false")
    refuse({"activation_offloading"}, in_quotes(away) + " is not modelled: true, legacy");
  const bool factory = framework_ != Framework::transformers;  // scripts say which they take
  if (factory && runs_unsloth()) offload_activations();
  if (in_.truth({"fsdp_config.activation_cpu_offload"}, false) && fsdp_) offload_activations();
}

void TuningReader::read_checkpointing() {
  bool again = keys_.checkpoints || trl_;
  const std::string said = keys_.checkpointing.empty() ? "" : in_.text(keys_.checkpointing);
  const bool offloaded = said == "unsloth" || said == "offload";
  if (said == "true" || said == "false" || offloaded)
    again = said != "false";
  else if (!said.empty())
    refuse(keys_.checkpointing, in_quotes(said) + " is not modelled: true, false, offload");
  if (in_.truth({"disable_gradient_checkpointing"}, false)) again = false;
  const bool silent = said.empty() && !keys_.checkpoints && !fsdp_checkpoints_;
  if (silent && trl_)
    assume(
        "recomputation of whole layers, TRL's default since 0.20 (2025); write "
        "gradient_checkpointing: false for older ones");
  else if (silent && framework_ == Framework::transformers)
    assume(
        "no recomputation, the Trainer's default; TRL's since 2025 is gradient_checkpointing: true "
        "(write it)");
  else if (silent)
    assume(fmt::format("no recomputation, {}'s default", keys_.title));
  job_.memory.recompute.kind =
      again || fsdp_checkpoints_ ? RecomputeKind::full : RecomputeKind::none;
  if (offloaded) offload_activations();
  read_activation_offload();
}

void TuningReader::read_attention() {
  bool eager = in_.truth({"eager_attention"}, false);
  for (const char* key : {"attn_implementation", "attn_impl", "flash_attn"}) {
    const std::string kernel = in_.text({key}, "auto");
    eager = eager || kernel == "eager" || kernel == "disabled";
    const bool third = kernel.ends_with("flash_attention_3") || kernel == "fa3" ||
                       kernel.find("flash-attn3") != std::string::npos;
    if (third) job_.memory.attention_library = AttentionLibrary::flash3;
    if (!third && !contains(attention_kernels, kernel) && !kernel.starts_with("kernels-community/"))
      refuse({key}, in_quotes(kernel) + " is not modelled: sdpa, flash_attention_2, eager");
  }
  if (eager) job_.memory.attention = AttentionKind::unfused;
  for (const char* key :
       {"flash_attention", "sdp_attention", "xformers_attention", "use_flash_attn"})
    (void)in_.truth({key}, false);
  for (const char* key : {"s2_attention", "shift_attn", "sage_attention"})
    refuse_if_on({key}, "is not modelled");
}

/// By a script that imports it, LLaMA-Factory's key, or ms-swift's tuner.
bool TuningReader::runs_unsloth() {
  const std::string tuner = in_.text({"tuner_backend"}, "peft");
  if (tuner != "peft" && tuner != "unsloth")
    in_.refuse("tuner_backend", in_quotes(tuner) + " is not modelled: peft, unsloth");
  return tuner == "unsloth" || in_.truth({"use_unsloth", "unsloth"}, false);
}

/// Its loss in chunks is that of next tokens; others are TRL's, of all logits.
void TuningReader::add_unsloth(bool plain_loss) {
  for (const auto& [kernel, name] : EnumNames<FusedKernel>::names)
    if (kernels_of("unsloth").has(kernel) && (plain_loss || kernel != FusedKernel::linear_loss))
      job_.training.fused_kernels.add(kernel);
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
  if (runs_unsloth()) add_unsloth(plain_loss);
  const bool liger =
      on({"use_liger_kernel", "liger_kernel", "enable_liger_kernel", "use_liger"}, false);
  const bool split = framework_ == Framework::swift && splits_sequences();
  if (split && liger)
    assume("the loss from all logits: ms-swift takes its own where sequences are split");
  const bool linear =
      on({"liger_kernel_config.fused_linear_cross_entropy"}, true) && plain_loss && !split;
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
  if (framework_ == Framework::axolotl) read_axolotl_kernels();
  for (const char* key : {"lora_mlp_kernel", "lora_qkv_kernel", "lora_o_kernel"})
    add_if(on({key}, false), lora);
  in_.approximate({"liger_kernel_config.*", "liger_use_token_scaling", "chunked_cross_entropy",
                   "chunked_cross_entropy_num_chunks"});
}

/// Axolotl's kernels of flash-attn and xformers, and its own of norm and rotary embedding.
void TuningReader::read_axolotl_kernels() {
  FusedKernels& fused = job_.training.fused_kernels;
  if (in_.truth({"flash_attn_rms_norm"}, false)) fused.add(FusedKernel::norm);
  if (in_.truth({"flash_attn_cross_entropy"}, false)) fused.add(FusedKernel::loss);
  if (in_.truth({"flash_attn_fuse_mlp"}, false)) {
    fused.add(FusedKernel::swiglu);
    assume("the MLP of xformers (flash_attn_fuse_mlp) as a fused activation");
  }
  if (!in_.truth({"fused_attn_kernel"}, false)) return;
  fused.add(FusedKernel::rope);
  assume(
      "norms of queries and keys one by one: the kernel that does them with the rotary embedding "
      "(fused_attn_kernel) is that of the embedding alone here");
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
      in_.refuse(key,
                 "false trains a vision tower, or what joins it, whose images these files do not "
                 "state: write training.images and fine_tuning.trained in a scenario");
  if (const auto share = in_.number({"label_smoothing_factor"}); share && *share > 0.0)
    in_.refuse("label_smoothing_factor", "keeps another copy of the logits, which is not modelled");
  if (const std::string backend = in_.text({"ddp_backend"}, "nccl"); backend != "nccl")
    in_.refuse("ddp_backend", in_quotes(backend) + " is not modelled: nccl");
  if (const auto size = in_.integer({"ddp_bucket_cap_mb"}, 1, 1'000'000); size && !deepspeed_)
    job_.communication.bucket = 1.0 * *size * MiB;
  // chunked_nll never holds all logits.
  if (in_.text({"loss_type"}) == "chunked_nll") job_.memory.fused_loss = true;
  read_loading();
  if (files_.openrlhf) in_.harmless_group("openrlhf");
  in_.harmless(framework_);
}

}  // namespace foretrain::tuning
