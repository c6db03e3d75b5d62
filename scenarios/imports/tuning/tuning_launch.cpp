// SPDX-License-Identifier: Apache-2.0
// Command lines of trainers: argparse as transformers' HfArgumentParser uses it, accelerate's
// launcher (commands/launch.py), ms-swift's (swift/cli/main.py), which starts torchrun where
// NPROC_PER_NODE is set.
#include "scenarios/imports/tuning/internal/tuning_launch.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "scenarios/imports/frameworks/override_tree.hpp"
#include "scenarios/imports/shell/launch_line.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain::tuning {
namespace {

/// A program whose second word, where it has to be one of some, says what it does.
struct Program {
  std::string_view name;
  std::string_view verbs;  ///< between blanks
};

constexpr auto programs =
    std::to_array<Program>({{"swift", " sft pt rlhf "},
                            {"megatron", " sft pt rlhf "},
                            {"trl", " sft dpo grpo kto reward rloo orpo cpo "},
                            {"llamafactory-cli", " train sft dpo rm "},
                            {"axolotl", " train "}});

/// Launchers whose own options stand before those of the script.
constexpr auto launchers = std::to_array<std::string_view>(
    {"accelerate", "accelerate-launch", "torchrun", "deepspeed", "python", "python3"});

/// Trainers of TRL by a piece of their scripts' names, the more particular first: "dpo_vlm.py".
constexpr auto trainers = std::to_array<Program>({{"online", "online_dpo"},
                                                  {"nash", "nash_md"},
                                                  {"xpo", "xpo"},
                                                  {"gkd", "gkd"},
                                                  {"gold", "gold"},
                                                  {"distillation", "distillation"},
                                                  {"prm", "prm"},
                                                  {"tpo", "tpo"},
                                                  {"bco", "bco"},
                                                  {"kto", "kto"},
                                                  {"ppo", "ppo"},
                                                  {"rloo", "rloo"},
                                                  {"gspo", "grpo"},
                                                  {"grpo", "grpo"},
                                                  {"orpo", "orpo"},
                                                  {"cpo", "cpo"},
                                                  {"mpo", "dpo"},
                                                  {"dpo", "dpo"},
                                                  {"reward", "reward"}});

bool is_program(const std::string& word, std::string_view name) {
  return word == name || (word.ends_with(name) && word[word.size() - name.size() - 1] == '/');
}

/// The first word behind `swift sft`; nothing where no such program is started.
std::optional<std::size_t> behind_program(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    for (const Program& known : programs)
      if (is_program(words[i], known.name) &&
          known.verbs.find(" " + words[i + 1] + " ") != std::string_view::npos)
        return i + 2;
  return std::nullopt;
}

bool is_script_name(const std::string& word) {
  return word.ends_with(".py") && word.find('=') == std::string::npos && !word.starts_with('-');
}

bool is_launcher(const std::string& word) {
  return std::ranges::any_of(launchers,
                             [&](std::string_view name) { return is_program(word, name); });
}

/// Where the launcher of the training stands: behind the last "--" of a program that submits it.
std::optional<std::size_t> launcher_of(const std::vector<std::string>& words) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < words.size(); ++i)
    if (is_launcher(words[i]) && (!found || words[i - 1] == "--")) found = i;
  return found;
}

/// The first word behind `train.py`, or behind `-m package.train`.
std::optional<std::size_t> behind_script(const std::vector<std::string>& words) {
  const auto launcher = launcher_of(words);
  if (!launcher) return std::nullopt;
  for (std::size_t i = *launcher; i < words.size(); ++i)
    if (is_script_name(words[i])) return i + 1;
  for (std::size_t i = *launcher; i + 1 < words.size(); ++i)
    if ((words[i] == "-m" || words[i] == "--module") &&
        !words[i + 1].starts_with("torch.distributed") && !words[i + 1].starts_with("accelerate"))
      return i + 2;
  return std::nullopt;
}

std::optional<std::size_t> arguments_start(const std::vector<std::string>& words) {
  const auto program = behind_program(words);
  return program ? program : behind_script(words);
}

