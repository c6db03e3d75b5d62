// SPDX-License-Identifier: Apache-2.0
// What importers pass over: no key that the scenario has a word for, and none that is read.
#include <catch2/catch.hpp>

#include <algorithm>
#include <sstream>

#include "scenarios/imports/frameworks/internal/no_effect_keys.hpp"

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

Outcome outcome(Framework framework, const Pairs& pairs) {
  PlanImportOptions options;
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

/// A key as a configuration has it: of a group, any key in there.
std::string leaf_of(std::string_view key) {
  return key.ends_with(".*") ? std::string(key.substr(0, key.size() - 1)) + "something"
                             : std::string(key);
}

/// Words of keys that change memory or time in some framework.
constexpr auto heavy_words = std::to_array<std::string_view>(
    {"checkpointing", "offload",    "shard",    "dtype",     "precision", "accumul",
     "parallel",      "compile",    "fused",    "recompute", "rope",      "rotary",
     "batch_size",    "max_length", "quant",    "lora_r",    "dropout",   "kernel",
     "attention",     "experts",    "layers",   "hidden",    "bf16",      "fp16",
     "fp8",           "optim",      "prefetch", "bucket",    "liger",     "nvme"});

/// Keys with such a word, and why they change nothing all the same.
const Pairs& excuses() {
  static const Pairs reasons{
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
      {"load_full_state_path", "a file"},
      {"hf_train_files", "a file"}};
  return reasons;
}

}  // namespace

TEST_CASE("keys that importers pass over leave the scenario as it is", "[scenarios][import]") {
  for (const Base& base : bases()) {
    const Outcome plain = outcome(base.framework, base.pairs);
    for (const NoEffectKeys& group : no_effect_keys(base.framework))
      for (const std::string_view key : group.keys) {
        const std::string leaf = leaf_of(key);
        CAPTURE(name_of(base.framework), leaf);
        for (const char* value : {"1", "7"}) {
          Pairs pairs = base.pairs;
          pairs.emplace_back(leaf, value);
          Outcome with;
          REQUIRE_NOTHROW(with = outcome(base.framework, pairs));
          CHECK(with.scenario == plain.scenario);
          CHECK(std::find(with.passed_over.begin(), with.passed_over.end(), leaf) !=
                with.passed_over.end());
        }
      }
  }
}

TEST_CASE("no key that sounds like memory or time is passed over without a reason",
          "[scenarios][import]") {
  for (const auto& [framework, name] : EnumNames<Framework>::names)
    for (const NoEffectKeys& group : no_effect_keys(framework))
      for (const std::string_view key : group.keys) {
        CAPTURE(name, key);
        const bool heavy = std::any_of(heavy_words.begin(), heavy_words.end(), [&](auto word) {
          return key.find(word) != std::string_view::npos;
        });
        const bool excused = std::any_of(excuses().begin(), excuses().end(),
                                         [&](const auto& excuse) { return excuse.first == key; });
        CHECK((!heavy || excused));
      }
}

}  // namespace foretrain
