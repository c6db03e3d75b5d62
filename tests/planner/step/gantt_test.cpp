// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <algorithm>
#include <sstream>

#include "planner/step/gantt.hpp"
#include "planner/step/internal/gantt_view.hpp"
#include "planner/text/palette.hpp"
#include "planner/text/ticks.hpp"
#include "tests/planner/step/graph_fixtures.hpp"

using namespace foretrain;

namespace {

struct Step {
  TaskGraph graph;
  Timeline timeline;
};

Step step(const fixtures::StepShape& shape) {
  Step result;
  result.graph = fixtures::step_graph(shape);
  result.timeline = longest_path(result.graph);
  return result;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

/// Elements open and close in order: enough to know that a viewer can read it.
bool balanced(const std::string& xml) {
  std::vector<std::string> open;
  for (std::size_t at = xml.find('<'); at != std::string::npos; at = xml.find('<', at + 1)) {
    const std::string tag = xml.substr(at + 1, xml.find('>', at) - at - 1);
    if (tag.starts_with('?') || tag.starts_with('!') || tag.ends_with('/')) continue;
    const std::string name = tag.substr(0, tag.find(' '));
    if (!name.starts_with('/')) {
      open.push_back(name);
    } else {
      if (open.empty() || "/" + open.back() != name) return false;
      open.pop_back();
    }
  }
  return open.empty();
}

}  // namespace

TEST_CASE("lanes hold all the time of their tasks", "[planner][gantt][property]") {
  const int layers = GENERATE(1, 5);
  const bool split = GENERATE(false, true);
  const Step s = step({4, 6, split, true, layers});
  const auto lanes = gantt_lanes(s.graph, s.timeline);
  REQUIRE(lanes.size() == 4);
  std::vector<Seconds> work(4), traffic(4);
  for (std::uint32_t id = 0; id < s.graph.tasks.size(); ++id) {
    const Task& task = s.graph.tasks[id];
    const bool moves = task.stream == StreamKind::send || task.stream == StreamKind::data;
    (moves ? traffic : work)[static_cast<std::size_t>(task.rank)] += s.graph.cost_of(id).duration;
  }
  for (std::size_t stage = 0; stage < lanes.size(); ++stage) {
    CHECK(lanes[stage].busy().value() == Approx(work[stage].value()));
    Seconds sum;
    for (const GanttSpan& span : lanes[stage].traffic) sum += span.length();
    CHECK(sum.value() == Approx(traffic[stage].value()));
    // Layers of a pass are one span: 6 forward and 6 (12 halves of) backward passes, the rest once.
    const auto passes = std::count_if(lanes[stage].work.begin(), lanes[stage].work.end(),
                                      [](const auto& span) { return span.micro >= 0; });
    CHECK(passes == (split ? 18 : 12));
  }
}

TEST_CASE("a short step is drawn whole, a long one where it begins and ends", "[planner][gantt]") {
  const Step brief = step({4, 8});
  const auto whole =
      gantt_windows(gantt_lanes(brief.graph, brief.timeline), brief.timeline.makespan, 100.0);
  REQUIRE(whole.size() == 1);
  CHECK(whole[0].length() == brief.timeline.makespan);

  const Step lengthy = step({8, 256});
  const auto lanes = gantt_lanes(lengthy.graph, lengthy.timeline);
  const auto windows = gantt_windows(lanes, lengthy.timeline.makespan, 30.0);
  REQUIRE(windows.size() == 2);
  CHECK(windows[0].from == Seconds{});
  CHECK(windows[1].to == lengthy.timeline.makespan);
  CHECK(windows[0].to < windows[1].from);
  // The first backward pass of stage 0 comes last: 8 forward and 8 backward passes, 14 transfers,
  // and the weights that come first.
  CHECK(windows[0].to.in(ms) == Approx(0.5 + 8 * 1.0 + 8 * 2.0 + 14 * 0.1));
}

TEST_CASE("a cell shows what fills most of it", "[planner][gantt]") {
  GanttLane lane;
  lane.work = {{0.0 * ms, 3.0 * ms, TaskRole::forward, 0, 0},
               {3.0 * ms, 4.0 * ms, TaskRole::backward, 1, 0}};
  lane.traffic = {{6.0 * ms, 8.0 * ms, TaskRole::gradients, -1, 0}};
  const auto cells = gantt_cells(lane, {Seconds{}, 8.0 * ms}, 4);
  REQUIRE(cells.size() == 4);
  CHECK(cells[0].role == TaskRole::forward);
  CHECK(cells[1].role.has_value());  // half and half: either
  CHECK_FALSE(cells[2].role.has_value());
  CHECK(cells[3].role == TaskRole::gradients);
  CHECK(gantt_cells(lane, {Seconds{}, 8.0 * ms}, 1)[0].role == TaskRole::forward);
}

TEST_CASE("a pass with exchanges inside is one pass", "[planner][gantt]") {
  GanttLane lane;
  for (int micro = 0; micro < 3; ++micro) {
    const Seconds at = 4.0 * micro * ms;
    lane.work.push_back({at, at + 1.0 * ms, TaskRole::forward, micro, 0});
    lane.work.push_back({at + 1.0 * ms, at + 1.5 * ms, TaskRole::tensor, micro, 0});
    lane.work.push_back({at + 1.5 * ms, at + 3.0 * ms, TaskRole::forward, micro, 0});
  }
  CHECK(pass_length({lane}).in(ms) == Approx(3.0));
  CHECK(forward_passes(lane, {Seconds{}, 12.0 * ms}) == 3);
  CHECK(forward_passes(lane, {3.5 * ms, 8.0 * ms}) == 1);
}

TEST_CASE("time axes have round marks", "[planner][gantt]") {
  CHECK(round_step(10e-3, 5) == Approx(2e-3));
  CHECK(round_step(11e-3, 5) == Approx(5e-3));
  CHECK(round_step(5.03, 12) == Approx(0.5));
  CHECK(round_step(7e-6, 7) == Approx(1e-6));
  CHECK(round_ticks(0.0, 1508.0, 4) == std::vector<double>{0.0, 500.0, 1000.0, 1500.0});
}

TEST_CASE("a chart in text has a row per stage and fits the screen", "[planner][gantt][property]") {
  const int width = GENERATE(60, 80, 160);
  const bool color = GENERATE(false, true);
  const TextStyle style{width, color, color};
  for (const fixtures::StepShape& shape :
       {fixtures::StepShape{1, 1}, fixtures::StepShape{1, 300}, fixtures::StepShape{4, 8},
        fixtures::StepShape{8, 64, true}, fixtures::StepShape{16, 512},
        fixtures::StepShape{64, 64}}) {
    CAPTURE(shape.stages, shape.microbatches);
    const Step s = step(shape);
    const std::string text = gantt_text(s.graph, s.timeline, style);
    CHECK(count(text, " %") == static_cast<std::size_t>(shape.stages));
    for (const std::string& line : lines_of(text)) {
      INFO(line);
      CHECK(display_width(line) <= width);
    }
    CHECK((count(text, "\x1b[") > 0) == color);
  }
}

TEST_CASE("letters of a chart take the time of their passes", "[planner][gantt]") {
  // One stage, 4 micro-batches of 1 + 2 ms, 0.5 + 0.8 + 0.3 + 0.2 ms around them: 13.8 ms on 69
  // columns are 0.2 ms each.
  const Step s = step({1, 4});
  REQUIRE(s.timeline.makespan.in(ms) == Approx(13.8));
  const auto lines = lines_of(gantt_text(s.graph, s.timeline, {69 + 15, false, false}));
  const std::string& row = lines[1];
  CHECK(std::count(row.begin(), row.end(), 'F') + std::count(row.begin(), row.end(), 'f') ==
        Approx(20).margin(2));
  CHECK(std::count(row.begin(), row.end(), 'B') + std::count(row.begin(), row.end(), 'b') ==
        Approx(40).margin(2));
  CHECK(std::count(row.begin(), row.end(), 'G') == Approx(4).margin(1));
  CHECK(std::count(row.begin(), row.end(), '.') == 0);
  CHECK(row.find("91 %") != std::string::npos);  // all but the traffic: 12.5 of 13.8 ms
}

TEST_CASE("a picture is complete XML with a lane, a legend and an axis", "[planner][gantt]") {
  const Step s = step({4, 8});
  const std::string svg =
      scene_svg(gantt_chart(s.graph, s.timeline, {"a <b> & c", "step 36.4 ms"}));
  CHECK(balanced(svg));
  CHECK(svg.starts_with("<?xml"));
  CHECK(count(svg, "a &lt;b&gt; &amp; c") == 1);
  for (const char* part : {">stage 0<", ">stage 3<", ">forward<", ">backward<", ">transfer<",
                           ">idle<", ">critical path (outlined)<", ">0 s<", "ms<"})
    CHECK(count(svg, part) >= 1);
  CHECK(count(svg, "<title>stage 2: forward, micro-batch 5") == 1);
  CHECK(count(svg, "not drawn") == 0);
}

TEST_CASE("pictures of large steps stay small", "[planner][gantt]") {
  for (const fixtures::StepShape& shape :
       {fixtures::StepShape{16, 512}, fixtures::StepShape{16, 512, true},
        fixtures::StepShape{64, 256}, fixtures::StepShape{1, 4096},
        fixtures::StepShape{128, 128}}) {
    CAPTURE(shape.stages, shape.microbatches);
    const Step s = step(shape);
    const std::string svg = scene_svg(gantt_chart(s.graph, s.timeline, {"large", ""}));
    CHECK(balanced(svg));
    CHECK(svg.size() < 2000000);
  }
}

TEST_CASE("every role has a look of its own", "[planner][gantt]") {
  for (const TaskRole role : {TaskRole::forward, TaskRole::weights, TaskRole::constant})
    CHECK(look_of(role).role == role);
  CHECK(task_looks.size() == all_names<TaskRole>().size());
  for (std::size_t a = 0; a < task_looks.size(); ++a)
    for (std::size_t b = a + 1; b < task_looks.size(); ++b) {
      CHECK(task_looks[a].role != task_looks[b].role);
      CHECK(task_looks[a].letter != task_looks[b].letter);
      CHECK(std::string(task_looks[a].paint.light) != task_looks[b].paint.light);
    }
}

TEST_CASE("passes narrower than a pixel are drawn by their shares of it", "[planner][gantt]") {
  // 0.7 of each pixel compute, 0.2 an exchange, 0.1 idle, two of each to a pixel.
  std::vector<gantt::Box> boxes;
  for (int i = 0; i < 200; ++i) {
    gantt::Box box;
    box.height = 10.0;
    box.x = 100.0 + 0.5 * i;
    box.width = 0.35;
    box.span.role = TaskRole::forward;
    boxes.push_back(box);
    box.x += 0.35;
    box.width = 0.1;
    box.span.role = TaskRole::backward;
    boxes.push_back(box);
  }
  gantt::Box wide;
  wide.x = 300.0;
  wide.width = 5.0;
  wide.height = 10.0;
  boxes.push_back(wide);
  double compute = 0.0;
  double exchange = 0.0;
  for (const gantt::Box& box : gantt::sliced(boxes)) {
    if (!box.slice) {
      CHECK(box.width == 5.0);
      continue;
    }
    CHECK(box.y >= -1e-9);
    CHECK(box.y + box.height <= 10.0 + 1e-9);
    (box.span.role == TaskRole::forward ? compute : exchange) += box.width * box.height;
  }
  CHECK(compute == Approx(0.7 * 100 * 10).epsilon(0.02));
  CHECK(exchange == Approx(0.2 * 100 * 10).epsilon(0.02));
}
