// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "models/base/ranges.hpp"
#include "planner/cluster/cluster_report.hpp"
#include "planner/cluster/internal/cluster_charts.hpp"
#include "planner/cluster/internal/cluster_gantt.hpp"
#include "planner/scene/scene_parts.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
namespace internal {
namespace {

using Across = Scene::Across;

constexpr double day_s = 86400.0;
constexpr double page_width = 1100.0;

std::string day_text(double day) { return fmt::format("day {:g}", day); }

/// Values over equal parts of a window of time, from zero on.
struct TimePlot {
  SceneArea area;
  ClusterWindow window;
  double most = 1.0;

  [[nodiscard]] AxisScale x() const { return {window.from, window.to, area.left, area.right()}; }
  [[nodiscard]] AxisScale y() const { return {0.0, std::max(1e-9, most), area.bottom(), area.top}; }

  /// Steps over the parts; down to zero at both ends where they enclose something.
  [[nodiscard]] std::vector<ScenePoint> steps(const std::vector<double>& values,
                                              bool enclosed) const {
    const double wide = area.width / static_cast<double>(values.size());
    std::vector<ScenePoint> points;
    if (enclosed) points.push_back({area.left, area.bottom()});
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double high = y().at(std::min(values[i], most));
      const double left = area.left + wide * static_cast<double>(i);
      points.push_back({left, high});
      points.push_back({left + wide, high});
    }
    if (enclosed) points.push_back({area.right(), area.bottom()});
    return points;
  }
};

void add_filled(Scene& scene, const TimePlot& plot, const std::vector<double>& values,
                const Paint& paint) {
  scene.add(ScenePath{plot.steps(values, true), paint});
}

void add_days(Scene& scene, const TimePlot& plot) {
  add_x_axis(scene, plot.area, even_axis(plot.x().in(day_s), 8, day_text));
}

std::string count_of(double value) {
  return value < 1000.0 ? tick_text(value) : significant_text(value);
}

/// Title and numbers of hosts or jobs.
void add_frame(Scene& scene, const TimePlot& plot, const std::string& title) {
  scene.text({plot.area.left, plot.area.top - 6.0}, Across::start, Scene::Down::bottom, title,
             {Ink::text, LetterSize::small, true}, plot.area.width);
  add_y_axis(scene, plot.area, even_axis(plot.y(), 4, count_of));
}

/// Of each part of the horizon.
std::vector<double> values_of(const QueueSummary& summary, double (*value)(const QueueBin&)) {
  std::vector<double> values;
  for (const QueueBin& bin : summary.bins) values.push_back(value(bin));
  return values;
}

// --- waits -----------------------------------------------------------------------------------

constexpr std::array<std::pair<double, const char*>, 9> wait_marks{{{60.0, "1 min or less"},
                                                                    {600.0, "10 min"},
                                                                    {3600.0, "1 h"},
                                                                    {6.0 * 3600.0, "6 h"},
                                                                    {day_s, "1 day"},
                                                                    {3.0 * day_s, "3 days"},
                                                                    {10.0 * day_s, "10 days"},
                                                                    {30.0 * day_s, "30 days"},
                                                                    {100.0 * day_s, "100 days"}}};

/// From a minute on, by their logarithm.
AxisScale wait_scale(const QueueSummary& summary, const SceneArea& plot) {
  double most = summary.all.wait.p99.value;
  for (const ClassSummary& jobs : summary.classes) most = std::max(most, jobs.wait.p99.value);
  return {wait_marks.front().first, std::max(3600.0, most * 1.15), plot.left, plot.right(), true};
}

std::string wait_words(const std::string& name, const QueueTimes& wait) {
  const auto time = [](const QueueEstimate& of) { return duration_text(Seconds{of.value}); };
  return fmt::format("{}: mean {}, P50 {}, P90 {}, P99 {}", name, time(wait.mean), time(wait.p50),
                     time(wait.p90), time(wait.p99));
}

void add_waits(Scene& scene, const AxisScale& scale, const SceneArea& row, const std::string& name,
               const QueueTimes& wait) {
  const auto at = [&](const QueueEstimate& estimate) {
    return scale.at(std::clamp(estimate.value, scale.low(), scale.high()));
  };
  const double y = row.centre().y;
  const double p50 = at(wait.p50);
  const double p90 = std::max(p50 + 1.5, at(wait.p90));
  scene.text({row.left - 10.0, y}, Across::end, Scene::Down::middle, name, {Ink::muted},
             row.left - 20.0);
  scene.line({p50, y}, {at(wait.p99), y}, palette::slate, 2.0);
  scene.box({p50, y - 6.0, p90 - p50, 12.0}, palette::steel);
  scene.add(SceneDot{{at(wait.mean), y}, 4.0, palette::vermilion});
  scene.marks.push_back({row, wait_words(name, wait)});
}

// --- a schedule ------------------------------------------------------------------------------

std::vector<LegendEntry> legend_of(const ClusterFile& file, const ClassLooks& looks) {
  std::vector<LegendEntry> entries;
  for (const int index : looks.shown)
    entries.push_back({looks.paints[static_cast<std::size_t>(index)],
                       cut(file.queue.classes[static_cast<std::size_t>(index)].name, 40)});
  if (looks.has_others()) entries.push_back({palette::grey, "other classes"});
  return entries;
}

SceneArea schedule_plot(const Scene& scene) {
  SceneArea area = plot_inside(scene, scene.chart, "00,000");
  return area.inside(0.0, scene.line_height(), 0.0, 0.0);
}

Scene stacked_chart(const ClusterFile& file, const std::vector<std::vector<double>>& hosts,
                    const ClassLooks& looks, const ClusterWindow& window) {
  const std::vector<LegendEntry> legend = legend_of(file, looks);
  Scene scene{picture_space({}, page_width, 330.0)};
  scene.headline({});
  const double below = legend_height(scene, scene.chart.width, legend);
  scene.chart.height -= below;
  const TimePlot plot{schedule_plot(scene), window, static_cast<double>(file.queue.hosts)};
  std::vector<double> sum(hosts.front().size(), 0.0);
  // The highest first, so that each is drawn over by those below it.
  std::vector<std::pair<std::vector<double>, Paint>> layers;
  const auto add = [&](const std::vector<double>& own) {
    for (std::size_t part = 0; part < sum.size(); ++part) sum[part] += own[part];
  };
  for (const int index : looks.shown) {
    add(hosts[static_cast<std::size_t>(index)]);
    layers.emplace_back(sum, looks.paints[static_cast<std::size_t>(index)]);
  }
  for (std::size_t i = 0; i < hosts.size(); ++i)
    if (looks.together[i]) add(hosts[i]);
  if (looks.has_others()) layers.emplace_back(sum, palette::grey);
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer)
    add_filled(scene, plot, layer->first, layer->second);
  add_frame(scene, plot, "Hosts in use by class");
  add_days(scene, plot);
  const SceneArea rows{plot.area.left, scene.chart.bottom(), plot.area.width, below};
  add_legend(scene, rows, legend);
  return scene;
}

