// SPDX-License-Identifier: Apache-2.0
#include "planner/diagnosis/internal/diagnosis_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibration/diagnosis/hypotheses.hpp"
#include "calibration/imports/record_text.hpp"
#include "models/base/text.hpp"
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
  if (!report.diagnosis.differences.empty()) return;
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
    lines.emplace_back("course", "too few records to tell drift, slow steps or their period");
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

/// "a pause of about 175 s every 50 steps". @pre there are pauses
std::string pause_words(const RunCourse& course) {
  const std::string one = text_of(course.usual_pause);
  if (!course.pause_period)
    return fmt::format("{} of about {} each", counted(course.pauses, "pause"), one);
  return fmt::format("a pause of about {} every {:.0f} steps", one, *course.pause_period);
}

void add_pauses(const RunCourse& course, Lines& lines) {
  if (!course.wall_seconds) {
    lines.emplace_back("pauses", "unknown: the log has no time stamps");
    return;
  }
  lines.emplace_back("pauses",
                     course.pauses == 0
                         ? "none between steps"
                         : fmt::format("{} between steps, {}; of it {} at checkpoints; {}",
                                       course.pauses, text_of(course.paused_seconds),
                                       text_of(course.paused_at_checkpoints), pause_words(course)));
  lines.emplace_back("productive", fmt::format("{} of {}", percent_text(*course.productive),
                                               duration_text(Seconds{*course.wall_seconds})));
}

void add_memory(const DiagnosisReport& report, Lines& lines) {
  const TrainingLog& log = report.log;
  const ExpectedRun& expected = report.diagnosis.expected;
  const bool reserved = log.memory_kind == "reserved";
  if (!report.diagnosis.differences.empty()) {
    if (log.memory_max_bytes)
      lines.emplace_back(
          "memory",
          fmt::format("{} {} at most", bytes_text(Bytes{*log.memory_max_bytes}), log.memory_kind));
    return;
  }
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
  constexpr double long_time = 600.0;
  const Seconds size{std::abs(seconds)};
  return (seconds < 0.0 ? "-" : "") +
         (size.value() < long_time ? seconds_text(size) : duration_text(size));
}

const char* wall_title(const Diagnosis& diagnosis) {
  return diagnosis.course.wall_seconds ? "Run: where its wall time goes"
                                       : "Run: where the time of its steps goes";
}

double waterfall_top(const std::vector<WaterfallLine>& lines) {
  double most = lines.back().seconds;
  double sum = 0.0;
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    sum += lines[i].seconds;
    most = std::max(most, sum);
  }
  return most;
}

std::string cause_head(const RankedCause& cause) {
  if (cause.id == as_forecast_id || cause.id == unexplained_id)
    return fmt::format("{} ({:.0f} %)", cause.title, 100.0 * cause.likelihood);
  std::string text = cause.title;
  if (!cause.setting.empty()) text += ": " + cause.setting;
  text += fmt::format(" ({:.0f} % likely", 100.0 * cause.likelihood);
  if (cause.share) text += ", step " + text_of(cause.step);
  if (cause.share) text += fmt::format(", {:.0f} % of the gap", 100.0 * *cause.share);
  if (!cause.share && cause.lost >= 0.001)
    text += ", costs " + percent_text(cause.lost) + " of the time";
  return text + ")";
}

namespace {

std::string explanation_words(const Diagnosis& diagnosis, const StepExplanation& explanation,
                              bool settings) {
  std::string text;
  for (const std::string& id : explanation.causes) {
    const RankedCause& cause = diagnosis.cause(id);
    text += (text.empty() ? "" : " together with ") + cause.title;
    if (settings && !cause.setting.empty()) text += " (" + cause.setting + ")";
  }
  return text;
}

/// What explains the level of steps, or that the log cannot tell.
std::string cause_sentence(const Diagnosis& diagnosis) {
  if (!can_name_causes(diagnosis))
    return fmt::format("{} cannot identify a cause; a log of {} steps and more may.",
                       counted(diagnosis.course.records, "record"), fewest_records);
  const StepExplanation& first = diagnosis.explanations.front();
  if (diagnosis.tied > 1) {
    std::string names;
    for (std::size_t i = 0; i < diagnosis.tied; ++i)
      names += (i == 0                    ? ""
                : i + 1 == diagnosis.tied ? " or "
                                          : ", ") +
               explanation_words(diagnosis, diagnosis.explanations[i], false);
    return "The log cannot identify the cause: " + names + ".";
  }
  if (first.causes.front() == as_forecast_id)
    return fmt::format(
        "Nothing in the log points to a cause; it is consistent with forecast error ({:.0f} %).",
        100.0 * first.likelihood);
  if (first.causes.front() == unexplained_id) return "No known cause explains it.";
  return "Likeliest: " + explanation_words(diagnosis, first, true) + ".";
}

std::string band_words(const Diagnosis& diagnosis) {
  const StepForecast& forecast = diagnosis.forecast;
  return fmt::format("{} per step, forecast {} ({} to {})", text_of(diagnosis.course.median),
                     seconds_text(forecast.time), seconds_text(forecast.low),
                     seconds_text(forecast.high));
}

std::string percent(double share) { return fmt::format("{:.0f} %", 100.0 * std::abs(share)); }

std::string shift_words(const LevelShift& shift) {
  const double ratio = std::max(shift.ratio, 1.0 / shift.ratio);
  return shift.ratio > 1.0 ? fmt::format("SLOWER FROM STEP {}: steps take {} longer than before",
                                         shift.step, percent(ratio - 1.0))
                           : fmt::format("SLOW UNTIL STEP {}: steps took {} longer than since",
                                         shift.step, percent(ratio - 1.0));
}

/// Pauses that come at equal distances are rarely anything but checkpoints or evaluations, which
/// many logs do not name.
std::string pauses_words(const RunCourse& course, double size) {
  std::string text = fmt::format("{} OF THE TIME IS LOST BETWEEN STEPS: {}", percent_text(size),
                                 pause_words(course));
  if (course.paused_at_checkpoints > 0.0) return text + ", beside those at checkpoints";
  if (!course.pause_period) return text + ", where the log names no checkpoint";
  return text + fmt::format("; a checkpoint or an evaluation every {:.0f} steps would explain it",
                            *course.pause_period);
}

std::string memory_words(const DiagnosisReport& report, double size) {
  const bool reserved = report.log.memory_kind == "reserved";
  const ExpectedRun& expected = report.diagnosis.expected;
  return fmt::format("MEMORY {} {} FORECAST: {} {}, forecast {}", percent(size),
                     size > 0.0 ? "ABOVE" : "BELOW",
                     bytes_text(Bytes{*report.log.memory_max_bytes}), report.log.memory_kind,
                     bytes_text(Bytes{reserved ? expected.reserved : expected.allocated}));
}

}  // namespace

