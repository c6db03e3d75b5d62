// SPDX-License-Identifier: Apache-2.0

#include "planner/diagnosis/diagnosis_report.hpp"

#include <fmt/format.h>
#include <utility>

#include "calibration/imports/record_text.hpp"
#include "calibration/training_logs/read_training_log.hpp"
#include "models/rules/plan_rules.hpp"
#include "planner/answer/value_json.hpp"
#include "planner/diagnosis/internal/diagnosis_words.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {

TrainingLog timed_log(const std::vector<std::string>& files) {
  Diagnostics diagnostics;
  TrainingLog log = read_training_log(files, diagnostics);
  diagnostics.throw_if_any();
  if (!log.step)
    throw UsageError(files.front() +
                     ": the log says no step times, so there is nothing to compare");
  return log;
}

DiagnosisReport compared_with(TrainingLog log, const Job& job, std::string plan_source) {
  if (const auto open = refusals(job); !open.empty())
    throw UsageError(plan_source + " cannot be forecast: " + open.front().message);
  DiagnosisReport report{std::move(log), job, std::move(plan_source), {}, {}};
  report.diagnosis = diagnose(report.log, report.job);
  return report;
}

namespace {

const ValueTable<Stall> stall_values =
    ValueTable<Stall>{}
        .add("step", &Stall::step)
        .add("time_s", &Stall::seconds)
        .add("lost_s", &Stall::lost, "Time lost compared with the records around it.")
        .add("at_checkpoint", &Stall::at_checkpoint);

const ValueTable<LevelShift> shift_values =
    ValueTable<LevelShift>{}
        .add("step", &LevelShift::step)
        .add("ratio", &LevelShift::ratio, "Step time after the shift over step time before.");

const ValueTable<DiagnosisReport>& measured_values() {
  using R = const DiagnosisReport&;
  using C = RunCourse;
  const auto course = [](auto RunCourse::*member) {
    return [member](R report) { return report.diagnosis.course.*member; };
  };
  /// Nothing where lines have no time stamps.
  const auto stamped = [](auto RunCourse::*member) {
    return [member](R report) {
      const RunCourse& run = report.diagnosis.course;
      return run.wall_seconds ? std::optional(run.*member) : std::nullopt;
    };
  };
  const auto clue = [](auto LogClues::*member) {
    return [member](R report) { return report.log.clues.*member; };
  };
  static const auto table =
      ValueTable<DiagnosisReport>{}
          .add("format", [](R report) { return report.log.format; })
          .add("step_time_s", course(&C::median), "Median.")
          .add("p10_s", course(&C::p10))
          .add("p90_s", course(&C::p90))
          .add("records", course(&C::records))
          .add("spread", course(&C::spread), "Relative spread of records around their neighbours.")
          .add("drift", course(&C::drift),
               "Mean of the last fifth of steps over the first fifth, minus 1.")
          .add("level_shift", course(&C::shift), shift_values)
          .add("stalls.count", course(&C::stall_count))
          .add("stalls.lost_s", course(&C::stalled_seconds))
          .add("stalls.at_checkpoints", course(&C::stalls_at_checkpoints))
          .add("stalls.period_steps", course(&C::period))
          .add("stalls.first", course(&C::stalls), stall_values)
          .add("pauses", stamped(&C::pauses),
               "Pauses between records, beyond the steps themselves.")
          .add("paused_s", stamped(&C::paused_seconds))
          .add("paused_at_checkpoints_s", stamped(&C::paused_at_checkpoints))
          .add("wall_s", course(&C::wall_seconds))
          .add("productive_share", course(&C::productive))
          .add("memory_max_bytes", [](R report) { return report.log.memory_max_bytes; })
          .add("memory_kind", [](R report) { return if_any(report.log.memory_kind); })
          .add("rank_gap", clue(&LogClues::rank_gap),
               "Step time of the slowest rank over the fastest.")
          .add("clock_low_mhz", clue(&LogClues::clock_low_mhz))
          .add("clock_high_mhz", clue(&LogClues::clock_high_mhz))
          .add("busy_share_low", clue(&LogClues::use_low))
          .add("nics", clue(&LogClues::nics));
  return table;
}

struct SectionShown {
  LogSection section;
  LoggedSection times;
  std::optional<ExpectedSection> expected;
};

std::vector<SectionShown> sections_of(const DiagnosisReport& report) {
  std::vector<SectionShown> sections;
  const auto& forecast = report.diagnosis.expected.sections;
  for (const auto& [section, times] : report.log.clues.sections) {
    const auto expected = forecast.find(section);
    sections.push_back(
        {section, times,
         expected == forecast.end() ? std::nullopt : std::optional(expected->second)});
  }
  return sections;
}

const ValueTable<SectionShown>& section_values() {
  using R = const SectionShown&;
  const auto expected = [](double ExpectedSection::*end) {
    return [end](R shown) {
      return shown.expected ? std::optional((*shown.expected).*end) : std::nullopt;
    };
  };
  static const auto table = ValueTable<SectionShown>{}
                                .add("section", &SectionShown::section)
                                .add("fastest_rank_s", [](R shown) { return shown.times.least; })
                                .add("slowest_rank_s", [](R shown) { return shown.times.most; })
                                .add("forecast_fastest_s", expected(&ExpectedSection::least))
                                .add("forecast_slowest_s", expected(&ExpectedSection::most));
  return table;
}

const ValueTable<Evidence> evidence_values =
    ValueTable<Evidence>{}
        .add("what", &Evidence::what)
        .add("ln_ratio", &Evidence::weight,
             "ln of the likelihood ratio with and without the cause.");

const ValueTable<RankedCause> cause_values =
    ValueTable<RankedCause>{}
        .add("cause", &RankedCause::id)
        .add("title", &RankedCause::title)
        .add("setting", [](const RankedCause& cause) { return if_any(cause.setting); })
        .add("likelihood", &RankedCause::likelihood,
             "Probability that the run has it, alone or with another cause.")
        .add("lost_share", &RankedCause::lost, "Share of the run's time that it costs, if present.")
        .add("step_time_s", &RankedCause::step, "Forecast with this cause or setting.")
        .add("share", &RankedCause::share,
             "Share of the gap between forecast and measurement that it explains.")
        .add("evidence", &RankedCause::evidence, evidence_values)
        .add("test", [](const RankedCause& cause) { return if_any(cause.test); });

struct FindingShown {
  const DiagnosisReport& report;
  const RunFinding& finding;
};

std::vector<FindingShown> findings_shown(const DiagnosisReport& report) {
  std::vector<FindingShown> findings;
  for (const RunFinding& finding : report.diagnosis.findings) findings.push_back({report, finding});
  return findings;
}

const ValueTable<FindingShown> finding_values =
    ValueTable<FindingShown>{}
        .add("finding", [](const FindingShown& shown) { return shown.finding.kind; })
        .add(
            "size", [](const FindingShown& shown) { return shown.finding.size; },
            "Relative difference from the forecast, with its sign.")
        .add(
            "lost_share", [](const FindingShown& shown) { return shown.finding.lost; },
            "Share of the run's time that it costs.")
        .add("what",
             [](const FindingShown& shown) { return finding_words(shown.report, shown.finding); });

const ValueTable<StepExplanation> explanation_values =
    ValueTable<StepExplanation>{}
        .add("causes", &StepExplanation::causes)
        .add("likelihood", &StepExplanation::likelihood);

std::vector<StepExplanation> likely_explanations(const DiagnosisReport& report) {
  constexpr double least = 1e-3;
  std::vector<StepExplanation> likely = report.diagnosis.explanations;
  std::erase_if(likely, [](const StepExplanation& one) { return one.likelihood < least; });
  return likely;
}

const ValueTable<MemoryCause> memory_cause_values =
    ValueTable<MemoryCause>{}
        .add("setting", &MemoryCause::setting)
        .add("bytes", &MemoryCause::bytes, "Forecast with this cause or setting.");

const ValueTable<WaterfallLine> waterfall_values = ValueTable<WaterfallLine>{}
                                                       .add("label", &WaterfallLine::label)
                                                       .add("time_s", &WaterfallLine::seconds)
                                                       .as(Measure::count);

std::vector<std::string> tied(const DiagnosisReport& report) {
  std::vector<std::string> names;
  const Diagnosis& diagnosis = report.diagnosis;
  for (std::size_t i = 0; i < diagnosis.tied && diagnosis.tied > 1; ++i)
    names.push_back(fmt::format("{}", fmt::join(diagnosis.explanations[i].causes, "+")));
  return names;
}

struct DifferenceShown {
  const SettingDifference& difference;
  bool followed;
};

std::vector<DifferenceShown> differences_of(const DiagnosisReport& report) {
  std::vector<DifferenceShown> all;
  for (const SettingDifference& one : report.diagnosis.differences) all.push_back({one, false});
  for (const SettingDifference& one : report.diagnosis.followed) all.push_back({one, true});
  return all;
}

const ValueTable<DifferenceShown> difference_values =
    ValueTable<DifferenceShown>{}
        .add("key", [](const DifferenceShown& shown) { return shown.difference.key; })
        .add("log",
             [](const DifferenceShown& shown) { return plain_text(shown.difference.log, 60); })
        .add("scenario", [](const DifferenceShown& shown) { return shown.difference.scenario; })
        .add("followed", &DifferenceShown::followed, "True: the forecast uses the log's value.");

const ValueTable<DiagnosisReport>& diagnosis_table() {
  using R = const DiagnosisReport&;
  const auto of = [](auto Diagnosis::*member) {
    return [member](R report) { return report.diagnosis.*member; };
  };
  const auto expected = [](double ExpectedRun::*bytes) {
    return [bytes](R report) { return report.diagnosis.expected.*bytes; };
  };
  static const auto table =
      ValueTable<DiagnosisReport>{"diagnosis/1",
                                  "foretrain diagnose --json, schema diagnosis/1; null is "
                                  "unknown"}
          .add("verdict", diagnosis_verdict)
          .add("as_forecast", [](R report) { return report.diagnosis.as_forecast(); })
          .add("plan_from", &DiagnosisReport::plan_source)
          .add(
              "measured", [](R report) { return &report; }, measured_values())
          .add("forecast.step_time_s", [](R report) { return report.diagnosis.forecast.time; })
          .add("forecast.low_s", [](R report) { return report.diagnosis.forecast.low; })
          .add("forecast.high_s", [](R report) { return report.diagnosis.forecast.high; })
          .add("forecast.inside_band", of(&Diagnosis::in_band))
          .add("forecast.allocated_bytes", expected(&ExpectedRun::allocated))
          .add("forecast.reserved_bytes", expected(&ExpectedRun::reserved))
          .add("forecast.usable_bytes", expected(&ExpectedRun::usable))
          .add("sections", sections_of, section_values())
          .add("findings", findings_shown, finding_values, "Findings, the costliest first.")
          .add("waterfall", of(&Diagnosis::waterfall), waterfall_values, "Waterfall of one step.")
          .add("wall_waterfall", of(&Diagnosis::wall_waterfall), waterfall_values,
               "Waterfall of the run in wall-clock time.")
          .add("hypotheses", of(&Diagnosis::causes), cause_values)
          .add("explanations", likely_explanations, explanation_values,
               "Explanations, most likely first.")
          .add("memory_causes", of(&Diagnosis::memory_causes), memory_cause_values)
          .add("indistinguishable", tied, "Explanations that the log cannot tell apart.")
          .add("differences", differences_of, difference_values,
               "Settings that differ between log and scenario.")
          .add("would_tell_more", of(&Diagnosis::missing))
          .add("assumptions", &DiagnosisReport::assumptions);
  return table;
}

}  // namespace

std::string diagnosis_json(const DiagnosisReport& report) {
  return json_text(diagnosis_table(), report);
}

const ValueRows& diagnosis_document() { return diagnosis_table().rows(); }

}  // namespace foretrain
