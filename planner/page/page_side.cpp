// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "models/base/too_large.hpp"
#include "planner/explain/catalog_text.hpp"
#include "planner/forecast/budget.hpp"
#include "planner/forecast/report_answer.hpp"
#include "planner/forecast/step_power.hpp"
#include "planner/page/internal/page_parts.hpp"
#include "planner/scene/scene.hpp"
#include "planner/step/step_losses.hpp"
#include "scenarios/sections/scenario_fields.hpp"

namespace foretrain {
namespace {

/// Which scenario a forecast is of, before the question.
AnswerFacts with_source(AnswerFacts question, const Report& report) {
  std::vector<AnswerFact> rows;
  if (!report.scenario.path.empty()) rows.push_back({"Scenario", report.scenario.path});
  if (std::string changed = overrides_text(report.scenario); !changed.empty())
    rows.push_back({"Changed", std::move(changed)});
  question.rows.insert(question.rows.begin(), rows.begin(), rows.end());
  question.add("Engine", std::string(name_of(report.prediction.engine)));
  return question;
}

AnswerSection read_by_machines(std::string title, AnswerTable table) {
  return {std::move(title), {std::move(table)}, AnswerPlace::screens, true};
}

/// Values that stand in a scenario, or those that came with its catalog entries.
AnswerSection values_section(const Scenario& scenario, bool catalog) {
  AnswerTable table{{words_column("key"), words_column("value"), words_column("origin")}};
  for (const ResolvedValue& value : scenario.values)
    if ((scenario_fields().find(value.path) == nullptr) == catalog)
      table.add({value.path, value.value, value.origin});
  const std::string words =
      std::to_string(table.rows.size()) + (catalog ? " values that came with catalog entries"
                                                   : " values of the scenario, defaults included");
  return read_by_machines(words, std::move(table));
}

AnswerSection files_section(const Scenario& scenario) {
  AnswerTable table{{words_column("file"), words_column("SHA-256")}};
  for (const SourceFile& file : scenario.files) table.add({file.path, file.sha256});
  return read_by_machines("Files that took part", std::move(table));
}

void add_assumptions(const Scenario& scenario, Answer& answer) {
  answer.add("Assumptions", AnswerLine{"Every value, and the place that it comes from."},
             AnswerPlace::screens);
  for (const bool catalog : {false, true}) answer.add(values_section(scenario, catalog));
  answer.add(files_section(scenario));
}

}  // namespace

PageSide page_side(Report report, std::optional<StepPath> played) {
  PageSide side{std::move(report), std::move(played)};
  side.report.budget.clear();
  if (side.report.prediction.feasible() || side.report.prediction.step)
    side.report.budget = judge_budget(side.report);
  const Job& job = side.report.scenario.job;
  if (!side.report.prediction.step || side.path) return side;
  try {
    side.path = step_path(job, stage_layout(job.model, job.parallel), Detail::pass);
  } catch (const TooLarge& error) {
    side.not_drawn = error.what();
  }
  return side;
}

SideWords side_words(const PageSide& side) {
  const Scenario& scenario = side.report.scenario;
  SideWords words;
  if (side.report.study) {
    words.to_step = report_answer(side.report);
    add_assumptions(scenario, words.after);
    return words;
  }
  Answer* part = &words.to_step;
  Answer report = report_answer(side.report);
  auto& question = std::get<AnswerFacts>(report.sections.front().blocks.front());
  question = with_source(std::move(question), side.report);
  for (AnswerSection& section : report.sections) {
    if (section.title == sources_title) continue;
    const bool step = section.title.starts_with(step_title);
    part->add(std::move(section));
    if (!step) continue;
    part->add(step_losses_section(step_losses(side.report)));
    part = &words.after;
  }
  if (side.path && side.report.prediction.power)
    words.after.add("Power over the step",
                    AnswerPicture{power_chart(step_power(scenario.job, *side.path),
                                              picture_space({}, 900.0, 600.0)),
                                  "Power of a GPU, a host and all at the meter over one step"},
                    AnswerPlace::pages);
  add_assumptions(scenario, words.after);
  return words;
}

}  // namespace foretrain
