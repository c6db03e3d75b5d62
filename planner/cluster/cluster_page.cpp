// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "planner/cluster/cluster_report.hpp"
#include "planner/cluster/internal/cluster_charts.hpp"
#include "planner/page/internal/page_files.hpp"
#include "planner/text/content_policy.hpp"
#include "planner/text/format.hpp"
#include "planner/text/svg_text.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

std::string time_of(const QueueEstimate& estimate) {
  return duration_text(Seconds{estimate.value});
}

/// "41.2 to 43.0 minutes", or nothing where nothing is random.
std::string range_of(const QueueEstimate& estimate) {
  if (!estimate.low) return "";
  return fmt::format("95 %: {} to {}", duration_text(Seconds{*estimate.low}),
                     duration_text(Seconds{*estimate.high}));
}

std::string card(const std::string& label, const std::string& value, const std::string& note) {
  return fmt::format(
      "<li class=\"card\"><div class=\"label\">{}</div><div class=\"value\">{}</div>"
      "<div class=\"note\">{}</div></li>\n",
      xml_text(label), xml_text(value), xml_text(note));
}

std::string lead_of(const ClusterFile& file) {
  const QueuePolicy& policy = file.queue.policy;
  return fmt::format(
      "{} x {}, {} GPUs, for {}; order {}, backfill {}; the jobs want {} of the hosts",
      with_thousands(file.queue.hosts), file.host.title, with_thousands(file.gpus()),
      duration_text(file.queue.horizon), policy.order->name, policy.backfill->name,
      percent_text(offered_load(file.queue)));
}

std::string cards(const QueueSummary& summary) {
  const QueueTimes& wait = summary.all.wait;
  return "<ul class=\"cards\">\n" + card("Mean wait", time_of(wait.mean), range_of(wait.mean)) +
         card("Wait, P90", time_of(wait.p90), range_of(wait.p90)) +
         card("Host time allocated", percent_text(summary.allocated.value),
              fmt::format("{} productive", percent_text(summary.productive.value))) +
         card("Waiting jobs", significant_text(summary.waiting_jobs.value),
              fmt::format("on average; {} at most in a replication",
                          with_thousands(std::llround(summary.longest_queue)))) +
         "</ul>\n";
}

/// A class and what its durations are, then numbers.
std::string html_row(const std::vector<std::string>& cells, const char* tag) {
  std::string row = "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i)
    row += fmt::format("<{0}{1}>{2}</{0}>", tag, i > 1 ? " class=\"num\"" : "", xml_text(cells[i]));
  return row + "</tr>\n";
}

std::string classes_html(const ClusterFile& file, const QueueSummary& summary) {
  std::string html = html_row(
      {"class", "duration", "jobs", "mean wait", "P50", "P90", "P99", "mean turnaround"}, "th");
  const auto row = [&](const std::string& name, const std::string& source,
                       const ClassSummary& jobs) {
    html += html_row(
        {name, source,
         with_thousands(std::llround(static_cast<double>(jobs.jobs) / summary.replications)),
         time_of(jobs.wait.mean), time_of(jobs.wait.p50), time_of(jobs.wait.p90),
         time_of(jobs.wait.p99), time_of(jobs.turnaround.mean)},
        "td");
  };
  for (std::size_t i = 0; i < summary.classes.size(); ++i)
    row(file.queue.classes[i].name, file.durations[i], summary.classes[i]);
  if (summary.classes.size() > 1) row("all", "", summary.all);
  return "<div class=\"scroll\"><table>\n" + html + "</table></div>\n";
}

/// What the page adds to the style sheet of all pages.
std::string cluster_style() {
  return std::string(page_style()) + internal::Inks::properties() +
         ".chart{overflow-x:auto}\n.chart svg{min-width:680px}\n.chart svg text{stroke-width:2px}\n"
         ".legend .swatch{display:inline-block}\n"
         "pre{overflow-x:auto;font:12.5px/1.4 ui-monospace,Menlo,\"DejaVu Sans Mono\",monospace}\n";
}

std::string schedule_section(const ClusterFile& file,
                             const std::vector<ScheduledStretch>& schedule) {
  if (schedule.empty())
    return "<p>Jobs are too many here, or none ran: no schedule is drawn.</p>\n";
  return internal::schedule_part(file, schedule);
}

}  // namespace

std::string cluster_svg(const ClusterFile& file, const QueueSummary& summary) {
  using internal::hosts_and_queue_height;
  using internal::hosts_and_queue_width;
  return svg_start(hosts_and_queue_width, hosts_and_queue_height) +
         svg_label(70.0, 24.0, "start", file.name + ": hosts and queue", " font-size=\"16\"") +
         internal::hosts_and_queue(file, summary, internal::Inks::of_picture()) + "</svg>\n";
}

std::string cluster_html(const ClusterFile& file, const QueueSummary& summary,
                         const std::vector<ScheduledStretch>& schedule) {
  constexpr double title_height = 36.0;
  const std::string style = cluster_style();
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '{0}'; "
      "img-src data:; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta name=\"generator\" content=\"foretrain\">\n<link rel=\"icon\" href=\"data:,\">\n"
      "<title>{1}: Foretrain queue</title>\n<style>{2}</style>\n</head>\n<body>\n"
      "<a class=\"skip\" href=\"#main\">Skip to the queue</a>\n"
      "<header><p class=\"brand\">Foretrain queue of a cluster</p>\n<h1>{1}</h1>\n"
      "<p id=\"lead\">{11}</p></header>\n"
      "<main id=\"main\">\n{3}"
      "<h2>Waits by class</h2>\n<p>From submission to the first start. Bar: median to P90, line: "
      "to "
      "P99, dot: mean.</p>\n{4}{5}"
      "<h2>Hosts and queue over time</h2>\n<p>Means over {6} replications.</p>\n{7}"
      "<h2>One replication, job by job</h2>\n{8}"
      "<h2>Report</h2>\n<pre>{9}</pre>\n</main>\n"
      "<footer><p id=\"made\">Made by foretrain {10}. A simulation of the file's jobs, no "
      "measurement; "
      "what is modelled: docs/how-to/cluster.md.</p></footer>\n</body>\n</html>\n",
      policy_hash(style), xml_text(file.name), style, cards(summary),
      internal::waits_part(file, summary), classes_html(file, summary),
      with_thousands(summary.replications),
      internal::page_part(internal::hosts_and_queue(file, summary, internal::Inks::of_page()),
                          "Hosts and queue over time", internal::hosts_and_queue_width,
                          internal::hosts_and_queue_height, title_height),
      schedule_section(file, schedule), xml_text(cluster_text(file, summary)), version,
      xml_text(lead_of(file)));
}

}  // namespace foretrain
