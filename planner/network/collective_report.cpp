// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "planner/answer/value_csv.hpp"
#include "planner/network/collective_table.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

constexpr double visibly_slower = 1.0005;

bool reduces(CollectiveOp op) {
  return op == CollectiveOp::all_reduce || op == CollectiveOp::reduce ||
         op == CollectiveOp::reduce_scatter;
}

bool has_root(CollectiveOp op) {
  return op == CollectiveOp::broadcast || op == CollectiveOp::reduce ||
         op == CollectiveOp::gather || op == CollectiveOp::scatter;
}

/// As NCCL writes them in its logs.
std::string_view protocol_text(const std::optional<Protocol>& protocol) {
  if (!protocol) return "";
  switch (*protocol) {
    case Protocol::ll:
      return "LL";
    case Protocol::ll128:
      return "LL128";
    case Protocol::simple:
      return "Simple";
  }
  return "";
}

/// Four digits or more, as nccl-tests rounds.
std::string digits(double value) {
  if (value >= 9999.5) return fmt::format("{:.0f}", value);
  return value >= 99.995 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

std::string how_text(const CollectiveRow& row) {
  std::string how{row.scheme->label};
  const std::string_view protocol = protocol_text(row.protocol);
  if (!protocol.empty() && how.size() + 1 + protocol.size() <= 13)
    how += "/" + std::string(protocol);
  return how;
}

/// The columns of nccl-tests.
AnswerTable rows_table(const CollectiveTable& table) {
  const CollectiveRequest& request = table.request;
  AnswerTable printed{{number_column("size"), number_column("count"), number_column("type"),
                       number_column("op"), number_column("root"), number_column("time"),
                       number_column("algbw"), number_column("busbw"), words_column("algorithm")}};
  printed.layout.apart = 1;
  for (const CollectiveRow& row : table.rows)
    printed.add({fmt::format("{:.0f}", row.size.value()), fmt::format("{:.0f}", row.count),
                 std::string(name_of(request.type)), reduces(request.op) ? "sum" : "none",
                 std::to_string(has_root(request.op) ? request.root : -1), digits(row.time.in(us)),
                 digits(row.algorithm_bandwidth.in(GBps)), digits(row.bus_bandwidth.in(GBps)),
                 how_text(row)});
  return printed;
}

std::string count_of(std::size_t count, const char* one, const char* many) {
  return fmt::format("{} {}", with_thousands(static_cast<std::int64_t>(count)),
                     count == 1 ? one : many);
}

std::string machine_text(const CollectiveTable& table) {
  const Cluster& cluster = table.request.machine.cluster;
  std::string text = fmt::format("{} of {} x {}",
                                 count_of(static_cast<std::size_t>(cluster.hosts), "host", "hosts"),
                                 cluster.host.gpus, cluster.host.device.title);
  if (cluster.hosts > 1)
    text += fmt::format(", {} x {}, {}", cluster.host.nics, cluster.network.title,
                        name_of(cluster.network.kind));
  if (cluster.hosts > 1 && cluster.network.oversubscription > 1.0)
    text += fmt::format(" {:.3g}:1", cluster.network.oversubscription);
  return text;
}

std::string contention_text(const CollectiveTable& table) {
  const CollectiveRow* worst = nullptr;
  for (const CollectiveRow& row : table.rows)
    if (row.time > visibly_slower * row.alone &&
        (worst == nullptr || row.time / row.alone > worst->time / worst->alone))
      worst = &row;
  if (worst == nullptr) return "as fast as alone on an idle fabric";
  std::string text = fmt::format("up to {:.3g} times as long as alone on an idle fabric, at {}",
                                 worst->time / worst->alone, bytes_text(worst->size));
  if (!table.links.empty())
    text += fmt::format("; fullest link of the last row: {}, {} used", table.links.front().name,
                        percent_text(table.links.front().used));
  return text;
}

std::string groups_text(const CollectiveRequest& request) {
  const std::string ranks = count_of(request.groups.front().size(), "rank", "ranks");
  return request.groups.size() == 1
             ? ranks
             : fmt::format("{} of {} at once", count_of(request.groups.size(), "group", "groups"),
                           ranks);
}

HeadFigure figure_of(const CollectiveRow& row) {
  return {bytes_text(row.size), seconds_text(row.time), "",
          fmt::format("{} GB/s bus, {}", digits(row.bus_bandwidth.in(GBps)), how_text(row))};
}

/// The smallest size and the largest say latency and bandwidth.
AnswerHead head_of(const CollectiveTable& table) {
  const CollectiveRequest& request = table.request;
  const auto best = std::ranges::max_element(
      table.rows, [](const auto& a, const auto& b) { return a.bus_bandwidth < b.bus_bandwidth; });
  AnswerHead head;
  head.subject = fmt::format("{}, {}", name_of(request.op), groups_text(request));
  head.words = digits(best->bus_bandwidth.in(GBps)) + " GB/s";
  head.sentence = fmt::format(
      "{} over {}, {}: bus bandwidth up to {} GB/s, at {}; {}.", name_of(request.backend),
      name_of(request.machine.cluster.network.transport), machine_text(table),
      digits(best->bus_bandwidth.in(GBps)), bytes_text(best->size), contention_text(table));
  head.figures.push_back(figure_of(table.rows.front()));
  if (table.rows.size() > 1) head.figures.push_back(figure_of(table.rows.back()));
  head.figures.push_back(
      {"Avg bus bandwidth", digits(table.average_bus_bandwidth().in(GBps)) + " GB/s"});
  return head;
}

Json machine_tree(const CollectiveRequest& request) {
  const Cluster& cluster = request.machine.cluster;
  return {{"host", cluster.host.name},
          {"hosts", cluster.hosts},
          {"gpus_per_host", cluster.host.gpus},
          {"fabric", cluster.network.preset},
          {"kind", name_of(cluster.network.kind)},
          {"oversubscription", number_or_null(cluster.network.oversubscription)},
          {"transport", name_of(cluster.network.transport)}};
}

Json row_tree(const CollectiveRow& row) {
  Json groups = Json::array();
  for (const Seconds time : row.groups) groups.push_back(number_or_null(time.value()));
  return {{"size_bytes", number_or_null(row.size.value())},
          {"count", number_or_null(row.count)},
          {"time_s", number_or_null(row.time.value())},
          {"alone_s", number_or_null(row.alone.value())},
          {"algbw_bytes_per_s", number_or_null(row.algorithm_bandwidth.value())},
          {"busbw_bytes_per_s", number_or_null(row.bus_bandwidth.value())},
          {"algorithm", row.scheme->name},
          {"protocol", row.protocol ? Json(name_of(*row.protocol)) : Json{}},
          {"measured", row.measured},
          {"flows", row.flows},
          {"groups_s", std::move(groups)}};
}

}  // namespace

