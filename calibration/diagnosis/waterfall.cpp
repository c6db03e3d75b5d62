// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "calibration/diagnosis/diagnose.hpp"
#include "calibration/diagnosis/hypotheses.hpp"

namespace foretrain {
namespace {

using Lines = std::vector<WaterfallLine>;

/// Adds the sections that the log times, less what is expected of them.
void add_sections(const TrainingLog& log, const Diagnosis& diagnosis, Lines& lines) {
  const auto& sections = log.clues.sections;
  for (const LogSection section : {LogSection::forward, LogSection::backward, LogSection::gradients,
                                   LogSection::optimizer, LogSection::input}) {
    const auto found = sections.find(section);
    if (found == sections.end()) continue;
    double took = found->second.most;
    if (const auto weights = sections.find(LogSection::parameters);
        section == LogSection::gradients && weights != sections.end())
      took += weights->second.most;
    lines.push_back(
        {std::string(name_of(section)), took - diagnosis.expected.sections.at(section).most});
  }
}

/// Adds what the one explanation that is told accounts for.
void add_explanation(const Diagnosis& diagnosis, Lines& lines) {
  if (diagnosis.tied > 1) return;
  for (const std::string& id : diagnosis.explanations.front().causes) {
    const RankedCause& cause = diagnosis.cause(id);
    const double seconds = cause.step - diagnosis.expected.step;
    if (id != as_forecast_id && id != unexplained_id && std::abs(seconds) > 1e-9)
      lines.push_back({cause.title, seconds});
  }
}

/// Closes with what is left and the measurement.
Lines closed(Lines lines, std::string rest, std::string end, double measured) {
  double sum = 0.0;
  for (const WaterfallLine& line : lines) sum += line.seconds;
  lines.push_back({std::move(rest), measured - sum});
  lines.push_back({std::move(end), measured});
  return lines;
}

}  // namespace

Lines step_waterfall(const TrainingLog& log, const Diagnosis& diagnosis) {
  Lines lines{{"forecast", diagnosis.expected.step}};
  const auto& sections = log.clues.sections;
  const bool timed =
      sections.contains(LogSection::forward) && sections.contains(LogSection::backward);
  if (timed)
    add_sections(log, diagnosis, lines);
  else
    add_explanation(diagnosis, lines);
  return closed(std::move(lines), timed ? "rest of the step" : "not explained", "measured step",
                diagnosis.course.median);
}

Lines wall_waterfall(const Diagnosis& diagnosis) {
  const RunCourse& course = diagnosis.course;
  if (course.steps <= 0.0) return {};
  Lines lines{
      {"steps as forecast", course.steps * diagnosis.expected.step},
      {"median step above forecast", course.steps * (course.median - diagnosis.expected.step)}};
  const auto add = [&](const char* label, double seconds) {
    if (seconds > 0.0) lines.push_back({label, seconds});
  };
  add("slow steps", course.lost_in_slow_steps());
  add("at checkpoints", course.lost_at_checkpoints());
  add("other pauses", course.paused_seconds - course.paused_at_checkpoints);
  return closed(std::move(lines), "steps apart from the median",
                course.wall_seconds ? "wall time" : "all steps", course.all_seconds());
}

}  // namespace foretrain
