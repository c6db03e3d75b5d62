// SPDX-License-Identifier: Apache-2.0
// Plans and machines as points of two numbers that are both better when they are smaller.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "models/base/require.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/scene/scene.hpp"
#include "planner/scene/scene_parts.hpp"
#include "planner/search/plan_cloud.hpp"
#include "planner/search/plan_report.hpp"
#include "planner/text/plan_words.hpp"

namespace foretrain {
namespace {

struct Spot {
  double x = 0.0;
  double y = 0.0;
  SceneColour paint = palette::blue;
  bool front = false;  ///< nothing is better in both
  bool own = false;    ///< of the scenario as it is
  std::string title{};
  std::vector<std::string> lines{};
  SceneTarget target{};
};

struct CloudAxis {
  std::string name;
  TickText text = tick_text;
  bool logarithmic = false;
};

struct Cloud {
  SceneHeadline headline;
  CloudAxis across;
  CloudAxis up;
  std::vector<Spot> spots;  ///< those that are drawn last come last
  std::vector<LegendEntry> legend{};
};

bool beats(const Spot& one, const Spot& other) {
  return one.x <= other.x && one.y <= other.y && (one.x < other.x || one.y < other.y);
}

void find_front(std::vector<Spot>& spots) {
  for (Spot& spot : spots)
    spot.front = !spot.own && std::none_of(spots.begin(), spots.end(), [&](const Spot& other) {
      return !other.own && beats(other, spot);
    });
}

class CloudChart {
 public:
  CloudChart(const Cloud& cloud, const SceneSpace& space) : cloud_{cloud}, scene_{space} {}

  Scene drawn() {
    const SceneArea area = scene_.headline(cloud_.headline);
    const double legend = legend_height(scene_, area.width, cloud_.legend) + 4.0;
    plot_ = plot_inside(scene_, area.inside(0.0, 0.0, 0.0, legend), "0,000 ms");
    x_ = scale(cloud_.across, &Spot::x, plot_.left, plot_.right());
    y_ = scale(cloud_.up, &Spot::y, plot_.bottom(), plot_.top);
    add_x_axis(scene_, plot_, ticks(x_, cloud_.across, plot_.width / 80.0), cloud_.across.name);
    add_y_axis(scene_, plot_, ticks(y_, cloud_.up, plot_.height / 48.0), cloud_.up.name);
    for (const Spot& spot : cloud_.spots)
      if (!spot.own) add_spot(spot);
    add_front();
    for (const Spot& spot : cloud_.spots)
      if (spot.own) add_own(spot);
    add_legend(scene_, {area.left, area.bottom() - legend + 4.0, area.width, 0.0}, cloud_.legend);
    return std::move(scene_);
  }

 private:
  [[nodiscard]] ScenePoint at(const Spot& spot) const { return {x_.at(spot.x), y_.at(spot.y)}; }

  [[nodiscard]] AxisScale scale(const CloudAxis& axis, double Spot::*value, double from,
                                double to) const {
    const auto less = [&](const Spot& a, const Spot& b) { return a.*value < b.*value; };
    const auto [first, last] = std::minmax_element(cloud_.spots.begin(), cloud_.spots.end(), less);
    const double low = *first.*value;
    const double high = *last.*value;
    if (axis.logarithmic) return {low / 1.06, high * 1.06, from, to, true};
    const double margin = std::max(0.06 * (high - low), 1e-3 * high);
    return {std::max(0.0, low - margin), high + margin, from, to};
  }

  static std::vector<AxisTick> ticks(const AxisScale& scale, const CloudAxis& axis, double most) {
    return axis.logarithmic ? log_axis(scale, static_cast<int>(most), axis.text)
                            : even_axis(scale, static_cast<int>(most), axis.text);
  }

  void add_spot(const Spot& spot) {
    const bool many = cloud_.spots.size() > 100;
    const double radius = spot.front ? 4.5 : cloud_.spots.size() > 2000 ? 2.4 : many ? 3.4 : 4.5;
    SceneColour fill = spot.paint;
    if (many && !spot.front) fill.opacity = 0.55;
    scene_.add(SceneDot{at(spot), radius, fill,
                        spot.front ? std::optional(SceneColour{Ink::text}) : std::nullopt, 1.5});
    add_mark(spot, 8.0);
  }

