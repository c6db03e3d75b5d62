// SPDX-License-Identifier: Apache-2.0
#include "planner/diagnosis/internal/diagnosis_words.hpp"

#include <fmt/format.h>

#include <cmath>

#include "calibration/diagnosis/hypothesis.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;

std::string percent_apart(double ratio) {
  return fmt::format("{:.1f} % {}", std::abs(100.0 * (ratio - 1.0)), ratio < 1.0 ? "less" : "more");
}

std::string text_of(double seconds) { return seconds_text(Seconds{seconds}); }

void add_step(const DiagnosisReport& report, Lines& lines) {
  const RunCourse& course = report.diagnosis.course;
  const StepForecast& forecast = report.diagnosis.forecast;
  lines.emplace_back(
      "step", fmt::format("{} in the median of {} records, P10 {}, P90 {}", text_of(course.median),
                          course.records, text_of(course.p10), text_of(course.p90)));
  lines.emplace_back(
      "forecast",
      fmt::format("{} (P10 {}, P90 {}): the run takes {} than that, {} the band",
                  seconds_text(forecast.time), seconds_text(forecast.low),
                  seconds_text(forecast.high), percent_apart(course.median / forecast.time.value()),
                  report.diagnosis.in_band ? "inside" : "outside"));
}

void add_course(const RunCourse& course, Lines& lines) {
  constexpr long few = 20;
  if (course.records < few) {
    lines.emplace_back("course", "too few records to tell drift, stalls or their distances");
    return;
  }
  lines.emplace_back("spread", fmt::format("{:.1f} % from step to step, drift {:+.1f} %",
                                           100.0 * course.spread, 100.0 * course.drift));
  if (course.shift)
    lines.emplace_back("level", fmt::format("from step {} on, steps take {}", course.shift->step,
                                            percent_apart(course.shift->ratio)));
  if (course.stall_count > 0) {
    std::string text = fmt::format("{} slow steps, {:.1f} % of the time", course.stall_count,
                                   100.0 * course.stalled_share());
    if (course.period) text += fmt::format(", most of them {:.0f} steps apart", *course.period);
    if (course.stalls_at_checkpoints > 0)
      text += fmt::format(", {} at checkpoints", course.stalls_at_checkpoints);
    lines.emplace_back("stalls", text);
  } else {
    lines.emplace_back("stalls", "none");
  }
}

void add_pauses(const RunCourse& course, Lines& lines) {
  if (!course.wall_seconds) {
    lines.emplace_back("pauses", "not told: lines of steps have no time stamps");
    return;
  }
  lines.emplace_back("pauses", course.pauses == 0
                                   ? "none between steps"
                                   : fmt::format("{} between steps, {}; of it {} at checkpoints",
                                                 course.pauses, text_of(course.paused_seconds),
                                                 text_of(course.paused_at_checkpoints)));
  lines.emplace_back("productive", fmt::format("{} of {}", percent_text(*course.productive),
                                               duration_text(Seconds{*course.wall_seconds})));
}

void add_memory(const DiagnosisReport& report, Lines& lines) {
  const TrainingLog& log = report.log;
  const ExpectedRun& expected = report.diagnosis.expected;
  const bool reserved = log.memory_kind == "reserved";
  const double forecast = reserved ? expected.reserved : expected.allocated;
  const std::string of_forecast =
      fmt::format("{} forecast, of {} that a process can get", bytes_text(Bytes{forecast}),
                  bytes_text(Bytes{expected.usable}));
  if (!log.memory_max_bytes) {
    lines.emplace_back("memory", "the log does not say; " + of_forecast);
    return;
  }
  lines.emplace_back("memory",
                     fmt::format("{} {} at most; {}", bytes_text(Bytes{*log.memory_max_bytes}),
                                 log.memory_kind, of_forecast));
}

}  // namespace

Lines course_lines(const DiagnosisReport& report) {
  Lines lines;
  add_step(report, lines);
  add_course(report.diagnosis.course, lines);
  add_pauses(report.diagnosis.course, lines);
  add_memory(report, lines);
  return lines;
}

std::string signed_seconds(double seconds) {
  return (seconds < 0.0 ? "-" : "") + text_of(std::abs(seconds));
}

std::string cause_head(const RankedCause& cause) {
  std::string text = cause.title;
  if (!cause.setting.empty()) text += ": " + cause.setting;
  text += fmt::format(" ({:.0f} % likely", 100.0 * cause.likelihood);
  if (cause.id != unexplained_id) text += ", step " + text_of(cause.step);
  if (cause.share) text += fmt::format(", {:.0f} % of the gap", 100.0 * *cause.share);
  return text + ")";
}

std::string tied_sentence(const Diagnosis& diagnosis) {
  std::string names;
  for (std::size_t i = 0; i < diagnosis.tied; ++i)
    names += (i == 0 ? "" : ", ") + diagnosis.causes[i].id;
  return "This log does not tell these apart: " + names +
         ". The tests above would, each of its own cause.";
}

namespace {

std::string verdict_alone(const DiagnosisReport& report) {
  const Diagnosis& diagnosis = report.diagnosis;
  const RankedCause& first = diagnosis.causes.front();
  const double ratio = diagnosis.course.median / diagnosis.forecast.time.value();
  const std::string level =
      fmt::format("The run takes {} per step than forecast ({} against {})", percent_apart(ratio),
                  text_of(diagnosis.course.median), seconds_text(diagnosis.forecast.time));
  if (diagnosis.as_forecast())
    return "AS FORECAST. " + level +
           (diagnosis.in_band ? ", inside the band." : ", not far enough to name a cause.");
  if (first.id == unexplained_id) return "NOT EXPLAINED. " + level + ".";
  if (diagnosis.tied > 1)
    return "SEVERAL CAUSES FIT. " + level + ". First of them: " + first.title + ".";
  return level + ". Likeliest: " + first.title +
         (first.setting.empty() ? "" : " (" + first.setting + ")") + ".";
}

}  // namespace

std::string diagnosis_verdict(const DiagnosisReport& report) {
  const bool differ = !report.diagnosis.differences.empty();
  return verdict_alone(report) +
         (differ ? " But the log states other settings than the scenario: see below." : "");
}

}  // namespace foretrain
