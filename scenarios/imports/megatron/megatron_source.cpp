// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/megatron/megatron_source.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "scenarios/imports/shell/launch_line.hpp"
#include "scenarios/imports/shell/shell_script.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace {

constexpr auto telling = std::to_array<std::string_view>(
    {"--num-layers", "--hidden-size", "--micro-batch-size", "--tensor-model-parallel-size",
     "--pipeline-model-parallel-size", "--global-batch-size"});

bool is_telling(std::string_view word) {
  return std::ranges::any_of(telling, [&](std::string_view name) {
    return word == name ||
           (word.starts_with(name) && (word[name.size()] == '=' || word[name.size()] == ' '));
  });
}

bool launches(const ShellCommand& command) {
  static const std::set<std::string> only_print{"echo", "printf", "cat", "print"};
  return !command.words.empty() && only_print.count(command.words.front()) == 0 &&
         std::ranges::any_of(command.words, is_telling);
}

/// First word of the training script's own arguments.
std::size_t arguments_start(const std::vector<std::string>& words) {
  std::size_t start = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].ends_with(".py") || words[i].ends_with(".py\"")) start = i + 1;
    if (is_telling(words[i])) return start > 0 ? start : i;
  }
  return start;
}

/// Strays that the script leaves unknown count as empty, unless it sets them in a way that cannot
/// be followed.
void judge_strays(const std::vector<std::string>& strays, const ShellScript& script,
                  const Mark& launch, MegatronSource& found, Diagnostics& diagnostics) {
  for (const std::string& word : strays) {
    if (!is_unknown(word)) continue;
    const std::string inside = word.size() > 3 ? word.substr(2, word.size() - 3) : word;
    const std::string variable = inside.substr(0, inside.find('['));
    const auto doubted = script.variables.doubted().find(variable);
    if (doubted == script.variables.doubted().end()) {
      found.assumed.push_back(word + " is set outside the script, and empty (--var)");
      continue;
    }
    diagnostics.add(launch, printable_key(variable),
                    fmt::format("is set in line {} under a condition that only running the script "
                                "would decide; give it with --var {}=VALUE",
                                doubted->second, printable_key(variable)));
  }
}

/// A script without a launch line: its arrays and texts of arguments, in alphabetical order.
std::vector<std::string> words_of_variables(const ShellScript& script,
                                            std::vector<std::string>& names) {
  std::vector<std::string> words;
  for (const auto& [name, value] : script.variables.all()) {
    std::vector<std::string> fields =
        script.variables.fields("${" + name + (value.array ? "[@]}" : "}"));
    if (fields.empty() || !fields.front().starts_with("--")) continue;
    if (std::ranges::none_of(fields,
                             [](const std::string& field) { return field.starts_with("--"); }))
      continue;
    names.push_back(name);
    words.insert(words.end(), fields.begin(), fields.end());
  }
  return words;
}

std::optional<MegatronSource> read_script(const ImportSource& source,
                                          const PlanImportOptions& options,
                                          Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.count();
  const LaunchSize allocation = launch_size(directive_words(source.text));
  std::map<std::string, std::string> given = slurm_variables(allocation);
  for (const auto& [name, value] : options.variables) given[name] = value;
  const ShellScript script = follow_shell_script(source.text, source.name, given, diagnostics);
  if (diagnostics.count() != before) return std::nullopt;
  MegatronSource found;
  std::vector<std::string> words;
  int launch_count = 0;
  for (const ShellCommand& command : script.commands) {
    if (!launches(command)) continue;
    ++launch_count;
    const std::size_t start = arguments_start(command.words);
    const auto middle = command.words.begin() + static_cast<std::ptrdiff_t>(start);
    words.assign(middle, command.words.end());
    found.size = combined(launch_size({command.words.begin(), middle}), allocation);
    found.line = command.line;
    if (command.undecided)
      found.assumed.push_back(fmt::format(
          "the launch of line {} runs, though only running the script would decide that",
          command.line));
  }
  if (launch_count == 0) {
    std::vector<std::string> names;
    words = words_of_variables(script, names);
    found.size = allocation;
    if (!names.empty())
      found.assumed.push_back("the script launches nothing; read are " + joined(names));
  }
  if (launch_count > 1)
    found.assumed.push_back(
        fmt::format("the last of {} launches, line {}, is meant", launch_count, found.line));
  std::vector<std::string> strays;
  found.arguments = arguments_of(words, strays);
  const Mark launch{std::make_shared<const std::string>(source.name), found.line, 1};
  judge_strays(strays, script, launch, found, diagnostics);
  for (const auto& [name, value] : script.variables.all())
    if (name.starts_with("NVTE_") || name.starts_with("CUBLAS_"))
      found.variables[name] = value.fields.empty() ? std::string() : value.fields.front();
  if (found.arguments.empty())
    diagnostics.add(Mark{std::make_shared<const std::string>(source.name), 0, 0}, "",
                    "holds no launch with Megatron-LM arguments such as --num-layers");
  if (diagnostics.count() != before) return std::nullopt;
  return found;
}

