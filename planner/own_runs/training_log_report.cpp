// SPDX-License-Identifier: Apache-2.0
#include "planner/own_runs/training_log_report.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "calibration/imports/log_text.hpp"

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
void add_plan(std::string& text, const LoggedPlan& plan) {
  std::string known;
  std::string unknown;
  const Json said = plan_json(plan);
  for (const auto& [key, value] : said.items()) {
    std::string& list = value.is_null() ? unknown : known;
    if (!list.empty()) list += ", ";
    list += key;
    if (!value.is_null())
      list += " " + (value.is_string() ? value.get<std::string>() : value.dump());
  }
  text += fmt::format("plan        {}\n", known.empty() ? "not said" : known);
  if (!known.empty() && !unknown.empty())
    text += fmt::format("            not said: {}\n", unknown);
}

void add_rates(std::string& text, const TrainingLog& log) {
  constexpr double gibi = 1073741824.0;
  if (log.step) {
    text += fmt::format("step        {:.4g} s median, {:.4g} to {:.4g} s from P10 to P90 of {}\n",
                        log.step->median, log.step->p10, log.step->p90, log.step->records);
    text += fmt::format("            {}\n", log.step->how);
  } else {
    text += "step        the log says no times\n";
  }
  if (log.tokens_per_s_per_gpu)
    text += fmt::format("tokens      {:.6g} per second and GPU\n", *log.tokens_per_s_per_gpu);
  if (log.tflops_per_gpu)
    text += fmt::format("compute     {:.4g} TFLOP/s per GPU, as the log counts them\n",
                        *log.tflops_per_gpu);
  if (log.memory_max_bytes)
    text += fmt::format("memory      {:.2f} GiB {} at most\n", *log.memory_max_bytes / gibi,
                        log.memory_kind);
}

void add_events(std::string& text, const TrainingLog& log, LogNaming naming) {
  constexpr std::size_t most = 20;
  for (std::size_t i = 0; i < log.events.size() && i < most; ++i) {
    const LogEvent& event = log.events[i];
    text += fmt::format("{}{}{} ({}:{})\n", i == 0 ? "events      " : "            ",
                        event.step ? fmt::format("step {}: ", *event.step) : "", event.what,
                        shown_name(log, static_cast<std::size_t>(event.file), naming), event.line);
  }
  std::string all;
  for (std::size_t kind = 0; kind < log_event_kinds; ++kind)
    if (log.event_counts[kind] > 0)
      all += fmt::format("{}{} {}", all.empty() ? "" : ", ", log.event_counts[kind],
                         name_of(static_cast<LogEventKind>(kind)));
  text += fmt::format("in all      {}\n", all.empty() ? "no events" : all);
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

std::string training_log_text(const TrainingLog& log, LogNaming naming) {
  std::string text = fmt::format("format      {}\n", log.format.empty() ? "no steps" : log.format);
  text += fmt::format("records     {}", log.iterations);
  if (log.first_step && log.last_step)
    text += fmt::format(", of steps {} to {}", *log.first_step, *log.last_step);
  text += "\n";
  add_rates(text, log);
  add_plan(text, log.plan);
  if (!log.gpu.empty()) text += fmt::format("GPU         {}\n", plain_text(log.gpu, 60));
  add_events(text, log, naming);
  for (const std::string& remark : log.remarks) text += "remark      " + remark + "\n";
  return text;
}

}  // namespace foretrain
