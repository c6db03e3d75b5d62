// SPDX-License-Identifier: Apache-2.0
// Python scripts of fine-tuning: Unsloth (unsloth/models/loader.py, llama.py: from_pretrained,
// get_peft_model), transformers, PEFT, TRL.
#include "scenarios/imports/tuning/internal/tuning_python.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "models/base/ranges.hpp"
#include "scenarios/imports/frameworks/override_tree.hpp"
#include "scenarios/imports/frameworks/python_tree.hpp"

namespace foretrain::tuning {
namespace {

/// A call whose arguments are read, by the end of its name.
struct KnownCall {
  std::string_view end;
  std::string_view trainer = {};  ///< what it says of the objective
  bool loads = false;             ///< a model
  bool trains = false;            ///< its name alone, or its arguments, begin a training
  bool unsloth = false;
};

constexpr auto known_calls = std::to_array<KnownCall>({
    {.end = "FastLanguageModel.from_pretrained", .loads = true, .unsloth = true},
    {.end = "FastModel.from_pretrained", .loads = true, .unsloth = true},
    {.end = "AutoModelForCausalLM.from_pretrained", .loads = true},
    {.end = "FastLanguageModel.get_peft_model", .unsloth = true},
    {.end = "FastModel.get_peft_model", .unsloth = true},
    {.end = "LoraConfig"},
    {.end = "BitsAndBytesConfig"},
    {.end = "SFTTrainer", .trainer = "sft", .trains = true},
    {.end = "UnslothTrainer", .trainer = "sft", .trains = true},
    {.end = "DPOTrainer", .trainer = "dpo", .trains = true},
    {.end = "ORPOTrainer", .trainer = "orpo", .trains = true},
    {.end = "KTOTrainer", .trainer = "kto", .trains = true},
    {.end = "GRPOTrainer", .trainer = "grpo", .trains = true},
    {.end = "RewardTrainer", .trainer = "reward", .trains = true},
    {.end = "SFTConfig"},
    {.end = "DPOConfig"},
    {.end = "ORPOConfig"},
    {.end = "KTOConfig"},
    {.end = "GRPOConfig"},
    {.end = "RewardConfig"},
    {.end = "UnslothTrainingArguments"},
    {.end = "TrainingArguments"},
});

/// Towers for pictures beside the model.
constexpr auto other_models = std::to_array<std::string_view>(
    {"FastVisionModel.from_pretrained", "AutoModelForVision2Seq.from_pretrained",
     "AutoModelForImageTextToText.from_pretrained"});

/// Calls whose arguments are a group of keys: accelerate's, and Python's own.
constexpr auto group_calls = std::to_array<std::string_view>(
    {"ParallelismConfig", "TorchContextParallelConfig", "DeepSpeedSequenceParallelConfig", "dict"});

/// Arguments that are objects of the script, or read where they are made.
constexpr auto object_arguments = std::to_array<std::string_view>({"model",
                                                                   "tokenizer",
                                                                   "processing_class",
                                                                   "train_dataset",
                                                                   "eval_dataset",
                                                                   "args",
                                                                   "data_collator",
                                                                   "compute_metrics",
                                                                   "callbacks",
                                                                   "formatting_func",
                                                                   "peft_config",
                                                                   "quantization_config",
                                                                   "reward_funcs",
                                                                   "ref_model",
                                                                   "optimizers",
                                                                   "preprocess_logits_for_"
                                                                   "metrics",
                                                                   "token",
                                                                   "use_auth_token",
                                                                   "random_state",
                                                                   "loftq_config",
                                                                   "task_type",
                                                                   "fast_inference",
                                                                   "gpu_memory_utilization",
                                                                   "fix_tokenizer",
                                                                   "trust_remote_code",
                                                                   "cache_dir",
                                                                   "local_files_only",
                                                                   "attn_implementation_kwargs",
                                                                   "use_cache",
                                                                   "full_finetuning",
                                                                   "load_in_16bit",
                                                                   "finetune_vision_layers",
                                                                   "finetune_audio_layers",
                                                                   "finetune_language_layers",
                                                                   "finetune_attention_modules",
                                                                   "finetune_mlp_modules",
                                                                   "low_cpu_mem_usage",
                                                                   "max_lora_rank",
                                                                   "device_map"});

/// What Unsloth and older TRL call an argument.
struct OtherName {
  std::string_view from, to;
};
constexpr auto other_names_of_calls =
    std::to_array<OtherName>({{"model_name", "model_name_or_path"},
                              {"pretrained_model_name_or_path", "model_name_or_path"},
                              {"use_gradient_checkpointing", "gradient_checkpointing"},
                              {"max_seq_length", "max_length"}});

bool ends_call(const std::string& path, std::string_view end) {
  if (!path.ends_with(end)) return false;
  const std::size_t before = path.size() - end.size();
  return before == 0 || path[before - 1] == '.';
}

const KnownCall* known_call(const std::string& path) {
  const auto found = std::ranges::find_if(
      known_calls, [&](const KnownCall& call) { return ends_call(path, call.end); });
  return found == known_calls.end() ? nullptr : &*found;
}

bool loads_tower(const std::string& path) {
  return std::ranges::any_of(other_models,
                             [&](std::string_view other) { return ends_call(path, other); });
}

bool is_group(const std::string& path) {
  return std::ranges::any_of(group_calls,
                             [&](std::string_view group) { return ends_call(path, group); });
}

bool is_read(const std::string& path) {
  return known_call(path) != nullptr || loads_tower(path) || is_group(path);
}

/// Groups of keys as maps; of another call its name alone, which no key takes for a value.
YamlNode value_of_argument(YamlNode value) {
  if (!value.is_map()) return value;
  for (YamlEntry& entry : value.entries) entry.value = value_of_argument(std::move(entry.value));
  if (is_group(value.text)) value.text.clear();
  if (value.text.empty()) return value;
  return text_node(value.text + "(...)", value.mark);
}

/// `is_bfloat16_supported()`, `not torch.cuda.is_bf16_supported()`.
bool asks_device(const YamlNode& value) {
  return value.text.find("is_bf") != std::string::npos &&
         value.text.find("supported") != std::string::npos;
}

/// Gathers the arguments of calls that are known.
class ScriptArguments {
 public:
  explicit ScriptArguments(const Mark& top) {
    root.kind = YamlNode::Kind::map;
    root.mark = top;
  }