std::string bar_words(const ClusterFile& file, const ScheduledStretch& stretch) {
  const auto day = [](Seconds time) { return fixed_text(time.in(days), 2); };
  return fmt::format("{}: {} hosts, day {} to {} ({}), submitted day {}{}",
                     file.queue.classes[static_cast<std::size_t>(stretch.job_class)].name,
                     with_thousands(stretch.hosts), day(stretch.start), day(stretch.end),
                     duration_text(stretch.end - stretch.start), day(stretch.submit),
                     stretch.ends ? "" : "; interrupted");
}

Scene job_chart(const ClusterFile& file, const std::vector<ScheduledStretch>& schedule,
                const ClassLooks& looks, const ClusterWindow& window) {
  const double height = std::clamp(file.queue.hosts * 12.0, 120.0, 560.0);
  Scene scene{picture_space({}, page_width, height + 80.0)};
  scene.headline({});
  const TimePlot plot{schedule_plot(scene), window, static_cast<double>(file.queue.hosts)};
  scene.box(plot.area, Ink::idle);
  add_frame(scene, plot, "Hosts");
  add_days(scene, plot);
  const double row = plot.area.height / file.queue.hosts;
  // A gap between bars, where there is room for one.
  const double gap = std::min(0.6, 0.15 * row);
  const auto x = [&](Seconds time) {
    return plot.x().at(std::clamp(time.value(), window.from, window.to));
  };
  for (const ClusterBar& bar : placed_bars(schedule, window, file.queue.hosts)) {
    const ScheduledStretch& stretch = schedule[bar.stretch];
    const double from = x(stretch.start);
    const SceneArea area{from, plot.area.bottom() - row * (bar.first + bar.hosts),
                         std::max(0.3, x(stretch.end) - from - gap), row * bar.hosts - gap};
    scene.box(area, looks.paints[static_cast<std::size_t>(stretch.job_class)]);
    scene.marks.push_back({area, bar_words(file, stretch)});
  }
  return scene;
}

}  // namespace

bool ClassLooks::has_others() const { return contains(together, true); }

ClassLooks class_looks(const std::vector<double>& host_s) {
  // Grey is that of the others.
  constexpr std::size_t own = series_paints.size() - 1;
  std::vector<int> order(host_s.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int a, int b) {
    return host_s[static_cast<std::size_t>(a)] > host_s[static_cast<std::size_t>(b)];
  });
  if (order.size() > own) order.resize(own);
  std::ranges::sort(order);
  ClassLooks looks{order, std::vector<Paint>(host_s.size(), palette::grey),
                   std::vector<bool>(host_s.size(), true)};
  for (std::size_t i = 0; i < order.size(); ++i) {
    looks.paints[static_cast<std::size_t>(order[i])] = series_paints[i];
    looks.together[static_cast<std::size_t>(order[i])] = false;
  }
  return looks;
}

