// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planner/cli/commands.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/plan_options.hpp"
#include "planner/cli/source_options.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/edit/scenario_draft.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/text/format.hpp"
#include "planner/text/quoting.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/catalog/catalog.hpp"
#include "scenarios/catalog/catalog_entry.hpp"
#include "scenarios/catalog/model_names.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/nearest.hpp"

namespace foretrain {
namespace {

struct InitOptions {
  std::string file;
  DraftAnswers answers;
  std::string device;  ///< in place of the host
  std::optional<int> hosts;
  TuningOptions tuning;
  RoomOptions room;
  ScenarioOptions scenario;  ///< its catalogs alone are used
};

int whole_answer(const std::string& text) {
  int value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size() || value < 1)
    throw UsageError(in_quotes(text) + " is not a whole number from 1 on");
  return value;
}

void check_entry(const std::string& kind, const std::string& name, const LoadOptions& options) {
  std::vector<std::string> names;
  const CatalogListing catalog = catalog_listing(kind, options);
  for (const BrokenEntry& entry : catalog.broken)
    if (entry.name == name) throw ScenarioError(entry.problems);
  for (const CatalogEntry& entry : catalog.entries) names.push_back(entry.name);
  for (const std::string& known : names)
    if (known == name) return;
  throw UsageError("no catalog has the " + kind.substr(0, kind.size() - 1) + " " + in_quotes(name) +
                   " (foretrain show " + kind + " lists them)" + nearest_hint(name, names));
}

bool is_file(const std::string& text) {
  return (text.find('/') != std::string::npos && !is_hub_id(text)) || text.ends_with(".json") ||
         text.ends_with(".yaml");
}

/// A file, or the model of the catalog that a name means.
std::string named_model(const std::string& text, const LoadOptions& options) {
  if (is_file(text)) return text;
  const HubModel known = hub_model(text, options.catalogs);
  if (known.another)
    write_diagnostic(fmt::format("assumed  {}, which has the shape of {}", known.name, text));
  const std::string name = known.name.empty() ? last_part(text) : known.name;
  check_entry("models", name, options);
  return name;
}

void ask_all(InitOptions& options, const LoadOptions& load) {
  DraftAnswers& answers = options.answers;
  write_diagnostic("Five questions; an empty answer takes what is in brackets.");
  if (answers.model.empty())
    ask("1/5 Model (foretrain show models, or a config.json)", "llama3-8b",
        [&](const std::string& text) { answers.model = named_model(text, load); });
  if (answers.host.empty())
    ask("2/5 Host (foretrain show hosts)", default_machine().host, [&](const std::string& text) {
      check_entry("hosts", text, load);
      answers.host = text;
    });
  if (!options.hosts && answers.gpus == 0)
    ask("3/5 Number of hosts", "1",
        [&](const std::string& text) { options.hosts = whole_answer(text); });
  if (!answers.sequence)
    ask("4/5 Tokens in a sequence", "4096, or the positions of the model",
        [&](const std::string& text) {
          if (!text.starts_with("4096,")) answers.sequence = whole_answer(text);
        });
  if (answers.tokens.empty())
    ask("5/5 Tokens of the run, such as 100 B or 2 T", "100 B",
        [&](const std::string& text) { answers.tokens = text; });
}

/// What flags leave open where nobody can be asked.
void require_flags(const InitOptions& options) {
  std::string missing;
  if (options.answers.model.empty()) missing += " --model";
  if (options.answers.host.empty()) missing += " --host or --device";
  if (!options.hosts && options.answers.gpus == 0) missing += " --hosts or --gpus";
  if (missing.empty()) return;
  throw UsageError("init asks its questions on a terminal; elsewhere it needs" + missing);
}

void tell(const ScenarioDraft& draft, const std::string& file, const InitOptions& options) {
  for (const auto& lines : {question_lines(draft.report.scenario.job), answer_lines(draft.report)})
    for (const auto& [label, text] : lines)
      if (label == "Plan" || label == "Memory" || label == "Step" || label == "MFU" ||
          label == "Time to train")
        write_diagnostic(fmt::format("{:<14} {}", label, text));
  if (file == "-") return;
  std::string with = shell_word(file);
  for (const std::string& word : options.scenario.folders.arguments())
    with += " " + shell_word(word);
  write_diagnostic("Written to " + file + ". Next:");
  write_diagnostic("  foretrain simulate " + with);
  write_diagnostic("  foretrain plan " + with);
  write_diagnostic("  foretrain report " + with + " --html forecast.html");
}

/// The scenario of fine-tuning by the Trainer: no plan is searched, since its shards and
/// micro-batches are what `fit` and `plan` speak of.
int init_tuning(const InitOptions& options, const WantedTuning& tuning, const std::string& file) {
  const DraftAnswers& answers = options.answers;
  if (options.hosts || !answers.tokens.empty() || answers.global_batch || !answers.price.empty())
    throw UsageError(
        "init --lora, --qlora and --all-weights take --model, --device or --host, "
        "--gpus, --sequence and --name alone");
  FrameworkOptions framework;
  framework.folders = options.scenario.folders;
  framework.import.host = answers.host;
  framework.import.gpus = answers.gpus > 0 ? std::optional<int>{answers.gpus} : std::nullopt;
  framework.import.sequence = answers.sequence;
  framework.import.name = answers.name.empty() ? draft_name(answers) : answers.name;
  framework.import.model = answers.model;
  const ImportedScenario imported = answers.model.ends_with(".json")
                                        ? import_huggingface_file(answers.model, framework, tuning)
                                        : import_tuned_model(framework, tuning);
  for (const std::string& sentence : imported.notes.assumed)
    write_diagnostic("assumed  " + sentence);
  const int delivered = deliver(imported.text, file == "-" ? "" : file, FileUse::to_edit);
  if (delivered == exit_ok && file != "-") {
    write_diagnostic("Written to " + file + ". Next:");
    write_diagnostic("  foretrain fit " + shell_word(file));
  }
  return delivered;
}

int init(InitOptions options) {
  const LoadOptions load = load_options(options.scenario);
  if (!options.file.empty() && options.file != "-") refuse_to_replace(options.file);
  if (!options.device.empty()) options.answers.host = host_of_device(options.device, load);
  if (can_ask())
    ask_all(options, load);
  else
    require_flags(options);
  DraftAnswers& answers = options.answers;
  answers.room = room_limits(options.room);
  answers.hosts = options.hosts.value_or(1);
  answers.model = named_model(answers.model, load);
  check_entry("hosts", answers.host, load);
  const std::string file = options.file.empty() ? draft_name(answers) + ".yaml" : options.file;
  if (file != "-") refuse_to_replace(file);
  const std::filesystem::path folder =
      file == "-" ? std::filesystem::current_path() : std::filesystem::absolute(file).parent_path();
  if (const auto tuning = options.tuning.wanted()) return init_tuning(options, *tuning, file);
  const DraftResult result = draft_scenario(answers, folder, load);
  if (!result.draft) {
    write_diagnostic("infeasible: " + result.why);
    return exit_infeasible;
  }
  const int delivered = deliver(result.draft->text, file == "-" ? "" : file, FileUse::to_edit);
  if (delivered == exit_ok) tell(*result.draft, file, options);
  return delivered;
}

}  // namespace

