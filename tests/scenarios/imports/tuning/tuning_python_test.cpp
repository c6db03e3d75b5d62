// SPDX-License-Identifier: Apache-2.0
// Scripts of fine-tuning, read as data.
#include <catch2/catch.hpp>

#include "scenarios/imports/frameworks/frameworks.hpp"
#include "tests/test_text.hpp"

namespace foretrain {
namespace {

using test::has;

/// As Unsloth's notebooks have it.
constexpr const char* unsloth_script =
    R"(from unsloth import FastLanguageModel, is_bfloat16_supported
import torch
max_seq_length = 2048
dtype = None
model, tokenizer = FastLanguageModel.from_pretrained(
    model_name="unsloth/Meta-Llama-3.1-8B",  # of the hub
    max_seq_length=max_seq_length,
    dtype=dtype,
    load_in_4bit=True,
)
model = FastLanguageModel.get_peft_model(
    model,
    r=16,
    target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
    lora_alpha=16,
    lora_dropout=0,
    bias="none",
    use_gradient_checkpointing="unsloth",
    random_state=3407,
    use_rslora=False,
    loftq_config=None,
)

def formatting_prompts_func(examples):
    texts = []
    for text in examples["text"]:
        texts.append(text + EOS_TOKEN)
    return {"text": texts}

dataset = dataset.map(formatting_prompts_func, batched=True)
trainer = SFTTrainer(
    model=model,
    tokenizer=tokenizer,
    train_dataset=dataset,
    dataset_text_field="text",
    max_seq_length=max_seq_length,
    dataset_num_proc=2,
    packing=False,
    args=TrainingArguments(
        per_device_train_batch_size=2,
        gradient_accumulation_steps=4,
        warmup_steps=5,
        max_steps=60,
        learning_rate=2e-4,
        fp16=not is_bfloat16_supported(),
        bf16=is_bfloat16_supported(),
        logging_steps=1,
        optim="adamw_8bit",
        weight_decay=0.01,
        lr_scheduler_type="linear",
        seed=3407,
        output_dir="outputs",
        report_to="none",
    ),
)
trainer_stats = trainer.train()
)";

ImportedScenario script(const std::string& text) {
  PlanImportOptions options;
  options.host = "dgx-a100";
  return import_framework(Framework::transformers, text, "train.py", options);
}

std::string script_refusal(const std::string& text) {
  try {
    static_cast<void>(script(text));
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "";
}

std::string swapped(const std::string& from, const std::string& to) {
  std::string text = unsloth_script;
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("a script of Unsloth is read as data", "[scenarios][import]") {
  const ImportedScenario imported = script(unsloth_script);
  const Job& job = imported.scenario.job;
  CHECK(job.model.name == "llama3.1-8b");
  CHECK(job.cluster.gpus() == 1);
  CHECK(job.training.sequence == 2048);
  CHECK(job.training.micro_batch == 2);
  CHECK(job.training.global_batch == 8);
  CHECK(job.training.precision == Precision::bf16);
  CHECK(job.training.optimizer == OptimizerKind::adam8bit);
  CHECK(job.fine_tuning.rank == 16);
  CHECK(job.fine_tuning.frozen_format == FrozenFormat::nf4_double);
  CHECK(job.fine_tuning.targets.has(AdapterTarget::fc2));
  CHECK(job.memory.recompute.kind == RecomputeKind::full);
  CHECK(job.memory.offloaded_layers == 32);
  CHECK(job.training.fused_kernels == FusedKernels{FusedKernel::norm, FusedKernel::rope,
                                                   FusedKernel::swiglu, FusedKernel::linear_loss,
                                                   FusedKernel::lora});
  CHECK(has(imported.text, "nothing is run"));
  CHECK(script(swapped("\"unsloth\"", "True")).scenario.job.memory.offloaded_layers == 0);
  const Job wide = script(swapped("load_in_4bit=True", "load_in_4bit=False")).scenario.job;
  CHECK_FALSE(wide.fine_tuning.packs_frozen());
}

TEST_CASE("Unsloth's defaults stand where a script says nothing", "[scenarios][import]") {
  const Job packed = script(swapped("    load_in_4bit=True,\n", "")).scenario.job;
  CHECK(packed.fine_tuning.packs_frozen());
  const Job checkpoints =
      script(swapped("    use_gradient_checkpointing=\"unsloth\",\n", "")).scenario.job;
  CHECK(checkpoints.memory.offloaded_layers == 32);
}

// unsloth/kernels/moe and unsloth_zoo/temporary_patches/gpt_oss.py: GptOssExpertsBnb4bit; models of
// 20 B parameters take 14 GB so (docs.unsloth.ai, "gpt-oss: How to Run & Fine-tune").
TEST_CASE("Unsloth packs experts that are one parameter elsewhere", "[scenarios][import]") {
  const std::string llama = "unsloth/Meta-Llama-3.1-8B";
  for (const char* name : {"unsloth/gpt-oss-20b-unsloth-bnb-4bit", "unsloth/gpt-oss-20b"}) {
    const Job job = script(swapped(llama, name)).scenario.job;
    CHECK(job.model.name == "gpt-oss-20b");
    CHECK(job.fine_tuning.packs_experts());
    CHECK_FALSE(job.training.grouped_experts);
  }
}

TEST_CASE("Unsloth trains in the 16 bits that a device has", "[scenarios][import]") {
  std::string text = swapped("        fp16=not is_bfloat16_supported(),\n", "");
  const std::string flag = "        bf16=is_bfloat16_supported(),\n";
  text.erase(text.find(flag), flag.size());
  const auto on = [&](const char* host) {
    PlanImportOptions options;
    options.host = host;
    return import_framework(Framework::transformers, text, "train.py", options)
        .scenario.job.training.precision;
  };
  CHECK(on("t4") == Precision::fp16);
  CHECK(on("dgx-a100") == Precision::bf16);
}

TEST_CASE("what a script never runs is passed over, what it sets later counts",
          "[scenarios][import]") {
  const std::string loading =
      "\nif False:\n    model, tokenizer = FastLanguageModel.from_pretrained('lora_model')\n"
      "elif True:\n    print('saved')\nelse:\n    trainer = SFTTrainer(model=other())\n";
  const std::string plain = unsloth_script;
  CHECK(script(plain + loading).scenario.job.model.name == "llama3.1-8b");
  CHECK(script(plain + "for i in range(3):\n    show(model)\n").scenario.job.cluster.gpus() == 1);
  CHECK(has(script_refusal(plain + "if cond:\n  pass\nelse:\n  c = LoraConfig(r=4)\n"),
            "stands in a branch"));
  const std::string early = "args = TrainingArguments(max_steps=60)\nargs.max_steps = 90\n";
  CHECK(script(early + plain).scenario.job.training.tokens == Approx(90.0 * 8 * 2048));
  CHECK(script("steps = 60\nsteps, rest = find()\n" + plain).scenario.job.training.sequence ==
        2048);
  CHECK(has(script_refusal(plain + "second = DPOTrainer(model=model)\n"),
            "begins a second training, after SFTTrainer in line "));
}

TEST_CASE("tuples, open brackets and values that feed themselves end in words",
          "[scenarios][import]") {
  const std::string plain = unsloth_script;
  CHECK(script("results = run(multiply, [(A, B)])\npair = (A, B)\n" + plain)
            .scenario.job.training.micro_batch == 2);
  for (const char* broken : {"f(a, [(A, B)]\n", "x = [(1, 2\n", "y = f(\n", "z = {(((\n"})
    CHECK_FALSE(script_refusal(std::string("import a\nx.from_pretrained(1)\n") + broken).empty());
  std::string growing =
      "import a\nx.from_pretrained(1)\nv0 = SFTConfig(a='" + std::string(3000, 'x') + "')\n";
  for (int i = 1; i < 60; ++i) {
    const std::string before = "v" + std::to_string(i - 1);
    growing += "v" + std::to_string(i) + " = SFTConfig(a=" + before + ", b=" + before + ")\n";
  }
  CHECK(has(script_refusal(growing), "grows too large"));
}

TEST_CASE("Unsloth's full fine-tuning, 16 bits and halves of the layers", "[scenarios][import]") {
  const std::string four = "load_in_4bit=True";
  const Job whole = script(swapped(four, "full_finetuning=True")).scenario.job;
  CHECK_FALSE(whole.fine_tuning.adapts());
  CHECK(whole.training.master_weights == MasterWeights::none);
  CHECK(whole.memory.offloaded_layers == 32);
  const Job wide = script(swapped(four, "load_in_16bit=True")).scenario.job;
  CHECK(wide.fine_tuning.adapts());
  CHECK_FALSE(wide.fine_tuning.packs_frozen());
  PlanImportOptions turing;
  turing.host = "t4";
  CHECK(import_framework(Framework::transformers, swapped(four, "full_finetuning=True"), "train.py",
                         turing)
            .scenario.job.training.master_weights == MasterWeights::fp32);
  const std::string modules =
      "target_modules=[\"q_proj\", \"k_proj\", \"v_proj\", \"o_proj\", \"gate_proj\", "
      "\"up_proj\", \"down_proj\"]";
  const auto tuned = [&](const std::string& said) {
    return script(swapped(modules, said)).scenario.job.fine_tuning;
  };
  const EnumSet<AdapterTarget> attention{AdapterTarget::query, AdapterTarget::key,
                                         AdapterTarget::value, AdapterTarget::projection};
  CHECK(tuned("finetune_vision_layers=False, finetune_mlp_modules=False").targets == attention);
  CHECK(has(script_refusal(swapped(modules, "finetune_vision_layers=True")),
            "puts adapters into a tower"));
  const FineTuning saved = tuned("target_modules=[\"q_proj\", \"embed_tokens\", \"lm_head\"]");
  CHECK(saved.targets == EnumSet<AdapterTarget>{AdapterTarget::query});
  CHECK(saved.trained == EnumSet<ModelPart>{ModelPart::embedding, ModelPart::output});
}

TEST_CASE("degrees of a script are read, and objects that are not known refused",
          "[scenarios][import]") {
  const auto trained = [](const std::string& arguments) {
    return "import torch\n"
           "model = AutoModelForCausalLM.from_pretrained('Qwen/Qwen3-8B', dtype=torch.bfloat16)\n"
           "ranks = ParallelismConfig(dp_shard_size=2, cp_size=4, cp_handler=\n"
           "    TorchContextParallelConfig(cp_comm_strategy='alltoall'))\n"
           "args = SFTConfig(max_length=65536, fsdp='full_shard', " +
           arguments + ")\ntrainer = SFTTrainer(model=model, args=args)\n";
  };
  const Job job = script(trained("parallelism_config=ranks")).scenario.job;
  CHECK(job.parallel.context == 4);
  CHECK(job.parallel.data == 2);
  CHECK(job.communication.context_exchange == ContextExchange::ring);
  CHECK(has(script_refusal(trained("parallelism_config=ranks_of(4)")), "parallelism_config"));
  CHECK(has(script_refusal(trained("optim=chosen()")), "'chosen(...)' is not modelled"));
}

TEST_CASE("what a script decides while it runs is refused by name", "[scenarios][import]") {
  CHECK(has(script_refusal(swapped("args=TrainingArguments(", "args=arguments_of(")),
            "args: is 'arguments_of', which is not read without running the script"));
  CHECK(has(script_refusal(swapped("    max_steps=60,\n", "    **extra,\n")),
            "takes arguments of a variable"));
  CHECK(has(script_refusal(swapped("model = FastLanguageModel.get_peft_model(",
                                   "if adapted:\n  model = FastLanguageModel.get_peft_model(")),
            "stands in a branch"));
  CHECK(has(script_refusal(
                swapped("per_device_train_batch_size=2", "per_device_train_batch_size=argv[1]")),
            "per_device_train_batch_size"));
  CHECK(has(script_refusal("import torch\nmodel = AutoModelForCausalLM.from_pretrained('a/b')\n"),
            "has no trainer"));
}

}  // namespace foretrain
