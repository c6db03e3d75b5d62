// SPDX-License-Identifier: Apache-2.0
// Arguments of published recipes, as they stand.
#include <catch2/catch.hpp>

#include <algorithm>

#include "scenarios/imports/frameworks/frameworks.hpp"

namespace foretrain {
namespace {

/// Of NVIDIA's Megatron-MoE-ModelZoo, model_configs/benchmarking/DeepSeek-V3.yaml, without places.
constexpr const char* deepseek_v3 = R"args(--distributed-timeout-minutes 60
--tensor-model-parallel-size 1 --pipeline-model-parallel-size 8
--expert-model-parallel-size 32 --context-parallel-size 1 --expert-tensor-parallel-size 1
--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather --use-mcore-models
--use-flash-attn --disable-bias-linear --micro-batch-size 1 --global-batch-size 8192
--train-samples 585937500 --exit-duration-in-mins 220 --no-check-for-nan-in-loss-and-grad
--no-rope-fusion --cross-entropy-loss-fusion --cross-entropy-fusion-impl te
--manual-gc --manual-gc-interval 10 --transformer-impl transformer_engine --seq-length 4096
--tokenizer-type NullTokenizer --vocab-size 129279 --make-vocab-size-divisible-by 3232
--num-layers 61 --hidden-size 7168 --ffn-hidden-size 18432 --num-attention-heads 128
--kv-channels 128 --max-position-embeddings 4096 --position-embedding-type rope
--rotary-base 10000 --normalization RMSNorm --norm-epsilon 1e-6 --swiglu
--untie-embeddings-and-output-weights --multi-latent-attention --attention-dropout 0.0
--hidden-dropout 0.0 --clip-grad 1.0 --weight-decay 0.1 --qk-layernorm
--num-experts 256 --moe-layer-freq "([0]*3+[1]*58)" --moe-ffn-hidden-size 2048
--moe-shared-expert-intermediate-size 2048 --moe-router-load-balancing-type seq_aux_loss
--moe-router-topk 8 --moe-token-dispatcher-type flex --moe-enable-deepep
--moe-router-pre-softmax --moe-grouped-gemm --moe-aux-loss-coeff 1e-4
--moe-router-group-topk 4 --moe-router-num-groups 8 --moe-router-topk-scaling-factor 2.5
--moe-router-score-function sigmoid --moe-router-enable-expert-bias
--moe-router-bias-update-rate 1e-3 --moe-router-dtype fp32 --moe-permute-fusion
--q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128 --qk-pos-emb-head-dim 64
--v-head-dim 128 --rotary-scaling-factor 40 --mscale 1.0 --mscale-all-dim 1.0
--mtp-num-layers 1 --mtp-loss-scaling-factor 0.1 --init-method-std 0.02
--pipeline-model-parallel-layout "Et*3|(tt|)*28t|t|mL"
--recompute-granularity selective --recompute-modules mla_up_proj mlp
--bf16 --use-precision-aware-optimizer --main-grads-dtype fp32 --main-params-dtype fp32
--exp-avg-dtype bf16 --exp-avg-sq-dtype bf16
)args";

Job recipe(const std::string& more = {}) {
  PlanImportOptions options;
  options.gpus = 1024;
  return import_framework(Framework::megatron, deepseek_v3 + more, "DeepSeek-V3", options)
      .scenario.job;
}

}  // namespace

TEST_CASE("NVIDIA's arguments for DeepSeek-V3 are a scenario", "[scenarios][import]") {
  const Job job = recipe();
  CHECK(job.model.name == "deepseek-v3");
  CHECK(job.training.decoupled_gradients);
  CHECK(job.training.first_moment() == 2.0);
  CHECK(job.training.second_moment() == 2.0);
  CHECK(job.training.master_bytes == 2.0);  // what bf16 weights lack of 32 bits
  CHECK(job.communication.gradient_dtype == Precision::fp32);
  CHECK(job.parallel.expert == 32);
  CHECK(job.model.numbers.rope_factor == 40.0);
}

TEST_CASE("prediction modules lie on the stage that a layout writes them on",
          "[scenarios][import]") {
  CHECK_FALSE(recipe().parallel.prediction_stage.has_value());  // with the loss
  const Job apart = recipe("--pipeline-model-parallel-layout \"Et*3|(tt|)*29,m|L\" ");
  CHECK(apart.parallel.pipeline == 8);
  CHECK(apart.parallel.virtual_stages == 4);
  CHECK(apart.parallel.prediction_stage == 6);  // chunk 30 of 32
  CHECK(apart.parallel.stage_layers.back() == 0);
  CHECK_THROWS_WITH(recipe("--pipeline-model-parallel-layout \"Et*3|(tt|)*13,m|(tt|)*16L\" "),
                    Catch::Contains("last chunk"));
}

TEST_CASE("types of Megatron-FSDP's gradients are one type", "[scenarios][import]") {
  const std::string fsdp =
      "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params "
      "--pipeline-model-parallel-size 1 --pipeline-model-parallel-layout Et*61mL "
      "--init-model-with-meta-device ";
  const std::string half = "--megatron-fsdp-main-grads-dtype bf16 ";
  CHECK(recipe(fsdp).communication.gradient_dtype == Precision::fp32);
  CHECK(recipe(fsdp + half + "--megatron-fsdp-grad-comm-dtype bf16").communication.gradient_dtype ==
        Precision::bf16);
  CHECK_THROWS_WITH(recipe(fsdp + half + "--megatron-fsdp-grad-comm-dtype fp32"),
                    Catch::Contains("megatron-fsdp-grad-comm-dtype"));
}

TEST_CASE("arguments with a small effect are not said to have none", "[scenarios][import]") {
  PlanImportOptions options;
  options.gpus = 1024;
  const PlanNotes notes =
      import_framework(
          Framework::megatron,
          std::string(deepseek_v3) + "--ddp-bucket-size 40000000 --empty-unused-memory-level 1\n",
          "run", options)
          .notes;
  for (const char* name : {"ddp-bucket-size", "empty-unused-memory-level"})
    CHECK(std::count(notes.approximated.begin(), notes.approximated.end(), name) == 1);
}

TEST_CASE("types of a precision-aware optimizer are read", "[scenarios][import]") {
  const Job job = recipe("--main-grads-dtype bf16 --exp-avg-dtype fp8 --exp-avg-sq-dtype fp16\n");
  CHECK(job.communication.gradient_dtype == Precision::bf16);
  CHECK(job.training.first_moment() == 1.0);
  CHECK(job.training.second_moment() == 2.0);
  CHECK(job.training.decoupled_gradients);
}

}  // namespace foretrain
