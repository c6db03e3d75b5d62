// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/tuning/internal/tuning_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/base/ranges.hpp"
#include "scenarios/imports/frameworks/override_tree.hpp"
#include "scenarios/imports/tuning/internal/tuning_launch.hpp"
#include "scenarios/imports/tuning/internal/tuning_python.hpp"
#include "scenarios/yaml/text_file.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain::tuning {
namespace {

// Names and defaults: OpenRLHF's cli/train_sft.py, cli/train_dpo.py, utils/deepspeed.
struct Renamed {
  std::string_view from, to;
};
constexpr auto renamed_arguments = std::to_array<Renamed>({
    {"pretrain", "model_name_or_path"},
    {"max_len", "max_length"},
    {"micro_train_batch_size", "per_device_train_batch_size"},
    {"train_batch_size", "global_batch_size"},
    {"packing_samples", "packing"},
    {"target_modules", "lora_target_modules"},
});

bool is_on(const std::optional<YamlNode>& node) { return node && node->text != "false"; }

/// Arguments of OpenRLHF's train_sft and train_dpo, known by `pretrain` with
/// `micro_train_batch_size`, as the Trainer calls them, and the DeepSpeed configuration that its
/// strategy makes of them. Others stay as they are.
void turn_openrlhf_keys(TuningFiles& files) {
  YamlNode& root = files.root;
  if (root.find("pretrain") == nullptr || root.find("micro_train_batch_size") == nullptr) return;
  files.openrlhf = true;
  const auto put = [&](YamlNode& into, const char* word) { put_override(into, word, root.mark); };
  if (root.find("max_len") == nullptr) put(root, "max_len=2048");
  if (root.find("train_batch_size") == nullptr) put(root, "train_batch_size=128");
  const auto rank = take_out(root, "lora_rank");
  const bool adapts = rank && rank->text != "0";
  put(root, adapts ? "use_peft=true" : "use_peft=false");
  if (adapts) {
    put_value(root, "lora_r", *rank);
    if (root.find("target_modules") == nullptr) put(root, "target_modules=all-linear");
    if (root.find("lora_dropout") == nullptr) put(root, "lora_dropout=0");
  }
  YamlNode zero;
  zero.kind = YamlNode::Kind::map;
  zero.mark = root.mark;
  put(zero, "bf16.enabled=true");
  if (auto stage = take_out(root, "zero_stage"))
    put_value(zero, "zero_optimization.stage", std::move(*stage));
  else
    put(zero, "zero_optimization.stage=2");
  if (is_on(take_out(root, "adam_offload")))
    put(zero, "zero_optimization.offload_optimizer.device=cpu");
  files.deepspeed = std::move(zero);
  if (root.find("bf16") == nullptr) put(root, "bf16=true");
  for (const Renamed& argument : renamed_arguments)
    if (auto value = take_out(root, argument.from))
      put_value(root, std::string(argument.to), std::move(*value));
}

// Names and defaults: LLaMA-Factory's src/llamafactory/v1/config, as of August 2026.
struct Move {
  std::string_view from, to;
};
constexpr auto moves = std::to_array<Move>({
    {"model", "model_name_or_path"},
    {"train_dataset", "dataset"},
    {"micro_batch_size", "per_device_train_batch_size"},
    {"peft_config.name", "finetuning_type"},
    {"peft_config.freeze_trainable_layers", "freeze_trainable_layers"},
    {"peft_config.freeze_trainable_modules", "freeze_trainable_modules"},
    {"peft_config.freeze_extra_modules", "freeze_extra_modules"},
    {"peft_config.r", "lora_rank"},
    {"peft_config.lora_alpha", "lora_alpha"},
    {"peft_config.lora_dropout", "lora_dropout"},
    {"peft_config.target_modules", "lora_target"},
    {"quant_config.quantization_bit", "quantization_bit"},
    {"optim_config.name", "optim"},
    {"dist_config.config_file", "deepspeed"},
    {"dist_config.reshard_after_forward", "fsdp_config.reshard_after_forward"},
    {"dist_config.offload_params", "fsdp_config.offload_params"},
    {"mp_replicate_size", "dp_replicate_size"},
    {"mp_shard_size", "dp_shard_size"},
});

/// Values that are the first trainer's default.
constexpr auto plain_values = std::to_array<Move>({
    {"kernel_config.name", "auto"},
    {"quant_config.name", "auto"},
    {"quant_config.name", "bnb"},
    {"init_config.name", "init_on_meta"},
    {"init_config.name", "init_on_rank0"},
    {"init_config.name", "init_on_default"},
    {"cp_mode", "ulysses"},
});

std::string text_at(const YamlNode& root, std::string_view path) {
  const YamlNode* const node = node_at(root, path);
  return node == nullptr ? std::string() : node->text;
}

void put_text(YamlNode& root, const char* path, const char* text) {
  YamlNode node;
  node.kind = YamlNode::Kind::scalar;
  node.text = text;
  node.mark = root.mark;
  put_value(root, path, std::move(node));
}

/// Plain fine-tuning, pairs or rewards are verbs of the command.
void turn_stage(YamlNode& root, std::vector<std::string>& assumed) {
  if (root.find("stage") != nullptr) return;
  const std::string file = root.mark.file ? *root.mark.file : std::string();
  const bool pairs = root.find("pref_loss") != nullptr || root.find("pref_beta") != nullptr ||
                     file.find("dpo") != std::string::npos;
  put_text(root, "stage", pairs ? "dpo" : "sft");
  assumed.emplace_back(pairs ? "DPO, as its keys or the file's name say (stage)"
                             : "plain fine-tuning: the file does not say whether its command is "
                               "llamafactory-cli sft, dpo or rm (stage)");
}

/// Turns the keys of LLaMA-Factory's second trainer (src/llamafactory/v1) into those of its first;
/// any other tree stays as it is.
/// @param assumed gets what the file leaves to its command
void turn_factory_keys(YamlNode& root, std::vector<std::string>& assumed) {
  if (root.find("model_class") == nullptr) return;
  static_cast<void>(take_out(root, "model_class"));
  turn_stage(root, assumed);
  for (const Move& value : plain_values)
    if (text_at(root, value.from) == value.to) static_cast<void>(take_out(root, value.from));
  if (text_at(root, "kernel_config.name") == "liger_kernel") {
    static_cast<void>(take_out(root, "kernel_config.name"));
    put_text(root, "enable_liger_kernel", "true");
  }
  const std::string sharder = text_at(root, "dist_config.name");
  if (sharder == "fsdp2" || sharder == "deepspeed")
    static_cast<void>(take_out(root, "dist_config.name"));
  if (sharder == "fsdp2") put_text(root, "fsdp_config.fsdp_version", "2");
  if (auto ranks = take_out(root, "cp_size"))
    put_value(root, "sequence_parallel_size", std::move(*ranks));
  if (auto again = take_out(root, "enable_activation_checkpointing"))
    put_text(root, "disable_gradient_checkpointing",
             again->text == "false" || again->text == "False" ? "true" : "false");
  if (node_at(root, "peft_config.name") == nullptr) put_text(root, "finetuning_type", "full");
  if (root.find("bf16") == nullptr) put_text(root, "bf16", "true");
  if (node_at(root, "micro_batch_size") == nullptr) put_text(root, "micro_batch_size", "1");
  for (const Move& move : moves)
    if (auto value = take_out(root, move.from))
      put_value(root, std::string(move.to), std::move(*value));
}

namespace fs = std::filesystem;

/// Chat templates are longer than the texts of scenarios.
constexpr YamlLimits tuning_limits{.string_bytes = 65'536};

bool same_letters(const std::string& a, const std::string& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

bool same_value(const YamlNode& a, const YamlNode& b) {
  if (a.kind != b.kind || !same_letters(a.text, b.text)) return false;
  return std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), same_value) &&
         std::equal(a.entries.begin(), a.entries.end(), b.entries.begin(), b.entries.end(),
                    [](const YamlEntry& x, const YamlEntry& y) {
                      return x.key == y.key && same_value(x.value, y.value);
                    });
}

std::string shown(const YamlNode& node) {
  return node.is_scalar() ? in_quotes(node.text) : node.is_map() ? "a group" : "a list";
}

void merge(YamlNode& into, const YamlEntry& entry, const std::string& group,
           Diagnostics& diagnostics) {
  const std::string path = group.empty() ? entry.key : group + "." + entry.key;
  const auto known = std::ranges::find_if(
      into.entries, [&](const YamlEntry& other) { return other.key == entry.key; });
  if (known == into.entries.end()) {
    into.entries.push_back(entry);
  } else if (known->value.is_map() && entry.value.is_map()) {
    for (const YamlEntry& inner : entry.value.entries)
      merge(known->value, inner, path, diagnostics);
  } else if (known->value.is_null()) {
    known->value = entry.value;
  } else if (!entry.value.is_null() && !same_value(known->value, entry.value)) {
    diagnostics.add(
        entry.value.mark, path,
        fmt::format("is {} here and {} in {}; give both files one value", shown(entry.value),
                    shown(known->value), known->value.mark.origin()));
  }
}

/// Arguments of known scripts that are others' by another name: PEFT's examples/sft, FastChat,
/// Stanford's Alpaca and what grew from it.
constexpr auto other_names = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"use_peft_lora", "use_peft"},
     {"use_4bit_quantization", "load_in_4bit"},
     {"use_8bit_quantization", "load_in_8bit"},
     {"use_nested_quant", "use_bnb_nested_quant"},
     {"bnb_4bit_quant_storage_dtype", "bnb_4bit_quant_storage"},
     {"q_lora", "load_in_4bit"},
     {"model_max_length", "max_seq_length"}});