  void add(const PythonCall& found, Diagnostics& diagnostics) {
    const YamlNode& call = found.call;
    if (loads_tower(call.text))
      diagnostics.add(call.mark, call.text, "loads a tower beside the model: not modelled");
    const KnownCall* const known = known_call(call.text);
    if (known == nullptr) return;
    if (found.conditional)
      diagnostics.add(call.mark, call.text,
                      "stands in a branch: whether it runs is not known without running it");
    check_objects(call, diagnostics);
    if (found.later) return set(call.entries.front());
    names.push_back(call.text);
    unsloth = unsloth || known->unsloth;
    trains = trains || known->trains;
    if (!known->trainer.empty()) put("trainer", text_node(std::string(known->trainer), call.mark));
    if (known->trains) take_training(call, diagnostics);
    if (known->loads) take_loading(*known, call);
    const bool adapts = ends_call(call.text, "get_peft_model");
    if (adapts && whole_) return;  // Unsloth leaves the model as it is
    if (adapts || ends_call(call.text, "LoraConfig")) take_adapter(*known, call, diagnostics);
    const YamlNode* const model = call.find("model");
    if (known->trains && model != nullptr && model->is_scalar() && model->quoted)
      put("model_name_or_path", *model);
    if (const YamlNode* const length = call.find("max_seq_length"); known->loads && length)
      length_ = *length;
    for (const YamlEntry& entry : call.entries)
      if (!known->loads || entry.key != "max_seq_length") take(entry);
  }

