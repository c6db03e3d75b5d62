// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "planner/cluster/cluster_report.hpp"
#include "planner/text/format.hpp"
#include "planner/text/palette.hpp"
#include "planner/text/svg_text.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

// Pixels.
constexpr double left_edge = 70.0;
constexpr double chart_width = 820.0;
constexpr double chart_height = 150.0;
constexpr double picture_width = 920.0;
constexpr double picture_height = 470.0;

/// A chart over the horizon: its own scale, one curve after the other.
struct TimeChart {
  double top;
  double most;
  std::size_t bins;

  [[nodiscard]] double x(std::size_t bin) const {
    return left_edge + chart_width * static_cast<double>(bin) / static_cast<double>(bins);
  }
  [[nodiscard]] double y(double value) const {
    return top + chart_height * (1.0 - std::min(1.0, most > 0.0 ? value / most : 0.0));
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
    for (const double share : {0.0, 0.5, 1.0}) {
      svg += fmt::format(
          "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#dddddd\"/>\n",
          left_edge, left_edge + chart_width, y(share * most), y(share * most));
      svg +=
          svg_label(left_edge - 6.0, y(share * most) + 4.0, "end", significant_text(share * most));
    }
    return svg;
  }
};

std::string fill_of(const Paint& paint) {
  return fmt::format("fill=\"{}\" fill-opacity=\"0.75\" stroke=\"none\"", paint.light);
}

std::string line_of(const Paint& paint) {
  return fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"", paint.light);
}

std::string time_axis(const ClusterFile& file) {
  std::string svg;
  constexpr int marks = 6;
  for (int i = 0; i <= marks; ++i) {
    const double share = static_cast<double>(i) / marks;
    svg += svg_label(left_edge + chart_width * share, picture_height - 26.0, "middle",
                     "day " + fixed_text(share * file.queue.horizon.value() / 86400.0, 0));
  }
  if (file.queue.warm_up > Seconds{}) {
    const double x = left_edge + chart_width * (file.queue.warm_up / file.queue.horizon);
    svg += fmt::format(
        "<line x1=\"{0:.2f}\" x2=\"{0:.2f}\" y1=\"60\" y2=\"{1:.1f}\" "
        "stroke=\"{2}\" stroke-dasharray=\"4 3\"/>\n",
        x, picture_height - 42.0, palette::ink.light);
    svg += svg_label(x + 4.0, picture_height - 8.0, "start", "counted from here");
  }
  return svg;
}

std::string drawing(const ClusterFile& file, const QueueSummary& summary) {
  const auto& bins = summary.bins;
  double most = 1.0;
  for (const double waiting : summary.waiting_p90) most = std::max(most, waiting);
  for (const QueueBin& bin : bins) most = std::max(most, bin.waiting_jobs);
  const TimeChart hosts{76.0, static_cast<double>(file.queue.hosts), bins.size()};
  const TimeChart queue{272.0, most, bins.size()};
  std::string svg =
      svg_label(left_edge, 24.0, "start", file.name + ": hosts and queue", " font-size=\"16\"");
  svg += hosts.curve([&](std::size_t i) { return bins[i].allocated + bins[i].down; },
                     fill_of(palette::vermilion), true);
  svg +=
      hosts.curve([&](std::size_t i) { return bins[i].allocated; }, fill_of(palette::steel), true);
  svg += hosts.frame("Hosts allocated" +
                     std::string(summary.hosts.down > 0.0 ? ", and under repair on top" : ""));
  svg += queue.curve([&](std::size_t i) { return bins[i].waiting_jobs; }, fill_of(palette::sand),
                     true);
  if (summary.replications > 1)
    svg += queue.curve([&](std::size_t i) { return summary.waiting_p90[i]; },
                       line_of(palette::orange), false);
  svg += queue.frame(summary.replications > 1
                         ? "Waiting jobs: mean, and P90 over replications as a line"
                         : "Waiting jobs");
  return svg + time_axis(file);
}

std::string html_row(const std::vector<std::string>& cells, const char* tag) {
  std::string row = "<tr>";
  for (const std::string& cell : cells) row += fmt::format("<{0}>{1}</{0}>", tag, xml_text(cell));
  return row + "</tr>\n";
}

std::string classes_html(const ClusterFile& file, const QueueSummary& summary) {
  std::string html = html_row(
      {"class", "jobs", "duration", "mean wait", "P50", "P90", "P99", "mean turnaround"}, "th");
  const auto row = [&](const std::string& name, const std::string& source,
                       const ClassSummary& jobs) {
    const auto time = [](const QueueEstimate& value) {
      return duration_text(Seconds{value.value});
    };
    html += html_row(
        {name, with_thousands(std::llround(static_cast<double>(jobs.jobs) / summary.replications)),
         source, time(jobs.wait.mean), time(jobs.wait.p50), time(jobs.wait.p90),
         time(jobs.wait.p99), time(jobs.turnaround.mean)},
        "td");
  };
  for (std::size_t i = 0; i < summary.classes.size(); ++i)
    row(file.queue.classes[i].name, file.durations[i], summary.classes[i]);
  if (summary.classes.size() > 1) row("all", "", summary.all);
  return "<table>\n" + html + "</table>\n";
}

constexpr const char* page_style =
    "body{font:15px/1.45 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222}"
    "svg{max-width:100%;height:auto}"
    "div{overflow-x:auto}"
    "table{border-collapse:collapse}th,td{text-align:right;padding:.25em .7em;"
    "border-bottom:1px solid #ddd}th:first-child,td:first-child{text-align:left}"
    "pre{overflow-x:auto}";

}  // namespace

std::string cluster_svg(const ClusterFile& file, const QueueSummary& summary) {
  return svg_start(picture_width, picture_height) + drawing(file, summary) + "</svg>\n";
}

std::string cluster_html(const ClusterFile& file, const QueueSummary& summary) {
  std::string picture = cluster_svg(file, summary);
  // The element alone: an XML declaration has no place in a page.
  picture.erase(0, picture.find("<svg"));
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"generator\" content=\"foretrain\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n"
      "<title>{0}</title>\n<style>{1}</style></head>\n<body>\n<h1>{0}</h1>\n"
      "<p>{2} of host time is allocated, {3} productive. Jobs wait {4} on average, {5} at "
      "P90.</p>\n"
      "<div>{6}</div>\n<h2>Waits by class</h2>\n<div>{7}</div>\n<h2>Report</h2>\n<pre>{8}</pre>\n"
      "<p>foretrain {9}</p>\n</body></html>\n",
      xml_text(file.name), page_style, percent_text(summary.allocated.value),
      percent_text(summary.productive.value), duration_text(Seconds{summary.all.wait.mean.value}),
      duration_text(Seconds{summary.all.wait.p90.value}), picture, classes_html(file, summary),
      xml_text(cluster_text(file, summary)), version);
}

}  // namespace foretrain
