// SPDX-License-Identifier: Apache-2.0
// Imports of frameworks over Megatron-Core: Megatron-Bridge and NeMo 2.
#include <catch2/catch.hpp>

#include <algorithm>

#include <fmt/format.h>

#include "models/layers/parameters.hpp"
#include "scenarios/catalog/catalog.hpp"
#include "scenarios/imports/core/core_recipes.hpp"
#include "scenarios/imports/frameworks/frameworks.hpp"
#include "scenarios/imports/megatron/megatron_shape.hpp"

namespace foretrain {
namespace {

ImportedScenario core_imported(Framework framework, const std::string& text, int gpus = 64,
                               const std::string& name = "run") {
  PlanImportOptions options;
  options.gpus = gpus;
  return import_framework(framework, text, name, options);
}

std::string core_refused(Framework framework, const std::string& text,
                         PlanImportOptions options = {}, const std::string& name = "run") {
  try {
    if (!options.gpus) options.gpus = 64;
    (void)import_framework(framework, text, name, options);
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "";
}

bool core_mentions(const std::vector<std::string>& words, const std::string& part) {
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return word.find(part) != std::string::npos; });
}

LlmShape core_shape(const std::string& name) {
  Diagnostics diagnostics;
  std::vector<SourceFile> files;
  std::vector<ResolvedValue> values;
  CatalogContext context{{}, {}, diagnostics, files, values};
  const auto shape = load_model({name, "model", {}}, context);
  REQUIRE(shape);
  return *shape;
}

/// A ConfigContainer as Megatron-Bridge writes it, cut to what differs from run to run.
const std::string container = R"(_target_: megatron.bridge.training.config.ConfigContainer
checkpoint: {save_interval: 500, ckpt_format: torch_dist}
comm_overlap:
  _target_: megatron.bridge.training.comm_overlap.CommOverlapConfig
  tp_comm_overlap: true
  overlap_grad_reduce: null
  delay_wgrad_compute: null
dataset: {seq_length: 4096, num_workers: 8}
ddp: {average_in_collective: true, bucket_size: null, grad_reduce_in_fp32: true,
  overlap_grad_reduce: false, use_distributed_optimizer: true, use_megatron_fsdp: false}
dist: {use_tp_pp_dp_mapping: false, distributed_backend: nccl}
mixed_precision:
  bf16: true
  fp8: e4m3
  fp8_recipe: mxfp8
  fp8_param: true
  grad_reduce_in_fp32: false
  params_dtype: {_call_: false, _target_: torch.bfloat16}
model:
  _target_: megatron.bridge.models.gpt_provider.GPTModelProvider
  activation_func: {_call_: false, _target_: torch.nn.functional.silu}
  add_bias_linear: false
  add_qkv_bias: false
  attention_backend: null
  attention_dropout: 0.0
  context_parallel_size: 1
  cross_entropy_fusion_impl: te
  cross_entropy_loss_fusion: true
  cuda_graph_impl: none
  cuda_graph_scope: full
  expert_model_parallel_size: 8
  expert_tensor_parallel_size: 1
  ffn_hidden_size: 6144
  fp8_recipe: delayed
  gated_linear_unit: true
  hidden_dropout: 0.0
  hidden_size: 2048
  kv_channels: 128
  layernorm_epsilon: 1.0e-06
  moe_aux_loss_coeff: 0.001
  moe_ffn_hidden_size: 768
  moe_flex_dispatcher_backend: hybridep
  moe_grouped_gemm: true
  moe_layer_freq: 1
  moe_permute_fusion: true
  moe_router_force_load_balancing: true
  moe_router_topk: 8
  moe_shared_expert_intermediate_size: null
  moe_token_dispatcher_type: flex
  mtp_num_layers: null
  normalization: RMSNorm
  num_attention_heads: 32
  num_layers: 48
  num_moe_experts: 128
  num_query_groups: 4
  pipeline_model_parallel_layout: null
  pipeline_model_parallel_size: 1
  position_embedding_type: rope
  qk_layernorm: true
  recompute_granularity: selective
  recompute_modules: [layernorm, moe_act]
  seq_length: 4096
  sequence_parallel: false
  share_embeddings_and_output_weights: false
  should_pad_vocab: false
  tensor_model_parallel_size: 1
  virtual_pipeline_model_parallel_size: null
  vocab_size: 151936
optimizer:
  adam_beta1: 0.9
  exp_avg_dtype: {_call_: false, _target_: torch.float32}
  lr: 0.0003
  optimizer: adam
  use_distributed_optimizer: true
peft: null
rng: {seed: 1234}
train: {global_batch_size: 512, micro_batch_size: 2, train_iters: 50, rampup_batch_size: null}
)";

}  // namespace