  /// A trainer's length of rows wins over the model's; Unsloth recomputes where nothing is said.
  void put_defaults() {
    if (length_) put("max_length", std::move(*length_));
    if (whole_) put("gradient_checkpointing", text_node("unsloth", root.mark));
  }

  YamlNode root;
  std::vector<std::string> names;
  bool unsloth = false;
  bool trains = false;

 private:
  std::optional<YamlNode> length_;
  std::optional<YamlNode> training_;  ///< the call that begins it
  bool whole_ = false;                ///< Unsloth trains all weights

  void put(const std::string& key, YamlNode value) {
    if (root.find(key) == nullptr) put_value(root, key, std::move(value));
  }

  /// Objects that say more are to be made in the script, by calls that are known.
  static void check_objects(const YamlNode& call, Diagnostics& diagnostics) {
    for (const char* key : {"args", "peft_config", "quantization_config"})
      if (const YamlNode* const value = call.find(key);
          value != nullptr && !value->is_null() && known_call(value->text) == nullptr)
        diagnostics.add(value->mark, key,
                        fmt::format("is {}, which is not read without running the script",
                                    in_quotes(value->text)));
    for (const YamlNode& item : call.items)
      if (item.text.starts_with("*"))
        diagnostics.add(item.mark, call.text,
                        "takes arguments of a variable, which is not read without running the "
                        "script");
  }

  /// One training: arguments of two would mix.
  void take_training(const YamlNode& call, Diagnostics& diagnostics) {
    if (training_ && training_->mark.line != call.mark.line)
      diagnostics.add(
          call.mark, call.text,
          fmt::format("begins a second training, after {} in line {}; leave one of them "
                      "in the script",
                      training_->text, training_->mark.line));
    training_ = call;
  }

  /// Whether a switch of a call is on.
  static bool is_set(const YamlNode& call, std::string_view name) {
    const YamlNode* const value = call.find(name);
    return value != nullptr && value->text == "True";
  }

  /// A model by its first argument; Unsloth packs it in 4 bits where nothing is said.
  void take_loading(const KnownCall& known, const YamlNode& call) {
    if (!call.items.empty()) put("model_name_or_path", call.items.front());
    if (!known.unsloth) return;
    whole_ = is_set(call, "full_finetuning");
    if (whole_) {
      put("load_in_4bit", text_node("false", call.mark));
      put("load_in_8bit", text_node("false", call.mark));
    }
    if (!is_set(call, "load_in_8bit") && !is_set(call, "load_in_16bit") &&
        call.find("load_in_4bit") == nullptr)
      put("load_in_4bit", text_node("true", call.mark));
    const YamlNode* const type = call.find("dtype");
    if (type == nullptr || type->is_null()) put("dtype", text_node("auto", call.mark));
    put("bnb_4bit_use_double_quant", text_node("true", call.mark));
  }

  /// get_peft_model(r=16, lora_dropout=0, use_gradient_checkpointing="unsloth") by default.
  void take_adapter(const KnownCall& known, const YamlNode& call, Diagnostics& diagnostics) {
    put("peft_type", text_node("LORA", call.mark));
    if (!known.unsloth) return;
    const auto usual = [&](const char* said, const char* key, const char* value) {
      if (call.find(said) == nullptr) put(key, text_node(value, call.mark));
    };
    usual("r", "r", "16");
    usual("lora_dropout", "lora_dropout", "0");
    usual("use_gradient_checkpointing", "gradient_checkpointing", "unsloth");
    if (const YamlNode* const named = call.find("target_modules"))
      return take_whole_modules(*named);
    take_halves(call, diagnostics);
  }

