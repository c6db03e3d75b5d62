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

CommandRow huggingface_import() {
  const auto options = std::make_shared<ModelImportOptions>();
  CommandRow command{
      "hf", "A Hugging Face config.json into a model file in the format of models/catalog"};
  command.option("config", options->file, "FILE", "Configuration file", {.required = true});
  command.option("--name", options->name, "NAME",
                 "Name of the model; by default the file's or folder's");
  add_family_option(command, options->as);
  add_folder_options(command, options->folders);
  add_edited_output(command, options->out);
  command.run = [options] { return import_config(*options); };
  return command;
}

}  // namespace

CommandRow import_command() {
  CommandRow command{"import", "Turn another tool's file into one of ours"};
  command.commands = {huggingface_import()};
  for (CommandRow& part : topology_imports()) command.commands.push_back(std::move(part));
  for (CommandRow& part : framework_imports()) command.commands.push_back(std::move(part));
  command.commands.push_back(training_log_import());
  command.texts = {
      .notes = "What was read, ignored and assumed is listed on standard error.",
      .examples = {"foretrain import hf config.json --name my-model --out my-model.yaml",
                   "foretrain import megatron pretrain_gpt.sh --out run.yaml",
                   "foretrain import log train.log --out mine.yaml",
                   "foretrain fit run.yaml --set model=./config.json   (without importing it)"},
      .exits = {{exit_ok, "imported"}}};
  return command;
}

}  // namespace foretrain
