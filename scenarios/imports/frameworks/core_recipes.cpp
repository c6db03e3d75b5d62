// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks/core_recipes.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include <fmt/format.h>

#include "scenarios/imports/frameworks/override_tree.hpp"

namespace foretrain {
namespace {

// Megatron-Bridge's files.
constexpr std::string_view llama3_py = "llama/llama3.py at 0d5f5558c16f";
constexpr std::string_view llama3_h100_py = "llama/h100/llama3.py at 026d7fa373f2";
constexpr std::string_view llama2_py = "llama/h100/llama2.py at 00d8bba154a6";
constexpr std::string_view qwen3_py = "qwen/qwen3.py at 08fe529cf46f";
constexpr std::string_view qwen3_h100_py = "qwen/h100/qwen3.py at 0cabbd55573e";
constexpr std::string_view qwen3_moe_py = "qwen/h100/qwen3_moe.py at 04eb4f8d6045";
constexpr std::string_view deepseek_py = "deepseek/h100/deepseek_v3.py at 0edb66993a77";
constexpr std::string_view gpt_oss_py = "gpt_oss/h100/gpt_oss.py at 0cabbd55573e";
constexpr std::string_view kimi_py = "kimi/h100/kimi_k2.py at 0cabbd55573e";
constexpr std::string_view nemotron_h_py = "nemotronh/nemotronh.py at 0350b4ef4ef8";

// Fused cross-entropy of Transformer Engine or of Megatron-Core.
constexpr std::string_view te_loss =
    "model.cross_entropy_loss_fusion=true model.cross_entropy_fusion_impl=te";
constexpr std::string_view native_loss =
    "model.cross_entropy_loss_fusion=true model.cross_entropy_fusion_impl=native";
// recipes/common.py.
constexpr std::string_view pretrain =
    "mixed_precision=bf16_mixed optimizer.optimizer=adam optimizer.use_distributed_optimizer=true "
    "ddp.use_distributed_optimizer=true ddp.overlap_grad_reduce=true "
    "ddp.overlap_param_gather=true ddp.grad_reduce_in_fp32=true train.train_iters=300000";
constexpr std::string_view tuning =
    "mixed_precision=bf16_mixed optimizer.optimizer=adam optimizer.use_distributed_optimizer=true "
    "ddp.use_distributed_optimizer=false ddp.overlap_grad_reduce=false "
    "ddp.overlap_param_gather=false train.train_iters=1000 dataset.enable_offline_packing=true";
constexpr std::string_view llama_steps = "train.train_iters=1168251";
constexpr std::string_view million_steps = "train.train_iters=1000000";
constexpr std::string_view tensor_overlap = "comm_overlap.tp_comm_overlap=true";
constexpr std::string_view no_tensor_overlap = "comm_overlap.tp_comm_overlap=false";
constexpr std::string_view both_ends =
    "model.account_for_embedding_in_pipeline_split=true "
    "model.account_for_loss_in_pipeline_split=true";
constexpr std::string_view experts =
    "model.moe_permute_fusion=true model.moe_grouped_gemm=true model.expert_tensor_parallel_size=1";
constexpr std::string_view deepep =
    "model.moe_token_dispatcher_type=flex model.moe_flex_dispatcher_backend=deepep";
constexpr std::string_view full_recompute =
    "model.recompute_granularity=full model.recompute_method=uniform model.recompute_num_layers=1";
constexpr std::string_view deepseek =
    "model.mtp_num_layers=1 model.moe_token_dispatcher_type=flex "
    "model.moe_flex_dispatcher_backend=hybridep model.moe_hybridep_num_sms=16 "
    "mixed_precision.grad_reduce_in_fp32=false optimizer.use_precision_aware_optimizer=true "
    "optimizer.main_params_dtype=torch.float32 optimizer.main_grads_dtype=torch.bfloat16 "
    "optimizer.exp_avg_dtype=torch.bfloat16 optimizer.exp_avg_sq_dtype=torch.bfloat16 "
    "comm_overlap.tp_comm_overlap=false train.train_iters=1000000";
constexpr std::string_view gpt_oss =
    "model.moe_token_dispatcher_type=alltoall model.cp_comm_type=a2a train.train_iters=1000000";
constexpr std::string_view nemotron_fp8 =
    "mixed_precision=nemotron_h_bf16_with_fp8_current_scaling_mixed";

// clang-format off
constexpr auto bridge = std::to_array<CoreRecipe>({
    {"llama2_7b_pretrain_2gpu_h100_bf16_config", "llama2-7b", 2, 1, 1, 1, 1, false, 4096, 512, 1,
     {pretrain, native_loss, llama_steps, no_tensor_overlap}, llama2_py},
    {"llama32_1b_pretrain_config", "llama3.2-1b", 1, 1, 1, 1, 1, false, 8192, 512, 1,
     {pretrain, te_loss, llama_steps}, llama3_py},
    {"llama32_1b_pretrain_1gpu_h100_bf16_config", "llama3.2-1b",
     1, 1, 1, 1, 1, false, 8192, 512, 1,
     {pretrain, te_loss, llama_steps}, llama3_h100_py},
    {"llama32_3b_pretrain_config", "llama3.2-3b", 1, 1, 1, 1, 1, false, 8192, 512, 1,
     {pretrain, te_loss, llama_steps}, llama3_py},
    {"llama32_3b_pretrain_1gpu_h100_bf16_config", "llama3.2-3b",
     1, 1, 1, 1, 1, false, 8192, 512, 1,
     {pretrain, te_loss, llama_steps}, llama3_h100_py},
    {"llama3_8b_pretrain_config", "llama3-8b", 1, 1, 1, 2, 1, false, 8192, 512, 1,
     {pretrain, te_loss, llama_steps}, llama3_py},
    {"llama3_8b_pretrain_2gpu_h100_bf16_config", "llama3-8b", 1, 1, 1, 2, 1, false, 8192, 512, 1,
     {pretrain, te_loss, llama_steps}, llama3_h100_py},
    {"llama3_8b_16k_pretrain_config", "llama3-8b", 4, 2, 1, 2, 1, true, 16384, 512, 1,
     {pretrain, te_loss, llama_steps}, llama3_py},
    {"llama3_8b_64k_pretrain_config", "llama3-8b", 4, 2, 1, 4, 1, true, 65536, 512, 1,
     {pretrain, te_loss, llama_steps}, llama3_py},
    {"llama3_8b_128k_pretrain_config", "llama3-8b", 4, 2, 1, 8, 1, true, 131072, 512, 1,
     {pretrain, te_loss, llama_steps}, llama3_py},
    {"llama3_70b_pretrain_config", "llama3-70b", 4, 4, 5, 2, 1, true, 8192, 512, 1,
     {pretrain, te_loss, llama_steps, tensor_overlap}, llama3_py},
    {"llama3_70b_16k_pretrain_config", "llama3-70b", 8, 2, 1, 2, 1, true, 16384, 512, 1,
     {pretrain, te_loss, llama_steps, tensor_overlap}, llama3_py},
    {"llama3_70b_64k_pretrain_config", "llama3-70b", 8, 4, 1, 8, 1, true, 65536, 512, 1,
     {pretrain, te_loss, llama_steps, tensor_overlap}, llama3_py},
    {"llama31_8b_pretrain_config", "llama3.1-8b", 1, 1, 1, 2, 1, false, 8192, 512, 1,
     {pretrain, te_loss, llama_steps}, llama3_py},
    {"llama31_70b_pretrain_config", "llama3.1-70b", 4, 4, 5, 2, 1, true, 131072, 512, 1,
     {pretrain, te_loss, llama_steps, tensor_overlap}, llama3_py},
    {"llama31_405b_pretrain_config", "llama3.1-405b", 8, 8, 2, 4, 1, true, 131072, 512, 1,
     {pretrain, te_loss, llama_steps, tensor_overlap, both_ends}, llama3_py},
    {"llama32_1b_sft_config", "llama3.2-1b", 1, 1, 1, 1, 1, false, 4096, 8, 1,
     {tuning, native_loss}, llama3_py},
    {"qwen3_600m_pretrain_config", "qwen3-0.6b", 1, 1, 1, 1, 1, false, 4096, 32, 2,
     {pretrain, te_loss}, qwen3_py},
    {"qwen3_600m_pretrain_1gpu_h100_bf16_config", "qwen3-0.6b", 1, 1, 1, 1, 1, false, 4096, 32, 2,
     {pretrain, te_loss}, qwen3_h100_py},
    {"qwen3_1p7b_pretrain_config", "qwen3-1.7b", 1, 1, 1, 1, 1, false, 4096, 32, 2,
     {pretrain, te_loss}, qwen3_py},
    {"qwen3_1p7b_pretrain_1gpu_h100_bf16_config", "qwen3-1.7b", 1, 1, 1, 1, 1, false, 4096, 32, 2,
     {pretrain, te_loss}, qwen3_h100_py},
    {"qwen3_4b_pretrain_config", "qwen3-4b", 2, 1, 1, 1, 1, false, 4096, 32, 2,
     {pretrain, te_loss}, qwen3_py},
    {"qwen3_4b_pretrain_2gpu_h100_bf16_config", "qwen3-4b", 2, 1, 1, 1, 1, false, 4096, 32, 2,
     {pretrain, te_loss}, qwen3_h100_py},
    {"qwen3_8b_pretrain_config", "qwen3-8b", 4, 1, 1, 1, 1, false, 4096, 32, 2,
     {pretrain, te_loss}, qwen3_py},
    {"qwen3_8b_pretrain_4gpu_h100_bf16_config", "qwen3-8b", 4, 1, 1, 1, 1, false, 4096, 32, 2,
     {pretrain, te_loss}, qwen3_h100_py},
    {"qwen3_14b_pretrain_config", "qwen3-14b", 8, 1, 1, 1, 1, false, 4096, 32, 2,
     {pretrain, te_loss}, qwen3_py},
    {"qwen3_14b_pretrain_8gpu_h100_bf16_config", "qwen3-14b", 8, 1, 1, 1, 1, false, 4096, 32, 2,
     {pretrain, te_loss}, qwen3_h100_py},
    {"qwen3_32b_pretrain_16gpu_h100_bf16_config", "qwen3-32b", 8, 2, 1, 1, 1, false, 4096, 32, 2,
     {pretrain, te_loss, full_recompute}, qwen3_h100_py},
    {"qwen3_600m_sft_1gpu_h100_bf16_config", "qwen3-0.6b", 1, 1, 1, 1, 1, false, 2048, 8, 1,
     {tuning, native_loss}, qwen3_h100_py},
    {"qwen3_30b_a3b_pretrain_8gpu_h100_bf16_config", "qwen3-30b-a3b",
     4, 2, 1, 1, 4, true, 4096, 32, 2,
     {pretrain, te_loss, full_recompute, experts, deepep}, qwen3_moe_py},
    {"qwen3_30b_a3b_pretrain_16gpu_h100_bf16_config", "qwen3-30b-a3b",
     1, 1, 1, 1, 16, false, 4096, 1024, 1,
     {pretrain, te_loss, experts, tensor_overlap,
      "model.moe_token_dispatcher_type=flex model.moe_flex_dispatcher_backend=hybridep "
      "model.moe_hybridep_num_sms=32 model.moe_router_fusion=true "
      "mixed_precision.grad_reduce_in_fp32=false model.cuda_graph_impl=transformer_engine "
      "model.cuda_graph_scope=[moe_router,moe_preprocess]"},
     qwen3_moe_py},
    {"qwen3_235b_a22b_pretrain_256gpu_h100_bf16_config", "qwen3-235b-a22b",
     4, 16, 1, 2, 8, true, 4096, 32, 1,
     {pretrain, te_loss, experts, deepep, both_ends}, qwen3_moe_py},
    {"deepseek_v3_pretrain_1024gpu_h100_bf16_config", "deepseek-v3",
     2, 16, 1, 1, 64, true, 4096, 4096, 1,
     {pretrain, te_loss, experts, deepseek,
      "model.pipeline_model_parallel_layout=Etttt|(tttt|)*14tmL"},
     deepseek_py},
    {"deepseek_v3_pretrain_256gpu_h100_bf16_32nodes_config", "deepseek-v3",
     2, 8, 1, 1, 32, true, 4096, 4096, 1,
     {pretrain, te_loss, experts, deepseek, full_recompute,
      "model.pipeline_model_parallel_layout=Etttttttt|(tttttttt|)*6tttttmL"},
     deepseek_py},
    {"gpt_oss_20b_pretrain_16gpu_h100_bf16_config", "gpt-oss-20b",
     2, 4, 1, 1, 4, true, 4096, 512, 1,
     {pretrain, native_loss, experts, gpt_oss}, gpt_oss_py},
    {"gpt_oss_120b_pretrain_64gpu_h100_bf16_config", "gpt-oss-120b",
     2, 4, 1, 1, 16, true, 4096, 512, 1,
     {pretrain, native_loss, experts, gpt_oss}, gpt_oss_py},
    {"kimi_k2_pretrain_512gpu_h100_bf16_config", "kimi-k2", 2, 16, 1, 1, 32, true, 4096, 4096, 1,
     {te_loss, experts, no_tensor_overlap, million_steps,
      "mixed_precision=bf16_mixed optimizer.optimizer=dist_muon "
      "ddp.use_distributed_optimizer=false ddp.overlap_grad_reduce=true "
      "ddp.overlap_param_gather=false model.recompute_granularity=selective "
      "model.moe_token_dispatcher_type=alltoall model.moe_shared_expert_overlap=true",
      "model.pipeline_model_parallel_layout=Etttt|(tttt|)*14tL"},
     kimi_py},
    {"nemotronh_8b_pretrain_config", "nemotron-h-8b", 2, 1, 1, 1, 1, true, 8192, 768, 1,
     {pretrain, native_loss, llama_steps, tensor_overlap}, nemotron_h_py},
    {"nemotronh_47b_pretrain_config", "nemotron-h-47b", 8, 1, 1, 1, 1, true, 8192, 768, 1,
     {pretrain, native_loss, llama_steps, tensor_overlap, nemotron_fp8}, nemotron_h_py},
    {"nemotronh_56b_pretrain_config", "nemotron-h-56b", 8, 1, 1, 1, 1, true, 8192, 768, 1,
     {pretrain, native_loss, llama_steps, tensor_overlap, nemotron_fp8}, nemotron_h_py},
});
// clang-format on

constexpr std::string_view nemo_trainer =
    "trainer.plugins=bf16_mixed model.config.cross_entropy_loss_fusion=true "
    "optim.config.optimizer=adam optim.config.use_distributed_optimizer=true "
    "trainer.strategy.ddp.grad_reduce_in_fp32=true trainer.strategy.ddp.overlap_grad_reduce=true "
    "trainer.strategy.ddp.overlap_param_gather=true trainer.devices=8";
constexpr std::string_view nemo_steps = "trainer.max_steps=1168251";
constexpr std::string_view one_node = "trainer.num_nodes=1";

// clang-format off
constexpr auto nemo = std::to_array<CoreRecipe>({
    {"llama3_8b", "llama3-8b", 1, 1, 1, 2, 1, false, 8192, 512, 1,
     {nemo_trainer, one_node, nemo_steps},
     "llama3_8b.py, as kehwa-ipevo/NeMo has it at 6fb763509b62"},
    {"llama3_70b", "llama3-70b", 4, 4, 5, 2, 1, true, 8192, 512, 1,
     {nemo_trainer, "trainer.num_nodes=4", nemo_steps}, "llama3_70b.py at 0189a3b38dcf"},
    {"llama31_8b", "llama3.1-8b", 1, 1, 1, 2, 1, false, 8192, 512, 1,
     {nemo_trainer, one_node, nemo_steps}, "llama31_8b.py at 0a8b017a188a"},
    {"llama31_70b", "llama3.1-70b", 4, 4, 5, 2, 1, true, 8192, 512, 1,
     {nemo_trainer, nemo_steps}, "llama31_70b.py at 25445927d77f"},
    {"llama31_405b", "llama3.1-405b", 8, 9, 2, 4, 1, true, 8192, 512, 1,
     {nemo_trainer, nemo_steps}, "llama31_405b.py at 00aa2e12802f"},
    {"llama32_1b", "llama3.2-1b", 1, 1, 1, 1, 1, false, 8192, 512, 1,
     {nemo_trainer, one_node, nemo_steps}, "llama32_1b.py at 13ba900c06f7"},
    {"nemotron4_15b", "nemotron4-15b", 4, 1, 1, 1, 1, false, 4096, 32, 2,
     {nemo_trainer, one_node, "trainer.max_steps=300000"},
     "nemotron4_15b.py at 023dfbe65d1e and nemotron.py at 23d2d02edd47"},
    {"nemotron4_340b", "nemotron4-340b", 8, 12, 8, 2, 1, true, 4096, 2304, 1,
     {nemo_trainer, "trainer.num_nodes=768", "trainer.max_steps=100000"},
     "nemotron4_340b.py at 01d03c17ac58 and nemotron.py at 23d2d02edd47"},
    {"gpt3_175b", "gpt3-175b", 4, 8, 6, 1, 1, true, 2048, 2048, 2,
     {nemo_trainer, nemo_steps, "trainer.plugins=bf16_with_fp8_mixed"},
     "gpt3_175b.py at 0175f4c6c800"},
});
// clang-format on

}  // namespace

std::span<const CoreRecipe> bridge_recipes() { return bridge; }

std::span<const CoreRecipe> nemo_recipes() { return nemo; }

const CoreRecipe* find_recipe(std::span<const CoreRecipe> recipes, std::string_view name) {
  const auto found =
      std::ranges::find_if(recipes, [&](const CoreRecipe& recipe) { return recipe.name == name; });
  return found == recipes.end() ? nullptr : &*found;
}

void put_recipe(const CoreRecipe& recipe, const CoreGroups& groups, YamlNode& root) {
  const Mark nowhere{root.mark.file, 0, 0};
  const auto put = [&](const std::string& group, const char* name, int value) {
    put_override(root, fmt::format("{}.{}={}", group, name, value), nowhere);
  };
  const std::string& plan = groups.model.back();
  put(plan, "tensor_model_parallel_size", recipe.tensor);
  put(plan, "pipeline_model_parallel_size", recipe.pipeline);
  if (recipe.virtual_stages > 1)
    put(plan, "virtual_pipeline_model_parallel_size", recipe.virtual_stages);
  put(plan, "context_parallel_size", recipe.context);
  if (recipe.expert > 1) put(plan, "expert_model_parallel_size", recipe.expert);
  if (recipe.sequence_parallel) put_override(root, plan + ".sequence_parallel=true", nowhere);
  put(groups.data, "seq_length", recipe.sequence);
  put(groups.batch, "global_batch_size", recipe.global);
  put(groups.batch, "micro_batch_size", recipe.micro);
  for (const std::string_view settings : recipe.more) {
    std::istringstream words{std::string(settings)};
    for (std::string word; words >> word;) put_override(root, word, nowhere);
  }
}

std::string recipe_words(const CoreRecipe& recipe) {
  std::string words = fmt::format("{} of {}: tensor {}, pipeline {}", recipe.name, recipe.model,
                                  recipe.tensor, recipe.pipeline);
  if (recipe.virtual_stages > 1) words += fmt::format(" in {} chunks", recipe.virtual_stages);
  words += fmt::format(", context {}", recipe.context);
  if (recipe.expert > 1) words += fmt::format(", expert {}", recipe.expert);
  return words + fmt::format(", {} tokens, batches of {} and {} ({})", recipe.sequence,
                             recipe.global, recipe.micro, recipe.source);
}

}  // namespace foretrain
