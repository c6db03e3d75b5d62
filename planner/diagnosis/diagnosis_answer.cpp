// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibration/diagnosis/hypotheses.hpp"
#include "calibration/imports/record_text.hpp"
#include "planner/diagnosis/diagnosis_report.hpp"
#include "planner/diagnosis/internal/diagnosis_words.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
namespace {

constexpr std::size_t most_shown = 5;  // causes with their evidence

AnswerFacts course_facts(const DiagnosisReport& report) {
  AnswerFacts facts;
  facts.label_columns = 16;
  for (const auto& [label, line] : course_lines(report)) facts.add(label, line);
  return facts;
}

AnswerTable waterfall_table(const std::vector<WaterfallLine>& lines) {
  AnswerTable table{{words_column(), number_column(), words_column()}};
  if (lines.empty()) return table;
  const double most = waterfall_top(lines);
  double at = 0.0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool whole = i == 0 || i + 1 == lines.size();
    const double from = whole ? 0.0 : at;
    const double to = from + lines[i].seconds;
    AnswerBar bar{std::max(0.0, from / most), std::max(0.0, to / most)};
    table.add({lines[i].label,
               (!whole && lines[i].seconds >= 0.0 ? "+" : "") + signed_seconds(lines[i].seconds),
               {bar, whole                    ? Tone::plain
                     : lines[i].seconds < 0.0 ? Tone::good
                                              : Tone::bad}});
    at = to;
  }
  return table;
}

void add_cause(const RankedCause& cause, std::size_t rank, AnswerSection& section) {
  const bool none = cause.id == as_forecast_id || cause.id == unexplained_id;
  section.blocks.emplace_back(
      AnswerLine{cause_head(cause), none ? " -  " : fmt::format("{:>2}. ", rank), Tone::strong});
  constexpr std::size_t most = 4;
  AnswerFacts evidence;
  evidence.label_columns = 4;
  for (std::size_t i = 0; i < std::min(most, cause.evidence.size()); ++i)
    evidence.add(cause.evidence[i].weight > 0.0 ? "  +" : "  -", cause.evidence[i].what);
  if (cause.evidence.empty() && cause.id != as_forecast_id)
    evidence.add("", "nothing in the log speaks for or against it");
  if (!cause.test.empty()) evidence.add("", "test: " + cause.test);
  section.blocks.emplace_back(std::move(evidence));
}

AnswerSection causes_section(const Diagnosis& diagnosis) {
  AnswerSection section{"Causes, by the time they are likely to cost"};
  if (!can_name_causes(diagnosis)) return section;
  const std::size_t shown = std::min(std::max(most_shown, diagnosis.tied), diagnosis.causes.size());
  std::string rest;
  for (std::size_t i = 0; i < diagnosis.causes.size(); ++i) {
    const RankedCause& cause = diagnosis.causes[i];
    const bool none = cause.id == as_forecast_id || cause.id == unexplained_id;
    if ((i < shown || none) && cause.likelihood >= least_likelihood)
      add_cause(cause, i + 1, section);
    else if (!none)
      rest += (rest.empty() ? "" : ", ") + cause.id;
  }
  if (!rest.empty()) section.blocks.emplace_back(AnswerLine{rest, "less likely: "});
  if (diagnosis.tied > 1)
    section.blocks.emplace_back(AnswerLine{"Run the tests above to tell them apart."});
  return section;
}

AnswerTable memory_causes_table(const Diagnosis& diagnosis) {
  AnswerTable table{{words_column(), number_column()}};
  for (const MemoryCause& one : diagnosis.memory_causes)
    table.add({one.setting, bytes_text(Bytes{one.bytes})});
  return table;
}

AnswerList differences_list(const std::vector<SettingDifference>& differences) {
  AnswerList list;
  for (const SettingDifference& one : differences)
    list.items.push_back(fmt::format("{}: the log says {}, the scenario {}", one.key,
                                     plain_text(one.log, 40), one.scenario));
  return list;
}

const char* finding_title(FindingKind kind) {
  switch (kind) {
    case FindingKind::slower:
      return "SLOWER THAN FORECAST";
    case FindingKind::faster:
      return "FASTER THAN FORECAST";
    case FindingKind::timers:
      return "PASSES NOT AS FORECAST";
    case FindingKind::suspected:
      return "INSIDE THE BAND, WITH A SUSPECT";
    case FindingKind::drift:
      return "STEP TIME DRIFTS";
    case FindingKind::level_shift:
      return "STEP TIME CHANGED";
    case FindingKind::checkpoints:
      return "TIME LOST AT CHECKPOINTS";
    case FindingKind::slow_steps:
      return "TIME LOST IN SLOW STEPS";
    case FindingKind::pauses:
      return "TIME LOST BETWEEN STEPS";
    case FindingKind::memory:
      return "MEMORY NOT AS FORECAST";
  }
  return "";
}

AnswerHead diagnosis_head(const DiagnosisReport& report) {
  const Diagnosis& diagnosis = report.diagnosis;
  AnswerHead head;
  head.subject = report.plan_source == "the log" ? "Run of the log" : report.plan_source;
  head.made_by = "diagnosis";
  head.sentence = diagnosis_verdict(report);
  if (!diagnosis.differences.empty()) {
    head.verdict = Verdict::no;
    head.words = "ANOTHER RUN";
  } else if (diagnosis.as_forecast()) {
    head.verdict = Verdict::safe;
    head.words = "AS FORECAST";
  } else {
    const FindingKind first = diagnosis.findings.front().kind;
    head.verdict = first == FindingKind::suspected || first == FindingKind::faster
                       ? Verdict::at_risk
                       : Verdict::no;
    head.words = finding_title(first);
  }
  return head;
}

}  // namespace

Answer diagnosis_answer(const DiagnosisReport& report) {
  const Diagnosis& diagnosis = report.diagnosis;
  Answer answer{diagnosis_head(report)};
  AnswerSection course{"What the run did", {course_facts(report)}};
  if (const auto chart = series_chart(report, picture_space({}, 760.0, 260.0)))
    course.blocks.emplace_back(AnswerPicture{*chart, "Step times of the run"});
  answer.add(std::move(course));
  answer.add("Step: from forecast to measurement", waterfall_table(diagnosis.waterfall));
  answer.add(wall_title(diagnosis), waterfall_table(diagnosis.wall_waterfall));
  answer.add("Log and scenario differ: the log is of another run",
             differences_list(diagnosis.differences));
  answer.add("Log and scenario differ: the forecast follows the log",
             differences_list(diagnosis.followed));
  answer.add(causes_section(diagnosis));
  answer.add("Settings that would hold about as much memory", memory_causes_table(diagnosis));
  answer.add("Logs that would show more", AnswerList{diagnosis.missing});
  answer.add("Assumed where the log does not say", AnswerList{report.assumptions});
  return answer;
}

}  // namespace foretrain
