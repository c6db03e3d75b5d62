// SPDX-License-Identifier: Apache-2.0
// What importers pass over: no key that the scenario has a word for, and none that is read.
#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "scenarios/imports/frameworks/dialect.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "tests/temporary_folder.hpp"

namespace foretrain {
namespace {

/// A configuration as keys with values, which every format can be made of.
using Pairs = std::vector<std::pair<std::string, std::string>>;

struct Base {
  Framework framework;
  Pairs pairs;
};

std::vector<Base> bases() {
  const auto trainer = [](const char* model) {
    return Pairs{{model, "Llama-2-7b-hf"}, {"distributed_type", "FSDP"}};
  };
  return {
      {Framework::transformers, trainer("model_name_or_path")},
      {Framework::axolotl, trainer("base_model")},
      {Framework::llamafactory, trainer("model_name_or_path")},
      {Framework::swift, trainer("model")},
      {Framework::deepspeed,
       {{"train_micro_batch_size_per_gpu", "1"}, {"gradient_accumulation_steps", "1"}}},
      {Framework::torchtitan, {{"model.name", "\"llama3\""}, {"model.flavor", "\"8B\""}}},
      {Framework::torchtune,
       {{"model._component_", "torchtune.models.llama2.llama2_7b"},
        {"tokenizer.max_seq_len", "2048"}}},
      {Framework::lightning, {{"trainer.strategy", "ddp"}, {"trainer.devices", "8"}}},
      {Framework::maxtext, {{"model_name", "llama2-7b"}, {"per_device_batch_size", "1"}}},
      {Framework::verl,
       {{"actor_rollout_ref.model.path", "Qwen/Qwen3-8B"}, {"data.train_batch_size", "256"}}},
      {Framework::nemo_rl,
       {{"policy.model_name", "Qwen/Qwen3-8B"},
        {"policy.max_total_sequence_length", "4096"},
        {"cluster.gpus_per_node", "8"}}},
      {Framework::nanotron,
       {{"model.model_config.is_llama_config", "true"},
        {"model.model_config.hidden_act", "silu"},
        {"model.model_config.hidden_size", "4096"},
        {"model.model_config.intermediate_size", "11008"},
        {"model.model_config.max_position_embeddings", "2048"},
        {"model.model_config.num_attention_heads", "32"},
        {"model.model_config.num_hidden_layers", "32"},
        {"model.model_config.num_key_value_heads", "32"},
        {"model.model_config.tie_word_embeddings", "false"},
        {"model.model_config.vocab_size", "32000"},
        {"parallelism.dp", "8"},
        {"parallelism.pp", "1"},
        {"parallelism.tp", "1"},
        {"tokens.micro_batch_size", "1"},
        {"tokens.batch_accumulation_per_replica", "1"},
        {"tokens.sequence_length", "2048"}}},
      {Framework::nemo,
       {{"model.num_layers", "32"},
        {"model.hidden_size", "4096"},
        {"model.ffn_hidden_size", "11008"},
        {"model.num_attention_heads", "32"},
        {"model.encoder_seq_length", "2048"},
        {"model.micro_batch_size", "1"},
        {"model.global_batch_size", "8"},
        {"model.override_vocab_size", "32000"},
        {"trainer.precision", "bf16"}}},
  };
}

/// Nested YAML in flow style: a map of the keys that begin alike.
std::string flow(const Pairs& pairs) {
  std::string text;
  std::vector<std::string> done;
  for (const auto& [path, value] : pairs) {
    const std::string head = path.substr(0, path.find('.'));
    if (std::find(done.begin(), done.end(), head) != done.end()) continue;
    done.push_back(head);
    Pairs inner;
    std::string leaf;
    for (const auto& [other, given] : pairs)
      if (other == head)
        leaf = given;
      else if (other.starts_with(head + "."))
        inner.emplace_back(other.substr(head.size() + 1), given);
    text += (text.empty() ? "" : ", ") + head + ": " + (inner.empty() ? leaf : flow(inner));
  }
  return "{" + text + "}";
}

std::string written(Framework framework, const Pairs& pairs) {
  if (framework != Framework::torchtitan) return flow(pairs) + "\n";
  std::string text;
  for (const auto& [path, value] : pairs) text += path + " = " + value + "\n";
  return text;
}

std::string without_comments(const std::string& text) {
  std::istringstream lines(text);
  std::string rest;
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("#")) rest += line + "\n";
  return rest;
}

struct Outcome {
  std::string scenario;
  std::vector<std::string> passed_over;
};

Outcome outcome(Framework framework, const Pairs& pairs,
                const std::vector<std::filesystem::path>& catalogs = {}) {
  PlanImportOptions options;
  options.catalogs = catalogs;
  options.gpus = 8;
  options.sequence = 2048;
  options.micro_batch = 1;
  if (framework == Framework::deepspeed || framework == Framework::lightning ||
      framework == Framework::torchtune)
    options.model = "llama2-7b";
  const ImportedScenario result =
      import_framework(framework, written(framework, pairs), "run", options);
  return {without_comments(result.text), result.notes.ignored};
}

/// Keys as a configuration has them: of a group, any key in there, and apart from the rest, where
/// the group itself may be a key.
std::vector<std::vector<std::string>> apart(const std::vector<std::string>& keys) {
  std::vector<std::vector<std::string>> parts(2);
  for (const std::string& key : keys)
    if (key.ends_with(".*"))
      parts[1].push_back(key.substr(0, key.size() - 1) + "something");
    else
      parts[0].push_back(key);
  return parts;
}

bool is_in(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

Pairs with_all(const Base& base, const std::vector<std::string>& keys, const std::string& value) {
  Pairs pairs = base.pairs;
  for (const std::string& key : keys) pairs.emplace_back(key, value);
  return pairs;
}

/// What an import says of keys with a value; empty: nothing, it imports.
std::string refusal(const Base& base, const std::vector<std::string>& keys,
                    const std::string& value,
                    const std::vector<std::filesystem::path>& catalogs = {}) {
  try {
    static_cast<void>(outcome(base.framework, with_all(base, keys, value), catalogs));
    return {};
  } catch (const ScenarioError& error) {
    return error.what();
  }
}

/// Words of keys that change memory or time in some framework.
constexpr auto heavy_words = std::to_array<std::string_view>(
    {"checkpointing", "offload",    "shard",    "dtype",     "precision", "accumul",
     "parallel",      "compile",    "fused",    "recompute", "rope",      "rotary",
     "batch_size",    "max_length", "quant",    "lora_r",    "dropout",   "kernel",
     "attention",     "experts",    "layers",   "hidden",    "bf16",      "fp16",
     "fp8",           "optim",      "prefetch", "bucket",    "liger",     "nvme"});

/// Keys with such a word, and why they change nothing all the same; "abc*" is any that begins so.
const Pairs& excuses() {
  static const Pairs reasons{
      {"checkpointing.*", "saves to disk, not activations"},
      {"grpo.val_batch_size", "of evaluation"},
      {"data.val_batch_size", "of evaluation"},
      {"no-save-optim", "saves to disk"},
      {"bf16", "what the loop computes in anyway"},
      {"ffn-hidden-size", "a size of the checkpoint, said again"},
      {"group-query-attention", "a size of the checkpoint, said again"},
      {"hidden-size", "a size of the checkpoint, said again"},
      {"moe-ffn-hidden-size", "a size of the checkpoint, said again"},
      {"num-attention-heads", "a size of the checkpoint, said again"},
      {"num-experts", "a size of the checkpoint, said again"},
      {"num-layers", "a size of the checkpoint, said again"},
      {"rotary-base", "a size of the checkpoint, said again"},
      {"rotary-percent", "a size of the checkpoint, said again"},
      {"use-rotary-position-embeddings", "a size of the checkpoint, said again"},
      {"async_checkpointing", "saves to disk, not activations"},
      {"enable_checkpointing", "saves to disk, not activations"},
      {"trainer.enable_checkpointing", "saves to disk, not activations"},
      {"enable_async_checkpointing", "saves to disk, not activations"},
      {"zero_force_ds_cpu_optimizer", "whether a foreign optimizer is an error"},
      {"zero_allow_untested_optimizer", "whether a foreign optimizer is an error"},
      {"optimizer.params.*", "learning rates and decays; the type is read"},
      {"optimizer.*", "learning rates and decays; the component is read"},
      {"optimizer.lr", "a rate"},
      {"optimizer.eps", "a rate"},
      {"optimizer.beta1", "a rate"},
      {"optimizer.beta2", "a rate"},
      {"optimizer.weight_decay", "a rate"},
      {"optimizer.clip_grad", "a norm that every trainer takes"},
      {"optimizer.learning_rate_scheduler.*", "rates"},
      {"optimizer.weight_decay_exclude_named_params", "names"},
      {"optimizer.optimizer_factory.*", "rates; the name is read"},
      {"optimizer.init_args.*", "rates; the class is read"},
      {"optimizer_cfg.*", "rates"},
      {"model.optim.*", "rates; name and overlap are read"},
      {"fp16.*", "loss scales; enabled and master weights are read"},
      {"bf16.*", "loss scales; enabled and master weights are read"},
      {"bfloat16.*", "loss scales; enabled is read"},
      {"bf16_full_eval", "evaluation"},
      {"fp16_full_eval", "evaluation"},
      {"per_device_eval_batch_size", "evaluation"},
      {"batch_size_val", "evaluation"},
      {"eval_batch_size", "evaluation"},
      {"eval_accumulation_steps", "evaluation"},
      {"dataset_batch_size", "of tokenising, before training"},
      {"optim_config", "learning rates and decays; the name is read"},
      {"optim_config.*", "learning rates and decays; the name is read"},
      {"checkpointing_steps", "saves to disk, not activations"},
      {"bnb_4bit_comp_dtype", "the training precision decides what is multiplied"},
      {"bnb_4bit_compute_dtype", "the training precision decides what is multiplied"},
      {"bnb_4bit_quant_storage", "how 4-bit bytes are wrapped; their number is the same"},
      {"bnb_4bit_quant_type", "nf4 and fp4 have the same size and the same kernels"},
      {"quantization_method", "bitsandbytes or others; the number of bits is read"},
      {"quantization_type", "nf4 and fp4 have the same size"},
      {"quantization_device_map", "of inference"},
      {"quant_method", "the number of bits is read"},
      {"layers_pattern", "names of layers, with layers_to_transform alone"},
      {"deepspeed_config.offload_optimizer_nvme_path", "a folder; the device is read"},
      {"deepspeed_config.offload_param_nvme_path", "a folder; the device is read"},
      {"model.do_layer_norm_weight_decay", "a rate"},
      {"zero_optimization.log_trace_cache_warnings", "messages"},
      {"zero_optimization.elastic_checkpoint", "how checkpoints are cut"},
      {"zero_optimization.stage3_gather_16bit_weights_on_model_save", "saves"},
      {"zero_optimization.gather_16bit_weights_on_model_save", "saves"},
      {"zero_optimization.stage3_gather_fp16_weights_on_model_save", "saves"},
      {"activation_checkpointing.profile", "a timer"},
      {"downcast_bf16", "of TPUs"},
      {"tensor_parallel_plan.*", "torchtune has one plan per model; the degree is read"},
      {"data_shared_file_system", "who tokenises, before training"},
      {"rope_scaling", "angles of the same kernel (positions by table)"},
      {"model.fp8_margin", "scales"},
      {"model.fp8_interval", "scales"},
      {"model.fp8_amax_history_len", "scales"},
      {"model.fp8_amax_compute_algo", "scales"},
      {"model.fp8_e4m3", "the format of gradients, of the same width"},
      {"model.normalize_attention_scores", "one factor of the same kernel"},
      {"model.get_attention_mask_from_fusion", "of kernels that flash attention replaces"},
      {"per_gpu_eval_batch_size", "evaluation"},
      {"lm_eval_batch_size", "evaluation"},
      {"eval_per_device_batch_size", "evaluation"},
      {"grain_prefetch_buffer_size_eval", "evaluation"},
      {"max_length", "of what LLaMA-Factory generates; rows are cutoff_len"},
      {"infer_dtype", "of inference"},
      {"quantize_kvcache", "of inference"},
      {"kv_quant_*", "of inference"},
      {"vllm_max_lora_rank", "of inference"},
      {"optim_args", "rates and window sizes; the optimizer is read"},
      {"optim_args.*", "rates and window sizes; the optimizer is read"},
      {"optimizer.adam_*", "rates"},
      {"precompute_ref_batch_size", "of a pass before training"},
      {"preprocessing_batch_size", "of tokenising, before training"},
      {"lora_ga_*", "first values of adapters"},
      {"fp16_opt_level", "of Apex, which is refused where it is asked for"},
      {"fp8_config.*", "of fp8 through accelerate, which is refused by mixed_precision"},
      {"fp8_backend", "of fp8, which is refused"},
      {"parallelism_config.parallelism_config_sp_*", "checks of lengths; the degree is read"},
      {"parallelism_config.sp_*", "checks of lengths; the degree is read"},
      {"quantization.*", "of a file that is written after training"},
      {"export_*", "a file that is written after training"},
      {"save_quantized_params_path", "a file"},
      {"max_shard_size", "of files"},
      {"dataset_shard_*", "of files"},
      {"num_dataset_shards_to_save", "of files"},
      {"zero_optimization.pipeline_loading_checkpoint", "loading"},
      {"qlora_sharded_model_loading", "loading"},
      {"offload_folder", "a folder"},
      {"activation_checkpointing.profile_backward", "a timer"},
      {"debug_sharding", "messages"},
      {"enable_continuous_checkpointing", "saves to disk, not activations"},
      {"enable_multi_tier_checkpointing", "saves to disk, not activations"},
      {"multi_tier_checkpointing_*", "saves to disk, not activations"},
      {"mtc_data_parallelism", "saves to disk"},
      {"s3_checkpointing.*", "saves to disk, not activations"},
      {"model.dist_ckpt_*", "files"},
      {"compile_topology*", "compilation before the run"},
      {"compiled_trainstep_file", "a file"},
      {"bnb_config_kwargs.bnb_4bit_*", "as those without the group; double scales are read"},
      {"peft_layers_pattern", "names of layers, with peft_layers_to_transform alone"},
      {"expert_parallel_*", "of experts on several GPUs, refused by expert_parallel_size"},
      {"lisa_layers_attribute", "of LISA, refused by lisa_n_layers"},
      {"relora_cpu_offload", "of ReLoRA, refused by relora"},
      {"tiled_mlp_num_shards", "of the tiled MLP, refused by tiled_mlp"},
      {"qgalore_*", "of an optimizer that is refused by its name"},
      {"galore_*", "of GaLore, read where use_galore is on"},
      {"freeze_trainable_layers", "of finetuning_type freeze, where it is read"},
      {"kt_use_lora_experts", "of KTransformers, refused by use_kt"},
      {"use_parallelism_config", "the degrees, which are read, say it"},
      {"use_v1_kernels", "kernels of NPUs alone"},
      {"module_dropout", "of OFT, which finetuning_type refuses"},
      {"reward_model_quantization_bit", "of PPO, which stage refuses"},
      {"boft_dropout", "of a tuner that is refused by its name"},
      {"reft_layers", "of a tuner that is refused by its name"},
      {"vera_dropout", "of a tuner that is refused by its name"},
      {"local_rollout_forward_batch_size", "of PPO, which rlhf_type refuses"},
      {"offload_teacher_model", "of GKD, which rlhf_type refuses"},
      {"vit_gradient_checkpointing", "of vision towers, which no model here has"},
      {"tensor_parallel.tp_grain_size", "of tensor ranks, refused by their number"},
      {"torch_autocast.*", "of torch.autocast, refused where it is enabled"},
      {"quantizer.groupsize", "of QAT, refused by its quantizer"},
      {"quantize.grouped_mm.*", "of a converter that is refused by its name"},
      {"quantize.linear.mx.*", "of a converter that is refused by its name"},
      {"model.cpu_offloading_*", "of offload, refused where it is on"},
      {"model.fsdp_*", "of FSDP, refused where it is on"},
      {"load_full_state_path", "a file"},
      {"rope_*", "angles of the same kernel (positions by table)"},
      {"hf_train_files", "a file"}};
  return reasons;
}

}  // namespace

TEST_CASE("keys that importers pass over leave the scenario as it is", "[scenarios][import]") {
  for (const Base& base : bases()) {
    const Outcome plain = outcome(base.framework, base.pairs);
    std::vector<std::string> keys;
    for (const NoEffectKeys& group : key_table(base.framework, {}).idle)
      keys.insert(keys.end(), group.keys.begin(), group.keys.end());
    for (const std::vector<std::string>& some : apart(keys))
      for (const char* value : {"1", "7"}) {
        CAPTURE(name_of(base.framework), value);
        Outcome with;
        REQUIRE_NOTHROW(with = outcome(base.framework, with_all(base, some, value)));
        CHECK(with.scenario == plain.scenario);
        for (const std::string& leaf : some) {
          CAPTURE(leaf);
          CHECK(is_in(with.passed_over, printable_path(leaf)));
        }
      }
  }
}

TEST_CASE("keys that matter where they are on are refused then, and passed over otherwise",
          "[scenarios][import]") {
  for (const Base& base : bases()) {
    const bool toml = base.framework == Framework::torchtitan;
    std::vector<std::string> keys;
    for (const RefusedKeys& row : key_table(base.framework, {}).refused) {
      keys.insert(keys.end(), row.keys.begin(), row.keys.end());
      for (const std::vector<std::string>& some : apart(row.keys)) {
        CAPTURE(name_of(base.framework), some);
        const std::string said = refusal(base, some, toml ? "\"x\"" : "x");
        for (const std::string& leaf : some)
          CHECK(said.find(printable_path(leaf) +
                          ": asks for what is not modelled: " + row.missing) != std::string::npos);
        for (const std::string& off : row.off)
          CHECK(refusal(base, some, toml ? "\"" + off + "\"" : off).empty());
      }
    }
    for (const std::vector<std::string>& some : apart(keys))
      for (const char* off : {"false", "0"}) {
        CAPTURE(name_of(base.framework), off);
        CHECK(refusal(base, some, off).empty());
      }
  }
}

TEST_CASE("no key stands in the table twice", "[scenarios][import]") {
  for (const auto& [framework, name] : EnumNames<Framework>::names) {
    const KeyTable table = key_table(framework, {});
    std::vector<std::string> keys = table.approximated;
    for (const NoEffectKeys& group : table.idle)
      keys.insert(keys.end(), group.keys.begin(), group.keys.end());
    for (const RefusedKeys& row : table.refused)
      keys.insert(keys.end(), row.keys.begin(), row.keys.end());
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    CAPTURE(name);
    CHECK((twice == keys.end() ? std::string() : *twice).empty());
  }
}

TEST_CASE("a folder of one's own adds keys to the table", "[scenarios][import]") {
  const test::TemporaryFolder own;
  const std::filesystem::path folder = own.path();
  const auto write = [&](const char* text) {
    own.write("dialects/trainer.yaml", text);
    std::filesystem::last_write_time(folder / "dialects" / "trainer.yaml",
                                     std::filesystem::file_time_type::clock::now());
  };
  const Base base = bases()[1];
  CHECK(refusal(base, {"of_our_own"}, "1").find("is not known here") != std::string::npos);
  write("schema: 1\nidle: {naming: [of_our_own]}\n");
  CHECK(refusal(base, {"of_our_own"}, "1", {folder}).empty());
  CHECK(refusal(base, {"use_kernels"}, "true", {folder}).find("kernels") != std::string::npos);
  CHECK(refusal(base, {"of_our_own"}, "1").find("is not known here") != std::string::npos);
  write("schema: 1\nidle: {named: [of_our_own]}\n");
  CHECK(refusal(base, {"of_our_own"}, "1", {folder}).find("named") != std::string::npos);
}

TEST_CASE("arguments of a trainer of pairs do not pass for plain fine-tuning",
          "[scenarios][import]") {
  const Base base = bases()[0];
  CHECK(refusal(base, {"beta"}, "0.1").find("trainer: dpo") != std::string::npos);
  Base named = base;
  named.pairs.emplace_back("trainer", "dpo");
  CHECK(refusal(named, {"beta"}, "0.1").empty());
  CHECK(refusal(named, {"max_prompt_length"}, "512").empty());
}

TEST_CASE("no key that sounds like memory or time is passed over without a reason",
          "[scenarios][import]") {
  for (const auto& [framework, name] : EnumNames<Framework>::names)
    for (const NoEffectKeys& group : key_table(framework, {}).idle)
      for (const std::string& key : group.keys) {
        CAPTURE(name, key);
        const bool heavy = std::any_of(heavy_words.begin(), heavy_words.end(), [&](auto word) {
          return key.find(word) != std::string::npos;
        });
        const bool excused =
            std::any_of(excuses().begin(), excuses().end(), [&](const auto& excuse) {
              const std::string& said = excuse.first;
              return said == key ||
                     (said.ends_with('*') && key.starts_with(said.substr(0, said.size() - 1)));
            });
        CHECK((!heavy || excused));
      }
}

}  // namespace foretrain