CommandRow init_command() {
  const auto options = std::make_shared<InitOptions>();
  CommandRow command{"init", "Write a first scenario, with a plan that fits, from a few answers"};
  command.option("file", options->file, "FILE",
                 "Scenario to write (default: MODEL-HOSTSxHOST.yaml); - for standard output");
  command.option("--model", options->answers.model, "MODEL",
                 "Model: a name of foretrain show models, or a path to a config.json");
  add_host_options(command, options->answers.host, options->device,
                   "Host: a name of foretrain show hosts");
  command.option("--hosts", options->hosts, "N", "Number of hosts");
  command.option("--gpus", options->answers.gpus, "N",
                 "Number of GPUs in place of hosts: whole hosts, or a part of one",
                 {.range = {{1, 8'000'000}}, .excludes = {"--hosts"}});
  command.option("--sequence", options->answers.sequence, "N",
                 "Tokens in a sequence (default: 4096, or the positions of the model)");
  command.option("--tokens", options->answers.tokens, "COUNT", "Tokens of the run: \"2 T\"");
  command.option("--global-batch", options->answers.global_batch, "N",
                 "Sequences per step (default: about four million tokens)");
  command.option("--fabric", options->answers.fabric, "PRESET",
                 "Fabric preset (default: what the host's NICs are made for)");
  command.option("--price", options->answers.price, "PRICE", "Price: \"2.5 USD/GPU-hour\"");
  add_room_options(command, options->room);
  add_tuning_options(command, options->tuning, "Fine-tuning, without a search: ");
  command.option("--name", options->answers.name, "NAME", "Name of the scenario");
  add_folder_options(command, options->scenario.folders);
  add_force_option(command);
  command.texts = {
      .notes = "On a terminal, what the options leave open is asked for.",
      .examples =
          {"foretrain init",
           "foretrain init run.yaml --model llama3-8b --host dgx-h100 --hosts 4 --tokens \"1 T\"",
           "foretrain init one.yaml --model llama3-8b --device l40s --gpus 4",
           "foretrain init tune.yaml --model llama3.1-8b --device rtx4090 --gpus 1 --qlora 16",
           "foretrain init - --model ./config.json --host aws-p5 --hosts 16 | foretrain simulate "
           "-"},
      .exits = {{exit_ok, "written"}, {exit_infeasible, "no plan fits"}}};
  command.run = [options] { return init(*options); };
  return command;
}

}  // namespace foretrain