void rename_keys(YamlNode& root) {
  for (YamlEntry& entry : root.entries)
    for (const auto& [from, to] : other_names)
      if (entry.key == from && root.find(to) == nullptr) entry.key = to;
}

bool is_deepspeed(const YamlNode& root) {
  return root.find("zero_optimization") != nullptr || root.find("train_batch_size") != nullptr ||
         root.find("train_micro_batch_size_per_gpu") != nullptr;
}

void add_file(const std::string& text, const std::string& name, TuningFiles& files,
              Diagnostics& diagnostics) {
  auto parsed = parse_yaml(text, name, tuning_limits, diagnostics);
  if (!parsed) return;
  if (!parsed->is_map())
    return diagnostics.add(parsed->mark, "", "must be a map: YAML or JSON of a configuration");
  if (!is_deepspeed(*parsed)) {
    for (const YamlEntry& entry : parsed->entries) merge(files.root, entry, "", diagnostics);
  } else if (files.deepspeed) {
    diagnostics.add(parsed->mark, "",
                    "is a second DeepSpeed configuration, beside " +
                        files.deepspeed->mark.origin() + "; give one");
  } else {
    files.deepspeed = std::move(*parsed);
  }
}

/// The node that says which DeepSpeed configuration a run takes.
const YamlNode* deepspeed_name(const YamlNode& root) {
  const YamlNode* const group = root.find("deepspeed_config");
  const YamlNode* const file = group == nullptr ? nullptr : group->find("deepspeed_config_file");
  const YamlNode* const named = root.find("deepspeed");
  return named != nullptr && !named->is_null() ? named : file;
}