TEST_CASE("a Megatron-Bridge launch is its recipe with the overrides over it",
          "[scenarios][import]") {
  const ImportedScenario result = import_framework(
      Framework::bridge,
      "torchrun --nnodes=4 --nproc_per_node=8 scripts/training/run_recipe.py \\\n"
      "  --recipe llama3_70b_pretrain_config --dataset llm-pretrain-mock \\\n"
      "  model.virtual_pipeline_model_parallel_size=null train.global_batch_size=256 \\\n"
      "  mixed_precision=bf16_with_fp8_current_scaling_mixed optimizer.lr=0.0001\n",
      "launch.sh", {});
  const Job& job = result.scenario.job;
  CHECK(job.model.name == "llama3-70b");
  CHECK(job.cluster.gpus() == 32);
  CHECK(job.parallel.tensor == 4);
  CHECK(job.parallel.pipeline == 4);
  CHECK(job.parallel.virtual_stages == 1);  // the override takes the recipe's 5 away
  CHECK(job.parallel.context == 2);
  CHECK(job.parallel.data == 1);
  CHECK(job.training.global_batch == 256);
  CHECK(job.training.sequence == 8192);
  CHECK(job.training.precision == Precision::fp8);
  CHECK(job.training.fp8_scaling == Fp8Scaling::current);
  CHECK(job.training.bf16_end_layers == 2);
  CHECK(job.memory.fp8_parameters);
  CHECK(job.memory.fused_loss_engine);
  CHECK(job.communication.overlap.tensor);
  CHECK(job.stack.name == "megatron-core");
  // What the recipe sets is told once, not as keys that the user wrote.
  CHECK(result.notes.read.size() == 3);
  CHECK(core_mentions(result.notes.ignored, "optimizer.lr"));
  CHECK(core_mentions(result.notes.assumed, "llama3_70b_pretrain_config of llama3-70b: tensor 4"));
}

TEST_CASE("overrides of a launcher come before those of keys, and turn on sequence parallelism",
          "[scenarios][import]") {
  const Job job = core_imported(Framework::bridge,
                                "python run_recipe.py --recipe llama3_8b_pretrain_config -tp 4 "
                                "-gb 64 train.global_batch_size=128 -ms 10")
                      .scenario.job;
  CHECK(job.parallel.tensor == 4);
  CHECK(job.parallel.sequence);
  CHECK(job.training.global_batch == 128);
  CHECK(job.training.tokens == 10.0 * 128 * 8192);
}

TEST_CASE("a ConfigContainer says model, plan and precision alone", "[scenarios][import]") {
  const ImportedScenario result =
      core_imported(Framework::bridge, container, 16, "run_config.yaml");
  const Job& job = result.scenario.job;
  CHECK(job.model.name == "qwen3-30b-a3b");  // found by its shape
  CHECK(job.parallel.expert == 8);
  CHECK(job.parallel.data == 16);
  CHECK(job.training.vocabulary_multiple == 1);
  CHECK(job.training.precision == Precision::mxfp8);           // not the model's own fp8_recipe
  CHECK(job.communication.gradient_dtype == Precision::bf16);  // nor DDP's own type
  CHECK(job.training.moe_imbalance == 1.0);
  CHECK(job.communication.expert_dispatch == ExpertDispatch::fused);
  CHECK(job.memory.recompute.modules.activation);
  CHECK(job.memory.recompute.modules.attention_norm);
  CHECK_FALSE(job.memory.recompute.modules.core_attention);
  // An overlap configuration turns data-parallel overlap on; one tensor rank has nothing to hide.
  CHECK(job.communication.overlap.gradients);
  CHECK_FALSE(job.communication.overlap.tensor);
}

