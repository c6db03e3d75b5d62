// SPDX-License-Identifier: Apache-2.0
#include "planner/constants/measured_logs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "calibration/imports/record_text.hpp"
#include "planner/text/json.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/sha256.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace {

std::vector<ImportedLog> plain(const std::vector<MeasuredLog>& logs) {
  std::vector<ImportedLog> all;
  for (const MeasuredLog& one : logs) all.push_back(one.log);
  return all;
}

std::string machine_of(const ImportedLog& log) {
  const LogFacts& facts = log.facts;
  std::string text = facts.gpu;
  if (!facts.device.empty() && facts.device != facts.gpu)
    text += (text.empty() ? "" : " = ") + facts.device;
  if (facts.gpus > 0) text = fmt::format("{} x {}", facts.gpus, text.empty() ? "GPU" : text);
  if (facts.nodes > 1) text += fmt::format(" on {} hosts", facts.nodes);
  for (const std::string& part : {facts.driver.empty() ? "" : "driver " + facts.driver,
                                  facts.library, facts.date, facts.benchmark})
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  return text.empty() ? "not stated" : text;
}

std::string counts_of(const ImportedLog& log) {
  std::string text;
  const auto add = [&](std::size_t count, const char* what) {
    if (count > 0)
      text +=
          fmt::format("{}{} {}{}", text.empty() ? "" : ", ", count, what, count == 1 ? "" : "s");
  };
  add(log.sweeps.size(), "collective");
  add(log.kernels.size(), "kernel");
  add(log.links.size(), "link");
  add(log.runs.size(), "run");
  if (!log.run_records.empty()) text += text.empty() ? "training runs" : ", training runs";
  return text;
}

Json word(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

}  // namespace

std::vector<std::filesystem::path> measured_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  const auto add = [&](const char* name) {
    if (std::filesystem::is_regular_file(folder / name, error)) files.push_back(folder / name);
  };
  for (const char* name : {"kernels.csv", "nccl_sweeps.csv", "runs.yaml"}) add(name);
  std::vector<std::filesystem::path> runs;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("runs-") && name.ends_with(".yaml")) runs.push_back(entry.path());
  }
  std::ranges::sort(runs);
  files.insert(files.end(), runs.begin(), runs.end());
  if (files.empty())
    for (const char* name : {"gpubench.jsonl", "ncclbench.jsonl"}) add(name);
  if (files.empty())
    throw UsageError(
        "in the folder " + in_quotes(folder.string()) +
        " is none of kernels.csv, nccl_sweeps.csv, runs.yaml and runs-NAME.yaml, which "
        "calibrate import writes, nor gpubench.jsonl and ncclbench.jsonl of calibrate "
        "run; name files, or another folder");
  return files;
}

std::vector<MeasuredLog> read_logs(const LogRequest& request) {
  Diagnostics diagnostics;
  std::vector<MeasuredLog> logs;
  for (const std::filesystem::path& file : request.files) {
    const std::string name = file.string();
    const auto text = read_text_file(file, name, most_log_bytes, diagnostics);
    if (!text) continue;
    logs.push_back(
        {import_log(*text, name, request.format, request.options, diagnostics), sha256_hex(*text)});
  }
  diagnostics.throw_if_any();
  return logs;
}

Answer logs_answer(const std::vector<MeasuredLog>& logs) {
  Answer answer;
  std::size_t records = 0;
  std::size_t left_out = 0;
  for (const MeasuredLog& one : logs) {
    const ImportedLog& log = one.log;
    const auto dropped = static_cast<std::size_t>(
        std::ranges::count_if(log.flagged, [](const FlaggedRow& row) { return !row.kept; }));
    AnswerFacts facts;
    facts.add("format", std::string(name_of(log.format)));
    facts.add("machine", machine_of(log));
    facts.add("records", counts_of(log));
    for (const std::string& remark : log.remarks) facts.add("note", remark);
    if (!log.flagged.empty())
      facts.add("flagged",
                fmt::format("{} rows left out, {} kept", dropped, log.flagged.size() - dropped));
    answer.add(log.file, std::move(facts));
    records += log.sweeps.size() + log.kernels.size() + log.links.size() + log.runs.size();
    left_out += dropped;
  }
  AnswerHead& head = answer.head;
  head.subject = "Measurements read";
  head.words = fmt::format("{} RECORDS", records);
  head.sentence =
      fmt::format("{} record{} of {} file{}; {} row{} left out.", records, records == 1 ? "" : "s",
                  logs.size(), logs.size() == 1 ? "" : "s", left_out, left_out == 1 ? "" : "s");
  return answer;
}

std::string logs_json(const std::vector<MeasuredLog>& logs) {
  Json files = Json::array();
  for (const MeasuredLog& one : logs) {
    const ImportedLog& log = one.log;
    Json flagged = Json::array();
    for (const FlaggedRow& row : log.flagged)
      flagged.push_back({{"line", row.line}, {"kept", row.kept}, {"what", row.what}});
    files.push_back({{"file", log.file},
                     {"sha256", one.sha256},
                     {"format", name_of(log.format)},
                     {"tool", word(log.facts.tool)},
                     {"gpu", word(log.facts.gpu)},
                     {"device", word(log.facts.device)},
                     {"driver", word(log.facts.driver)},
                     {"library", word(log.facts.library)},
                     {"date", word(log.facts.date)},
                     {"sweeps", log.sweeps.size()},
                     {"kernels", log.kernels.size()},
                     {"links", log.links.size()},
                     {"runs", log.runs.size()},
                     {"flagged", std::move(flagged)},
                     {"remarks", log.remarks}});
  }
  return dump({{"files", std::move(files)}});
}

std::vector<RecordFileText> record_files_of(const std::vector<MeasuredLog>& logs) {
  const std::vector<ImportedLog> all = plain(logs);
  bool kernels = false;
  bool sweeps = false;
  bool runs = false;
  std::vector<RecordFileText> files;
  for (const ImportedLog& log : all) {
    kernels = kernels || !log.kernels.empty() || !log.links.empty();
    sweeps = sweeps || !log.sweeps.empty();
    runs = runs || !log.runs.empty();
    if (!log.run_records.empty())
      files.push_back({"runs-" + stem_of(log.file) + ".yaml", log.run_records});
  }
  if (kernels) files.push_back({"kernels.csv", kernel_table_text(all)});
  if (sweeps) files.push_back({"nccl_sweeps.csv", sweep_table_text(all)});
  if (runs) files.push_back({"runs.yaml", run_records_text(all)});
  return files;
}

}  // namespace foretrain