  /// Stairs: between two points of the front nothing lies below the slower one's other number.
  void add_front() {
    std::vector<const Spot*> front;
    for (const Spot& spot : cloud_.spots)
      if (spot.front) front.push_back(&spot);
    std::sort(front.begin(), front.end(), [](const Spot* a, const Spot* b) { return a->y < b->y; });
    for (std::size_t i = 1; i < front.size(); ++i) {
      const ScenePoint from = at(*front[i - 1]);
      const ScenePoint to = at(*front[i]);
      scene_.add(
          ScenePath{{from, {from.x, to.y}, to}, std::nullopt, SceneColour{Ink::text, 0.7}, 1.5});
    }
  }

  void add_own(const Spot& spot) {
    const ScenePoint here = at(spot);
    scene_.add(SceneDot{here, 8.0, {Ink::surface, 0.0}, SceneColour{Ink::surface}, 4.0});
    scene_.add(SceneDot{here, 8.0, {Ink::surface, 0.0}, SceneColour{Ink::text}, 2.0});
    scene_.line({here.x - 12.0, here.y}, {here.x + 12.0, here.y}, Ink::text, 2.0);
    scene_.line({here.x, here.y - 12.0}, {here.x, here.y + 12.0}, Ink::text, 2.0);
    const SceneLetters letters{Ink::text, LetterSize::small, true};
    const std::string words = "this plan";
    const double wide = scene_.text_width(words, letters);
    const double high = scene_.line_height();
    const bool right = here.x + 22.0 + wide < plot_.right();
    const double left = right ? here.x + 17.0 : here.x - 17.0 - wide;
    scene_.plate({left - 3.0, here.y - high / 2.0 - 1.0, wide + 6.0, high + 2.0});
    scene_.text({left, here.y}, Scene::Across::start, Scene::Down::middle, words, letters);
    add_mark(spot, 12.0);
  }

  void add_mark(const Spot& spot, double reach) {
    const ScenePoint here = at(spot);
    scene_.marks.push_back({{here.x - reach, here.y - reach, 2.0 * reach, 2.0 * reach},
                            spot.title,
                            spot.lines,
                            spot.target});
  }

