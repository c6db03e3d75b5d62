// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <system_error>

#include "planner/cli/answer_output.hpp"
#include "planner/cli/commands.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/text/quoting.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/fields/field_table.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

struct ImportOptionsOfCommand {
  LogOptions logs;
  std::string out;      ///< a folder
  AnswerOutput output;  ///< its `out` is not used
};

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!fs::is_directory(folder))
    throw UsageError("--out " + in_quotes(folder.string()) + " is not a folder and cannot be made");
}

int run_import(const ImportOptionsOfCommand& options) {
  const std::vector<MeasuredLog> logs = read_logs(log_request(options.logs));
  tell_flagged(logs);
  if (!options.out.empty()) {
    const fs::path folder(options.out);
    make_folder(folder);
    std::vector<TextFile> files;
    for (const RecordFileText& file : record_files_of(logs))
      files.push_back({folder / file.name, file.text});
    files.push_back({folder / "import.json", logs_json(logs)});
    write_files(files, FileUse::to_edit);
    for (const TextFile& file : files) write_diagnostic("wrote " + file.path.string());
  }
  return deliver_answer(options.output, {"measurements", [&] { return logs_json(logs); }}, [&] {
    Answer answer = logs_answer(logs);
    answer.head.next =
        "foretrain calibrate check " +
        (options.out.empty() ? shell_words(options.logs.files) : shell_word(options.out));
    return answer;
  });
}

}  // namespace

void add_log_options(CommandRow& command, LogOptions& options) {
  command.option("--format", options.format, "NAME",
                 "Format of the files; by default by their content");
  command.option("--gpu", options.gpu, "NAME",
                 "GPU of logs that do not name it: a catalog device or the name the vendor prints");
  command.option("--nodes", options.nodes, "N", "Hosts that took part, where the log does not say",
                 {.range = {{1, 1'000'000}}});
  command.option("--gpus-per-node", options.gpus_per_node, "N",
                 "GPUs of each host, where the log does not say", {.range = {{1, 1024}}});
  command.option("--collective", options.collective, "NAME",
                 "Operation of an nccl-tests log that leaves it open, e.g. alltoall");
  command.option("--network", options.network, "TEXT", "Words for what connects the hosts");
  command.option("--host", options.host, "NAME", "Hosts as the catalog calls them, e.g. dgx-h100");
  command.option("--fabric", options.fabric, "NAME", "Fabric preset of the catalog, e.g. ib-ndr");
}

LogRequest log_request(const LogOptions& options) {
  LogRequest request;
  for (const std::string& file : options.files) {
    if (!fs::is_directory(file)) {
      request.files.emplace_back(file);
      continue;
    }
    for (fs::path& found : measured_files(file)) request.files.push_back(std::move(found));
  }
  if (!options.format.empty()) {
    request.format = from_name<LogFormat>(options.format);
    if (!request.format) refuse_value("--format", options.format, choices_of<LogFormat>());
  }
  request.options = {options.gpu,     options.nodes, options.gpus_per_node, options.collective,
                     options.network, options.host,  options.fabric};
  return request;
}

void tell_flagged(const std::vector<MeasuredLog>& logs) {
  constexpr std::size_t most = 50;
  for (const MeasuredLog& one : logs) {
    std::size_t told = 0;
    for (const FlaggedRow& row : one.log.flagged) {
      if (++told > most) break;
      write_diagnostic(fmt::format("{}:{}: {}: {}", one.log.file, row.line,
                                   row.kept ? "kept" : "left out", row.what));
    }
    if (one.log.flagged.size() > most)
      write_diagnostic(fmt::format("{}: {} more flagged rows; --json lists them", one.log.file,
                                   one.log.flagged.size() - most));
  }
}

CommandRow calibrate_import_command() {
  const auto options = std::make_shared<ImportOptionsOfCommand>();
  CommandRow command{"import", "Read logs of benchmarks and profilers as measured records"};
  command.option("files", options->logs.files, "FILE|DIR", "Logs, or folders of calibrate run",
                 {.required = true});
  add_log_options(command, options->logs);
  command.option("--out", options->out, "DIR",
                 "Write kernels.csv, nccl_sweeps.csv, runs.yaml and import.json into this folder",
                 {.writes = FileUse::to_edit});
  add_answer_forms(command, options->output, "what was read");
  command.texts = {
      .notes = "Formats: " + joined(choices_of<LogFormat>()) +
               "\nRows that were left out are listed on standard error, with their lines.",
      .examples =
          {"foretrain calibrate import all_reduce.log --fabric ib-ndr --out records",
           "foretrain calibrate import gpubench.jsonl ncclbench.jsonl trace.json --out records",
           "foretrain calibrate import run1 --out records"},
      .exits = {{exit_ok}}};
  command.run = [options] { return run_import(*options); };
  return command;
}

}  // namespace foretrain
