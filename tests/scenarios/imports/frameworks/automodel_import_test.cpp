// SPDX-License-Identifier: Apache-2.0
// Recipes of NeMo AutoModel.
#include <catch2/catch.hpp>

#include "scenarios/imports/frameworks/frameworks.hpp"
#include "tests/test_text.hpp"

namespace foretrain {
namespace {

using test::has;

/// Keys and components as examples/llm_finetune of the repository has them.
constexpr const char* recipe = R"(step_scheduler:
  global_batch_size: 64
  local_batch_size: 8
  ckpt_every_steps: 50
dist_env: {backend: nccl, timeout_minutes: 1}
rng: {_target_: nemo_automodel.components.training.rng.StatefulRNG, seed: 1111}
model:
  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained
  pretrained_model_name_or_path: meta-llama/Llama-3.1-8B
  torch_dtype: bf16
peft:
  _target_: nemo_automodel.components._peft.lora.PeftConfig
  target_modules: "*_proj"
  dim: 8
  alpha: 32
  use_triton: True
distributed: {dp_size: none, tp_size: 1, cp_size: 1}
distributed_config:
  _target_: nemo_automodel.components.distributed.config.FSDP2Config
  sequence_parallel: false
loss_fn: {_target_: nemo_automodel.components.loss.masked_ce.MaskedCrossEntropy}
packed_sequence: {packed_sequence_size: 4096}
dataset: {_target_: nemo_automodel.components.datasets.llm.squad.make_squad_dataset, split: train}
optimizer: {_target_: torch.optim.Adam, lr: 1.0e-5, betas: [0.9, 0.999]}
)";

ImportedScenario automodel(const std::string& text) {
  PlanImportOptions options;
  options.gpus = 8;
  return import_framework(Framework::nemo, text, "recipe.yaml", options);
}

std::string automodel_refusal(const std::string& text) {
  try {
    static_cast<void>(automodel(text));
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "";
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = recipe;
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("a recipe of NeMo AutoModel is FSDP2 over a model of the hub", "[scenarios][import]") {
  const Job job = automodel(recipe).scenario.job;
  CHECK(job.model.name == "llama3.1-8b");
  CHECK(job.parallel.data == 8);
  CHECK(job.parallel.zero == 3);
  CHECK(job.training.sequence == 4096);
  CHECK(job.training.micro_batch == 8);
  CHECK(job.training.global_batch == 64);
  CHECK(job.training.narrow_weights());
  CHECK(job.fine_tuning.adapter == AdapterKind::lora);
  CHECK(job.fine_tuning.rank == 8);
  CHECK(job.fine_tuning.targets.has(AdapterTarget::fc2));
  CHECK(job.fine_tuning.targets.has(AdapterTarget::projection));
  CHECK(job.stack.name == "fsdp2");
}

TEST_CASE("AutoModel: degrees, copies, recomputation and types of shards", "[scenarios][import]") {
  const Job job =
      automodel(with("tp_size: 1, cp_size: 1}", "tp_size: 2, dp_replicate_size: 2}") +
                "compile: {enabled: true}\n"
                "distributed_config.activation_checkpointing=true\nmodel.torch_dtype=float32")
          .scenario.job;
  CHECK(job.parallel.tensor == 2);
  CHECK(job.parallel.zero_group == 2);
  CHECK(job.memory.recompute.kind == RecomputeKind::full);
  CHECK(job.training.master_weights == MasterWeights::fp32);
  CHECK(job.stack.name == "fsdp2-compile");
  const Job some = automodel(with("\"*_proj\"", "[\"*.q_proj\", v_proj]")).scenario.job;
  CHECK(some.fine_tuning.targets ==
        EnumSet<AdapterTarget>{AdapterTarget::query, AdapterTarget::value});
}

TEST_CASE("what AutoModel does and is not modelled is refused by name", "[scenarios][import]") {
  CHECK(has(automodel_refusal(with("cp_size: 1", "pp_size: 2")), "pp_size: above 1"));
  CHECK(has(automodel_refusal(with("torch.optim.Adam,", "dion.Dion,")), "'dion.dion'"));
  CHECK(has(automodel_refusal(with("FSDP2Config", "MegatronFSDPConfig")), "FSDP2, DDP"));
  CHECK(has(automodel_refusal(std::string(recipe) + "fp8: {enabled: true}\n"), "fp8.enabled"));
  CHECK(has(automodel_refusal(std::string(recipe) + "turbo: 1\n"), "turbo"));
  // Without adapters whole gradients wait for the last micro-batch.
  std::string full = with("global_batch_size: 64", "global_batch_size: 128");
  const auto begin = full.find("peft:");
  full.erase(begin, full.find("distributed:") - begin);
  CHECK(has(automodel_refusal(full), "defer_fsdp_grad_sync"));
  CHECK(automodel_refusal(full + "distributed_config.defer_fsdp_grad_sync=false").empty());
}

}  // namespace foretrain