bool is_training(const std::vector<std::string>& words) {
  const auto start = arguments_start(words);
  return start && std::any_of(words.begin() + static_cast<std::ptrdiff_t>(*start), words.end(),
                              [](const std::string& word) {
                                return word.starts_with("--") || word.ends_with(".yaml") ||
                                       word.ends_with(".yml") || word.ends_with(".json");
                              });
}

std::optional<int> count_of(const std::string& text) {
  const auto parsed = parse_integer(text);
  if (!parsed.value || *parsed.value < 1 || *parsed.value > 1'000'000) return std::nullopt;
  return static_cast<int>(*parsed.value);
}

/// Reads one launch.
class LaunchReader {
 public:
  explicit LaunchReader(const NamedLaunch& launch) : launch_{launch} {
    result_.arguments = empty_map(launch.mark);
    result_.assumed = launch.assumed;
    words_ = launch.before;
    words_.insert(words_.end(), launch.words.begin(), launch.words.end());
    start_ = arguments_start(words_).value_or(0);
    result_.megatron = start_ >= 2 && is_program(words_[start_ - 2], "megatron");
  }

  TuningLaunch take() {
    put_arguments({words_.begin() + static_cast<std::ptrdiff_t>(start_), words_.end()});
    const auto accelerate = std::ranges::find_if(words_, [](const std::string& word) {
      return is_program(word, "accelerate") || is_program(word, "accelerate-launch");
    });
    const auto script = words_.begin() + static_cast<std::ptrdiff_t>(start_);
    const bool accelerates = accelerate < script;
    if (accelerates) put_accelerate({accelerate + 1, script - 1});
    put_size(accelerates);
    put_objective();
    if (start_ > 0) put_trainer(words_[start_ - 1]);
    for (const char* pixels : {"MAX_PIXELS", "VIDEO_MAX_PIXELS", "FPS_MAX_FRAMES"})
      if (launch_.variables.count(pixels) > 0) put("max_pixels", launch_.variables.at(pixels));
    return std::move(result_);
  }

 private:
  void put(const std::string& name, const std::string& text) {
    put_override(result_.arguments, name + "=" + text, launch_.mark);
  }

  void add_file(const std::string& name) {
    YamlNode file;
    file.kind = YamlNode::Kind::scalar;
    file.text = name;
    file.mark = launch_.mark;
    result_.files.push_back(std::move(file));
  }

  static bool names_file(const std::string& word) {
    return word.ends_with(".yaml") || word.ends_with(".yml") || word.ends_with(".json");
  }

  /// argparse takes dashes for underscores, and `--no_name` turns a switch off.
  void put_arguments(const std::vector<std::string>& words) {
    std::vector<std::string> strays;
    for (const auto& [said, text] : arguments_of(words, strays)) {
      std::string name = said;
      std::ranges::replace(name, '-', '_');
      if (name == "config" && names_file(text))
        add_file(text);
      else if (name.starts_with("no_") && text == "true" && name != "no_cuda" && !result_.megatron)
        put(name.substr(3), "false");
      else
        put(name, text);
    }
    for (const std::string& word : strays)
      if (names_file(word))
        add_file(word);
      else if (is_override(word))
        put_override(result_.arguments, word, launch_.mark);
  }

  /// The launcher's options are those of its file; `--config_file` names one.
  void put_accelerate(const std::vector<std::string>& words) {
    std::vector<std::string> strays;
    for (const auto& [said, text] : arguments_of(words, strays)) {
      std::string name = said;
      std::ranges::replace(name, '-', '_');
      if (name == "config_file")
        add_file(text);
      else if (name == "multi_gpu" || name == "m" || name == "module" ||
               name == "use_parallelism_config")
        continue;
      else if (name == "use_fsdp" || name == "use_deepspeed")
        put("distributed_type", name == "use_fsdp" ? "FSDP" : "DEEPSPEED");
      else if (name.starts_with("parallelism_config_"))
        put("parallelism_config." + name, text);
      else if (name.starts_with("fsdp_"))
        put("fsdp_config." + name, text);
      else if (name == "zero_stage" || name.starts_with("offload_") || name.starts_with("zero3_"))
        put("deepspeed_config." + name, text);
      else if (name == "deepspeed_config_file" || name.starts_with("deepspeed_"))
        put("deepspeed_config." + name, text);
      else
        put(name, text);
    }
  }