Scene waits_chart(const ClusterFile& file, const QueueSummary& summary) {
  constexpr double row = 26.0;
  const std::size_t rows = summary.classes.size() + (summary.classes.size() > 1 ? 1 : 0);
  const double height = row * static_cast<double>(rows);
  Scene scene{picture_space({}, page_width, height + 90.0)};
  scene.headline({});
  const SceneArea plot{200.0, scene.chart.top, scene.chart.right() - 230.0, height};
  const AxisScale scale = wait_scale(summary, plot);
  std::vector<AxisTick> ticks;
  for (const auto& [seconds, name] : wait_marks)
    if (seconds <= scale.high()) ticks.push_back({scale.at(seconds), name});
  add_x_axis(scene, plot, ticks);
  for (std::size_t i = 0; i < rows; ++i) {
    const bool is_class = i < summary.classes.size();
    const ClassSummary& jobs = is_class ? summary.classes[i] : summary.all;
    const SceneArea line{plot.left, plot.top + row * static_cast<double>(i), plot.width, row};
    if (jobs.jobs > 0)
      add_waits(scene, scale, line, is_class ? file.queue.classes[i].name : "all", jobs.wait);
  }
  scene.text({plot.left, plot.bottom() + 2.2 * scene.line_height()}, Across::start,
             Scene::Down::top, "bar: median to P90; line: to P99; dot: mean");
  return scene;
}

AnswerSection schedule_section(const ClusterFile& file,
                               const std::vector<ScheduledStretch>& schedule) {
  constexpr std::size_t parts = 240;
  constexpr std::size_t most_bars = 2500;
  const ClusterWindow whole{0.0, file.queue.horizon.value()};
  const auto hosts = hosts_by_class(schedule, file.queue.classes.size(), whole, parts);
  std::vector<double> host_s;
  for (const std::vector<double>& own : hosts)
    host_s.push_back(std::accumulate(own.begin(), own.end(), 0.0));
  const ClassLooks looks = class_looks(host_s);
  const ClusterWindow window = shown_window(schedule, whole, most_bars);
  const std::string stretch =
      window.length() >= whole.length()
          ? ""
          : fmt::format(", {} around the longest queue", duration_text(Seconds{window.length()}));
  return {
      "One replication, job by job",
      {AnswerPicture{stacked_chart(file, hosts, looks, whole), "Hosts in use by class", true},
       AnswerPicture{job_chart(file, schedule, looks, window), "Jobs on hosts" + stretch, true}}};
}

}  // namespace internal

Scene cluster_chart(const ClusterFile& file, const QueueSummary& summary, const SceneSpace& space) {
  using internal::add_days;
  using internal::add_filled;
  using internal::add_frame;
  using internal::ClusterWindow;
  using internal::TimePlot;
  using internal::values_of;
  using Across = Scene::Across;
  Scene scene{space};
  // On a page its section says this.
  const bool alone = !space.subject.empty();
  const SceneArea area =
      scene.headline({alone ? "Hosts and waiting jobs over time, means of replications" : ""});
  double most = 1.0;
  for (const double waiting : summary.waiting_p90) most = std::max(most, waiting);
  for (const QueueBin& bin : summary.bins) most = std::max(most, bin.waiting_jobs);
  const ClusterWindow horizon{0.0, file.queue.horizon.value()};
  const double gap = 2.0 * scene.line_height();
  const SceneArea both = plot_inside(scene, area, "00,000").inside(0.0, gap, 0.0, 0.0);
  const double height = (both.height - gap) / 2.0;
  const TimePlot hosts{
      {both.left, both.top, both.width, height}, horizon, static_cast<double>(file.queue.hosts)};
  const TimePlot queue{{both.left, both.bottom() - height, both.width, height}, horizon, most};
  add_filled(scene, hosts,
             values_of(summary, [](const QueueBin& bin) { return bin.allocated + bin.down; }),
             palette::vermilion);
  add_filled(scene, hosts, values_of(summary, [](const QueueBin& bin) { return bin.allocated; }),
             palette::steel);
  add_frame(scene, hosts,
            std::string("Hosts allocated") +
                (summary.hosts.down > 0.0 ? ", and under repair on top" : ""));
  add_filled(scene, queue, values_of(summary, [](const QueueBin& bin) { return bin.waiting_jobs; }),
             palette::sand);
  if (summary.replications > 1)
    scene.add(
        ScenePath{queue.steps(summary.waiting_p90, false), std::nullopt, palette::orange, 1.5});
  add_frame(scene, queue,
            summary.replications > 1 ? "Waiting jobs: mean, and P90 over replications as a line"
                                     : "Waiting jobs");
  add_days(scene, queue);
  if (file.queue.warm_up > Seconds{}) {
    const double x = queue.x().at(file.queue.warm_up.value());
    // Not across the titles.
    for (const TimePlot* plot : {&hosts, &queue})
      scene.line({x, plot->area.top}, {x, plot->area.bottom()}, Ink::text, 1.0, true);
    scene.text({x + 4.0, hosts.area.top + 4.0}, Across::start, Scene::Down::top,
               "counted from here", {Ink::text});
  }
  return scene;
}

}  // namespace foretrain
