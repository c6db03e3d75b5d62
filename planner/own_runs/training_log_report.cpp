// SPDX-License-Identifier: Apache-2.0
#include "planner/own_runs/training_log_report.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "calibration/imports/record_text.hpp"

namespace foretrain {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string shown_name(const TrainingLog& log, std::size_t file, LogNaming naming) {
  if (naming == LogNaming::anonymous) return fmt::format("log {}", file + 1);
  return plain_text(std::filesystem::path(log.files[file]).filename().string(), 200);
}

Json plan_json(const LoggedPlan& plan) {
  return {{"gpus", or_null(plan.gpus)},
          {"tensor", or_null(plan.tensor)},
          {"pipeline", or_null(plan.pipeline)},
          {"data", or_null(plan.data)},
          {"context", or_null(plan.context)},
          {"expert", or_null(plan.expert)},
          {"micro_batch", or_null(plan.micro_batch)},
          {"global_batch", or_null(plan.global_batch)},
          {"sequence", or_null(plan.sequence)},
          {"precision", plan.precision.empty() ? Json(nullptr) : Json(plan.precision)},
          {"zero", or_null(plan.zero)},
          {"accumulation", or_null(plan.accumulation)},
          {"virtual_stages", or_null(plan.virtual_stages)},
          {"layers", or_null(plan.layers)},
          {"hidden", or_null(plan.hidden)}};
}

Json events_json(const TrainingLog& log, LogNaming naming) {
  Json events = Json::array();
  for (const LogEvent& event : log.events)
    events.push_back({{"kind", name_of(event.kind)},
                      {"step", or_null(event.step)},
                      {"file", shown_name(log, static_cast<std::size_t>(event.file), naming)},
                      {"line", event.line},
                      {"what", event.what}});
  return events;
}

/// "gpus 64, tensor 4, ..." of what a plan says; the rest by name.
void add_plan(AnswerFacts& facts, const LoggedPlan& plan) {
  std::vector<std::string> known;
  std::vector<std::string> unknown;
  const Json said = plan_json(plan);
  for (const auto& [key, value] : said.items())
    if (value.is_null())
      unknown.push_back(key);
    else
      known.push_back(key + " " + (value.is_string() ? value.get<std::string>() : value.dump()));
  if (!known.empty()) facts.add("plan", fmt::format("{}", fmt::join(known, ", ")));
  if (!unknown.empty()) facts.add("not said", fmt::format("{}", fmt::join(unknown, ", ")));
}

std::string memory_text(const TrainingLog& log) {
  constexpr double gibi = 1073741824.0;
  return fmt::format("{:.2f} GiB", *log.memory_max_bytes / gibi);
}

AnswerFacts facts_of(const TrainingLog& log) {
  AnswerFacts facts;
  facts.add("format", log.format.empty() ? "no steps" : log.format);
  if (log.step) facts.add("step", log.step->how);
  if (log.memory_max_bytes)
    facts.add("memory", memory_text(log) + " " + log.memory_kind + " at most");
  add_plan(facts, log.plan);
  if (!log.gpu.empty()) facts.add("GPU", plain_text(log.gpu, 60));
  std::vector<std::string> counts;
  for (std::size_t kind = 0; kind < log_event_kinds; ++kind)
    if (log.event_counts[kind] > 0)
      counts.push_back(
          fmt::format("{} {}", log.event_counts[kind], name_of(static_cast<LogEventKind>(kind))));
  facts.add("events", counts.empty() ? "none" : fmt::format("{}", fmt::join(counts, ", ")));
  for (const std::string& remark : log.remarks) facts.add("remark", remark);
  return facts;
}

AnswerTable events_table(const TrainingLog& log, LogNaming naming) {
  constexpr std::size_t most = 20;
  AnswerTable table{{number_column("step"), words_column("event"), words_column("where")}};
  for (std::size_t i = 0; i < log.events.size() && i < most; ++i) {
    const LogEvent& event = log.events[i];
    table.add({event.step ? std::to_string(*event.step) : "", event.what,
               fmt::format("{}:{}", shown_name(log, static_cast<std::size_t>(event.file), naming),
                           event.line)});
  }
  return table;
}

AnswerHead log_head(const TrainingLog& log) {
  AnswerHead head;
  head.subject = "A training log";
  head.words = log.step ? fmt::format("{:.4g} S A STEP", log.step->median) : "NO STEP TIMES";
  head.sentence = fmt::format("{} record{}", log.iterations, log.iterations == 1 ? "" : "s");
  if (log.first_step && log.last_step)
    head.sentence += fmt::format(", of steps {} to {}", *log.first_step, *log.last_step);
  head.sentence += log.step ? fmt::format("; a step takes {:.4g} s, the median of {}.",
                                          log.step->median, log.step->records)
                            : "; the log says no times.";
  if (log.step)
    head.figures.push_back({"step", fmt::format("{:.4g} s", log.step->median),
                            fmt::format("{:.4g} to {:.4g} s", log.step->p10, log.step->p90)});
  if (log.tokens_per_s_per_gpu)
    head.figures.push_back({"tokens/s/GPU", fmt::format("{:.6g}", *log.tokens_per_s_per_gpu)});
  if (log.tflops_per_gpu)
    head.figures.push_back({"as logged", fmt::format("{:.4g} TFLOP/s/GPU", *log.tflops_per_gpu)});
  if (log.memory_max_bytes) head.figures.push_back({"memory", memory_text(log)});
  return head;
}

}  // namespace

std::string training_log_json(const TrainingLog& log, LogNaming naming) {
  Json json{{"schema", "log/1"},
            {"format", log.format.empty() ? Json(nullptr) : Json(log.format)},
            {"iterations", log.iterations},
            {"first_step", or_null(log.first_step)},
            {"last_step", or_null(log.last_step)}};
  json["step_time_s"] = nullptr;
  if (log.step)
    json["step_time_s"] = {{"median", log.step->median},
                           {"p10", log.step->p10},
                           {"p90", log.step->p90},
                           {"records", log.step->records},
                           {"from", log.step->how}};
  json["tokens_per_s_per_gpu"] = or_null(log.tokens_per_s_per_gpu);
  json["tflops_per_gpu"] = or_null(log.tflops_per_gpu);
  json["memory_max_bytes"] = or_null(log.memory_max_bytes);
  json["memory_kind"] = log.memory_kind.empty() ? Json(nullptr) : Json(log.memory_kind);
  json["plan"] = plan_json(log.plan);
  json["gpu"] = log.gpu.empty() ? Json(nullptr) : Json(plain_text(log.gpu, 60));
  json["versions"] = Json::array();
  for (const std::string& version : log.versions)
    json["versions"].push_back(plain_text(version, 60));
  json["events"] = events_json(log, naming);
  json["event_counts"] = Json::object();
  for (std::size_t kind = 0; kind < log_event_kinds; ++kind)
    json["event_counts"][std::string(name_of(static_cast<LogEventKind>(kind)))] =
        log.event_counts[kind];
  json["remarks"] = log.remarks;
  json["record"] = log_record(log, naming);
  return json.dump(2) + "\n";
}

Answer training_log_answer(const TrainingLog& log, LogNaming naming) {
  Answer answer{log_head(log)};
  answer.add("", facts_of(log));
  answer.add("Events", events_table(log, naming));
  return answer;
}

}  // namespace foretrain