TEST_CASE("overrides of Megatron-Bridge are read as hydra has them", "[scenarios][import]") {
  const std::string launch =
      "torchrun run_recipe.py --recipe llama3_70b_pretrain_config --peft_scheme dora peft.dim=8 "
      "'model.pipeline_model_parallel_layout=\"Et*20|t*20|t*20|t*20L\"' "
      "model.virtual_pipeline_model_parallel_size=null ddp.use_distributed_optimizer=false "
      "optimizer.use_distributed_optimizer=false comm_overlap.overlap_grad_reduce=false "
      "comm_overlap.overlap_param_gather=false mixed_precision.fp8=hybrid "
      "mixed_precision.first_last_layers_bf16=true mixed_precision.num_layers_at_start_in_bf16=2 "
      "mixed_precision.num_layers_at_end_in_bf16=2 mixed_precision.fp8_dot_product_attention=true";
  const Job job = core_imported(Framework::bridge, launch).scenario.job;
  CHECK(job.fine_tuning.adapter == AdapterKind::dora);
  CHECK(job.fine_tuning.rank == 8);
  CHECK(job.parallel.virtual_stages == 1);
  CHECK(job.parallel.zero == 0);
  CHECK(job.training.bf16_end_layers == 4);
  CHECK(job.training.fp8_attention);
  const std::string adapted = "torchrun run_recipe.py --recipe llama3_8b_pretrain_config --mode ";
  CHECK(core_imported(Framework::bridge, adapted + "lora").scenario.job.fine_tuning.adapter ==
        AdapterKind::lora);
  CHECK_FALSE(core_imported(Framework::bridge, adapted + "sft").scenario.job.fine_tuning.adapts());
}

TEST_CASE("a YAML of overrides takes its recipe from the lines behind it", "[scenarios][import]") {
  const std::string overrides =
      "model: {tensor_model_parallel_size: 2}\n"
      "train: {global_batch_size: 96}\n";
  const Job job = core_imported(Framework::bridge,
                                overrides +
                                    "\n--recipe\nllama3_8b_pretrain_config\n"
                                    "train.micro_batch_size=2",
                                8, "overrides.yaml")
                      .scenario.job;
  CHECK(job.model.name == "llama3-8b");
  CHECK(job.parallel.tensor == 2);
  CHECK(job.training.global_batch == 96);
  CHECK(job.training.micro_batch == 2);
  CHECK(core_refused(Framework::bridge, overrides, {}, "overrides.yaml")
            .find("names no recipe; state the model (--model") != std::string::npos);
}

TEST_CASE("a recipe of no table is refused with what to state, and read with it",
          "[scenarios][import]") {
  const std::string launch =
      "python run_recipe.py --recipe my_8b_pretrain_config "
      "model.tensor_model_parallel_size=2 "
      "model.pipeline_model_parallel_size=1 train.global_batch_size=64 "
      "train.micro_batch_size=1";
  const std::string said = core_refused(Framework::bridge, launch);
  CHECK(said.find("run:1:1: recipe: 'my_8b_pretrain_config' is no recipe that is known here, and "
                  "no code is run; state the model (--model NAME of the catalog), "
                  "dataset.seq_length") != std::string::npos);
  PlanImportOptions options;
  options.model = "llama3-8b";
  options.gpus = 16;
  const ImportedScenario result =
      import_framework(Framework::bridge, launch + " dataset.seq_length=4096", "run", options);
  CHECK(result.scenario.job.parallel.data == 8);
  CHECK(result.scenario.job.training.precision == Precision::bf16);
  CHECK(core_mentions(result.notes.assumed, "what it sets beyond the stated keys is not known"));
  CHECK(core_refused(Framework::bridge, "python run_recipe.py --recipe llama3_8b_pretrain_confg")
            .find("did you mean 'llama3_8b_pretrain_config'?") != std::string::npos);
}

