// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/source_options.hpp"

#include "planner/cli/terminal.hpp"
#include "planner/text/shell_word.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

/// A scenario says what machine it runs on.
void refuse_machine(const CLI::App& app) {
  for (const char* const option : {"--host", "--fabric", "--gpus", "--sequence"})
    if (app.count(option) > 0)
      throw UsageError(std::string(option) +
                       " is for --megatron and --hf; a scenario's keys are changed with --set");
}

}  // namespace

void add_source_options(CLI::App& app, SourceOptions& source) {
  source.app = &app;
  app.add_option("scenario", source.scenario.file, "Scenario file, or - for standard input")
      ->type_name("SCENARIO");
  app.add_option("--megatron", source.megatron,
                 "Megatron-LM arguments, or a file that holds them, in place of a scenario")
      ->type_name("ARGS|FILE");
  app.add_option("--hf", source.hf, "Hugging Face config.json in place of a scenario")
      ->type_name("FILE");
  add_machine_options(app, source.framework.import);
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
  if (!source.imports()) return source_words(source.scenario);
  std::vector<std::string> words;
  for (const char* const name : {"--megatron", "--hf", "--host", "--fabric", "--gpus", "--sequence",
                                 "--set", "--profiles", "--catalog"})
    if (const CLI::Option* option = source.app->get_option_no_throw(name))
      for (const std::string& value : option->results()) words.insert(words.end(), {name, value});
  return shell_words(words);
}

Scenario read_scenario(const SourceOptions& source) {
  const int given = (source.scenario.file.empty() ? 0 : 1) + (source.megatron.empty() ? 0 : 1) +
                    (source.hf.empty() ? 0 : 1);
  if (given != 1)
    throw UsageError(source.app->get_name() + " takes one of SCENARIO, --megatron and --hf");
  if (!source.imports()) {
    refuse_machine(*source.app);
    return read_scenario(source.scenario);
  }
  FrameworkOptions framework = source.framework;
  framework.folders = source.scenario.folders;
  const ImportedScenario imported =
      source.hf.empty() ? import_words(Framework::megatron, {source.megatron}, framework)
                        : import_huggingface_file(source.hf, framework);
  write_diagnostic("stack    " + imported.notes.stack);
  for (const std::string& sentence : imported.notes.assumed)
    write_diagnostic("assumed  " + sentence);
  return load_scenario_text(imported.text, imported.scenario.path, ".",
                            load_options(source.scenario));
}

}  // namespace foretrain
