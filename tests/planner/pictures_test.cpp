// SPDX-License-Identifier: Apache-2.0
// The plain data that pictures of the program and of the desktop program are drawn from.
#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "planner/answer/prediction_parts.hpp"
#include "planner/forecast/report_answer.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/forecast/waterfall.hpp"
#include "planner/network/fabric_picture.hpp"
#include "planner/network/fabric_text.hpp"
#include "planner/page/report_page.hpp"
#include "planner/scene/scene.hpp"
#include "planner/search/plan_cloud.hpp"
#include "planner/step/roofline.hpp"
#include "planner/step/step_slices.hpp"
#include "planner/sweep/sweep_choices.hpp"
#include "planner/text/palette.hpp"

namespace foretrain {
namespace {

const Scenario& example() {
  static const Scenario scenario =
      load_scenario(FORETRAIN_SOURCE_DIR "/scenarios/llama2-70b-1024xh100.yaml");
  return scenario;
}

const Report& report() {
  static const Report made = evaluate(example());
  return made;
}

}  // namespace

TEST_CASE("roofline: a product's FLOPs per byte follow from its sizes", "[planner][roofline]") {
  // Llama-2-70B, TP8: QKV is 4096 x 1280 x 8192 in bf16.
  const Roofline roof = roofline(example().job);
  const auto qkv = std::find_if(roof.kernels.begin(), roof.kernels.end(),
                                [](const auto& kernel) { return kernel.name == "QKV projection"; });
  REQUIRE(qkv != roof.kernels.end());
  const double m = 4096, n = 1280, k = 8192;
  CHECK(qkv->flop.value() == Approx(2.0 * m * n * k));
  CHECK(qkv->bytes.value() == Approx(2.0 * (m * k + k * n + m * n)));
  CHECK(qkv->intensity() == Approx(m * n * k / (m * k + k * n + m * n)));
}

TEST_CASE("roofline: no kernel is above its roof, and the shares are all of the time",
          "[planner][roofline][property]") {
  for (const char* name : {"llama2-70b-1024xh100", "llama3-8b-8xh100", "llama2-70b-256xa100"}) {
    const Scenario scenario =
        load_scenario(std::string{FORETRAIN_SOURCE_DIR "/scenarios/"} + name + ".yaml");
    const Roofline roof = roofline(scenario.job);
    double shares = 0.0;
    for (const RooflineKernel& kernel : roof.kernels) {
      CAPTURE(name, kernel.name);
      shares += kernel.share;
      if (kernel.time <= Seconds{}) continue;
      if (kernel.flop > Flop{})
        CHECK(kernel.rate() <= roof.bound(kernel));
      else
        CHECK(kernel.traffic() <= roof.bandwidth);
    }
    CHECK(shares == Approx(1.0));
  }
}

TEST_CASE("step slices: every task that takes time is in one band of its stage",
          "[planner][slices]") {
  const auto path = play_step(report());
  REQUIRE(path);
  const std::vector<StepRow> rows = step_rows(*path);
  REQUIRE(rows.size() == 8);
  std::size_t slices = 0;
  for (std::size_t stage = 0; stage < rows.size(); ++stage)
    for (const auto* band : {&rows[stage].work, &rows[stage].exchange, &rows[stage].data}) {
      slices += band->size();
      for (std::size_t i = 0; i < band->size(); ++i) {
        CHECK(path->graph.tasks[(*band)[i].task].rank == static_cast<int>(stage));
        if (i > 0) CHECK((*band)[i].from >= (*band)[i - 1].from);
      }
    }
  std::size_t tasks = 0;
  for (std::size_t id = 0; id < path->graph.tasks.size(); ++id)
    tasks += path->timeline.end[id] > path->timeline.start[id] ? 1 : 0;
  CHECK(slices == tasks);
  // 64 micro-batches leave the last stage the least idle of all.
  CHECK(rows.back().busy / path->timeline.makespan > 0.85);
}

TEST_CASE("step slices: a transfer names its stage and the link that it takes",
          "[planner][slices]") {
  const auto path = play_step(report());
  const auto& tasks = path->graph.tasks;
  const auto found = std::find_if(tasks.begin(), tasks.end(), [](const Task& task) {
    return task.role == TaskRole::transfer && task.rank == 2 && task.peer == 3;
  });
  REQUIRE(found != tasks.end());
  const auto id = static_cast<std::uint32_t>(found - tasks.begin());
  CHECK(slice_name(path->graph, id).starts_with("transfer to stage 3 of micro-batch "));
  // A stage is 128 GPUs: its neighbour is on other hosts, one 400 Gbit/s NIC per GPU.
  CHECK_THAT(slice_link(example().job, path->graph, id),
             Catch::Contains("InfiniBand NDR") && Catch::Contains("between hosts, 50.0 GB/s"));
  const auto forward = std::find_if(
      tasks.begin(), tasks.end(), [](const Task& task) { return task.role == TaskRole::forward; });
  CHECK(slice_link(example().job, path->graph, static_cast<std::uint32_t>(forward - tasks.begin()))
            .empty());
}

TEST_CASE("plan cloud: the front is what nothing beats, settings give the plan back",
          "[planner][search]") {
  SearchOptions options;
  options.top = 10'000;
  const PlanCloud cloud = plan_cloud(example(), cloud_space(example()), options);
  REQUIRE(cloud.points.size() > 1000);
  CHECK(cloud.feasible >= static_cast<std::int64_t>(cloud.points.size()));
  for (std::size_t i = 0; i < cloud.points.size(); i += 37) {
    const CloudPoint& point = cloud.points[i];
    const bool beaten = std::any_of(cloud.points.begin(), cloud.points.end(), [&](const auto& o) {
      return o.step <= point.step && o.peak <= point.peak &&
             (o.step < point.step || o.peak < point.peak);
    });
    if (point.front) CHECK_FALSE(beaten);
    if (!beaten && i > 0 && cloud.points[i - 1].step < point.step) CHECK(point.front);
  }
  LoadOptions load;
  load.overrides = cloud_settings(example(), cloud, cloud.points.front());
  const Report again =
      evaluate(load_scenario(FORETRAIN_SOURCE_DIR "/scenarios/llama2-70b-1024xh100.yaml", load));
  REQUIRE(again.prediction.step);
  CHECK(again.prediction.step->time.value() == Approx(cloud.points.front().step.value()));
  CHECK(again.prediction.memory->peak.value() == Approx(cloud.points.front().peak.value()));
  REQUIRE(cloud.own);
  CHECK(cloud.own->step.value() == Approx(report().prediction.step->time.value()));
}

TEST_CASE("plan cloud: of more plans than are asked for the fastest are kept",
          "[planner][search]") {
  SearchSpace space = cloud_space(example());
  set_axis(space, example().job, "parallel.context=1,2,4,8");
  set_axis(space, example().job, "memory.offload=none,optimizer+parameters");
  set_axis(space, example().job, "parallel.sequence=true,false");
  SearchOptions options;
  options.top = 10'000;
  options.limits.max_memory_share = 1.0;
  const PlanCloud cloud = plan_cloud(example(), space, options);
  CHECK(cloud.feasible > 10'000);
  REQUIRE(cloud.points.size() == 10'000);
  CHECK(std::is_sorted(cloud.points.begin(), cloud.points.end(),
                       [](const CloudPoint& a, const CloudPoint& b) { return a.step < b.step; }));
}

TEST_CASE("fabric picture: boxes hold every node, lines every cable", "[planner][fabric]") {
  const Fabric fabric = fabric_of(example());
  const LinkSet down(static_cast<std::size_t>(fabric.links()), false);
  for (const int most : {4, 32, 1000}) {
    const FabricPicture picture = fabric_picture(fabric, down, {}, most);
    CHECK(picture.tiers.back().count == 128);
    for (const FabricTier& tier : picture.tiers) {
      CHECK(tier.boxes <= most);
      CHECK(tier.last_of(tier.boxes - 1) == tier.count - 1);
    }
    int cables = 0;
    for (const FabricLine& line : picture.lines) cables += line.cables;
    CHECK(cables == (fabric.links() - fabric.first_nic_link) / 2);
  }
  CHECK(box_name(fabric_picture(fabric, down, {}, 32).tiers.back(), 3) == "hosts 12-15");
}

TEST_CASE("fabric picture: shares of listed links reach their lines", "[planner][fabric]") {
  const Fabric fabric = fabric_of(example());
  const LinkId busy = fabric.first_tier + 6;
  const auto shares =
      link_shares(fabric, {{link_name(fabric, busy), Bytes{1e9}, 0.4}, {"no>link", {}, 0.3}});
  REQUIRE(shares.size() == static_cast<std::size_t>(fabric.links()));
  CHECK(shares[static_cast<std::size_t>(busy)] == 0.4);
  CHECK(std::count(shares.begin(), shares.end(), 0.0) == fabric.links() - 1);
  const LinkSet down(static_cast<std::size_t>(fabric.links()), false);
  const FabricPicture picture = fabric_picture(fabric, down, shares, 32);
  CHECK(std::count_if(picture.lines.begin(), picture.lines.end(),
                      [](const FabricLine& line) { return line.use == 0.4; }) == 1);
}

TEST_CASE("maps: the scenario's own cell has its own forecast, and settings load a cell",
          "[planner][sweep]") {
  const auto choices = sweep_choices(example());
  const auto choice = [&](const char* key) {
    const auto found = std::find_if(choices.begin(), choices.end(),
                                    [&](const SweepChoice& one) { return one.key == key; });
    REQUIRE(found != choices.end());
    return *found;
  };
  const MapQuestion map{choice("parallel.pipeline"), choice("parallel.tensor"), "step.time_s"};
  Sweep sweep{sweep_of_map(example(), map)};
  const std::size_t columns = map.columns.values.size();
  REQUIRE(sweep.size() == static_cast<std::int64_t>(columns * map.rows.values.size()));
  const auto place = [](const SweepChoice& axis, const std::string& value) {
    return static_cast<std::size_t>(std::find(axis.values.begin(), axis.values.end(), value) -
                                    axis.values.begin());
  };
  CHECK(map.rows.own == "8");
  const std::size_t own =
      place(map.rows, map.rows.own) * columns + place(map.columns, map.columns.own);
  const SweepRow row = sweep.forecast(static_cast<std::int64_t>(own));
  REQUIRE(row.status == PointStatus::ok);
  CHECK(*row.metrics.front() == Approx(report().prediction.step->time.value()));
  const std::size_t r = place(map.rows, "4");
  const std::size_t c = place(map.columns, "4");
  const auto settings = map_settings(example(), map, c, r);
  CHECK(settings == std::vector<std::string>{"parallel.tensor=4", "parallel.sequence=true",
                                             "parallel.pipeline=4", "parallel.data=64"});
  LoadOptions load;
  load.overrides = settings;
  const Report loaded =
      evaluate(load_scenario(FORETRAIN_SOURCE_DIR "/scenarios/llama2-70b-1024xh100.yaml", load));
  const SweepRow cell = sweep.forecast(static_cast<std::int64_t>(r * columns + c));
  REQUIRE(loaded.prediction.step);
  CHECK(*cell.metrics.front() == Approx(loaded.prediction.step->time.value()));
}

/// Every name of the waterfall, in its order.
static std::vector<std::string_view> waterfall_keys() {
  std::vector<std::string_view> keys{ideal_key};
  for (const StepPart& part : step_parts()) keys.push_back(waterfall_key(part));
  return keys;
}

TEST_CASE("palette: colours of one chart differ, on every ground and on terminals",
          "[planner][palette]") {
  const auto apart = [](const std::vector<Paint>& paints) {
    for (std::size_t a = 0; a < paints.size(); ++a)
      for (std::size_t b = a + 1; b < paints.size(); ++b) {
        CAPTURE(a, b);
        CHECK(std::string_view(paints[a].light) != paints[b].light);
        CHECK(std::string_view(paints[a].dark) != paints[b].dark);
        CHECK(std::string_view(paints[a].terminal) != paints[b].terminal);
      }
  };
  std::vector<Paint> tasks, memory, parts;
  for (const TaskLook& look : task_looks) tasks.push_back(look.paint);
  for (const MemoryPart& look : memory_parts()) memory.push_back(look.paint);
  for (const std::string_view key : waterfall_keys()) parts.push_back(part_paint(key));
  apart(tasks);
  apart(memory);
  apart(parts);
}

TEST_CASE("palette: every part of the step has a colour", "[planner][palette]") {
  for (const WaterfallPart& part : whole_waterfall(example().job, report().prediction)) {
    CAPTURE(part.key);
    const auto keys = waterfall_keys();
    CHECK(std::count(keys.begin(), keys.end(), part.key) == 1);
  }
}

TEST_CASE("palette: a category has one colour in SVG, page and terminal", "[planner][palette]") {
  const std::string svg = scene_svg(memory_chart(*report().prediction.memory, {}));
  const std::string text =
      block_text(memory_section(*report().prediction.memory, StageOrder::pipeline).blocks.front(),
                 {100, true, true});
  ReportPage page;
  page.sides.push_back({report(), std::nullopt});
  const std::string html = page_html(page);
  for (const MemoryPart& look : memory_parts()) {
    CAPTURE(look.key);
    const char* name = look.paint.light + 1;
    CHECK(html.find(fmt::format("--ink-{}:{};", name, look.paint.light)) != std::string::npos);
    CHECK(html.find(fmt::format("--ink-{}:{};", name, look.paint.dark)) != std::string::npos);
    if (heaviest_stage(*report().prediction.memory).*look.size <= GiB) continue;
    CHECK(html.find(fmt::format("fill=\"var(--ink-{})\"", name)) != std::string::npos);
    CHECK(svg.find(fmt::format("fill=\"{}\"", look.paint.light)) != std::string::npos);
    CHECK(text.find(fmt::format("38;5;{}m", look.paint.terminal)) != std::string::npos);
  }
}

}  // namespace foretrain
