// SPDX-License-Identifier: Apache-2.0
#include "planner/page/replay_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/base/require.hpp"
#include "planner/network/fabric_svg.hpp"
#include "planner/page/internal/page_parts.hpp"
#include "planner/page/internal/page_shell.hpp"
#include "planner/text/format.hpp"
#include "planner/text/task_looks.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

constexpr int frames_of_replay = 240;

/// A letter per line, A to Z and a to z: html/replay.js.
std::string letters_of(const std::vector<double>& uses, double top) {
  constexpr double steps = 51.0;
  std::string letters;
  for (const double use : uses) {
    const long step = std::lround(steps * std::clamp(use / top, 0.0, 1.0));
    letters += static_cast<char>(step < 26 ? 'A' + step : 'a' + step - 26);
  }
  return letters;
}

}  // namespace

StepReplay::StepReplay(const Scenario& scenario) : fabric_{fabric_of(scenario)} {}

void StepReplay::watch(EventOptions& options) {
  options.frames = frames_of_replay;
  options.on_frame = [this](const std::vector<double>& use) {
    if (frames_.size() == frames_of_replay) frames_.clear();  // another play of the same step
    frames_.push_back(line_uses(fabric_, use));
    // Two exchanges with their mean rates can make a cable that they fill in turn too full.
    for (double& line : frames_.back()) line = std::min(line, 1.0);
  };
}

std::string StepReplay::page(const EventReport& report) const {
  FORETRAIN_REQUIRE(played() && report.run.has_value());
  const StepPath path = played_path(*report.run);
  double top = 1e-9;
  for (const std::vector<double>& uses : frames_)
    for (const double use : uses) top = std::max(top, use);
  Json frames = Json::array();
  for (const std::vector<double>& uses : frames_) frames.push_back(letters_of(uses, top));
  Json tasks = Json::array();
  for (const TaskLook& look : task_looks) tasks.push_back({look.name, look.paint.light});
  const Json data{
      {"schema", "replay/1"},
      {"foretrain_version", version},
      {"tasks", std::move(tasks)},
      {"sides", Json::array({{{"side", "A"}, {"gantt", gantt_tree(path)}}})},
      {"replay",
       {{"seconds", path.timeline.makespan.value()}, {"top", top}, {"frames", std::move(frames)}}}};
  PageShell shell;
  shell.kind = "replay";
  shell.title = report.report.scenario.job.name;
  shell.main = "<section>\n<h2>The fabric, moment by moment</h2>\n" +
               block_html(AnswerLine{fmt::format(
                   "One optimizer step of {}. A line is its busiest cable: blue is idle, red is {} "
                   "of the cable's rate, the most of the step.",
                   seconds_text(path.timeline.makespan), percent_text(top))}) +
               "<div id=\"replay\"><noscript><p class=\"notice\">A script of the page plays the "
               "step; it is switched off here.</p></noscript></div>\n<div id=\"fabric\">" +
               heat_svg(report, "a line is its busiest cable at the moment that the slider shows") +
               "</div>\n</section>\n" + gantt_html(path, "A", 2);
  shell.limits = {
      "An exchange moves its mean rate from its beginning to its end. Exchanges inside passes "
      "that stay within hosts have no times of their own and are not in the picture.",
      "The chart shows the data replica that the others wait for; the fabric carries all of them."};
  shell.data = data.dump(-1, ' ', false, Json::error_handler_t::replace);
  return shell_html(shell);
}

}  // namespace foretrain
