// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/megatron/megatron_import.hpp"
#include "models/layers/parameters.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <nlohmann/json.hpp>

#include "models/memory/memory.hpp"
#include "scenarios/sections/scenario_text.hpp"
#include "tests/test_text.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path root = FORETRAIN_SOURCE_DIR;
const fs::path fixtures = root / "tests" / "scenarios" / "imports" / "megatron";

ImportedScenario imported(const std::string& text, const std::string& name = "run.sh",
                          const PlanImportOptions& options = {}) {
  return import_megatron({text, name, "Megatron-LM"}, options);
}

/// The messages of an import that is refused, one line each.
std::string refused(const std::string& text, const PlanImportOptions& options = {}) {
  try {
    imported(text, "run.sh", options);
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "";
}

const std::string small =
    "--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 "
    "--max-position-embeddings 2048 --micro-batch-size 4 --global-batch-size 512 --bf16 ";

bool mentions(const std::vector<std::string>& words, const std::string& part) {
  for (const std::string& word : words)
    if (word.find(part) != std::string::npos) return true;
  return false;
}

/// A row of the measured file as a file that the importer takes.
std::string as_file(const json& row) {
  return json{{"args", row.at("args")}, {"env", row.at("env")}, {"gpus", row.at("gpus")}}.dump();
}

/// What the calibration reads of the same row.
Job mapped_job(const json& row) {
  const auto texts = [&](const char* key) {
    std::map<std::string, std::string> result;
    for (const auto& [name, value] : row.at(key).items())
      result[name] = value.is_string() ? value.get<std::string>() : value.dump();
    return result;
  };
  MegatronEnvironment environment;
  environment.gpus = row.at("gpus").get<int>();
  environment.variables = texts("env");
  return map_megatron_arguments(texts("args"), environment).job;
}

double last_stage(const Job& job) {
  const StageLayout layout = stage_layout(job.model, job.parallel);
  return account_stage(job, layout, activation_model(job), layout.stages() - 1).allocated;
}

}  // namespace

TEST_CASE("Megatron-LM: learned positions without their number name the argument",
          "[scenarios][megatron]") {
  std::string text = small + "--tokenizer-type NullTokenizer --vocab-size 32000";
  text.erase(text.find("--max-position-embeddings 2048 "), 31);
  CHECK_THAT(refused(text), Catch::Contains("--max-position-embeddings: is missing"));
  CHECK(refused(text + " --position-embedding-type rope").empty());
}

TEST_CASE("every measured run of Megatron-LM's tests imports, or is refused by name",
          "[scenarios][import][megatron]") {
  const json document =
      json::parse(test::contents(root / "calibration" / "measured" / "megatron_ci_memory.json"));
  int count = 0;
  std::map<std::string, int> reasons;
  for (const json& row : document.at("rows")) {
    INFO(row.at("case") << " on " << row.at("platform"));
    PlanImportOptions options;
    options.host = row.at("platform") == "a100" ? "dgx-a100" : "dgx-h100";
    try {
      const ImportedScenario result = imported(as_file(row), "run.json", options);
      ++count;
      if (!row.at("gpus").is_number_integer()) continue;
      // Read back from its file, the scenario takes the memory that the calibration checks.
      Job direct = result.scenario.job;
      const Job mapped = mapped_job(row);
      const bool bias = direct.model.moe && direct.model.moe->router_bias;
      direct.model = mapped.model;
      if (direct.model.moe) direct.model.moe->router_bias = bias;
      direct.training = mapped.training;
      direct.parallel = mapped.parallel;
      direct.memory = mapped.memory;
      direct.communication.gradient_dtype = mapped.communication.gradient_dtype;
      CHECK(last_stage(result.scenario.job) == Approx(last_stage(direct)).epsilon(1e-12));
    } catch (const ScenarioError& error) {
      for (const Diagnostic& diagnostic : error.diagnostics())
        ++reasons[diagnostic.path + ": " + diagnostic.message];
    }
  }
  CAPTURE(reasons);
  CHECK(reasons.empty());
  CHECK(count == 215);
}

