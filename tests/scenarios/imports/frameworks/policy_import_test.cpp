// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <string>

#include "scenarios/imports/frameworks/frameworks.hpp"

namespace foretrain {
namespace {

Scenario policy_scenario(Framework framework, const std::string& text) {
  PlanImportOptions options;
  options.device = "h100-sxm5-80gb";
  return import_framework(framework, text, "source", options).scenario;
}

constexpr const char* verl_script = R"(MODEL=Qwen/Qwen3-8B
python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_batch_size=1024 \
  data.max_prompt_length=512 data.max_response_length=1024 actor_rollout_ref.model.path=$MODEL \
  actor_rollout_ref.actor.ppo_mini_batch_size=256 actor_rollout_ref.rollout.n=5 \
  actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=32 \
  actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.tensor_model_parallel_size=2 \
  actor_rollout_ref.rollout.gpu_memory_utilization=0.6 actor_rollout_ref.actor.use_kl_loss=True \
  trainer.n_gpus_per_node=8 trainer.nnodes=2 trainer.project_name=mine
)";

TEST_CASE("import verl: a script of GRPO", "[scenarios][import][post-training]") {
  const Scenario scenario = policy_scenario(Framework::verl, verl_script);
  REQUIRE(scenario.post_training);
  REQUIRE(scenario.serving);
  const PostTrainingPlan& plan = *scenario.post_training;
  CHECK(scenario.job.model.name == "qwen3-8b");
  CHECK(plan.loop == PolicyLoop::verl);
  CHECK(plan.algorithm == PolicyAlgorithm::grpo);
  CHECK(plan.prompts == 1024);
  CHECK(plan.answers == 5);
  CHECK(plan.answer.most == 1024);
  CHECK(plan.answer.mean == 512.0);
  CHECK(plan.has_reference());
  CHECK(plan.placement == RolloutPlacement::colocated);
  // ppo_mini_batch_size counts prompts.
  CHECK(scenario.job.training.global_batch == 1280);
  // 32 samples of half their limit.
  CHECK(scenario.job.training.sequence == 32 * 768);
  CHECK(scenario.job.parallel.data == 16);
  CHECK(scenario.job.parallel.zero == 3);
  CHECK(scenario.job.memory.recompute.kind == RecomputeKind::full);
  CHECK(scenario.serving->layout.tensor == 2);
  CHECK(scenario.serving->memory_share == 0.6);
  CHECK(scenario.job.stack.name == "fsdp2");
}

TEST_CASE("import verl: a key that is not known is refused with the nearest one",
          "[scenarios][import][post-training]") {
  std::string text = verl_script;
  text.insert(text.find("trainer.nnodes"), "data.max_respons_length=7 ");
  CHECK_THROWS_WITH(
      policy_scenario(Framework::verl, text),
      Catch::Contains("data.max_respons_length") && Catch::Contains("data.max_response_length"));
}

TEST_CASE("import nemo-rl: GPUs that generate are taken off the cluster",
          "[scenarios][import][post-training]") {
  const Scenario scenario = policy_scenario(Framework::nemo_rl, R"(
grpo:
  num_prompts_per_step: 64
  num_generations_per_prompt: 32
  async_grpo: {enabled: true, max_trajectory_age_steps: 1}
policy:
  model_name: "Qwen/Qwen3-32B"
  train_global_batch_size: 512
  train_micro_batch_size: 1
  max_total_sequence_length: 4096
  megatron_cfg: {enabled: true, tensor_model_parallel_size: 4, pipeline_model_parallel_size: 4}
  sequence_packing:
    enabled: true
    train_mb_tokens: "${mul:${policy.max_total_sequence_length}, ${policy.train_micro_batch_size}}"
  generation:
    backend: vllm
    max_new_tokens: "${policy.max_total_sequence_length}"
    vllm_cfg: {tensor_parallel_size: 4}
    colocated: {enabled: false, resources: {num_nodes: 4, gpus_per_node: 8}}
cluster: {gpus_per_node: 8, num_nodes: 8}
)");
  REQUIRE(scenario.post_training);
  CHECK(scenario.post_training->placement == RolloutPlacement::separate);
  CHECK(scenario.post_training->generation_gpus == 32);
  CHECK(scenario.post_training->staleness == 1.0);
  CHECK(scenario.generation.gpus() == 32);
  CHECK(scenario.job.cluster.gpus() == 32);
  CHECK(scenario.job.parallel.data == 2);
  CHECK(scenario.job.training.sequence == 4096);
  CHECK(scenario.job.training.global_batch == 512);
  CHECK(scenario.job.stack.name == "megatron-core");
}

TEST_CASE("import openrlhf: a critic, and engines beside the trainer",
          "[scenarios][import][post-training]") {
  const Scenario scenario = policy_scenario(Framework::openrlhf, R"(
python3 -m openrlhf.cli.train_ppo_ray --actor_num_nodes 1 --actor_num_gpus_per_node 8 \
  --vllm_num_engines 4 --vllm_tensor_parallel_size 2 --pretrain meta-llama/Llama-3.1-8B \
  --micro_train_batch_size 8 --train_batch_size 128 --rollout_batch_size 1024 \
  --n_samples_per_prompt 1 --prompt_max_len 1024 --generate_max_len 1024 --zero_stage 3 \
  --gradient_checkpointing --packing_samples
)");
  REQUIRE(scenario.post_training);
  CHECK(scenario.post_training->critic());
  CHECK(scenario.post_training->generation_gpus == 8);
  CHECK(scenario.job.cluster.gpus() == 8);
  CHECK(scenario.job.training.global_batch == 128);
  CHECK(scenario.job.stack.name == "deepspeed-zero3");
}

TEST_CASE("import slime: SGLang and Megatron-LM's arguments",
          "[scenarios][import][post-training]") {
  const Scenario scenario = policy_scenario(Framework::slime, R"(
python3 train.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 --colocate \
  --hf-checkpoint /models/Qwen3-4B --rollout-batch-size 32 --n-samples-per-prompt 8 \
  --rollout-max-response-len 8192 --global-batch-size 256 --tensor-model-parallel-size 2 \
  --sequence-parallel --recompute-granularity full --use-dynamic-batch-size \
  --max-tokens-per-gpu 9216 --rollout-num-gpus-per-engine 2
)");
  REQUIRE(scenario.post_training);
  CHECK(scenario.job.model.name == "qwen3-4b");
  CHECK(scenario.serving->engine == "sglang");
  CHECK(scenario.serving->layout.tensor == 2);
  CHECK(scenario.job.parallel.data == 4);
  CHECK(scenario.job.parallel.sequence);
  CHECK(scenario.job.training.sequence == 9216);
}

}  // namespace
}  // namespace foretrain
