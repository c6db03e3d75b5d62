// SPDX-License-Identifier: Apache-2.0
// Command lines and scripts of trainers.
#include <catch2/catch.hpp>

#include "scenarios/imports/frameworks/frameworks.hpp"
#include "tests/test_text.hpp"

namespace foretrain {
namespace {

using test::has;

ImportedScenario launched(Framework framework, const std::string& script,
                          std::vector<std::pair<std::string, std::string>> beside = {}) {
  PlanImportOptions options;
  options.host = "dgx-h100";
  options.beside = std::move(beside);
  return import_framework(framework, script, "run.sh", options);
}

std::string refusal_of_launch(Framework framework, const std::string& script) {
  try {
    (void)launched(framework, script);
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a script of ms-swift says its arguments and its processes", "[scenarios][import]") {
  const Job job = launched(Framework::swift,
                           "nproc_per_node=4\nNPROC_PER_NODE=$nproc_per_node \\\n"
                           "swift sft \\\n    --model Qwen/Qwen3-8B \\\n"
                           "    --per_device_train_batch_size 2 \\\n"
                           "    --gradient_accumulation_steps $(expr 16 / $nproc_per_node) \\\n"
                           "    --target_modules q_proj v_proj \\\n"
                           "    --max_length 4096 --deepspeed zero2\n")
                      .scenario.job;
  CHECK(job.cluster.gpus() == 4);
  CHECK(job.parallel.zero == 2);
  CHECK(job.training.sequence == 4096);
  CHECK(job.training.global_batch == 2 * 4 * 4);
  CHECK(job.fine_tuning.targets ==
        EnumSet<AdapterTarget>{AdapterTarget::query, AdapterTarget::value});
  CHECK(has(refusal_of_launch(Framework::swift,
                              "CUDA_VISIBLE_DEVICES=0,1 swift sft --model Qwen/Qwen3-8B\n"),
            "device_map"));
}

TEST_CASE("accelerate's launcher says how sequences are split", "[scenarios][import]") {
  const Job job = launched(Framework::transformers,
                           "accelerate launch --use_fsdp --fsdp_version 2 --num_processes 8 "
                           "--mixed_precision bf16 --use_parallelism_config true "
                           "--parallelism_config_cp_size 4 --parallelism_config_tp_size 2 "
                           "--parallelism_config_cp_comm_strategy alltoall sft.py "
                           "--model_name_or_path Qwen/Qwen3-8B --max_length 131072\n")
                      .scenario.job;
  CHECK(job.parallel.context == 4);
  CHECK(job.parallel.tensor == 2);
  CHECK(job.communication.context_exchange == ContextExchange::ring);
}

TEST_CASE("launchers say who shards, and arguments win over files", "[scenarios][import]") {
  const std::string script =
      "#!/bin/bash\naccelerate launch --config_file fsdp.yaml --num_processes 8 sft.py \\\n"
      "  --config sft.yaml --per-device-train-batch-size 4 \\\n"
      "  --gradient_checkpointing_kwargs '{\"use_reentrant\": false}' "
      "--no_gradient_checkpointing\n";
  const ImportedScenario both =
      launched(Framework::transformers, script,
               {{"fsdp.yaml", "distributed_type: FSDP\nfsdp_config: {fsdp_version: 2}\n"},
                {"sft.yaml",
                 "model_name_or_path: Qwen/Qwen3-8B\nbf16: true\nmax_length: 2048\n"
                 "per_device_train_batch_size: 1\n"}});
  CHECK(both.scenario.job.parallel.zero == 3);
  CHECK(both.scenario.job.cluster.gpus() == 8);
  CHECK(both.scenario.job.training.micro_batch == 4);
  CHECK(both.scenario.job.memory.recompute.kind == RecomputeKind::none);
  CHECK(has(refusal_of_launch(Framework::transformers, script), "pass it as a further file"));
  const Job torchrun =
      launched(Framework::transformers,
               "torchrun --nproc_per_node=8 train.py --model_name_or_path Qwen/Qwen3-8B \\\n"
               "  --bf16 True --max_length 1024 --fsdp 'full_shard auto_wrap'\n")
          .scenario.job;
  CHECK(torchrun.cluster.gpus() == 8);
  CHECK(torchrun.parallel.zero == 3);
  CHECK(has(refusal_of_launch(Framework::transformers, "echo done\n"), "starts no training"));
}

TEST_CASE("a command line names TRL's trainer", "[scenarios][import]") {
  const Job job = launched(Framework::transformers,
                           "trl dpo --model_name_or_path Qwen/Qwen3-8B --max_length 1024 \\\n"
                           "  --per_device_train_batch_size 2\n")
                      .scenario.job;
  CHECK(job.fine_tuning.objective == Objective::preference);
  CHECK(job.training.micro_batch == 4);
}

TEST_CASE("lines of OpenRLHF are DeepSpeed over models of transformers", "[scenarios][import]") {
  const std::string line =
      "deepspeed --module openrlhf.cli.train_sft --save_path /ckpt --save_steps -1 "
      "--logging_steps 1 --eval_steps -1 --train_batch_size 128 --micro_train_batch_size 2 "
      "--pretrain meta-llama/Llama-3.1-8B --bf16 --max_epochs 1 --max_len 4096 --zero_stage 3 "
      "--learning_rate 5e-6 --dataset a/b --apply_chat_template --input_key question "
      "--output_key answer --flash_attn --gradient_checkpointing --packing_samples";
  PlanImportOptions options;
  options.gpus = 8;
  const auto job_of_line = [&](const std::string& text) {
    return import_framework(Framework::transformers, text + "\n", "run.sh", options).scenario.job;
  };
  const Job job = job_of_line(line);
  CHECK(job.model.name == "llama3.1-8b");
  CHECK(job.parallel.zero == 3);
  CHECK(job.training.sequence == 4096);
  CHECK(job.training.micro_batch == 2);
  CHECK(job.training.global_batch == 128);
  CHECK(job.training.precision == Precision::bf16);
  CHECK(job.training.master_weights == MasterWeights::fp32);
  CHECK(job.memory.recompute.kind == RecomputeKind::full);
  CHECK(job_of_line(line + " --adam_offload").memory.offload == OffloadKind::optimizer);
  CHECK(job_of_line(line + " --lora_rank 16").fine_tuning.rank == 16);
  std::string pairs = line;
  pairs.replace(pairs.find("train_sft"), 9, "train_dpo");
  CHECK(job_of_line(pairs).fine_tuning.has_reference());
}

}  // namespace foretrain