  /// finetune_attention_modules and its like: halves of the layers, where no modules are named.
  void take_halves(const YamlNode& call, Diagnostics& diagnostics) {
    const auto is_off = [&](const char* name) {
      const YamlNode* const value = call.find(name);
      return value != nullptr && value->text == "False";
    };
    for (const char* tower : {"finetune_vision_layers", "finetune_audio_layers"})
      if (is_set(call, tower))
        diagnostics.add(call.find(tower)->mark, tower,
                        "puts adapters into a tower beside the model: not modelled");
    YamlNode modules;
    modules.kind = YamlNode::Kind::sequence;
    modules.mark = call.mark;
    const auto add = [&](std::initializer_list<const char*> half) {
      for (const char* name : half) modules.items.push_back(text_node(name, call.mark));
    };
    if (is_off("finetune_language_layers"))
      diagnostics.add(call.mark, "finetune_language_layers",
                      "leaves no adapters beside the language model: not modelled");
    if (!is_off("finetune_attention_modules")) add({"q_proj", "k_proj", "v_proj", "o_proj"});
    if (!is_off("finetune_mlp_modules")) add({"gate_proj", "up_proj", "down_proj"});
    put("target_modules", std::move(modules));
  }

  /// Embedding and output layer among the targets: Unsloth trains them as they are.
  void take_whole_modules(const YamlNode& named) {
    YamlNode targets = named;
    YamlNode modules = named;
    const auto is_whole = [](const YamlNode& name) {
      return name.text == "embed_tokens" || name.text == "lm_head";
    };
    std::erase_if(targets.items, is_whole);
    std::erase_if(modules.items, [&](const YamlNode& name) { return !is_whole(name); });
    if (modules.items.empty()) return;
    put("target_modules", std::move(targets));
    put("modules_to_save", std::move(modules));
  }

  static std::string key_of(const std::string& argument) {
    const auto* const other = std::ranges::find_if(
        other_names_of_calls, [&](const OtherName& name) { return name.from == argument; });
    return other == other_names_of_calls.end() ? argument : std::string(other->to);
  }

  /// In place of what the call said.
  void set(const YamlEntry& entry) {
    if (!contains(object_arguments, entry.key))
      static_cast<void>(take_out(root, key_of(entry.key)));
    take(entry);
  }

  void take(const YamlEntry& entry) {
    if (contains(object_arguments, entry.key) || entry.value.is_null()) return;
    if (asks_device(entry.value)) {
      if (entry.key == "bf16") put("bf16", text_node("auto", entry.mark));
      return;
    }
    const std::string key = key_of(entry.key);
    YamlNode value = value_of_argument(entry.value);
    if (value.is_scalar() && value.text.starts_with("torch.")) value.text.erase(0, 6);
    put(key, std::move(value));
  }
};

}  // namespace

bool is_tuning_python(const ImportSource& source) {
  const bool loads = source.text.find("from_pretrained(") != std::string::npos;
  return (loads || source.name.ends_with(".py")) &&
         source.text.find("import ") != std::string::npos;
}

std::optional<YamlNode> tuning_python(const ImportSource& source, std::vector<std::string>& assumed,
                                      Diagnostics& diagnostics) {
  const Mark top{std::make_shared<const std::string>(source.name), 1, 1};
  const auto calls = python_calls(source.text, source.name, is_read, diagnostics);
  if (!calls) return std::nullopt;
  ScriptArguments script(top);
  for (const PythonCall& call : *calls) script.add(call, diagnostics);
  script.put_defaults();
  if (!script.trains) {
    diagnostics.add(top, "",
                    "has no trainer of TRL or Unsloth that can be read without running it");
    return std::nullopt;
  }
  if (script.unsloth) {
    put_value(script.root, "unsloth", text_node("true", top));
    put_value(script.root, "num_processes", text_node("1", top));
    assumed.emplace_back("one GPU: Unsloth's scripts run on one (--gpus)");
  }
  std::ranges::sort(script.names);
  script.names.erase(std::unique(script.names.begin(), script.names.end()), script.names.end());
  assumed.push_back(fmt::format("of the script the arguments of {} are read, and nothing is run",
                                fmt::join(script.names, ", ")));
  return script.root;
}

}  // namespace foretrain::tuning