  const Cloud& cloud_;
  Scene scene_;
  SceneArea plot_;
  AxisScale x_;
  AxisScale y_;
};

std::string count(std::int64_t number) { return with_thousands(number); }

/// Degrees of two have colours of their own.
Paint tensor_paint(int tensor) {
  static constexpr std::array<std::size_t, 8> order{0, 1, 2, 5, 4, 3, 6, 7};
  std::size_t step = 0;
  for (int size = 1; size < tensor && step < 7; size *= 2) ++step;
  return series_paints[order[step]];
}

SceneHeadline cloud_headline(const PlanCloud& cloud, const NumberUnits& units) {
  const CloudPoint& best = cloud.points.front();
  SceneHeadline line{"The fastest plan that fits: " + seconds_text(best.step, units) + " per step"};
  if (cloud.own) {
    const double gain = 1.0 - best.step / cloud.own->step;
    line.text += gain > 5e-4 ? fmt::format(", {} faster than this one", percent_text(gain))
                             : ", no faster than this one";
  }
  line.detail = fmt::format("{} plans fit of {} combinations", count(cloud.feasible),
                            count(cloud.combinations));
  const auto shown = static_cast<std::int64_t>(cloud.points.size());
  if (cloud.feasible > shown) line.detail += ", the fastest " + count(shown) + " are shown";
  return line;
}

/// Seconds per sequence: what plans of different batches are ordered by.
double pace(const Report& report) {
  return report.prediction.step->time.value() / report.scenario.job.training.global_batch;
}

Spot spot_of(const std::string& name, const Report& report, double x, double y) {
  const Prediction& p = report.prediction;
  const auto run = run_duration(p);
  return {x,
          y,
          palette::blue,
          false,
          false,
          name,
          {"GPUs\t" + count(report.scenario.job.cluster.gpus()),
           axis_words(report.scenario.job.parallel), "step\t" + seconds_text(p.step->time),
           "MFU\t" + (p.efficiency ? percent_text(p.efficiency->mfu) : "unknown"),
           "peak memory\t" + (p.memory ? bytes_text(p.memory->peak) : "unknown"),
           "time to train\t" + (run ? duration_text(*run) : "unknown")}};
}

}  // namespace

Scene plan_cloud_chart(const PlanCloud& cloud, const SceneSpace& space) {
  FORETRAIN_REQUIRE(!cloud.points.empty());
  const AxisUnit size = bytes_axis(cloud.points.front().peak, space.units);
  const AxisUnit time = seconds_axis(cloud.points.front().step, space.units);
  Cloud chart{cloud_headline(cloud, space.units),
              {"peak memory of the heaviest GPU, " + size.name},
              {"step time, " + time.name, [](double v) { return significant_text(v); }, true},
              {}};
  // The slowest first, so that the best lie on top.
  for (std::size_t i = cloud.points.size(); i-- > 0;) {
    const CloudPoint& point = cloud.points[i];
    Spot spot{point.peak.value() / size.size, point.step.value() / time.size,
              tensor_paint(point.tensor), point.front};
    spot.title = point.front ? "Nothing is both faster and lighter" : "A plan that fits";
    spot.lines = {"step\t" + seconds_text(point.step, space.units),
                  "memory\t" + bytes_text(point.peak, space.units)};
    spot.target.kind = SceneTarget::Kind::plan;
    spot.target.task = static_cast<std::int64_t>(i);
    chart.spots.push_back(std::move(spot));
  }
  if (cloud.own) {
    Spot own{cloud.own->peak.value() / size.size, cloud.own->step.value() / time.size};
    own.own = true;
    own.title = "The scenario as it is";
    own.lines = {"step\t" + seconds_text(cloud.own->step, space.units),
                 "memory\t" + bytes_text(cloud.own->peak, space.units)};
    chart.spots.push_back(std::move(own));
  }
  std::set<int> degrees;
  for (const CloudPoint& point : cloud.points) degrees.insert(point.tensor);
  for (const int tensor : degrees)
    chart.legend.push_back({tensor_paint(tensor), fmt::format("tensor {}", tensor)});
  chart.legend.push_back({Ink::text, "front, this plan"});
  return CloudChart(chart, space).drawn();
}

std::optional<Scene> plans_chart(const PlanReport& report, const SceneSpace& space) {
  const std::vector<Finalist>& plans = report.plans;
  if (plans.size() < 2) return std::nullopt;
  const double batch = plans.front().report.scenario.job.training.global_batch;
  Cloud chart{
      {"Plan 1 is the fastest of those that are shown"},
      {"peak memory per GPU, GiB"},
      {"step time for the same sequences", [](double at) { return seconds_text(Seconds{at}); }},
      {},
      {{palette::orange, "plan 1"},
       {palette::blue,
        "other plans; those on the line: no other is both faster and "
        "smaller"}}};
  for (std::size_t i = plans.size(); i-- > 0;) {
    chart.spots.push_back(spot_of(fmt::format("Plan {}", i + 1), plans[i].report,
                                  plans[i].scored.peak.in(GiB), pace(plans[i].report) * batch));
    if (i == 0) chart.spots.back().paint = palette::orange;
  }
  if (report.standing)
    if (const Prediction& own = report.standing->report.prediction; own.step && own.memory) {
      chart.spots.push_back(spot_of("Your plan", report.standing->report, own.memory->peak.in(GiB),
                                    pace(report.standing->report) * batch));
      chart.spots.back().own = true;
    }
  find_front(chart.spots);
  return CloudChart(chart, space).drawn();
}

std::optional<Scene> machines_chart(const std::vector<Finalist>& pareto, const SceneSpace& space) {
  Cloud chart{{"Each point is the best plan of a machine that no other beats on both axes"},
              {"thousand GPU-hours"},
              {"days to train"},
              {}};
  for (const Finalist& plan : pareto) {
    const Prediction& p = plan.report.prediction;
    const auto run = run_duration(p);
    if (!run || !p.cost.gpu_hours) return std::nullopt;
    chart.spots.push_back(spot_of(count(plan.report.scenario.job.cluster.gpus()) + " GPUs",
                                  plan.report, *p.cost.gpu_hours / 1000.0, run->value() / 86400.0));
  }
  if (chart.spots.size() < 2) return std::nullopt;
  find_front(chart.spots);
  return CloudChart(chart, space).drawn();
}

}  // namespace foretrain