/// A file in the folder of the one that names it, or below: no path leads out of there.
std::optional<fs::path> file_beside(const YamlNode& name) {
  if (!name.is_scalar() || name.text.empty() || !name.mark.file) return std::nullopt;
  const fs::path folder = fs::path(*name.mark.file).parent_path();
  const fs::path said(name.text);
  const bool inside = said.is_relative() && !contains(said, "..");
  std::error_code error;
  for (const fs::path& file : {inside ? folder / said : fs::path(), folder / said.filename()})
    if (!file.empty() && fs::is_regular_file(file, error)) return file;
  return std::nullopt;
}

/// The tree of a file that a key names: of those that were given, else beside the one that names
/// it.
std::optional<YamlNode> named_file(const YamlNode& name, const char* key,
                                   const std::vector<std::pair<std::string, std::string>>& beside,
                                   Diagnostics& diagnostics) {
  const fs::path last = fs::path(name.text).filename();
  const auto given = std::ranges::find_if(
      beside, [&](const auto& other) { return fs::path(other.first).filename() == last; });
  if (given != beside.end())
    return parse_yaml(given->second, given->first, tuning_limits, diagnostics);
  const auto file = file_beside(name);
  if (!file) {
    diagnostics.add(name.mark, key,
                    "names the file " + in_quotes(name.text) +
                        ", which is not beside this one; pass it as a further file");
    return std::nullopt;
  }
  const auto text = read_text_file(*file, file->string(), YamlLimits{}.file_bytes, diagnostics);
  return text ? parse_yaml(*text, file->string(), tuning_limits, diagnostics) : std::nullopt;
}

/// `--fsdp fsdp2` of ms-swift, a file that it ships (swift/config/fsdp2.json), or one of one's own.
void put_named_fsdp(const std::vector<std::pair<std::string, std::string>>& beside, YamlNode& root,
                    Diagnostics& diagnostics) {
  const YamlNode* const named = root.find("fsdp");
  if (named == nullptr) return;
  const Mark mark = named->mark;
  const auto put = [&](const char* word) { put_override(root, word, mark); };
  if (named->text == "fsdp2") {
    for (const char* word :
         {"fsdp=full_shard", "fsdp_config.fsdp_version=2", "fsdp_config.reshard_after_forward=true",
          "fsdp_config.activation_checkpointing=true"})
      put(word);
  } else if (named->text.ends_with(".json")) {
    auto file = named_file(*named, "fsdp", beside, diagnostics);
    put("fsdp=full_shard auto_wrap");
    put("fsdp_config.fsdp_version=2");
    if (file) merge_tree(root, *file);
  }
}

