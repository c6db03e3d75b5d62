// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/commands.hpp"

#include <memory>

#include "calibration/training_logs/read_training_log.hpp"
#include "planner/cli/answer_output.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/own_runs/training_log_report.hpp"
#include "planner/text/shell_word.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
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
