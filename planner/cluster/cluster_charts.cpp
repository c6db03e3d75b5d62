// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

#include "models/base/contains.hpp"
#include "planner/cluster/internal/cluster_charts.hpp"
#include "planner/cluster/internal/cluster_gantt.hpp"
#include "planner/text/format.hpp"
#include "planner/text/svg_text.hpp"
#include "planner/text/ticks.hpp"

namespace foretrain::internal {
namespace {

// Pixels.
constexpr double left_edge = 70.0;
constexpr double chart_width = 820.0;
constexpr double chart_height = 150.0;
constexpr double part_width = 1100.0;
constexpr double schedule_width = part_width - left_edge - 40.0;

constexpr std::array<Paint, 4> hosts_paints{palette::vermilion, palette::steel, palette::sand,
                                            palette::orange};

/// A chart over the horizon: its own scale, one curve after the other.
constexpr double hosts_top = 76.0;
constexpr double queue_top = 272.0;

struct TimeChart {
  double top;
  double most;
  std::size_t bins;
  double width = chart_width;
  double height = chart_height;

  [[nodiscard]] double x(std::size_t bin) const {
    return left_edge + width * static_cast<double>(bin) / static_cast<double>(bins);
  }
  [[nodiscard]] double y(double value) const {
    return top + height * (1.0 - std::min(1.0, most > 0.0 ? value / most : 0.0));
  }

  /// Steps over the bins; closed down to zero where it is filled.
  [[nodiscard]] std::string curve(const std::function<double(std::size_t)>& value,
                                  const std::string& look, bool filled) const {
    std::string path = filled ? fmt::format("M{:.2f} {:.2f}", x(0), y(0.0)) : "";
    for (std::size_t i = 0; i < bins; ++i) {
      path += fmt::format("{}{:.2f} {:.2f}H{:.2f}", path.empty() ? "M" : "L", x(i), y(value(i)),
                          x(i + 1));
    }
    if (filled) path += fmt::format("V{:.2f}Z", y(0.0));
    return fmt::format("<path d=\"{}\" {}/>\n", path, look);
  }

  [[nodiscard]] std::string frame(const std::string& title) const {
    std::string svg = svg_label(left_edge, top - 10.0, "start", title, " font-weight=\"bold\"");
    for (const double value : round_ticks(0.0, std::max(1e-9, most), 4)) {
      svg += fmt::format("<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n",
                         left_edge, left_edge + width, y(value), y(value), svg_grid);
      svg += svg_label(left_edge - 6.0, y(value) + 4.0, "end", significant_text(value));
    }
    return svg;
  }
};

/// Without zeros that say nothing.
std::string short_text(double value) { return fmt::format("{:g}", value); }

std::string fill_of(const Paint& paint) {
  return fmt::format("fill=\"{}\" stroke=\"none\"", paint.light);
}

std::string line_of(const Paint& paint) {
  return fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"", paint.light);
}

std::string time_axis(const ClusterFile& file) {
  std::string svg;
  constexpr double height = hosts_and_queue_height;
  const double days = file.queue.horizon.value() / 86400.0;
  for (const double day : round_ticks(0.0, days, 8))
    svg += svg_label(left_edge + chart_width * day / days, height - 26.0, "middle",
                     "day " + short_text(day));
  if (file.queue.warm_up > Seconds{}) {
    const double x = left_edge + chart_width * (file.queue.warm_up / file.queue.horizon);
    // Not across the titles.
    for (const double top : {hosts_top, queue_top})
      svg += fmt::format(
          "<line x1=\"{0:.2f}\" x2=\"{0:.2f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" "
          "stroke=\"{3}\" stroke-dasharray=\"4 3\"/>\n",
          x, top, top + chart_height, palette::ink.light);
    svg += svg_label(x + 4.0, height - 8.0, "start", "counted from here");
  }
  return svg;
}

// --- waits -----------------------------------------------------------------------------------

/// Times on a logarithmic scale from a minute on.
struct WaitScale {
  double most;  ///< seconds

  static constexpr double least = 60.0;
  static constexpr double left = 200.0;
  static constexpr double right = part_width - 30.0;

