// SPDX-License-Identifier: Apache-2.0

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <memory>

#include "calibration/training_logs/read_training_log.hpp"
#include "models/layers/parameters.hpp"
#include "planner/cli/answer_output.hpp"
#include "planner/cli/commands.hpp"
#include "planner/cli/files/framework_imports.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/own_runs/scenario_file.hpp"
#include "planner/own_runs/training_log_report.hpp"
#include "planner/text/format.hpp"
#include "planner/text/quoting.hpp"
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

struct RecordOptions {
  std::string file;
  std::string out;
  OwnFolders folders;
};

int import_run(const RecordOptions& options) {
  const ImportedRecord record = import_record_file(options.file, own_roots(options.folders));
  for (const std::string& sentence : record.assumed) write_diagnostic("assumed  " + sentence);
  return deliver(record.text, options.out, FileUse::to_edit);
}

CommandRow record_import() {
  const auto options = std::make_shared<RecordOptions>();
  CommandRow command{"record", "A measured run (validate --runs) into a scenario"};
  command.option("record", options->file, "FILE",
                 "File of measured runs; FILE#ID names one of several", {.required = true});
  add_folder_options(command, options->folders);
  add_edited_output(command, options->out);
  command.run = [options] { return import_run(*options); };
  return command;
}

}  // namespace

CommandRow import_command() {
  CommandRow command{"import", "Turn another tool's file into one of ours"};
  command.commands = {huggingface_import(), record_import()};
  for (CommandRow& part : topology_imports()) command.commands.push_back(std::move(part));
  for (CommandRow& part : framework_imports()) command.commands.push_back(std::move(part));
  command.commands.push_back(training_log_import());
  command.texts = {
      .notes = "What was read, ignored and assumed is listed on standard error.",
      .examples = {"foretrain import hf config.json --name my-model --out my-model.yaml",
                   "foretrain import megatron pretrain_gpt.sh --out run.yaml",
                   "foretrain import log train.log --out mine.yaml",
                   "foretrain import record mine.yaml#run-7 --out run.yaml",
                   "foretrain fit run.yaml --set model=./config.json   (without importing it)"},
      .exits = {{exit_ok, "imported"}}};
  return command;
}

namespace {

struct TrainingLogOptions {
  std::vector<std::string> files;
  std::string out;      ///< the record
  AnswerOutput output;  ///< its `out` is not used
  bool anonymise = false;
};

int import_training_log(const TrainingLogOptions& options) {
  Diagnostics diagnostics;
  const TrainingLog log = read_training_log(options.files, diagnostics);
  diagnostics.throw_if_any();
  const LogNaming naming = options.anonymise ? LogNaming::anonymous : LogNaming::file;
  if (!options.out.empty()) {
    write_file(options.out, log_record_text(log, naming), FileUse::to_edit);
    write_diagnostic("wrote " + options.out);
  }
  return deliver_answer(
      options.output, {"training log", [&] { return training_log_json(log, naming); }}, [&] {
        Answer answer = training_log_answer(log, naming);
        answer.head.next = options.out.empty()
                               ? "foretrain diagnose " + shell_words(options.files)
                               : "foretrain validate --runs " + shell_word(options.out);
        return answer;
      });
}

/// "megatron-lm, nemo, ..." on lines of at most 80 characters.
std::string listed_formats() {
  std::string text = "Formats, told by their content:";
  std::size_t column = text.size();
  for (const TrainingLogFormat& format : training_log_formats()) {
    constexpr std::size_t width = 78;
    if (column + format.name.size() + 2 > width) {
      text += "\n ";
      column = 1;
    }
    text += " " + format.name + ",";
    column += format.name.size() + 2;
  }
  text.back() = '\n';
  return text;
}

}  // namespace

CommandRow training_log_import() {
  const auto options = std::make_shared<TrainingLogOptions>();
  CommandRow command{"log", "Training logs of one run into a record of its steps, plan and memory"};
  command.option("logs", options->files, "FILE", "Logs of one run, rotated or by rank",
                 {.required = true});
  command.option("-o,--out", options->out, "FILE",
                 "Write the record, for `validate --runs`, to a file",
                 {.writes = FileUse::to_edit});
  add_answer_forms(command, options->output, "schema log/1, with the record in it");
  command.flag("--anonymise", options->anonymise, "Leave names of files out, for sharing");
  command.texts = {
      .notes = listed_formats() +
               "Paths, hosts, users and messages of a log are never taken over.\n"
               "The median leaves out the first five steps where there are ten records or more.",
      .examples = {"foretrain import log train.log --out mine.yaml",
                   "foretrain import log rank0.log rank1.log --json",
                   "foretrain import log train.log.1 train.log --anonymise --out shared.yaml"},
      .exits = {{exit_ok, "imported"},
                {exit_usage, "bad usage, no text, or nothing of a run in it"}}};
  command.run = [options] { return import_training_log(*options); };
  return command;
}

}  // namespace foretrain