TEST_CASE("keys of Megatron-Bridge that decide something and are not read are refused by name",
          "[scenarios][import]") {
  const std::string launch = "python run_recipe.py --recipe llama3_8b_pretrain_config ";
  CHECK(core_refused(Framework::bridge, launch + "model.frobnicate=3")
            .find("run:1:1: model.frobnicate: is not known here") != std::string::npos);
  CHECK(core_refused(Framework::bridge, launch + "model.moe_latent_size=512")
            .find("model.moe_latent_size: changes memory or time and is not modelled; "
                  "--leave-out model.moe_latent_size") != std::string::npos);
  CHECK(core_refused(Framework::bridge, launch + "model.seq_length=4096")
            .find("model.seq_length: is 4096, but dataset.seq_length is 8192") !=
        std::string::npos);
  CHECK(core_refused(Framework::bridge, launch + "--turbo on").find("--turbo: is not known here") !=
        std::string::npos);
  CHECK(core_refused(Framework::bridge, launch + "mixed_precision=int4_mixed")
            .find("mixed_precision: 'int4_mixed' is no precision") != std::string::npos);
  PlanImportOptions options;
  options.left_out = {"model.frobnicate", "model.moe_latent_size"};
  CHECK(core_refused(Framework::bridge, launch + "model.frobnicate=3 model.moe_latent_size=512",
                     options)
            .empty());
}

TEST_CASE("an override of the shape is a model of its own", "[scenarios][import]") {
  const Job job = core_imported(Framework::bridge,
                                "python run_recipe.py --recipe llama3_8b_pretrain_config "
                                "model.num_layers=4")
                      .scenario.job;
  CHECK(job.model.layers == 4);
  CHECK(job.model.hidden == 4096);
  CHECK(
      core_refused(Framework::bridge,
                   "python run_recipe.py --recipe nemotronh_8b_pretrain_config model.num_layers=4")
          .find("model.num_layers: changes the shape of nemotron-h-8b") != std::string::npos);
}

TEST_CASE("adapters of Megatron-Bridge are those of Megatron-Core's layers",
          "[scenarios][import]") {
  const FineTuning fine =
      core_imported(Framework::bridge,
                    "python run_recipe.py --recipe llama32_1b_sft_config --peft_scheme lora "
                    "peft.dim=16 'peft.target_modules=[linear_qkv,linear_proj]'",
                    8)
          .scenario.job.fine_tuning;
  CHECK(fine.adapter == AdapterKind::lora);
  CHECK(fine.rank == 16);
  CHECK(fine.targets == EnumSet<AdapterTarget>{AdapterTarget::qkv, AdapterTarget::projection});
}

TEST_CASE("a NeMo 2 line is its factory with the overrides over it", "[scenarios][import]") {
  const ImportedScenario result = import_framework(
      Framework::nemo2,
      "nemo llm pretrain --factory llama3_70b -y trainer.num_nodes=8 "
      "data.global_batch_size=256 trainer.strategy.ddp.overlap_param_gather=false "
      "model.config.recompute_granularity=full model.config.recompute_method=uniform "
      "model.config.recompute_num_layers=1",
      "arguments", {});
  const Job& job = result.scenario.job;
  CHECK(job.cluster.gpus() == 64);
  CHECK(job.parallel.virtual_stages == 5);
  CHECK(job.parallel.data == 2);
  CHECK(job.training.global_batch == 256);
  CHECK(job.memory.recompute.kind == RecomputeKind::full);
  CHECK_FALSE(job.communication.overlap.parameters);
  CHECK(job.communication.overlap.gradients);
  CHECK(job.stack.name == "nemo");
  const Job quoted = import_framework(Framework::nemo2,
                                      "nemo llm pretrain --factory "
                                      "\"llama3_70b(num_nodes=8, name='x')\"",
                                      "arguments", {})
                         .scenario.job;
  CHECK(quoted.cluster.gpus() == 64);
}

TEST_CASE("what NeMo 2 decides by code is refused", "[scenarios][import]") {
  CHECK(core_refused(Framework::nemo2, "nemo llm finetune --factory llama31_8b peft=lora")
            .find("recipe: 'llama31_8b.finetune' is no recipe that is known here") !=
        std::string::npos);
  CHECK(core_refused(Framework::nemo2,
                     "nemo llm pretrain --factory 'llama31_8b(performance_mode=True)'")
            .find("factory: performance_mode changes what the recipe sets, by code") !=
        std::string::npos);
  CHECK(core_refused(Framework::nemo2,
                     "nemo llm pretrain --factory llama31_8b trainer.strategy.ddp=pytorch")
            .find("trainer.strategy.ddp: 'pytorch' leaves Megatron-Core's data parallelism") !=
        std::string::npos);
}