Answer collective_answer(const CollectiveTable& table) {
  Answer answer{head_of(table)};
  answer.add({"",
              {rows_table(table),
               AnswerLine{"Columns as of nccl-tests: size in bytes, count in elements, time in us, "
                          "bandwidths in GB/s."}}});
  AnswerSection notes;
  for (const std::string& note : table.notes) notes.blocks.emplace_back(AnswerLine{note});
  answer.add(std::move(notes));
  return answer;
}

std::string collective_json(const CollectiveTable& table) {
  const CollectiveRequest& request = table.request;
  Json rows = Json::array(), links = Json::array(), groups = Json::array();
  for (const CollectiveRow& row : table.rows) rows.push_back(row_tree(row));
  for (const BusyLink& link : table.links)
    links.push_back({{"name", link.name},
                     {"bytes", number_or_null(link.bytes.value())},
                     {"busy", number_or_null(link.busy)},
                     {"utilisation", number_or_null(link.used)}});
  for (const std::vector<int>& group : request.groups) groups.push_back(group);
  return dump({{"schema", "collective/1"},
               {"foretrain_version", version},
               {"op", name_of(request.op)},
               {"type", name_of(request.type)},
               {"root", has_root(request.op) ? Json(request.root) : Json{}},
               {"backend", name_of(request.backend)},
               {"machine", machine_tree(request)},
               {"routing", name_of(request.simulation.routing)},
               {"seed", request.simulation.seed},
               {"down", request.down},
               {"groups", std::move(groups)},
               {"rows", std::move(rows)},
               {"average_busbw_bytes_per_s", number_or_null(table.average_bus_bandwidth().value())},
               {"links", std::move(links)},
               {"notes", table.notes}});
}

std::string collective_csv(const CollectiveTable& table) {
  const CollectiveRequest& request = table.request;
  std::string text =
      "op,ranks,groups,size_bytes,count,type,root,time_us,alone_us,algbw_gbs,busbw_gbs,algorithm,"
      "protocol\r\n";
  for (const CollectiveRow& row : table.rows)
    text += fmt::format("{},{},{},{:.0f},{:.0f},{},{},{},{},{},{},{},{}\r\n", name_of(request.op),
                        request.groups.front().size(), request.groups.size(), row.size.value(),
                        row.count, name_of(request.type), has_root(request.op) ? request.root : -1,
                        row.time.in(us), row.alone.in(us), row.algorithm_bandwidth.in(GBps),
                        row.bus_bandwidth.in(GBps), csv_field(std::string(row.scheme->name)),
                        row.protocol ? name_of(*row.protocol) : "");
  return text;
}

}  // namespace foretrain
