// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks/internal/tuning_files.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "scenarios/imports/frameworks/internal/factory_keys.hpp"
#include "scenarios/imports/frameworks/internal/openrlhf_keys.hpp"
#include "scenarios/imports/frameworks/internal/tuning_launch.hpp"
#include "scenarios/imports/frameworks/internal/tuning_python.hpp"
#include "scenarios/imports/frameworks/override_tree.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain::tuning {
namespace {

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
  const auto known = std::find_if(into.entries.begin(), into.entries.end(),
                                  [&](const YamlEntry& other) { return other.key == entry.key; });
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

/// `--fsdp fsdp2` of ms-swift, a file that it ships (swift/config/fsdp2.json).
void put_shipped_fsdp(YamlNode& root) {
  const YamlNode* const named = root.find("fsdp");
  if (named == nullptr || named->text != "fsdp2") return;
  const Mark mark = named->mark;
  for (const char* word :
       {"fsdp=full_shard", "fsdp_config.fsdp_version=2", "fsdp_config.reshard_after_forward=true",
        "fsdp_config.activation_checkpointing=true"})
    put_override(root, word, mark);
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
  const bool inside = said.is_relative() && std::find(said.begin(), said.end(), "..") == said.end();
  std::error_code error;
  for (const fs::path& file : {inside ? folder / said : fs::path(), folder / said.filename()})
    if (!file.empty() && fs::is_regular_file(file, error)) return file;
  return std::nullopt;
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
  const auto named =
      std::find_if(files.root.entries.begin(), files.root.entries.end(), [](const YamlEntry& e) {
        return e.key == "fsdp_config" && e.value.is_scalar() && e.value.text.ends_with(".json");
      });
  if (named == files.root.entries.end()) return;
  const fs::path name = fs::path(named->value.text).filename();
  const auto given = std::find_if(beside.begin(), beside.end(), [&](const auto& other) {
    return fs::path(other.first).filename() == name;
  });
  const auto file = file_beside(named->value);
  std::optional<YamlNode> group;
  if (given != beside.end())
    group = parse_yaml(given->second, given->first, tuning_limits, diagnostics);
  else if (!file)
    diagnostics.add(named->value.mark, "fsdp_config",
                    "names the file " + in_quotes(named->value.text) +
                        ", which is not beside this one; pass it as a further file");
  else if (const auto text =
               read_text_file(*file, file->string(), YamlLimits{}.file_bytes, diagnostics))
    group = parse_yaml(*text, file->string(), tuning_limits, diagnostics);
  if (group) named->value = std::move(*group);
}

/// Whether a further file is what `fsdp_config` of this one names.
bool is_fsdp_file(const std::string& name, const YamlNode& root) {
  const YamlNode* const named = root.find("fsdp_config");
  return named != nullptr && named->is_scalar() &&
         fs::path(named->text).filename() == fs::path(name).filename();
}

/// Arguments win over the files that a launch names.
void add_launch(const ImportSource& source, const PlanImportOptions& options, TuningFiles& files,
                Diagnostics& diagnostics) {
  const auto launch = read_launch(source, options, diagnostics);
  if (!launch) return;
  for (const YamlNode& name : launch->files) {
    const auto file = file_beside(name);
    const bool given =
        std::any_of(options.beside.begin(), options.beside.end(), [&](const auto& other) {
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
  put_shipped_fsdp(files.root);
  turn_factory_keys(files.root, files.assumed);
  turn_openrlhf_keys(files);
  find_fsdp(options.beside, files, diagnostics);
  find_deepspeed(files, diagnostics);
  return files;
}

}  // namespace foretrain::tuning
