// SPDX-License-Identifier: Apache-2.0
#include "planner/step/link_causes.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "models/base/ranges.hpp"
#include "models/base/require.hpp"
#include "planner/network/fabric_text.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "planner/text/usage_error.hpp"
#include "planner/version.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

/// A share of exchanges' time above which they are said to wait for each other.
constexpr double slowed_from = 1.05;

LinkId link_of(const Fabric& fabric, const std::string& name) {
  const std::size_t arrow = name.find('>');
  const auto from = find_node(fabric, std::string_view(name).substr(0, arrow));
  for (LinkId link = 0; from && arrow != std::string::npos && link < fabric.links(); ++link)
    if (fabric.from[index(link)] == *from && link_name(fabric, link) == name) return link;
  throw UsageError("the fabric has no link " + in_quotes(name) +
                   ": two nodes, such as nic0.0>leaf0; foretrain explain SCENARIO link shows the "
                   "busiest of each kind");
}

double use_of(const EventReport& report, LinkId link) {
  const EventRun& run = *report.run;
  return run.link_bytes[index(link)] /
         (report.fabric.capacity[index(link)] * run.timeline.makespan.value());
}

double share_of(const EventReport& report, const ExplainedLink& link, const LinkExchange& one) {
  const double all = report.run->link_bytes[index(link.link)];
  return all > 0.0 ? one.bytes.value() / all : 0.0;
}

/// How many times as long as alone exchanges take; nothing for those without times.
std::optional<double> slower(const LinkExchange& exchange) {
  if (exchange.alone <= Seconds{}) return std::nullopt;
  return exchange.took / exchange.alone;
}

AnswerSection link_section(const EventReport& report, const ExplainedLink& link) {
  AnswerTable table{{words_column("exchange"), number_column("bytes"), number_column("share"),
                     number_column("times"), number_column("alone"), number_column("took")}};
  for (const LinkExchange& one : link.exchanges) {
    const bool timed = one.count > 0;
    table.add({one.name, bytes_text(one.bytes), percent_text(share_of(report, link, one)),
               timed ? with_thousands(static_cast<std::int64_t>(one.count)) : "",
               timed ? seconds_text(one.alone) : "",
               timed        ? seconds_text(one.took)
               : one.inside ? "in passes"
                            : "not played"});
  }
  return {fmt::format("{} ({}): {} in use", link_name(report.fabric, link.link),
                      name_of(report.fabric.kind[index(link.link)]),
                      percent_text(use_of(report, link.link))),
          {std::move(table)}};
}

/// "61 % of it is in use over the step, 83 % of that by ..."
std::string sentence_of(const EventReport& report, const ExplainedLink& link) {
  std::string text =
      fmt::format("{} of {} is in use over a step of {}", percent_text(use_of(report, link.link)),
                  link_name(report.fabric, link.link), seconds_text(report.run->timeline.makespan));
  if (link.exchanges.empty()) return text + "; nothing crosses it.";
  const LinkExchange& most = link.exchanges.front();
  text += fmt::format(", {} of that by {}", percent_text(share_of(report, link, most)), most.name);
  const std::optional<double> longer = slower(most);
  if (longer && *longer >= slowed_from)
    return text + fmt::format(", which takes {:.2f} times as long as alone.", *longer);
  return text + (longer ? ", which waits for no other traffic." : ".");
}

}  // namespace

EventReport play_for_links(const Scenario& scenario, AttentionFlops convention,
                           const LinkQuestion& question) {
  EventOptions options;
  options.on_progress = question.on_progress;
  options.explain_links = true;
  if (!question.name.empty()) options.explained_link = link_of(fabric_of(scenario), question.name);
  return evaluate_event(scenario, convention, options);
}

Answer link_causes_answer(const EventReport& report, const std::string& source) {
  FORETRAIN_REQUIRE(report.run.has_value() && !report.run->stopped);
  AnswerHead head;
  head.subject = report.report.scenario.job.name;
  const std::vector<ExplainedLink>& links = report.run->explained;
  if (links.empty()) {
    head.words = "NOT EXPLAINED";
    head.sentence =
        report.report.scenario.job.simulation.disturbances.empty()
            ? "Nothing crosses a link."
            : "Disturbances change routes during the step: no exchange keeps its links.";
    return Answer{head};
  }
  const ExplainedLink& first = links.front();
  head.words = percent_text(use_of(report, first.link)) + " IN USE";
  head.sentence = sentence_of(report, first);
  if (!source.empty())
    head.next = "foretrain simulate " + source + " --engine event --heat links.svg";
  Answer answer{head};
  for (const ExplainedLink& link : links) answer.add(link_section(report, link));
  answer.add("", AnswerLine{"Bytes are those of all data replicas in one step, times those of the "
                            "simulated ones that cross the link, one after another: " +
                            played_text(report) + "."});
  return answer;
}

std::string link_causes_json(const EventReport& report) {
  FORETRAIN_REQUIRE(report.run.has_value() && !report.run->stopped);
  Json links = Json::array();
  for (const ExplainedLink& link : report.run->explained) {
    Json exchanges = Json::array();
    for (const LinkExchange& one : link.exchanges)
      exchanges.push_back({{"exchange", one.name},
                           {"bytes", number_or_null(one.bytes.value())},
                           {"share", number_or_null(share_of(report, link, one))},
                           {"count", one.count},
                           {"alone_s", one.count > 0 ? Json(one.alone.value()) : Json(nullptr)},
                           {"took_s", one.count > 0 ? Json(one.took.value()) : Json(nullptr)}});
    links.push_back({{"link", link_name(report.fabric, link.link)},
                     {"bytes", number_or_null(report.run->link_bytes[index(link.link)])},
                     {"utilisation", number_or_null(use_of(report, link.link))},
                     {"exchanges", std::move(exchanges)}});
  }
  return dump({{"schema", "link-causes/1"},
               {"foretrain_version", version},
               {"step_s", number_or_null(report.run->timeline.makespan.value())},
               {"links", std::move(links)}});
}

}  // namespace foretrain