  [[nodiscard]] double x(double seconds) const {
    const double share = std::log(std::max(seconds, least) / least) / std::log(most / least);
    return left + (right - left) * std::min(1.0, share);
  }
};

struct NamedTime {
  double seconds;
  const char* name;
};
constexpr std::array<NamedTime, 9> wait_marks{{{60.0, "1 min or less"},
                                               {600.0, "10 min"},
                                               {3600.0, "1 h"},
                                               {6.0 * 3600.0, "6 h"},
                                               {86400.0, "1 day"},
                                               {3.0 * 86400.0, "3 days"},
                                               {10.0 * 86400.0, "10 days"},
                                               {30.0 * 86400.0, "30 days"},
                                               {100.0 * 86400.0, "100 days"}}};

WaitScale scale_for(const QueueSummary& summary) {
  double most = summary.all.wait.p99.value;
  for (const ClassSummary& jobs : summary.classes) most = std::max(most, jobs.wait.p99.value);
  return {std::max(3600.0, most * 1.15)};
}

std::string waits_row(const std::string& name, const QueueTimes& wait, const WaitScale& scale,
                      double y) {
  const double p50 = scale.x(wait.p50.value);
  const double p90 = scale.x(wait.p90.value);
  const double p99 = scale.x(wait.p99.value);
  const auto time = [](const QueueEstimate& of) { return duration_text(Seconds{of.value}); };
  std::string svg =
      fmt::format("<g><title>{}</title>\n",
                  xml_text(fmt::format("{}: mean {}, P50 {}, P90 {}, P99 {}", name, time(wait.mean),
                                       time(wait.p50), time(wait.p90), time(wait.p99))));
  svg += svg_label(WaitScale::left - 10.0, y + 4.0, "end",
                   name.size() > 28 ? name.substr(0, 27) + "..." : name);
  svg += fmt::format(
      "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
      "stroke-width=\"2\"/>\n",
      p50, p99, y, y, palette::slate.light);
  svg +=
      fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"12\" fill=\"{}\"/>\n",
                  p50, y - 6.0, std::max(1.5, p90 - p50), palette::steel.light);
  svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"/>\n</g>\n",
                     scale.x(wait.mean.value), y, palette::vermilion.light);
  return svg;
}

// --- a schedule ------------------------------------------------------------------------------

/// Swatches with their names, in rows; sets `height` to what they take.
std::string legend_of(const ClusterFile& file, const ClassLooks& looks, double top,
                      double& height) {
  constexpr double letter = 7.2;
  constexpr double row = 20.0;
  std::string svg;
  double x = left_edge;
  double y = top + 14.0;
  const auto item = [&](const Paint& paint, const std::string& name) {
    const double wide = 24.0 + letter * static_cast<double>(name.size());
    if (x + wide > part_width - 20.0) {
      x = left_edge;
      y += row;
    }
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"12\" height=\"12\" fill=\"{}\"/>\n",
                       x, y - 10.0, paint.light);
    svg += svg_label(x + 17.0, y, "start", name);
    x += wide + 12.0;
  };
  for (const int index : looks.shown)
    item(looks.paints[static_cast<std::size_t>(index)],
         cut(file.queue.classes[static_cast<std::size_t>(index)].name, 40));
  if (looks.has_others()) item(palette::grey, "other classes");
  height = y + 8.0 - top;
  return svg;
}

/// Days along the bottom of a drawing.
std::string day_axis(const ClusterWindow& window, double bottom, double width) {
  std::string svg;
  for (const double day : round_ticks(window.from / 86400.0, window.to / 86400.0, 8))
    svg += svg_label(left_edge + width * (day * 86400.0 - window.from) / window.length(),
                     bottom + 18.0, "middle", "day " + short_text(day));
  return svg;
}

std::string stacked(const ClusterFile& file, const std::vector<std::vector<double>>& hosts,
                    const ClassLooks& looks, const ClusterWindow& window) {
  constexpr double width = schedule_width;
  const std::size_t parts = hosts.front().size();
  const TimeChart chart{30.0, static_cast<double>(file.queue.hosts), parts, width, 200.0};
  std::vector<double> sum(parts, 0.0);
  // The highest first, so that each is drawn over by those below it.
  std::vector<std::string> layers;
  const auto add = [&](const std::vector<std::size_t>& classes, const Paint& paint) {
    for (const std::size_t index : classes)
      for (std::size_t part = 0; part < parts; ++part) sum[part] += hosts[index][part];
    layers.push_back(chart.curve([&](std::size_t part) { return sum[part]; },
                                 fmt::format("fill=\"{}\" stroke=\"none\"", paint.light), true));
  };
  for (const int index : looks.shown)
    add({static_cast<std::size_t>(index)}, looks.paints[static_cast<std::size_t>(index)]);
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < looks.together.size(); ++i)
    if (looks.together[i]) others.push_back(i);
  if (!others.empty()) add(others, palette::grey);
  std::string svg;
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) svg += *layer;
  svg += chart.frame("Hosts in use by class") + day_axis(window, 230.0, width);
  double legend = 0.0;
  svg += legend_of(file, looks, 256.0, legend);
  return svg_start(part_width, 256.0 + legend) + svg + "</svg>\n";
}

std::string bar_words(const ClusterFile& file, const ScheduledStretch& stretch) {
  const auto day = [](Seconds time) { return fixed_text(time.value() / 86400.0, 2); };
  return fmt::format("{}: {} hosts, day {} to {} ({}), submitted day {}{}",
                     file.queue.classes[static_cast<std::size_t>(stretch.job_class)].name,
                     with_thousands(stretch.hosts), day(stretch.start), day(stretch.end),
                     duration_text(stretch.end - stretch.start), day(stretch.submit),
                     stretch.ends ? "" : "; interrupted");
}