TEST_CASE("switches of Megatron-Core that are not modelled are refused by name",
          "[scenarios][import]") {
  const std::string launch = "python run_recipe.py --recipe llama3_8b_pretrain_config ";
  for (const char* word : {"model.fp8_wgrad=false", "model.batch_invariant_mode=true",
                           "optimizer.store_param_remainders=false"})
    CHECK(core_refused(Framework::bridge, launch + word).find("is not modelled") !=
          std::string::npos);
  for (const char* word : {"model.fp8_wgrad=true", "model.batch_invariant_mode=false",
                           "optimizer.store_param_remainders=true"})
    CHECK(core_refused(Framework::bridge, launch + word).empty());
}

TEST_CASE("numbers of a model are read from Megatron-Bridge and NeMo", "[scenarios][import]") {
  const std::string launch = "python run_recipe.py --recipe llama3_8b_pretrain_config ";
  PlanImportOptions options;
  options.gpus = 64;
  const auto model = [&](Framework framework, const std::string& text) {
    return import_framework(framework, text, "run", options).scenario.job.model;
  };
  CHECK(model(Framework::bridge, launch).name == "llama3-8b");
  const std::string nemo =
      "model.num_layers=32 model.hidden_size=4096 model.ffn_hidden_size=11008 "
      "model.num_attention_heads=32 model.encoder_seq_length=2048 model.micro_batch_size=1 "
      "model.global_batch_size=64 model.override_vocab_size=32000 trainer.precision=bf16 "
      "model.activation=fast-swiglu model.normalization=rmsnorm model.bias=false "
      "model.share_embeddings_and_output_weights=false "
      "model.position_embedding_type=rope model.layernorm_epsilon=1e-5 model.rotary_base=";
  CHECK(model(Framework::nemo, nemo + "10000").name == "llama2-7b");
  const ModelNumbers other = model(Framework::nemo, nemo + "1000000").numbers;
  CHECK(other.rope_theta == 1e6);
  CHECK(other.norm_epsilon == 1e-5);
}

TEST_CASE("every recipe of the tables loads", "[scenarios][import]") {
  const auto load = [](Framework framework, const CoreRecipe& recipe, const std::string& launch) {
    CAPTURE(recipe.name);
    const int replica = recipe.tensor * recipe.pipeline * recipe.context;
    const int experts = recipe.pipeline * recipe.expert * recipe.context;
    const int gpus = std::max({8, replica, experts}) / 8 * 8;
    PlanImportOptions options;
    options.gpus = gpus % replica == 0 ? gpus : replica * 8;
    const Job job =
        import_framework(framework, launch + std::string(recipe.name), "run", options).scenario.job;
    CHECK(job.model.name == recipe.model);
    CHECK(job.parallel.tensor == recipe.tensor);
    CHECK(job.parallel.pipeline == recipe.pipeline);
    CHECK(job.parallel.virtual_stages == recipe.virtual_stages);
    CHECK(job.parallel.expert == recipe.expert);
    CHECK(job.training.sequence == recipe.sequence);
    CHECK(job.training.global_batch == recipe.global);
  };
  for (const CoreRecipe& recipe : bridge_recipes())
    load(Framework::bridge, recipe, "python run_recipe.py --recipe ");
  for (const CoreRecipe& recipe : nemo_recipes())
    load(Framework::nemo2, recipe, "nemo llm pretrain --factory ");
  PlanImportOptions many;
  many.gpus = 1024;
  const Training training = import_framework(Framework::bridge,
                                             "python run_recipe.py --recipe "
                                             "deepseek_v3_pretrain_1024gpu_h100_bf16_config",
                                             "run", many)
                                .scenario.job.training;
  CHECK(training.decoupled_gradients);
  CHECK(training.first_moment() == 2.0);
}

TEST_CASE("shapes are written as arguments, and those that are not are known",
          "[scenarios][import]") {
  for (const char* name :
       {"llama3-8b", "qwen3-8b", "qwen3-30b-a3b", "mixtral-8x7b", "gpt3-175b", "deepseek-v3"}) {
    CAPTURE(name);
    CHECK(shape_has_arguments(core_shape(name)));
  }
  CHECK_FALSE(shape_has_arguments(core_shape("nemotron-h-8b")));
  CHECK_FALSE(shape_has_arguments(core_shape("llama4-scout")));
}

}  // namespace foretrain