TEST_CASE("a torchrun script is followed through arrays, arithmetic and conditions",
          "[scenarios][import][megatron]") {
  const ImportedScenario result = imported(test::contents(fixtures / "llama3-8b-torchrun.sh"));
  const Job& job = result.scenario.job;
  CHECK(job.model.name == "llama3-8b");
  CHECK(parameters(job.model) == 8'030'261'248);  // the released checkpoint
  CHECK(job.cluster.gpus() == 32);
  CHECK(job.parallel.tensor == 2);
  CHECK(job.parallel.data == 16);
  CHECK(job.parallel.zero == 1);
  CHECK(job.training.global_batch == 128);
  CHECK(job.training.tokens == 1'953'125.0 * 8192);
  CHECK(job.training.precision == Precision::fp8);
  CHECK(job.memory.fp8_parameters);
  CHECK(job.communication.overlap.gradients);
  CHECK(mentions(result.notes.ignored, "lr"));
  CHECK(mentions(result.notes.read, "swiglu"));
  CHECK(result.text.find("model: llama3-8b\n") != std::string::npos);
}

TEST_CASE("a Slurm script of Megatron-DeepSpeed gives BLOOM-176B on its 384 GPUs",
          "[scenarios][import][megatron]") {
  PlanImportOptions options;
  options.host = "dgx-a100";
  const ImportedScenario result =
      imported(test::contents(fixtures / "bloom-176b.slurm"), "bloom.slurm", options);
  const Job& job = result.scenario.job;
  CHECK(parameters(job.model) == 176'247'271'424);  // the released checkpoint
  CHECK(job.cluster.gpus() == 384);
  CHECK(job.parallel.data == 8);
  CHECK(job.parallel.zero == 1);  // DeepSpeed's bf16 optimizer shards at stage 0
  CHECK(job.parallel.stage_layers == std::vector<int>{5, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 5});
  CHECK(job.memory.recompute.kind == RecomputeKind::full);
  CHECK(job.training.global_batch == 2048);
  CHECK(job.training.tokens == 220e6 * 2048);
  CHECK(job.stack.name == "megatron-deepspeed");
  CHECK(mentions(result.notes.assumed, "2048, the last"));
}

TEST_CASE("a YAML of MODEL_ARGS gives Mixtral 8x7B with its exact size",
          "[scenarios][import][megatron]") {
  const ImportedScenario result =
      imported(test::contents(fixtures / "mixtral-8x7b.yaml"), "m.yaml");
  const Job& job = result.scenario.job;
  CHECK(job.model.name == "mixtral-8x7b");
  CHECK(parameters(job.model) == 46'702'792'704);  // the released checkpoint
  CHECK(job.parallel.expert == 8);
  CHECK(job.parallel.virtual_stages == 2);
  CHECK(job.parallel.schedule == ScheduleKind::interleaved);
  CHECK(job.cluster.gpus() == 32);
  CHECK(mentions(result.notes.assumed, "32 GPUs, the fewest"));
  CHECK_FALSE(mentions(result.notes.approximated, "moe-token-dispatcher-type"));
}

TEST_CASE("a plain list of arguments is enough, and says what it assumes",
          "[scenarios][import][megatron]") {
  const ImportedScenario result = imported(small, "arguments");
  CHECK(result.scenario.job.cluster.gpus() == 8);
  CHECK(mentions(result.notes.assumed, "dgx-h100"));
  CHECK_FALSE(result.scenario.job.communication.overlap.gradients);
  PlanImportOptions options;
  options.gpus = 64;
  options.host = "dgx-a100";
  CHECK(imported(small, "arguments", options).scenario.job.parallel.data == 64);
}

TEST_CASE("evaluation between steps is named, with what to write",
          "[scenarios][import][megatron]") {
  const ImportedScenario result = imported(small + "--eval-interval 100 --eval-iters 32");
  CHECK(result.notes.evaluation == std::vector<std::string>{"eval-interval", "eval-iters"});
  CHECK(result.notes.ignored.empty());
  CHECK(mentions(result.notes.assumed, "operations.evaluation: {every_steps: N, pause: TIME}"));
  const ImportedScenario off = imported(small + "--eval-interval 100 --eval-iters 0");
  CHECK(off.notes.evaluation.empty());
  CHECK(mentions(off.notes.ignored, "eval-interval"));
}

TEST_CASE("unknown and unmodelled arguments are refused by name", "[scenarios][import][megatron]") {
  CHECK(refused("srun -N 2 pretrain_gpt.py\n") ==
        "run.sh: holds no launch with Megatron-LM arguments such as --num-layers");
  const std::string unknown = refused(small + "--num-layerz 3");
  CHECK(unknown.find("--num-layerz: is not known here") != std::string::npos);
  CHECK(unknown.find("did you mean 'num-layers'?") != std::string::npos);
  const std::string several =
      refused(small + "--activation-offload-fraction 0.5 --fp16-lm-cross-entropy");
  CHECK(several.find("--activation-offload-fraction: changes memory or time and is not modelled") !=
        std::string::npos);
  CHECK(several.find("--fp16-lm-cross-entropy") != std::string::npos);
  PlanImportOptions options;
  options.left_out = {"activation-offload-fraction", "fp16-lm-cross-entropy"};
  CHECK(refused(small + "--activation-offload-fraction 0.5 --fp16-lm-cross-entropy", options)
            .empty());
  const auto drops =
      imported(small + "--moe-expert-capacity-factor 1.5 --num-experts 4", "arguments");
  CHECK(drops.scenario.job.training.moe_capacity == 1.5);
}

TEST_CASE("all of Megatron's dispatchers are read, with their multiprocessors",
          "[scenarios][import][megatron]") {
  const std::string experts = small + "--num-experts 4 --moe-token-dispatcher-type flex ";
  const auto fused = imported(experts + "--moe-flex-dispatcher-backend hybridep", "arguments");
  CHECK(fused.scenario.job.communication.expert_dispatch == ExpertDispatch::fused);
  CHECK_FALSE(mentions(fused.notes.approximated, "moe-flex-dispatcher-backend"));
  CHECK_FALSE(fused.scenario.job.communication.expert_multiprocessors.has_value());
  const auto wide = imported(
      experts + "--moe-flex-dispatcher-backend hybridep --moe-hybridep-num-sms 32", "arguments");
  CHECK(wide.scenario.job.communication.expert_multiprocessors == 32);
  const auto plain = [](const std::string& type) {
    return imported(small + "--num-experts 4 " + type, "arguments")
        .scenario.job.communication.expert_dispatch;
  };
  CHECK(plain("") == ExpertDispatch::all_gather);
  CHECK(plain("--moe-token-dispatcher-type allgather") == ExpertDispatch::all_gather);
  CHECK(plain("--moe-token-dispatcher-type alltoall") == ExpertDispatch::every_copy);
  const auto other = imported(experts + "--moe-flex-dispatcher-backend deepep", "arguments");
  CHECK(other.scenario.job.communication.expert_dispatch == ExpertDispatch::once_per_host);
  CHECK_FALSE(mentions(other.notes.approximated, "moe-flex-dispatcher-backend"));
}

TEST_CASE("context ranks and 8-bit attention are read from their arguments",
          "[scenarios][import][megatron]") {
  const auto exchange = [](const std::string& type) {
    return imported(small + "--cp-comm-type " + type, "arguments")
        .scenario.job.communication.context_exchange;
  };
  CHECK(exchange("p2p") == ContextExchange::ring);
  CHECK(exchange("a2a") == ContextExchange::all_to_all);
  CHECK(exchange("allgather") == ContextExchange::all_gather);
  const auto narrow =
      imported(small + "--bf16 --fp8-format hybrid --fp8-dot-product-attention", "arguments");
  CHECK(narrow.scenario.job.training.fp8_attention);
  CHECK(refused(small + "--bf16 --fp8-format hybrid --fp8-multi-head-attention")
            .find("fp8-multi-head-attention") != std::string::npos);
}

TEST_CASE("what only running a script would tell is asked for", "[scenarios][import][megatron]") {
  const std::string script = "ARGS=(" + small + "--num-query-groups 2)\n" +
                             "torchrun --nnodes $HOSTS --nproc_per_node 8 pretrain_gpt.py "
                             "${ARGS[@]} --tensor-model-parallel-size $TP $EXTRA\n";
  const std::string message = refused(script);
  CHECK(message.find("run.sh:2:1: --tensor-model-parallel-size: '${TP}' is not an integer; give "
                     "the variable with --var NAME=VALUE") != std::string::npos);
  PlanImportOptions options;
  options.variables = {{"TP", "2"}, {"HOSTS", "4"}};
  const ImportedScenario result = imported(script, "run.sh", options);
  CHECK(result.scenario.job.cluster.gpus() == 32);
  CHECK(result.scenario.job.parallel.tensor == 2);
  CHECK(mentions(result.notes.assumed, "${EXTRA} is set outside the script"));
}

TEST_CASE("a variable that is set under a condition of the machine is not guessed",
          "[scenarios][import][megatron]") {
  const std::string script = "MORE=(--swiglu)\nif nvidia-smi; then\n  MORE+=(--fp16)\nfi\n" +
                             std::string("torchrun pretrain_gpt.py ") + small + "${MORE[@]}\n";
  CHECK(refused(script).find("run.sh:5:1: MORE: is set in line 3 under a condition") !=
        std::string::npos);
}

TEST_CASE("case and && choose as the shell does", "[scenarios][import][megatron]") {
  const std::string script =
      "SIZE=7b\ncase $SIZE in\n  1b|2b) L=16; H=2048;;\n  7*) L=32; H=4096 ;;\n  *) exit "
      "1;;\nesac\n"
      "[ -z \"$MBS\" ] && MBS=2\n[ \"$SIZE\" == 1b ] && H=1\n"
      "mpirun -np 16 python pretrain_gpt.py --num-layers $L --hidden-size $H "
      "--num-attention-heads 32 --seq-length 1024 --max-position-embeddings 1024 "
      "--micro-batch-size $MBS --global-batch-size 64\n";
  const Job job = imported(script).scenario.job;
  CHECK(job.model.layers == 32);
  CHECK(job.model.hidden == 4096);
  CHECK(job.training.micro_batch == 2);
  CHECK(job.cluster.gpus() == 16);
}

TEST_CASE("hostile scripts end in an error", "[scenarios][import][megatron]") {
  CHECK(refused("A=\"unclosed\n--num-layers").find("is not closed") != std::string::npos);
  CHECK(refused("if true; then\n").find("has no 'fi'") != std::string::npos);
  std::string doubling = "A=(x x x x)\n";
  for (int i = 0; i < 40; ++i) doubling += "A+=(${A[@]} ${A[@]})\n";
  CHECK(refused(doubling).find("KiB") != std::string::npos);
  std::string nested(200, '(');
  CHECK_FALSE(refused("A=$((" + nested + "1" + "\n").empty());
  CHECK(refused(small + "--num-experts 2 --moe-layer-freq ((([1]*9999)*9999)*9999)")
            .find("moe-layer-freq") != std::string::npos);
}

TEST_CASE("every example scenario is written so that it reads back the same",
          "[scenarios][import]") {
  int count = 0;
  for (const char* folder : {"scenarios", "scenarios/effects"})
    for (const auto& entry : fs::directory_iterator(root / folder)) {
      if (entry.path().extension() != ".yaml") continue;
      INFO(entry.path().string());
      const Scenario scenario = load_scenario(entry.path());
      const std::string text = scenario_text({scenario.job, "", {}});
      const Scenario again = load_scenario_text(text, "written.yaml", ".");
      CHECK(scenario_text({again.job, "", {}}) == text);
      CHECK(parameters(again.job.model) == parameters(scenario.job.model));
      CHECK(last_stage(again.job) == last_stage(scenario.job));
      ++count;
    }
  CHECK(count > 10);
}

}  // namespace foretrain

namespace foretrain {

TEST_CASE("a file of --yaml-cfg is its arguments", "[scenarios][megatron][import]") {
  const std::string text = R"(language_model:
  num_layers: 32
  hidden_size: 4096
  num_attention_heads: 32
  num_query_groups: 8
  ffn_hidden_size: 14336
  kv_channels: null
  hidden_dropout: 0.0
  attention_dropout: 0.0
  add_bias_linear: False
  bias_dropout_fusion: True
  gated_linear_unit: False
  activation_func: swiglu
  normalization: RMSNorm
  fp8: null
  recompute_granularity: full
  recompute_method: uniform
  recompute_num_layers: 1
  layernorm_epsilon: 1.e-5
model_parallel:
  tensor_model_parallel_size: 4
  pipeline_model_parallel_size: 2
  context_parallel_size: 1
  sequence_parallel: True
  bf16: True
  fp16: False
  gradient_accumulation_fusion: True
  overlap_p2p_comm: False
micro_batch_size: 1
global_batch_size: 64
seq_length: 8192
max_position_embeddings: 8192
untie_embeddings_and_output_weights: True
position_embedding_type: rope
transformer_impl: transformer_engine
use_distributed_optimizer: True
overlap_grad_reduce: True
vocab_size: 128256
tokenizer_type: Llama3Tokenizer
train_iters: 100
lr: 2.5e-4
save: null
mask_prob: 0.15
)";
  PlanImportOptions options;
  options.gpus = 16;
  const Job job = import_megatron({text, "gpt_config.yaml", "Megatron-LM"}, options).scenario.job;
  CHECK(job.model.name == "llama3-8b");
  CHECK(job.parallel.tensor == 4);
  CHECK(job.parallel.pipeline == 2);
  CHECK(job.parallel.data == 2);
  CHECK(job.parallel.sequence);
  CHECK(job.parallel.zero == 1);
  CHECK(job.memory.recompute.kind == RecomputeKind::full);
  CHECK(job.training.tokens == 100.0 * 64 * 8192);
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    other.replace(other.find(from), from.size(), to);
    try {
      (void)import_megatron({other, "gpt_config.yaml", "Megatron-LM"}, options);
    } catch (const ScenarioError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refused("mask_prob: 0.15", "turbo: 3").find("gpt_config.yaml:43:1: turbo: is not known") !=
        std::string::npos);
  CHECK(refused("num_layers: 32", "num_layers: many")
            .find("gpt_config.yaml:2:1: language_model.num_layers: 'many' is not an integer") !=
        std::string::npos);
  CHECK(refused("swiglu", "mish").find("language_model.activation_func: ") != std::string::npos);
}

}  // namespace foretrain