/// The text of a value as it would stand behind its argument.
std::string argument_text(const YamlNode& node) {
  if (node.is_null()) return "false";
  if (!node.is_sequence()) return node.text;
  std::string text;
  for (const YamlNode& item : node.items) text += (text.empty() ? "" : " ") + item.text;
  return "[" + text + "]";
}

/// A flat map of argument names, with or without dashes before them, to values.
MegatronSource megatron_source_of(const YamlNode& map) {
  MegatronSource found;
  for (const YamlEntry& entry : map.entries) {
    const std::string name =
        entry.key.substr(std::min(entry.key.find_first_not_of('-'), entry.key.size()));
    found.arguments[name] = argument_text(entry.value);
    found.lines[name] = entry.mark.line;
  }
  return found;
}

std::optional<MegatronSource> read_map(const ImportSource& source, Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.count();
  const auto root = parse_yaml(source.text, source.name, YamlLimits{}, diagnostics);
  if (!root || diagnostics.count() != before) return std::nullopt;
  if (is_megatron_yaml(*root)) return megatron_yaml_source(*root);
  const YamlNode* arguments = nullptr;
  for (const char* key : {"MODEL_ARGS", "args", "model_args"})
    if (arguments == nullptr) arguments = root->find(key);
  if (arguments == nullptr) arguments = &*root;
  if (!arguments->is_map() || arguments->entries.empty()) {
    diagnostics.add(arguments->mark, "",
                    "must be a map of Megatron-LM arguments, alone or under MODEL_ARGS");
    return std::nullopt;
  }
  MegatronSource found = megatron_source_of(*arguments);
  for (const char* key : {"ENV_VARS", "env"})
    if (const YamlNode* variables = root->find(key))
      for (const YamlEntry& entry : variables->entries)
        found.variables[entry.key] = entry.value.text;
  if (const YamlNode* gpus = root->find("gpus"); gpus != nullptr && gpus->is_scalar())
    found.size = launch_size({"-np", gpus->text});
  return found;
}

/// Whether a text is a map rather than a script: a line of a script is rarely `word: value`.
bool looks_like_map(const ImportSource& source) {
  if (source.name.ends_with(".yaml") || source.name.ends_with(".yml") ||
      source.name.ends_with(".json"))
    return true;
  const std::size_t start = source.text.find_first_not_of(" \t\r\n");
  return start != std::string::npos && source.text[start] == '{';
}

}  // namespace

std::optional<MegatronSource> read_megatron_source(const ImportSource& source,
                                                   const PlanImportOptions& options,
                                                   Diagnostics& diagnostics) {
  const Mark top{std::make_shared<const std::string>(source.name), 1, 1};
  if (!check_encoding(source.text, top, diagnostics)) return std::nullopt;
  if (looks_like_map(source)) return read_map(source, diagnostics);
  const std::size_t start = source.text.find_first_not_of(" \t\r\n");
  if (start == std::string::npos || !source.text.substr(start).starts_with("--"))
    return read_script(source, options, diagnostics);
  ImportSource command = source;
  command.text = "pretrain_gpt.py " + source.text.substr(start);
  // A list of arguments may be wrapped over lines, as in a script with backslashes.
  for (std::size_t i = 0; i < command.text.size(); ++i)
    if (command.text[i] == '\n' || command.text[i] == '\r') {
      if (i > 0 && command.text[i - 1] == '\\') command.text[i - 1] = ' ';
      command.text[i] = ' ';
    }
  return read_script(command, options, diagnostics);
}

}  // namespace foretrain
