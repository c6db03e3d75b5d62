// SPDX-License-Identifier: Apache-2.0
#include "planner/page/replay_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/base/require.hpp"
#include "planner/network/fabric_chart.hpp"
#include "planner/page/compare.hpp"
#include "planner/page/internal/page_parts.hpp"
#include "planner/page/internal/page_shell.hpp"
#include "planner/text/format.hpp"
#include "planner/text/palette.hpp"
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

double most_used(const std::vector<ReplaySide>& sides) {
  double top = 0.0;
  for (const ReplaySide& side : sides)
    for (const std::vector<double>& uses : side.replay.frames())
      for (const double use : uses) top = std::max(top, use);
  return top;
}

Seconds longest(const std::vector<ReplaySide>& sides) {
  Seconds time;
  for (const ReplaySide& side : sides) time = max(time, side.report.run->timeline.makespan);
  return time;
}

Json side_tree(const ReplaySide& side, const std::string& name, double top) {
  Json frames = Json::array();
  for (const std::vector<double>& uses : side.replay.frames())
    frames.push_back(letters_of(uses, std::max(top, 1e-9)));
  return {{"side", name},
          {"seconds", side.report.run->timeline.makespan.value()},
          {"inside", most_used({side}) <= 0.0},
          {"frames", std::move(frames)}};
}

std::string page_data(const std::vector<ReplaySide>& sides) {
  Json tasks = Json::array();
  for (const TaskLook& look : task_looks) tasks.push_back({look.name, look.paint.light});
  Json charts = Json::array();
  Json played = Json::array();
  const double top = most_used(sides);
  for (std::size_t at = 0; at < sides.size(); ++at) {
    const std::string name = side_name(at);
    charts.push_back({{"side", name}, {"gantt", gantt_tree(played_path(*sides[at].report.run))}});
    played.push_back(side_tree(sides[at], name, top));
  }
  const Json data{
      {"schema", "replay/2"},
      {"foretrain_version", version},
      {"tasks", std::move(tasks)},
      {"sides", std::move(charts)},
      {"replay",
       {{"seconds", longest(sides).value()}, {"top", top}, {"sides", std::move(played)}}}};
  return data.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string words_of_page(const std::vector<ReplaySide>& sides) {
  std::string text = sides.size() == 1 ? "One optimizer step of" : "Optimizer steps of";
  for (std::size_t at = 0; at < sides.size(); ++at)
    text += fmt::format("{} {}{}", at == 0 ? "" : ",", sides.size() == 1 ? "" : side_name(at) + " ",
                        seconds_text(sides[at].report.run->timeline.makespan));
  const double top = most_used(sides);
  if (top <= 0.0) return text + ". All traffic stays inside the host: no cable carries any.";
  return fmt::format(
      "{}. A line is its busiest cable: blue is idle, red is {} of the cable's "
      "rate, the most of the step.",
      text, percent_text(top));
}

/// "A: llama2-70b, --set parallel.tensor=4": which of several sides.
std::string words_of_side(const ReplaySide& side, const std::string& name) {
  const Scenario& scenario = side.report.report.scenario;
  const std::string changed = overrides_text(scenario);
  return name + ": " + scenario.job.name + (changed.empty() ? "" : ", " + changed);
}

std::string fabric_html(const ReplaySide& side, const std::string& name) {
  Scene picture =
      heat_chart(side.report, "A line is its busiest cable at the moment that the slider shows");
  return fmt::format(
      "<div class=\"fabric\" id=\"fabric-{}\">{}</div>\n", name,
      block_html(AnswerPicture{std::move(picture), "The fabric at a moment of the step"}));
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

std::string replay_page(const std::vector<ReplaySide>& sides) {
  FORETRAIN_REQUIRE(!sides.empty());
  PageShell shell;
  shell.kind = "replay";
  shell.main = "<section>\n<h2>The fabric, moment by moment</h2>\n" +
               block_html(AnswerLine{words_of_page(sides)}) +
               "<div id=\"replay\"><noscript><p class=\"notice\">A script of the page plays the "
               "step; it is switched off here.</p></noscript></div>\n";
  std::string charts;
  for (std::size_t at = 0; at < sides.size(); ++at) {
    FORETRAIN_REQUIRE(sides[at].replay.played() && sides[at].report.run.has_value());
    const std::string name = side_name(at);
    const std::string heading =
        sides.size() == 1 ? "" : block_html(AnswerLine{words_of_side(sides[at], name)});
    const std::string& title = sides[at].report.report.scenario.job.name;
    if (shell.title.find(title) == std::string::npos) shell.title += (at == 0 ? "" : ", ") + title;
    shell.main += heading + fabric_html(sides[at], name);
    charts += heading;
    charts += gantt_html(played_path(*sides[at].report.run), name, 2);
  }
  shell.main += "</section>\n" + charts;
  shell.limits = {
      "An exchange moves its mean rate from its beginning to its end. Exchanges inside passes "
      "that stay within hosts have no times of their own and are not in the picture.",
      "The chart shows the data replica that the others wait for; the fabric carries all of them."};
  shell.data = page_data(sides);
  return shell_html(shell);
}

}  // namespace foretrain
