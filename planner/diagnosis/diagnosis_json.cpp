// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "calibration/imports/log_text.hpp"
#include "planner/diagnosis/diagnosis_report.hpp"
#include "planner/diagnosis/internal/diagnosis_words.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json null_or(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json stalls_tree(const RunCourse& course) {
  Json list = Json::array();
  for (const Stall& stall : course.stalls)
    list.push_back({{"step", stall.step},
                    {"time_s", stall.seconds},
                    {"lost_s", stall.lost},
                    {"at_checkpoint", stall.at_checkpoint}});
  return {{"count", course.stall_count},
          {"lost_s", course.stalled_seconds},
          {"at_checkpoints", course.stalls_at_checkpoints},
          {"period_steps", null_or(course.period)},
          {"first", std::move(list)}};
}

Json sections_tree(const DiagnosisReport& report) {
  Json tree = Json::array();
  for (const auto& [section, times] : report.log.clues.sections) {
    const auto expected = report.diagnosis.expected.sections.find(section);
    const bool known = expected != report.diagnosis.expected.sections.end();
    tree.push_back({{"section", name_of(section)},
                    {"fastest_rank_s", times.least},
                    {"slowest_rank_s", times.most},
                    {"forecast_fastest_s", known ? Json(expected->second.least) : Json(nullptr)},
                    {"forecast_slowest_s", known ? Json(expected->second.most) : Json(nullptr)}});
  }
  return tree;
}

Json measured_tree(const DiagnosisReport& report) {
  const RunCourse& course = report.diagnosis.course;
  const LogClues& clues = report.log.clues;
  const bool stamped = course.wall_seconds.has_value();
  Json shift = nullptr;
  if (course.shift) shift = {{"step", course.shift->step}, {"ratio", course.shift->ratio}};
  return {{"format", report.log.format},
          {"step_time_s", course.median},
          {"p10_s", course.p10},
          {"p90_s", course.p90},
          {"records", course.records},
          {"spread", course.spread},
          {"drift", course.drift},
          {"level_shift", std::move(shift)},
          {"stalls", stalls_tree(course)},
          {"pauses", stamped ? Json(course.pauses) : Json(nullptr)},
          {"paused_s", stamped ? Json(course.paused_seconds) : Json(nullptr)},
          {"paused_at_checkpoints_s", stamped ? Json(course.paused_at_checkpoints) : Json(nullptr)},
          {"wall_s", null_or(course.wall_seconds)},
          {"productive_share", null_or(course.productive)},
          {"memory_max_bytes", null_or(report.log.memory_max_bytes)},
          {"memory_kind",
           report.log.memory_kind.empty() ? Json(nullptr) : Json(report.log.memory_kind)},
          {"rank_gap", null_or(clues.rank_gap)},
          {"clock_low_mhz", null_or(clues.clock_low_mhz)},
          {"clock_high_mhz", null_or(clues.clock_high_mhz)},
          {"busy_share_low", null_or(clues.use_low)},
          {"nics", null_or(clues.nics)}};
}

Json causes_tree(const Diagnosis& diagnosis) {
  Json tree = Json::array();
  for (const RankedCause& cause : diagnosis.causes) {
    Json evidence = Json::array();
    for (const Evidence& one : cause.evidence)
      evidence.push_back({{"what", one.what}, {"ln_ratio", one.weight}});
    tree.push_back({{"cause", cause.id},
                    {"title", cause.title},
                    {"setting", cause.setting.empty() ? Json(nullptr) : Json(cause.setting)},
                    {"likelihood", cause.likelihood},
                    {"lost_share", cause.lost},
                    {"step_time_s", cause.step},
                    {"share", null_or(cause.share)},
                    {"evidence", std::move(evidence)},
                    {"test", cause.test.empty() ? Json(nullptr) : Json(cause.test)}});
  }
  return tree;
}

Json findings_tree(const DiagnosisReport& report) {
  Json tree = Json::array();
  for (const RunFinding& finding : report.diagnosis.findings)
    tree.push_back({{"finding", name_of(finding.kind)},
                    {"size", finding.size},
                    {"lost_share", finding.lost},
                    {"what", finding_words(report, finding)}});
  return tree;
}

Json explanations_tree(const Diagnosis& diagnosis) {
  Json tree = Json::array();
  constexpr double least = 1e-3;
  for (const StepExplanation& one : diagnosis.explanations)
    if (one.likelihood >= least)
      tree.push_back({{"causes", one.causes}, {"likelihood", one.likelihood}});
  return tree;
}

Json memory_causes_tree(const Diagnosis& diagnosis) {
  Json tree = Json::array();
  for (const MemoryCause& one : diagnosis.memory_causes)
    tree.push_back({{"setting", one.setting}, {"bytes", one.bytes}});
  return tree;
}

Json waterfall_tree(const std::vector<WaterfallLine>& lines) {
  Json tree = Json::array();
  for (const WaterfallLine& line : lines)
    tree.push_back({{"label", line.label}, {"time_s", line.seconds}});
  return tree;
}

}  // namespace

std::string diagnosis_json(const DiagnosisReport& report) {
  const Diagnosis& diagnosis = report.diagnosis;
  Json tied = Json::array();
  for (std::size_t i = 0; i < diagnosis.tied && diagnosis.tied > 1; ++i)
    tied.push_back(fmt::format("{}", fmt::join(diagnosis.explanations[i].causes, "+")));
  Json differences = Json::array();
  for (const auto* const some : {&diagnosis.differences, &diagnosis.followed})
    for (const SettingDifference& one : *some)
      differences.push_back({{"key", one.key},
                             {"log", plain_text(one.log, 60)},
                             {"scenario", one.scenario},
                             {"followed", some == &diagnosis.followed}});
  const Json json{{"schema", "diagnosis/1"},
                  {"foretrain_version", version},
                  {"verdict", diagnosis_verdict(report)},
                  {"as_forecast", diagnosis.as_forecast()},
                  {"plan_from", report.plan_source},
                  {"measured", measured_tree(report)},
                  {"forecast",
                   {{"step_time_s", diagnosis.forecast.time.value()},
                    {"low_s", diagnosis.forecast.low.value()},
                    {"high_s", diagnosis.forecast.high.value()},
                    {"inside_band", diagnosis.in_band},
                    {"allocated_bytes", diagnosis.expected.allocated},
                    {"reserved_bytes", diagnosis.expected.reserved},
                    {"usable_bytes", diagnosis.expected.usable}}},
                  {"sections", sections_tree(report)},
                  {"findings", findings_tree(report)},
                  {"waterfall", waterfall_tree(diagnosis.waterfall)},
                  {"wall_waterfall", waterfall_tree(diagnosis.wall_waterfall)},
                  {"hypotheses", causes_tree(diagnosis)},
                  {"explanations", explanations_tree(diagnosis)},
                  {"memory_causes", memory_causes_tree(diagnosis)},
                  {"indistinguishable", std::move(tied)},
                  {"differences", std::move(differences)},
                  {"would_tell_more", diagnosis.missing},
                  {"assumptions", report.assumptions}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace foretrain