std::string gantt(const ClusterFile& file, const std::vector<ScheduledStretch>& schedule,
                  const ClassLooks& looks, const ClusterWindow& window) {
  constexpr double top = 12.0;
  constexpr double width = schedule_width;
  const double height = std::clamp(file.queue.hosts * 12.0, 120.0, 560.0);
  const double row = height / file.queue.hosts;
  const auto x = [&](double time) {
    return left_edge +
           width * (std::clamp(time, window.from, window.to) - window.from) / window.length();
  };
  std::string svg = fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
      "fill=\"#eceef1\"/>\n",
      left_edge, top, width, height);
  // A gap between bars, where there is room for one.
  const double gap = std::min(0.6, 0.15 * row);
  for (const ClusterBar& bar : placed_bars(schedule, window, file.queue.hosts)) {
    const ScheduledStretch& stretch = schedule[bar.stretch];
    const double from = x(stretch.start.value());
    svg += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\">"
        "<title>{}</title></rect>\n",
        from, top + height - row * (bar.first + bar.hosts),
        std::max(0.3, x(stretch.end.value()) - from - gap), row * bar.hosts - gap,
        looks.paints[static_cast<std::size_t>(stretch.job_class)].light,
        xml_text(bar_words(file, stretch)));
  }
  for (const double hosts : round_ticks(0.0, file.queue.hosts, 6))
    svg += svg_label(left_edge - 6.0, top + height * (1.0 - hosts / file.queue.hosts) + 4.0, "end",
                     short_text(hosts));
  return svg_start(part_width, top + height + 26.0) + svg + day_axis(window, top + height, width) +
         "</svg>\n";
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

std::string hosts_and_queue(const ClusterFile& file, const QueueSummary& summary) {
  const auto& bins = summary.bins;
  double most = 1.0;
  for (const double waiting : summary.waiting_p90) most = std::max(most, waiting);
  for (const QueueBin& bin : bins) most = std::max(most, bin.waiting_jobs);
  const TimeChart hosts{hosts_top, static_cast<double>(file.queue.hosts), bins.size()};
  const TimeChart queue{queue_top, most, bins.size()};
  std::string svg = hosts.curve([&](std::size_t i) { return bins[i].allocated + bins[i].down; },
                                fill_of(hosts_paints[0]), true);
  svg +=
      hosts.curve([&](std::size_t i) { return bins[i].allocated; }, fill_of(hosts_paints[1]), true);
  svg += hosts.frame("Hosts allocated" +
                     std::string(summary.hosts.down > 0.0 ? ", and under repair on top" : ""));
  svg += queue.curve([&](std::size_t i) { return bins[i].waiting_jobs; }, fill_of(hosts_paints[2]),
                     true);
  if (summary.replications > 1)
    svg += queue.curve([&](std::size_t i) { return summary.waiting_p90[i]; },
                       line_of(hosts_paints[3]), false);
  svg += queue.frame(summary.replications > 1
                         ? "Waiting jobs: mean, and P90 over replications as a line"
                         : "Waiting jobs");
  return svg + time_axis(file);
}

std::string waits_svg(const ClusterFile& file, const QueueSummary& summary) {
  const WaitScale scale = scale_for(summary);
  constexpr double row = 26.0;
  const std::size_t rows = summary.classes.size() + (summary.classes.size() > 1 ? 1 : 0);
  const double bottom = 10.0 + row * static_cast<double>(rows);
  std::string svg;
  for (const NamedTime& mark : wait_marks) {
    if (mark.seconds > scale.most) break;
    svg += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"4\" y2=\"{1:.1f}\" {2}/>\n",
                       scale.x(mark.seconds), bottom, svg_grid);
    svg += svg_label(scale.x(mark.seconds), bottom + 18.0, "middle", mark.name);
  }
  double y = 10.0 + 0.5 * row;
  for (std::size_t i = 0; i < rows; ++i, y += row) {
    const bool is_class = i < summary.classes.size();
    const ClassSummary& jobs = is_class ? summary.classes[i] : summary.all;
    if (jobs.jobs > 0)
      svg += waits_row(is_class ? file.queue.classes[i].name : "all", jobs.wait, scale, y);
  }
  return svg_start(part_width, bottom + 50.0) + svg +
         svg_label(WaitScale::left, bottom + 42.0, "start",
                   "bar: median to P90; line: to P99; dot: mean") +
         "</svg>\n";
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
  return {"One replication, job by job",
          {AnswerPicture{stacked(file, hosts, looks, whole), "Hosts in use by class", true},
           AnswerPicture{gantt(file, schedule, looks, window), "Jobs on hosts" + stretch, true}}};
}

}  // namespace foretrain::internal