void find_deepspeed(TuningFiles& files, Diagnostics& diagnostics) {
  const YamlNode* const name = deepspeed_name(files.root);
  if (name == nullptr || files.deepspeed) return;
  if (name->is_map()) {
    files.deepspeed = *name;
    std::erase_if(files.root.entries,
                  [](const YamlEntry& entry) { return entry.key == "deepspeed"; });
    return;
  }
  const auto file = file_beside(*name);
  if (!file) return;
  const std::string called = file->string();
  if (const auto text = read_text_file(*file, called, YamlLimits{}.file_bytes, diagnostics))
    files.deepspeed = parse_yaml(*text, called, YamlLimits{}, diagnostics);
  if (files.deepspeed && !files.deepspeed->is_map())
    diagnostics.add(files.deepspeed->mark, "", "must be a map: a DeepSpeed configuration");
}

/// `fsdp_config: file.json`: the group that stands in another file.
void find_fsdp(const std::vector<std::pair<std::string, std::string>>& beside, TuningFiles& files,
               Diagnostics& diagnostics) {
  const auto named = std::ranges::find_if(files.root.entries, [](const YamlEntry& e) {
    return e.key == "fsdp_config" && e.value.is_scalar() && e.value.text.ends_with(".json");
  });
  if (named == files.root.entries.end()) return;
  auto group = named_file(named->value, "fsdp_config", beside, diagnostics);
  if (group) named->value = std::move(*group);
}

/// Whether a further file is what `fsdp_config` or `fsdp` of this one names.
bool is_fsdp_file(const std::string& name, const YamlNode& root) {
  return std::ranges::any_of(std::to_array({"fsdp_config", "fsdp"}), [&](const char* key) {
    const YamlNode* const named = root.find(key);
    return named != nullptr && named->is_scalar() && named->text.ends_with(".json") &&
           fs::path(named->text).filename() == fs::path(name).filename();
  });
}

/// Arguments win over the files that a launch names.
void add_launch(const ImportSource& source, const PlanImportOptions& options, TuningFiles& files,
                Diagnostics& diagnostics) {
  const auto launch = read_launch(source, options, diagnostics);
  if (!launch) return;
  for (const YamlNode& name : launch->files) {
    const auto file = file_beside(name);
    const bool given = std::ranges::any_of(options.beside, [&](const auto& other) {
      return fs::path(other.first).filename() == fs::path(name.text).filename();
    });
    if (!file && !given)
      diagnostics.add(name.mark, "",
                      "names the file " + in_quotes(name.text) +
                          ", which is not beside this one; pass it as a further file");
    if (!file || given) continue;
    const std::string called = file->string();
    if (const auto text = read_text_file(*file, called, YamlLimits{}.file_bytes, diagnostics))
      add_file(*text, called, files, diagnostics);
  }
  for (const auto& [name, text] : options.beside)
    if (!is_fsdp_file(name, launch->arguments)) add_file(text, name, files, diagnostics);
  merge_tree(files.root, launch->arguments);
  files.megatron = launch->megatron;
  files.trainer = launch->trainer;
  files.assumed = launch->assumed;
}

}  // namespace

TuningFiles tuning_files(const ImportSource& source, const PlanImportOptions& options,
                         Diagnostics& diagnostics) {
  TuningFiles files;
  files.root.kind = YamlNode::Kind::map;
  files.root.mark = {std::make_shared<const std::string>(source.name), 1, 1};
  if (is_tuning_python(source)) {
    auto script = tuning_python(source, files.assumed, diagnostics);
    if (script) files.root = std::move(*script);
    for (const auto& [name, text] : options.beside) add_file(text, name, files, diagnostics);
  } else if (is_launch(source)) {
    add_launch(source, options, files, diagnostics);
  } else {
    add_file(source.text, source.name, files, diagnostics);
    for (const auto& [name, text] : options.beside)
      if (!is_fsdp_file(name, files.root)) add_file(text, name, files, diagnostics);
  }
  rename_keys(files.root);
  put_named_fsdp(options.beside, files.root, diagnostics);
  turn_factory_keys(files.root, files.assumed);
  turn_openrlhf_keys(files);
  find_fsdp(options.beside, files, diagnostics);
  find_deepspeed(files, diagnostics);
  return files;
}

}  // namespace foretrain::tuning
