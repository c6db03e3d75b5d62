// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <ctime>
#include <filesystem>
#include <memory>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "models/layers/parameters.hpp"
#include "planner/cli/commands.hpp"
#include "planner/cli/files/framework_imports.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/text/format.hpp"
#include "scenarios/huggingface/huggingface.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/text_file.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain {
namespace {

struct ModelImportOptions {
  std::string file;
  std::string name;
  std::string out;
  std::string as;
  OwnFolders folders;
};

/// What was read, left aside and assumed goes to standard error: standard output is the model.
void tell(const HuggingFaceModel& model) {
  const LlmShape& shape = model.shape;
  write_diagnostic(
      fmt::format("read     {} values: {} parameters", model.values.size(), parameters(shape)));
  write_diagnostic("ignored  (no effect on sizes) " + joined_or_none(model.ignored));
  if (!model.unknown.empty())
    write_diagnostic("unknown  (nothing was made of them) " + joined_or_none(model.unknown));
  for (const std::string& sentence : model.assumed) write_diagnostic("assumed  " + sentence);
}

int import_config(const ModelImportOptions& options) {
  Diagnostics diagnostics;
  const YamlLimits limits;
  const auto text = read_text_file(options.file, options.file, limits.file_bytes, diagnostics);
  const auto root =
      text ? parse_yaml(*text, options.file, limits, diagnostics) : std::optional<YamlNode>{};
  const auto name_of_model = [&] {
    return options.name.empty() ? huggingface_model_name(*root, options.file) : options.name;
  };
  const auto model =
      root ? import_huggingface(*root, {name_of_model(), options.as, own_roots(options.folders)},
                                diagnostics)
           : std::optional<HuggingFaceModel>{};
  diagnostics.throw_if_any();
  tell(*model);
  if (model->packed) write_diagnostic("assumed  " + model->packed->sentence());
  const std::string date = fmt::format(
      "{:%Y-%m-%d}",
      fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
  const std::string source = "imported from the Hugging Face configuration " +
                             std::filesystem::path(options.file).filename().string();
  return deliver(model_catalog_text(*model, source, date), options.out, FileUse::to_edit);
}

}  // namespace

Command add_import_command(CLI::App& program) {
  const auto options = std::make_shared<ModelImportOptions>();
  CLI::App* app = program.add_subcommand("import", "Turn another tool's file into one of ours");
  CLI::App* config = app->add_subcommand(
      "hf", "A Hugging Face config.json into a model file in the format of models/catalog");
  config->add_option("config", options->file, "Configuration file")->required()->type_name("FILE");
  config
      ->add_option("--name", options->name, "Name of the model; by default the file's or folder's")
      ->type_name("NAME");
  add_family_option(*config, options->as);
  add_folder_options(*config, options->folders);
  config->add_option("--out", options->out, "Write to a file instead of standard output")
      ->type_name("FILE");
  guard_outputs(*config, FileUse::to_edit, {"--out"});
  std::vector<Command> parts{{config, [options] { return import_config(*options); }}};
  for (Command& part : add_topology_imports(*app)) parts.push_back(std::move(part));
  for (Command& part : add_framework_imports(*app)) parts.push_back(std::move(part));
  parts.push_back(add_training_log_import(*app));
  app->require_subcommand(1);
  app->footer(
      "Examples:\n"
      "  foretrain import hf config.json --name my-model --out my-model.yaml\n"
      "  foretrain import megatron pretrain_gpt.sh --out run.yaml\n"
      "  foretrain import log train.log --out mine.yaml\n"
      "  foretrain fit run.yaml --set model=./config.json   (without importing it)\n"
      "What was read, ignored and assumed is listed on standard error.\n"
      "Exit codes: 0 imported, 2 bad usage or input.");
  return {app, [parts] { return parsed_command(parts)->run(); }};
}

}  // namespace foretrain
