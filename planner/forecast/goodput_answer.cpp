// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "planner/answer/prediction_parts.hpp"
#include "planner/forecast/goodput_study.hpp"
#include "planner/forecast/report_head.hpp"
#include "planner/forecast/run_end.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/scene/scene.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
namespace {

AnswerSection unknown_section(const GoodputStudy& study) {
  AnswerSection section;
  const auto say = [&](const std::string& text, const char* lead = "") {
    section.blocks.emplace_back(AnswerLine{text, lead});
  };
  for (const Infeasible& reason : study.report.prediction.reasons) say(reason.message);
  if (!study.missing.empty()) say(fmt::format("{}", fmt::join(study.missing, ", ")), "missing: ");
  say(why_not_simulated(study));
  for (const Warning& warning : study.report.prediction.warnings)
    if (warning.id == "goodput-break-even" || warning.id == "unknown-run" ||
        warning.id == "batch-ramp")
      say(warning.message);
  return section;
}

AnswerFacts run_facts(const GoodputStudy& study) {
  const RunForecast& run = study.report.prediction.run;
  const RunSpread& spread = study.spread;
  const auto& efficiency = study.report.prediction.efficiency;
  AnswerFacts facts;
  facts.label_columns = 15;
  facts.add("Goodput", fmt::format("scheduling {} x runtime {} x program {} (MFU) = {}",
                                   percent_text(*run.scheduling), percent_text(*run.runtime),
                                   percent_text(efficiency->mfu),
                                   percent_text(*run.goodput * efficiency->mfu)));
  const Seconds between = study.model->trace.empty() ? study.model->between : *run.between;
  facts.add("Interruptions", between > Seconds{} ? fmt::format("{} expected, {} apart",
                                                               fixed_text(*run.interruptions, 0),
                                                               duration_text(between))
                                                 : "none");
  facts.add("Checkpoints",
            fmt::format("{} every {}; {} stall each, durable {} later", bytes_text(run.checkpoint),
                        duration_text(study.model->every), seconds_text(study.model->stall),
                        seconds_text(study.model->lag)));
  if (study.stopped)
    facts.add("Stopped", fmt::format("after {} simulated runs", with_thousands(spread.trials)));
  if (spread.meets_deadline)
    facts.add("Deadline",
              fmt::format("met in {} of {} simulated runs, drawn over the band of the step",
                          percent_text(*spread.meets_deadline), with_thousands(spread.trials)));
  return facts;
}

AnswerTable split_table(const GoodputStudy& study) {
  const RunSplit& split = *study.report.prediction.run.split;
  const RunSplit simulated = study.steady ? study.steady->split : RunSplit{};
  const auto simulated_text = [&](Seconds time) {
    return study.steady ? duration_text(time) : std::string("-");
  };
  AnswerTable table{{words_column(), number_column("closed form"), number_column("share"),
                     number_column("simulated")}};
  for (const RunPart& part : run_parts()) {
    const auto row = part.time;
    // The simulation leaves rounding in rows that do not occur.
    if (max(split.*row, simulated.*row) < 1e-9 * split.total()) continue;
    table.add({std::string(part.label), duration_text(split.*row),
               percent_text(split.*row / split.total()), simulated_text(simulated.*row)});
  }
  table.add({"total", duration_text(split.total()), "", simulated_text(simulated.total())});
  return table;
}

AnswerTable life_table(const GoodputStudy& study) {
  AnswerTable table{{number_column("day"), words_column("productive time"), number_column(),
                     number_column("stops"), number_column("time lost")}};
  for (const LifeRow& row : life_rows(study.life)) {
    const Seconds length = row.to - row.from;
    const double share = std::max(0.0, 1.0 - (row.down + row.lost) / length);
    table.add({fixed_text(row.from.in(days), 0), AnswerBar{0.0, share}, percent_text(share),
               std::to_string(row.interruptions), duration_text(row.down + row.lost)});
  }
  return table;
}

AnswerHead goodput_head(const GoodputStudy& study, const std::string& source) {
  const Report& report = study.report;
  const RunForecast& run = report.prediction.run;
  AnswerHead head = report_head(report, source);
  if (!run.expected || !run.goodput) {
    if (run_verdict(report.prediction) != Verdict::no) {
      head.verdict.reset();
      head.words = "goodput unknown";
    }
    return head;
  }
  head.words = "goodput " + percent_text(*run.goodput);
  if (run.meets_deadline) {
    head.verdict = deadline_verdict(report.prediction);
    head.sentence = deadline_sentence(run) + " ";
  } else {
    head.verdict.reset();
    head.sentence.clear();
  }
  head.sentence += fmt::format("{} of training takes {}: {} goes into {}.",
                               duration_text(*run.ideal), duration_text(*run.expected),
                               duration_text(*run.expected - *run.ideal), losses_text(*run.split));
  head.figures = {
      {"Time to train", duration_text(*run.expected),
       study.model ? duration_text(study.spread.p10) + " to " + duration_text(study.spread.p90)
                   : std::string(),
       duration_text(*run.ideal) + " without interruptions"},
      {"Goodput", percent_text(*run.goodput)}};
  head.next = source.empty() ? "" : "foretrain sensitivity " + source;
  return head;
}

}  // namespace

Answer goodput_answer(const GoodputStudy& study, const std::string& source) {
  Answer answer{goodput_head(study, source)};
  if (!study.model) {
    answer.add(unknown_section(study));
    return answer;
  }
  answer.add("", run_facts(study));
  answer.add("Where the time goes", split_table(study));
  answer.add("Other checkpoint intervals", answer_table(interval_values(), study.intervals));
  if (!study.states.empty())
    answer.add("Steps with parts out, as played", answer_table(state_values(), study.states));
  answer.add("One simulated run", life_table(study), AnswerPlace::terminal);
  answer.add("One simulated run",
             AnswerPicture{life_chart(study, picture_space({}, 1200.0)), "One simulated run"},
             AnswerPlace::pages);
  return answer;
}

}  // namespace foretrain