std::string finding_words(const DiagnosisReport& report, const RunFinding& finding) {
  const Diagnosis& diagnosis = report.diagnosis;
  const RunCourse& course = diagnosis.course;
  switch (finding.kind) {
    case FindingKind::slower:
      return fmt::format("{} SLOWER THAN FORECAST, outside the band: {}", percent(finding.size),
                         band_words(diagnosis));
    case FindingKind::faster:
      return fmt::format("{} FASTER THAN FORECAST, outside the band: {}", percent(finding.size),
                         band_words(diagnosis));
    case FindingKind::timers:
      return fmt::format(
          "PASSES {} {} THAN FORECAST, outside the band, by the run's timers; the whole step is "
          "inside: {}",
          percent(finding.size), finding.size > 0.0 ? "LONGER" : "SHORTER", band_words(diagnosis));
    case FindingKind::suspected:
      return fmt::format("INSIDE THE BAND, but the log speaks for a cause: {}",
                         band_words(diagnosis));
    case FindingKind::drift:
      return fmt::format(
          "STEPS GET {}: the last fifth of the run takes {} {} per step than the first",
          finding.size > 0.0 ? "SLOWER" : "FASTER", percent(finding.size),
          finding.size > 0.0 ? "longer" : "less");
    case FindingKind::level_shift:
      return shift_words(*course.shift);
    case FindingKind::checkpoints:
      return fmt::format("{} OF THE TIME IS LOST AT CHECKPOINTS ({})", percent_text(finding.size),
                         duration_text(Seconds{course.lost_at_checkpoints()}));
    case FindingKind::slow_steps:
      return fmt::format(
          "{} OF THE TIME IS LOST IN SINGLE SLOW STEPS{}", percent_text(finding.size),
          course.period ? fmt::format(", one every {:.0f} steps", *course.period) : "");
    case FindingKind::pauses:
      return pauses_words(course, finding.size);
    case FindingKind::memory:
      return memory_words(report, finding.size);
  }
  return "";
}

namespace {

/// Of what interrupts training, what the finding's time goes to.
std::string interruption_sentence(const Diagnosis& diagnosis, FindingKind kind) {
  const bool regular = kind == FindingKind::slow_steps && diagnosis.course.period;
  if (!regular) return "";
  constexpr double likely = 0.5;
  for (const RankedCause& cause : diagnosis.causes)
    if (cause.id == "garbage-collection" && cause.likelihood >= likely)
      return " Likeliest: " + cause.title + ".";
  return "";
}

/// Comes first: nothing else means much then.
std::string differences_sentence(const Diagnosis& diagnosis) {
  const auto& apart = diagnosis.differences.empty() ? diagnosis.followed : diagnosis.differences;
  if (apart.empty()) return "";
  const SettingDifference& first = apart.front();
  const std::size_t more = apart.size() - 1;
  const std::string what =
      fmt::format("the log has {} {}, the scenario {}{}", first.key, plain_text(first.log, 40),
                  first.scenario, more == 0 ? "" : fmt::format(", and {} more", more));
  if (diagnosis.differences.empty())
    return fmt::format("The forecast follows the log's batch: {}. ", what);
  return fmt::format(
      "THE LOG IS OF ANOTHER RUN: {}. Nothing is compared: give the scenario of this "
      "run, or change it with --set.",
      what);
}

std::string memory_sentence(const Diagnosis& diagnosis) {
  if (diagnosis.memory_causes.empty())
    return " No single setting of the plan would hold that much.";
  const MemoryCause& first = diagnosis.memory_causes.front();
  return fmt::format(" With {} the forecast would be {}.", first.setting,
                     bytes_text(Bytes{first.bytes}));
}

}  // namespace

std::string diagnosis_verdict(const DiagnosisReport& report) {
  const Diagnosis& diagnosis = report.diagnosis;
  std::string text = differences_sentence(diagnosis);
  if (!diagnosis.differences.empty()) return text;
  if (diagnosis.as_forecast()) text += "AS FORECAST: " + band_words(diagnosis) + ".";
  bool told = false;
  for (const RunFinding& finding : diagnosis.findings) {
    text +=
        (&finding == &diagnosis.findings.front() ? "" : " ") + finding_words(report, finding) + ".";
    if (is_level(finding.kind) && !told) text += " " + cause_sentence(diagnosis);
    told = told || is_level(finding.kind);
    text += interruption_sentence(diagnosis, finding.kind);
    if (finding.kind == FindingKind::memory) text += memory_sentence(diagnosis);
  }
  if (!diagnosis.as_forecast() && !told)
    text += " The step is as forecast: " + band_words(diagnosis) + ".";
  return text;
}

}  // namespace foretrain
