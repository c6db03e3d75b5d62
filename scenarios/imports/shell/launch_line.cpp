// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/shell/launch_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "scenarios/imports/shell/shell_variables.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

/// "8", the end of "1:8", the number of "gpu:8" and "gpu:a100:8".
std::optional<int> size_of(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon != std::string_view::npos) text.remove_prefix(colon + 1);
  const auto dash = text.find('-');  // --nodes=4-8: at least 4
  if (dash != std::string_view::npos && dash > 0) text = text.substr(0, dash);
  const auto parsed = parse_integer(text);
  if (!parsed.value || *parsed.value < 1 || *parsed.value > 1'000'000) return std::nullopt;
  return static_cast<int>(*parsed.value);
}

/// The options of a launcher by name, dashes and underscores alike.
class Launcher {
 public:
  explicit Launcher(const std::vector<std::string>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string& word = words[i];
      if (word.size() < 2 || word.front() != '-') continue;
      const auto equals = word.find('=');
      std::string name = word.substr(0, equals);
      std::replace(name.begin() + 1, name.end(), '_', '-');
      const bool attached = name.size() > 2 && name[1] != '-' && name != "-np" &&
                            (name[1] == 'N' || name[1] == 'n' || name[1] == 'G');
      if (equals != std::string::npos) {
        values_[name] = word.substr(equals + 1);
      } else if (attached) {
        values_[name.substr(0, 2)] = name.substr(2);  // srun -N4
      } else if (i + 1 < words.size()) {
        values_[name] = words[i + 1];
      }
    }
  }

  [[nodiscard]] std::optional<int> first(const std::vector<std::string>& names) const {
    for (const std::string& name : names) {
      const auto found = values_.find(name);
      if (found == values_.end()) continue;
      if (const auto size = size_of(found->second)) return size;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::string text(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::string() : found->second;
  }

 private:
  std::map<std::string, std::string> values_;
};

bool names(const std::vector<std::string>& words, std::string_view program) {
  return std::ranges::any_of(words, [&](const std::string& word) {
    return word == program || (word.size() > program.size() && word.ends_with(program) &&
                               word[word.size() - program.size() - 1] == '/');
  });
}

/// Arguments that take no value, so that an unknown word behind them is something else.
bool is_flag(const std::string& name) {
  static const std::set<std::string> flags{"bf16",
                                           "fp16",
                                           "swiglu",
                                           "sequence-parallel",
                                           "group-query-attention",
                                           "qk-layernorm",
                                           "untie-embeddings-and-output-weights",
                                           "moe-grouped-gemm",
                                           "multi-latent-attention",
                                           "checkpoint-activations",
                                           "recompute-activations",
                                           "deepspeed",
                                           "manual-gc",
                                           "mock-data",
                                           "embed-layernorm"};
  for (const char* start : {"no-", "use-", "overlap-", "disable-"})
    if (name.starts_with(start)) return true;
  return flags.count(name) > 0;
}

bool only_prints(const std::string& program) {
  return program == "echo" || program == "printf" || program == "cat" || program == "print";
}

/// The first word behind a training script, Python before shell; the first word without one.
std::size_t words_start(const std::vector<std::string>& words) {
  for (const std::string_view end : {".py", ".sh"}) {
    const auto script = std::ranges::find_if(words, [&](const std::string& word) {
      return word.ends_with(end) && word.find('=') == std::string::npos;
    });
    if (script != words.end()) return static_cast<std::size_t>(script - words.begin()) + 1;
  }
  return 0;
}

}  // namespace

LaunchSize launch_size(const std::vector<std::string>& words) {
  const Launcher launcher(words);
  LaunchSize size;
  const bool elastic = names(words, "torchrun") || names(words, "torch.distributed.run") ||
                       names(words, "torch.distributed.launch") ||
                       names(words, "torch.distributed.run.py");
  size.nodes = launcher.first({"--nnodes"});
  size.gpus_per_node = launcher.first({"--nproc-per-node"});
  const bool written = !launcher.text("--nnodes").empty();
  if (elastic && !size.nodes && !written) size.nodes = 1;  // torchrun's default
  if (elastic && size.nodes) return size;
  if (!size.nodes) size.nodes = launcher.first({"--nodes", "-N", "--num-nodes"});
  if (!size.gpus_per_node) size.gpus_per_node = launcher.first({"--gpus-per-node", "--num-gpus"});
  const std::string resources = launcher.text("--gres");
  if (!size.gpus_per_node && resources.starts_with("gpu")) size.gpus_per_node = size_of(resources);
  const auto tasks_per_node = launcher.first({"--ntasks-per-node"});
  if (!size.gpus_per_node && tasks_per_node && *tasks_per_node > 1)
    size.gpus_per_node = tasks_per_node;
  if (!size.nodes) size.gpus = launcher.first({"--gpus", "-G", "-np", "--ntasks", "-n"});
  return size;
}

