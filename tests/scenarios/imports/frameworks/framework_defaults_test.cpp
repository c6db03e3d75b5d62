// SPDX-License-Identifier: Apache-2.0
// What files leave to a framework: names of models, files that it ships, trainers by their scripts;
// and what would be wrong without a word.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "scenarios/catalog/catalog_files.hpp"
#include "scenarios/catalog/catalog_models.hpp"
#include "scenarios/catalog/model_names.hpp"
#include "scenarios/imports/frameworks/frameworks.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/test_text.hpp"

namespace foretrain {
namespace {

using test::has;

ImportedScenario default_import(Framework framework, const std::string& text,
                                const std::string& name = "args.yaml",
                                const std::string& model = {}) {
  PlanImportOptions options;
  options.host = "dgx-h100";
  options.gpus = 8;
  options.model = model;
  return import_framework(framework, text, name, options);
}

std::string default_refusal(Framework framework, const std::string& text,
                            const std::string& name = "args.yaml") {
  try {
    (void)default_import(framework, text, name);
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "";
}

constexpr const char* plain_axolotl = "base_model: meta-llama/Llama-2-7b-hf\nmicro_batch_size: 1\n";
constexpr const char* plain_factory =
    "model_name_or_path: meta-llama/Llama-2-7b-hf\nper_device_train_batch_size: 1\nbf16: true\n"
    "finetuning_type: full\n";
constexpr const char* plain_trainer =
    "model_name_or_path: meta-llama/Llama-2-7b-hf\nper_device_train_batch_size: 1\nbf16: true\n"
    "max_length: 1024\n";

}  // namespace

TEST_CASE("hub ids are models of the catalog, also under the names of copies",
          "[scenarios][import]") {
  CHECK(hub_model("Qwen/Qwen3-4B-Instruct-2507", {}).name == "qwen3-4b");
  CHECK(hub_model("unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit", {}).name == "llama3.1-8b");
  CHECK(hub_model("/ckpt/Llama-3.2-1B/", {}).name == "llama3.2-1b");
  CHECK(hub_model("mistralai/Mixtral-8x7B-Instruct-v0.1", {}).name == "mixtral-8x7b");
  const HubModel other = hub_model("Qwen/Qwen2.5-7B-Instruct", {});
  CHECK(other.name == "qwen2-7b");
  CHECK(other.another);
  CHECK(hub_model("mistralai/Mistral-7B-v0.1", {}).name == "mistral-7b-v0.1");
  CHECK(hub_model("Qwen/Qwen2.5-13B", {}).name.empty());
  CHECK(hub_model("", {}).name.empty());
}

TEST_CASE("models of the catalog are released under ids that mean them", "[scenarios][catalog]") {
  int known = 0;
  Diagnostics diagnostics;
  for (const CatalogFile& file :
       list_catalog_files(CatalogKind::models, catalog_roots({}, diagnostics))) {
    const std::string id = hub_id(file.name, {});
    CAPTURE(file.name, id);
    if (id.empty()) continue;
    ++known;
    CHECK(is_hub_id(id));
    CHECK(hub_model(id, {}).name == file.name);
  }
  CHECK(known >= 190);
  CHECK(hub_id("qwen3-8b", {}) == "Qwen/Qwen3-8B");
  CHECK(hub_id("llama3.1-70b", {}) == "meta-llama/Llama-3.1-70B");
  CHECK(hub_id("mistral-7b", {}) == "mistral-community/Mistral-7B-v0.2");
  CHECK(hub_id("gpt3-175b", {}).empty());
}

TEST_CASE("a scenario's model may have the name that people and hubs write",
          "[scenarios][catalog]") {
  const auto named = [](const std::string& name, std::string& error) {
    Diagnostics diagnostics;
    std::vector<SourceFile> files;
    std::vector<ResolvedValue> values;
    CatalogContext context{{}, ".", diagnostics, files, values};
    const auto entry = load_model_entry({name, "model", {}}, context);
    error = diagnostics.empty() ? "" : diagnostics.items().front().text();
    return entry ? entry->shape.name : std::string();
  };
  std::string error;
  CHECK(named("qwen2.5-7b", error) == "qwen2-7b");
  CHECK(named("llama3.3-70b", error) == "llama3.1-70b");
  CHECK(named("r1-distill-llama-8b", error) == "llama3.1-8b");
  CHECK(named("Qwen3-4B-Instruct-2507", error) == "qwen3-4b");
  CHECK(named("Qwen/Qwen3-8B", error) == "qwen3-8b");
  CHECK(named("meta-llama/Llama-3.1-8B-Instruct", error) == "llama3.1-8b");
  CHECK(error.empty());
  CHECK(named("Qwen/Qwen3-9B", error).empty());
  CHECK(error.find("there is no model 'Qwen/Qwen3-9B'; of other sizes there are 'qwen3-") !=
        std::string::npos);
  CHECK(named("./Qwen3-8B", error).empty());
  CHECK(error.find("is not read: a model is a catalog name") != std::string::npos);
}

TEST_CASE("names of models are added in a catalog folder", "[scenarios][catalog]") {
  const test::TemporaryFolder folder;
  folder.write("model_names.yaml",
               "schema: 1\nadditions: [ours]\nshapes:\n  - {model: qwen3-8b, names: [House-8B]}\n");
  CHECK(hub_model("us/house-8b-ours", {folder.path()}).name == "qwen3-8b");
  CHECK(hub_model("us/house-8b-ours", {}).name.empty());
}

TEST_CASE("files of DeepSpeed that a framework ships say what they hold", "[scenarios][import]") {
  const Job two =
      default_import(Framework::axolotl,
                     std::string(plain_axolotl) + "deepspeed: deepspeed_configs/zero2.json\n")
          .scenario.job;
  CHECK(two.parallel.zero == 2);
  CHECK(two.memory.offload == OffloadKind::optimizer);
  CHECK(two.communication.overlap.gradients);
  const Job three =
      default_import(Framework::axolotl,
                     std::string(plain_axolotl) + "deepspeed: deepspeed_configs/zero3_bf16.json\n")
          .scenario.job;
  CHECK(three.parallel.zero == 3);
  CHECK(three.memory.offload == OffloadKind::none);
  const Job other = default_import(Framework::llamafactory,
                                   std::string(plain_factory) +
                                       "deepspeed: examples/deepspeed/ds_z3_offload_config.json\n")
                        .scenario.job;
  CHECK(other.memory.offload == OffloadKind::optimizer_and_parameters);
  CHECK_FALSE(other.communication.overlap.gradients);
  CHECK(has(default_refusal(Framework::axolotl,
                            std::string(plain_axolotl) +
                                "deepspeed: deepspeed_configs/zero3_bf16_cpuoffload_params.json\n"),
            "leaves the optimizer in the GPU"));
}

TEST_CASE("FSDP's shards are in 32 bits, whether bf16 is said or left to its default",
          "[scenarios][import]") {
  const std::string file = std::string(plain_axolotl) + "fsdp_config: {fsdp_version: 2}\n";
  for (const char* said : {"", "bf16: auto\n", "bf16: true\n"})
    CHECK(default_import(Framework::axolotl, file + said).scenario.job.training.master_weights ==
          MasterWeights::fp32);
  CHECK(default_import(Framework::axolotl, file + "bf16: full\n")
            .scenario.job.training.master_weights == MasterWeights::none);
}

TEST_CASE("ms-swift's fsdp2 is the file that it ships", "[scenarios][import]") {
  const Job job =
      default_import(Framework::swift,
                     "NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-8B \\\n"
                     "  --tuner_type full --fsdp fsdp2 --gradient_checkpointing false\n",
                     "run.sh")
          .scenario.job;
  CHECK(job.parallel.zero == 3);
  CHECK(job.memory.recompute.kind == RecomputeKind::full);
}

TEST_CASE("bases in formats that are not modelled are refused by their names",
          "[scenarios][import]") {
  for (const auto& [id, word] :
       {std::pair{"ISTA-DASLab/Meta-Llama-3-8B-Instruct-AQLM-2Bit-1x16", "AQLM"},
        std::pair{"Qwen/Qwen3-8B-FP8", "8-bit floats"}})
    CHECK(has(default_refusal(
                  Framework::llamafactory,
                  fmt::format("model_name_or_path: {}\nper_device_train_batch_size: 1\n", id)),
              word));
}

TEST_CASE("what trains no text, or nothing, is not imported as training", "[scenarios][import]") {
  CHECK(has(default_refusal(Framework::axolotl,
                            std::string(plain_axolotl) + "processor_type: AutoProcessor\n"),
            "pictures"));
  CHECK(has(
      default_refusal(Framework::llamafactory, std::string(plain_factory) + "do_predict: true\n"),
      "nothing is trained"));
  CHECK(has(default_refusal(Framework::swift,
                            "MAX_PIXELS=1003520 NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-8B\n",
                            "run.sh"),
            "pictures"));
}

TEST_CASE("the script that a line starts names TRL's trainer", "[scenarios][import]") {
  const auto line = [](const char* script) {
    return std::string("accelerate launch --num_processes 8 ") + script +
           " --model_name_or_path Qwen/Qwen3-8B --max_length 1024"
           " --per_device_train_batch_size 2\n";
  };
  const Job pairs =
      default_import(Framework::transformers, line("examples/scripts/dpo_vlm.py"), "run.sh")
          .scenario.job;
  CHECK(pairs.fine_tuning.objective == Objective::preference);
  CHECK(
      has(default_refusal(Framework::transformers, line("trl/scripts/kto.py"), "run.sh"), "'kto'"));
  CHECK(has(default_refusal(Framework::transformers, line("examples/scripts/bco.py"), "run.sh"),
            "'bco'"));
  const Job plain =
      default_import(Framework::transformers, line("train_doc.py"), "run.sh").scenario.job;
  CHECK(plain.fine_tuning.objective == Objective::next_token);
}

TEST_CASE("a program that submits a launch stands before it", "[scenarios][import]") {
  const Job job = default_import(Framework::transformers,
                                 "python submit.py --cluster c --gpus 8 -- accelerate launch \\\n"
                                 "  --mixed_precision bf16 --num_processes 8 train.py \\\n"
                                 "  --model_name_or_path Qwen/Qwen3-8B --max_seq_length 4096 \\\n"
                                 "  --per_device_train_batch_size 1\n",
                                 "run.sh")
                      .scenario.job;
  CHECK(job.training.sequence == 4096);
  CHECK(job.training.precision == Precision::bf16);
}

TEST_CASE("8 bits through accelerate are torchao's or Transformer Engine's",
          "[scenarios][import]") {
  const auto job = [](const std::string& keys) {
    return default_import(Framework::transformers, plain_trainer + keys).scenario.job;
  };
  const Job torchao = job("mixed_precision: fp8\nfp8_config: {backend: AO}\n");
  CHECK(torchao.training.precision == Precision::fp8);
  CHECK(torchao.training.fp8_scaling == Fp8Scaling::current);
  CHECK(job("mixed_precision: fp8\nfp8_config: {backend: TE, amax_history_length: 1024}\n")
            .training.fp8_scaling == Fp8Scaling::tensor);
  CHECK(has(default_refusal(Framework::transformers,
                            std::string(plain_trainer) +
                                "mixed_precision: fp8\nfp8_config: {backend: MSAMP}\n"),
            "is not modelled"));
  CHECK(default_import(Framework::llamafactory,
                       std::string(plain_factory) + "fp8: true\ndeepspeed: ds_z3_config.json\n")
            .scenario.job.training.precision == Precision::fp8);
  const ImportedScenario gathers =
      default_import(Framework::axolotl, std::string(plain_axolotl) +
                                             "fp8: true\nfp8_enable_fsdp_float8_all_gather: true\n"
                                             "fsdp_config: {fsdp_version: 2}\n");
  CHECK(gathers.scenario.job.memory.fp8_parameters);
  const ImportedScenario kept = default_import(
      Framework::axolotl, std::string(plain_axolotl) +
                              "fp8: true\nfp8_enable_fsdp_float8_all_gather: true\n"
                              "fsdp_config: {fsdp_version: 2, reshard_after_forward: false}\n");
  CHECK_FALSE(kept.scenario.job.memory.fp8_parameters);
  CHECK(has(kept.text, "shards of weights travel in 16 bits"));
}

TEST_CASE("a fused optimizer of torchtune keeps no copies of its states", "[scenarios][import]") {
  const auto kernels = [](const char* fused) {
    return default_import(
               Framework::torchtune,
               fmt::format("model: {{_component_: torchtune.models.llama3_3.llama3_3_70b}}\n"
                           "tokenizer: {{max_seq_len: 2048}}\nbatch_size: 1\n"
                           "optimizer: {{_component_: torch.optim.AdamW, fused: {}}}\n",
                           fused))
        .scenario.job.training.fused_kernels;
  };
  CHECK(kernels("True").has(FusedKernel::optimizer));
  CHECK_FALSE(kernels("False").has(FusedKernel::optimizer));
}

TEST_CASE("ms-swift over Megatron-Core is Megatron-Core with names of its own",
          "[scenarios][import]") {
  const auto line = [](const std::string& more) {
    return "NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-30B-A3B --max_length 4096 \\\n"
           "  --expert_model_parallel_size 8 --micro_batch_size 2 --global_batch_size 32 \\\n"
           "  --no_save_optim true --lr 1e-5 --sequence_parallel true " +
           more + "\n";
  };
  const Job job = default_import(Framework::swift,
                                 line("--tuner_type lora --target_modules all-linear"), "run.sh")
                      .scenario.job;
  CHECK(job.stack.name == "megatron-core");
  CHECK(job.parallel.expert == 8);
  CHECK(job.parallel.zero == 1);
  CHECK(job.training.global_batch == 32);
  CHECK(job.training.sequence == 4096);
  CHECK(job.training.router_fp32);
  CHECK(job.memory.recompute.kind == RecomputeKind::selective);
  CHECK(job.fine_tuning.adapter == AdapterKind::lora);
  CHECK(job.fine_tuning.rank == 8);
  CHECK(job.fine_tuning.dropout == Approx(0.05));
  const Job whole =
      default_import(Framework::swift, line("--recompute_granularity none"), "run.sh").scenario.job;
  CHECK(whole.memory.recompute.kind == RecomputeKind::none);
  CHECK_FALSE(whole.fine_tuning.adapts());
  CHECK(has(default_refusal(Framework::swift, line("--rlhf_type kto"), "run.sh"), "'kto'"));
  CHECK(
      has(default_refusal(Framework::swift, line("--freeze_vit false"), "run.sh"), "vision tower"));
}

TEST_CASE("arguments of known scripts are others' by another name", "[scenarios][import]") {
  const Job job = default_import(Framework::transformers,
                                 "torchrun --nproc_per_node=8 train.py --bf16 True \\\n"
                                 "  --model_name_or_path meta-llama/Llama-2-7b-hf \\\n"
                                 "  --model_max_length 2048 --per_device_train_batch_size 2\n",
                                 "run.sh")
                      .scenario.job;
  CHECK(job.training.sequence == 2048);
}

TEST_CASE("a vocabulary that nobody says is that of the catalog's model of the shape",
          "[scenarios][import]") {
  const std::string arguments =
      "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 "
      "--group-query-attention --num-query-groups 8 --seq-length 8192 --micro-batch-size 1 "
      "--global-batch-size 64 --swiglu --normalization RMSNorm --position-embedding-type rope "
      "--rotary-base 500000 --untie-embeddings-and-output-weights --disable-bias-linear --bf16 "
      "--max-position-embeddings 8192 --tokenizer-type HuggingFaceTokenizer ";
  const ImportedScenario known = default_import(
      Framework::megatron, arguments + "--tokenizer-model /data/tokenizer", "arguments");
  CHECK(known.scenario.job.model.vocabulary == 128256);
  CHECK(has(known.text, "which has this shape"));
  CHECK(has(default_refusal(Framework::megatron, arguments + "--num-layers 31", "arguments"),
            "the vocabulary of 'HuggingFaceTokenizer' is not known"));
}

TEST_CASE("optimizers with other states than Adam's keep what they keep", "[scenarios][import]") {
  const auto training = [](const char* name) {
    return default_import(Framework::transformers,
                          fmt::format("{}optim: {}\n", plain_trainer, name))
        .scenario.job.training;
  };
  CHECK(training("adamw_torch_4bit").first_moment() == Approx(0.53125));
  CHECK(training("rmsprop").optimizer == OptimizerKind::rmsprop);
  CHECK(training("lion_32bit").optimizer == OptimizerKind::lion);
  CHECK(
      default_import(Framework::llamafactory, std::string(plain_factory) + "use_adam_mini: true\n")
          .scenario.job.training.second_moment() == 0.0);
  CHECK(has(default_refusal(Framework::transformers,
                            std::string(plain_trainer) + "optim: galore_adamw\n"),
            "optim_target_modules: is missing"));
}

TEST_CASE("a checkpoint in MXFP4 that is unpacked when it is loaded is one in 16 bits",
          "[scenarios][import]") {
  const std::string keys = std::string(plain_axolotl) +
                           "model_quantization_config: Mxfp4Config\n"
                           "model_quantization_config_kwargs: {dequantize: ";
  CHECK_NOTHROW(default_import(Framework::axolotl, keys + "true}\n"));
  CHECK(has(default_refusal(Framework::axolotl, keys + "false}\n"), "stays packed"));
  CHECK(has(default_refusal(Framework::axolotl,
                            std::string(plain_axolotl) + "quantize_moe_experts: true\n"),
            "packs experts alone"));
}

TEST_CASE("NeMo's format of fp8 turns no fp8 on", "[scenarios][import]") {
  const auto precision = [](const char* on) {
    return default_import(
               Framework::nemo,
               fmt::format("trainer: {{num_nodes: 1, devices: 8, precision: bf16}}\n"
                           "model: {{num_layers: 4, hidden_size: 1024,\n"
                           "  ffn_hidden_size: 4096, fp8: {}, fp8_hybrid: true,\n"
                           "  num_attention_heads: 8, encoder_seq_length: 1024,\n"
                           "  micro_batch_size: 1, global_batch_size: 8,\n"
                           "  tokenizer: {{type: GPT2BPETokenizer, library: megatron}}}}\n",
                           on))
        .scenario.job.training.precision;
  };
  CHECK(precision("false") == Precision::bf16);
  CHECK(precision("true") == Precision::fp8);
}

TEST_CASE("kernels of attention that were not measured are refused", "[scenarios][import]") {
  const auto text = [](const char* kernel) {
    return fmt::format("{}attn_implementation: {}\n", plain_axolotl, kernel);
  };
  CHECK(has(default_refusal(Framework::axolotl, text("sage")), "'sage' is not modelled"));
  CHECK(default_import(Framework::axolotl, text("flash_attention_3"))
            .scenario.job.memory.attention_library == AttentionLibrary::flash3);
}

TEST_CASE("products in NeMo's configurations are computed", "[scenarios][import]") {
  const Job job = default_import(Framework::nemo,
                                 "trainer: {num_nodes: 1, devices: 8, precision: bf16}\n"
                                 "model: {num_layers: 4, hidden_size: 1024,\n"
                                 "  ffn_hidden_size: '${multiply:4, ${.hidden_size}}',\n"
                                 "  num_attention_heads: 8, encoder_seq_length: 1024,\n"
                                 "  micro_batch_size: 1, global_batch_size: 8,\n"
                                 "  tokenizer: {type: GPT2BPETokenizer, library: megatron}}\n")
                      .scenario.job;
  CHECK(job.model.ffn_hidden == 4096);
}

TEST_CASE("keys of LLaMA-Factory's second trainer are those of its first by other names",
          "[scenarios][import]") {
  const std::string file =
      "model: Qwen/Qwen3-4B\nmodel_class: llm\ntrain_dataset: data.yaml\nmicro_batch_size: 2\n"
      "cutoff_len: 4096\ndist_config: {name: fsdp2, dcp_path: null}\n";
  const Job whole =
      default_import(Framework::llamafactory, file + "kernel_config: {name: liger_kernel}\n")
          .scenario.job;
  CHECK(whole.parallel.zero == 3);
  CHECK(whole.training.micro_batch == 2);
  CHECK(whole.training.sequence == 4096);
  CHECK(whole.training.precision == Precision::bf16);
  CHECK(whole.memory.recompute.kind == RecomputeKind::full);
  CHECK(whole.training.fused_kernels.has(FusedKernel::linear_loss));
  CHECK_FALSE(whole.fine_tuning.adapts());
  const Job packed = default_import(Framework::llamafactory,
                                    file +
                                        "peft_config: {name: lora, r: 16, target_modules: all}\n"
                                        "quant_config: {name: bnb, quantization_bit: 4}\n"
                                        "enable_activation_checkpointing: false\n")
                         .scenario.job;
  CHECK(packed.fine_tuning.rank == 16);
  CHECK(packed.fine_tuning.frozen_format == FrozenFormat::nf4_double);
  CHECK(packed.memory.recompute.kind == RecomputeKind::none);
  const Job pairs =
      default_import(Framework::llamafactory, file, "train_full_dpo.yaml").scenario.job;
  CHECK(pairs.fine_tuning.objective == Objective::preference);
  CHECK(has(default_refusal(Framework::llamafactory, file + "kernel_config: {name: other}\n"),
            "kernel_config.name"));
  CHECK(default_import(Framework::llamafactory, file + "cp_size: 2\n")
            .scenario.job.parallel.context == 2);
}

TEST_CASE("NeMo's fine-tuning of a .nemo file takes the shape from --model",
          "[scenarios][import]") {
  const std::string file =
      "trainer: {num_nodes: 1, devices: 8, precision: bf16}\n"
      "model: {restore_from_path: m.nemo, tensor_model_parallel_size: 2, micro_batch_size: 1,\n"
      "  global_batch_size: 16, data: {train_ds: {max_seq_length: 2048}},\n"
      "  peft: {peft_scheme: lora, lora_tuning: {adapter_dim: 16, target_modules: [all]}}}\n";
  const Job job = default_import(Framework::nemo, file, "tuning.yaml", "llama2-7b").scenario.job;
  CHECK(job.training.sequence == 2048);
  CHECK(job.training.global_batch == 16);
  CHECK(job.parallel.tensor == 2);
  CHECK(job.model.vocabulary == 32000);
  CHECK(job.fine_tuning.rank == 16);
  CHECK(job.fine_tuning.targets.has(AdapterTarget::fc2));
  CHECK(has(default_refusal(Framework::nemo, file), "give --model NAME"));
}

}  // namespace foretrain