  [[nodiscard]] std::optional<int> variable(const char* name) const {
    const auto found = launch_.variables.find(name);
    return found == launch_.variables.end() ? std::nullopt : count_of(found->second);
  }

  /// Devices of CUDA_VISIBLE_DEVICES; nothing where it is not written out.
  [[nodiscard]] std::optional<int> visible() const {
    const auto found = launch_.variables.find("CUDA_VISIBLE_DEVICES");
    if (found == launch_.variables.end() || found->second.find('$') != std::string::npos)
      return std::nullopt;
    return 1 + static_cast<int>(std::ranges::count(found->second, ','));
  }

  void put_size(bool accelerates) {
    if (accelerates) return;
    const bool swift = std::ranges::any_of(
        words_, [](const std::string& word) { return is_program(word, "swift"); });
    std::optional<int> nodes = launch_.size.nodes;
    std::optional<int> each = launch_.size.gpus_per_node;
    if (!nodes) nodes = variable("NNODES");
    if (!each) each = variable("NPROC_PER_NODE");
    const auto devices = visible();
    if (!each && !swift) each = devices;
    if (!each && swift && !nodes) {
      each = 1;
      if (devices && *devices > 1)
        put("device_map", "auto");  // one process, which spreads the layers
    }
    if (nodes) put("num_machines", std::to_string(*nodes));
    if (each)
      put("num_processes", std::to_string(*each * nodes.value_or(1)));
    else if (launch_.size.gpus)
      put("num_processes", std::to_string(*launch_.size.gpus));
  }

  /// Names of scripts tell the trainer, "scripts/dpo.py"; plain fine-tuning is what is left.
  void put_trainer(const std::string& script) {
    std::string piece;
    std::string known;
    for (const char c : script.substr(script.find_last_of('/') + 1) + ".") {
      const bool letter = std::isalnum(static_cast<unsigned char>(c)) != 0;
      if (letter) piece += c;
      if (!letter) known += " " + std::exchange(piece, {}) + " ";
    }
    for (const Program& trainer : trainers)
      if (result_.trainer.empty() && known.find(fmt::format(" {} ", trainer.name)) != known.npos)
        result_.trainer = trainer.verbs;
  }

  /// `swift rlhf` without a type is DPO; `trl dpo` names its trainer.
  void put_objective() {
    for (std::size_t i = 0; i + 1 < start_; ++i) {
      const bool swift = is_program(words_[i], "swift") || result_.megatron;
      if (swift && words_[i + 1] == "rlhf" && node_at(result_.arguments, "rlhf_type") == nullptr)
        put("rlhf_type", "dpo");
      if (is_program(words_[i], "trl")) put("trainer", words_[i + 1]);
      if (is_program(words_[i], "llamafactory-cli") && words_[i + 1] != "train")
        put("stage", words_[i + 1]);
    }
  }

  const NamedLaunch& launch_;
  TuningLaunch result_;
  std::vector<std::string> words_;
  std::size_t start_ = 0;
};

}  // namespace

bool is_launch(const ImportSource& source) {
  for (const std::string_view end : {".sh", ".bash", ".slurm", ".sbatch", ".sub"})
    if (source.name.ends_with(end)) return true;
  return source.name == "arguments" || source.text.starts_with("#!");
}

std::optional<TuningLaunch> read_launch(const ImportSource& source,
                                        const PlanImportOptions& options,
                                        Diagnostics& diagnostics) {
  const auto launch = find_launch(
      source, options, is_training,
      "starts no training that is known here: accelerate launch, torchrun, deepspeed or python "
      "with a script and arguments, swift sft, trl sft, llamafactory-cli train, axolotl train",
      diagnostics);
  if (!launch) return std::nullopt;
  return LaunchReader(*launch).take();
}

}  // namespace foretrain::tuning