std::map<std::string, std::string> slurm_variables(const LaunchSize& size) {
  std::map<std::string, std::string> variables;
  if (size.nodes) {
    variables["SLURM_NNODES"] = variables["SLURM_JOB_NUM_NODES"] = std::to_string(*size.nodes);
  }
  if (size.gpus_per_node)
    variables["SLURM_GPUS_PER_NODE"] = variables["SLURM_GPUS_ON_NODE"] =
        std::to_string(*size.gpus_per_node);
  if (size.nodes && size.gpus_per_node)
    variables["SLURM_NTASKS"] =
        std::to_string(static_cast<long long>(*size.nodes) * *size.gpus_per_node);
  return variables;
}

std::vector<std::string> directive_words(std::string_view text) {
  std::vector<std::string> words;
  std::size_t at = 0;
  constexpr std::string_view start = "#SBATCH";
  while (at < text.size() && words.size() < 1000) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with(start)) continue;
    line = line.substr(start.size(), line.find(" #") - start.size());
    std::string word;
    for (const char c : std::string(line) + ' ') {
      if (c != ' ' && c != '\t' && c != '\r') {
        word += c;
      } else if (!word.empty()) {
        words.push_back(std::move(word));
        word.clear();
      }
    }
  }
  return words;
}

LaunchSize combined(const LaunchSize& inner, const LaunchSize& outer) {
  LaunchSize size;
  size.nodes = inner.nodes ? inner.nodes : outer.nodes;
  size.gpus_per_node = inner.gpus_per_node ? inner.gpus_per_node : outer.gpus_per_node;
  if (!size.nodes) size.gpus = inner.gpus ? inner.gpus : outer.gpus;
  return size;
}

namespace {

/// Takes words one by one: names, their values, and strays that belong to neither.
class WordTaker {
 public:
  WordTaker(MegatronArguments& arguments, std::vector<std::string>& strays)
      : arguments_{arguments}, strays_{strays} {}

  void put(std::string_view word) {
    if (word.starts_with("--") && word.size() > 2) return put_name(word);
    if (!takes(word)) {
      strays_.emplace_back(word);
      return;
    }
    *value_ += (value_->empty() ? "" : " ") + std::string(word);
  }

 private:
  void put_name(std::string_view word) {
    const auto equals = word.find('=');
    name_ = word.substr(2, equals == word.npos ? equals : equals - 2);
    value_ = &arguments_[name_];
    *value_ = equals == word.npos ? std::string() : std::string(word.substr(equals + 1));
  }

  /// Whether a word belongs to the value of the name before it. A list is never one value, and what
  /// the script leaves unknown is no value of a flag.
  [[nodiscard]] bool takes(std::string_view word) const {
    const bool list = word.ends_with("[@]}") && word.starts_with("${");
    if (value_ == nullptr || list) return false;
    return !is_unknown(word) || (value_->empty() && !is_flag(name_));
  }

  MegatronArguments& arguments_;
  std::vector<std::string>& strays_;
  std::string* value_ = nullptr;
  std::string name_;
};

}  // namespace

MegatronArguments arguments_of(const std::vector<std::string>& words,
                               std::vector<std::string>& strays) {
  MegatronArguments arguments;
  WordTaker taker(arguments, strays);
  for (const std::string& word : words) {
    // "--name value" as one quoted word: the shell keeps it whole, Python's parser would not.
    const auto blank = word.find(' ');
    if (word.starts_with("--") && blank != std::string::npos && word.find('=') > blank) {
      taker.put(std::string_view(word).substr(0, blank));
      taker.put(std::string_view(word).substr(blank + 1));
    } else {
      taker.put(word);
    }
  }
  for (auto& [name, text] : arguments)
    if (text.empty()) text = "true";
  return arguments;
}

std::optional<NamedLaunch> find_launch(
    const ImportSource& source, const PlanImportOptions& options,
    const std::function<bool(const std::vector<std::string>&)>& wanted, const std::string& missing,
    Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.count();
  const LaunchSize allocation = launch_size(directive_words(source.text));
  std::map<std::string, std::string> given = slurm_variables(allocation);
  for (const auto& [name, value] : options.variables) given[name] = value;
  const ShellScript script = follow_shell_script(source.text, source.name, given, diagnostics);
  if (diagnostics.count() != before) return std::nullopt;
  const auto file = std::make_shared<const std::string>(source.name);
  NamedLaunch found;
  int count = 0;
  for (const ShellCommand& command : script.commands) {
    if (command.words.empty() || only_prints(command.words.front()) || !wanted(command.words))
      continue;
    ++count;
    const auto start = static_cast<std::ptrdiff_t>(words_start(command.words));
    found.words.assign(command.words.begin() + start, command.words.end());
    found.before.assign(command.words.begin(), command.words.begin() + start);
    found.size = combined(launch_size(command.words), allocation);
    found.mark = {file, command.line, 1};
    found.assumed.clear();
    if (command.undecided)
      found.assumed.push_back(fmt::format(
          "the launch of line {} runs, though only running the script would decide that",
          command.line));
  }
  if (count == 0) {
    diagnostics.add(Mark{file, 0, 0}, "", missing);
    return std::nullopt;
  }
  if (count > 1)
    found.assumed.push_back(
        fmt::format("the last of {} launches, line {}, is meant", count, found.mark.line));
  for (const auto& [name, value] : script.variables.all())
    if (!value.array && !value.fields.empty()) found.variables[name] = value.fields.front();
  return found;
}

}  // namespace foretrain
