// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/source_options.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>

#include "planner/cli/plan_options.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/page/compare.hpp"
#include "planner/text/quoting.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

constexpr std::array import_names{"--host",   "--fabric", "--gpus",  "--sequence",   "--as",
                                  "--device", "--lora",   "--qlora", "--all-weights"};

/// A scenario says what machine it runs on, and what is trained; another GPU in its place is
/// --device.
void refuse_machine(const SourceOptions& source) {
  const bool device = !source.framework.import.device.empty();
  for (const std::string option : import_names)
    if (source.given->contains(option) && option != "--device" && !(device && option == "--gpus"))
      throw UsageError(option +
                       " is for --megatron and --hf; a scenario's keys are changed with "
                       "--set, its GPUs with --device and --gpus");
}

/// @throws UsageError
std::optional<WantedTuning> wanted_tuning(const SourceOptions& source) {
  auto wanted = source.tuning.wanted();
  if (wanted && source.hf.empty())
    throw UsageError("--lora, --qlora and --all-weights stand beside --hf");
  return wanted;
}

constexpr std::size_t most_sides = 26;

/// The side that "B:parallel.tensor=4" changes; nothing for "parallel.tensor=4".
std::optional<std::size_t> side_of(const std::string& setting) {
  if (setting.size() < 2 || setting[1] != ':' || setting[0] < 'A' || setting[0] > 'Z')
    return std::nullopt;
  return static_cast<std::size_t>(setting[0] - 'A');
}

std::vector<ScenarioOptions> sides_of(const std::vector<std::string>& files,
                                      const ScenarioOptions& options) {
  std::size_t count = files.size();
  std::size_t named = 0;
  for (const std::string& setting : options.overrides)
    if (const auto side = side_of(setting)) named = std::max(named, *side + 1);
  // One file is compared with itself, changed.
  if (count == 1) count = std::max(named, count);
  if (named > count)
    throw UsageError("--set " + side_name(named - 1) + ":... names a side that is not there");
  if (count > most_sides) throw UsageError("up to 26 scenarios can be compared");
  std::vector<ScenarioOptions> sides;
  for (std::size_t side = 0; side < count; ++side) {
    ScenarioOptions own{files[std::min(side, files.size() - 1)], {}, options.folders, options.root};
    for (const std::string& setting : options.overrides) {
      const auto only = side_of(setting);
      if (!only) own.overrides.push_back(setting);
      if (only && *only == side) own.overrides.push_back(setting.substr(2));
    }
    sides.push_back(std::move(own));
  }
  return sides;
}

}  // namespace

std::optional<WantedTuning> TuningOptions::wanted() const {
  if (!lora && !qlora && !all_weights) return std::nullopt;
  return WantedTuning{lora ? lora : qlora, qlora.has_value()};
}

void add_tuning_options(CommandRow& command, TuningOptions& tuning, const std::string& with) {
  command.option("--lora", tuning.lora, "RANK",
                 with + "train adapters of this rank beside all linear layers",
                 {.range = {{1, 65536}}});
  command.option("--qlora", tuning.qlora, "RANK", with + "the same beside frozen weights in 4 bits",
                 {.range = {{1, 65536}}, .excludes = {"--lora"}});
  command.flag("--all-weights", tuning.all_weights,
               with + "train all weights with the Hugging Face Trainer, as --lora does",
               {.excludes = {"--lora", "--qlora"}});
}

void add_source_options(CommandRow& command, SourceOptions& source) {
  source.command = command.name;
  source.given = command.given;
  command.option("scenario", source.scenario.file, "SCENARIO",
                 "Scenario file, FILE#ID for a measured run, or - for standard input");
  command.option("--megatron", source.megatron, "ARGS|FILE",
                 "Megatron-LM arguments, or a file that holds them, in place of a scenario");
  command.option("--hf", source.hf, "FILE", "Hugging Face config.json in place of a scenario");
  add_family_option(command, source.framework.import.as);
  add_machine_options(command, source.framework.import);
  add_tuning_options(command, source.tuning, "With --hf: ");
}

std::string source_words(const ScenarioOptions& options) {
  if (options.file.empty() || options.file == "-") return {};
  std::vector<std::string> words{options.file};
  for (const std::string& set : options.overrides) words.insert(words.end(), {"--set", set});
  for (const std::string& word : options.folders.arguments()) words.push_back(word);
  if (!options.root.empty()) words.insert(words.end(), {"--root", options.root});
  return shell_words(words);
}

std::string source_words(const SourceOptions& source) {
  std::vector<std::string> words;
  const auto add = [&](const char* name) {
    const auto found = source.given->find(name);
    if (found == source.given->end()) return;
    if (found->second.empty()) words.emplace_back(name);  // a flag has no values
    for (const std::string& value : found->second) words.insert(words.end(), {name, value});
  };
  if (!source.imports()) {
    const std::string scenario = source_words(source.scenario);
    for (const char* const name : {"--device", "--gpus"}) add(name);
    return scenario.empty() || words.empty() ? scenario : scenario + " " + shell_words(words);
  }
  for (const char* const name : {"--megatron", "--hf"}) add(name);
  for (const char* const name : import_names) add(name);
  for (const char* const name : {"--set", "--profiles", "--catalog"}) add(name);
  return shell_words(words);
}

Scenario read_scenario(const SourceOptions& source, Purpose purpose) {
  if (!source.framework.import.as.empty() && source.hf.empty())
    throw UsageError("--as stands beside --hf");
  const int given = (source.scenario.file.empty() ? 0 : 1) + (source.megatron.empty() ? 0 : 1) +
                    (source.hf.empty() ? 0 : 1);
  if (given != 1) throw UsageError(source.command + " takes one of SCENARIO, --megatron and --hf");
  if (!source.imports()) {
    refuse_machine(source);
    const PlanImportOptions& machine = source.framework.import;
    return read_scenario(on_device(source.scenario, machine.device, machine.gpus), purpose);
  }
  FrameworkOptions framework = source.framework;
  framework.folders = source.scenario.folders;
  const auto tuning = wanted_tuning(source);
  const ImportedScenario imported =
      source.hf.empty() ? import_words(Framework::megatron, {source.megatron}, framework)
                        : import_huggingface_file(source.hf, framework, tuning);
  write_diagnostic("stack    " + imported.notes.stack);
  for (const std::string& sentence : imported.notes.assumed)
    write_diagnostic("assumed  " + sentence);
  return load_scenario_text(imported.text, imported.scenario.path, ".",
                            load_options(source.scenario));
}

std::vector<Scenario> read_sides(const std::vector<std::string>& files,
                                 const ScenarioOptions& options) {
  std::optional<std::string> standard_input;  // can be read only once
  std::vector<Scenario> scenarios;
  for (const ScenarioOptions& side : sides_of(files, options)) {
    if (side.file != "-") {
      scenarios.push_back(read_scenario(side, Purpose::any));
      continue;
    }
    if (!standard_input) standard_input = read_standard_input();
    LoadOptions wanted = load_options(side);
    wanted.purpose = Purpose::any;
    scenarios.push_back(read_scenario_text(*standard_input, wanted));
  }
  return scenarios;
}

}  // namespace foretrain
