// SPDX-License-Identifier: Apache-2.0
#include "calibration/imports/imported_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "calibration/imports/json_document.hpp"
#include "calibration/imports/record_text.hpp"
#include "calibration/imports/sweep_row.hpp"
#include "models/base/percentile.hpp"

namespace foretrain {
namespace {

std::string collective_of(const std::string& name) {
  constexpr std::array<std::pair<std::string_view, const char*>, 6> names{
      {{"AllReduce", "all_reduce"},
       {"AllGather", "all_gather"},
       {"ReduceScatter", "reduce_scatter"},
       {"Broadcast", "broadcast"},
       {"Reduce", "reduce"},
       {"AlltoAll", "alltoall"}}};
  for (const auto& [theirs, ours] : names)
    if (name == theirs) return ours;
  return "";
}

struct Shape {
  std::string collective;
  int ranks = 0;
  int nodes = 0;
  auto operator<=>(const Shape&) const = default;
};

/// The fastest rank of every call, by communicator and number of the call.
using Calls = std::map<std::pair<std::string, double>, double>;

class InspectorReader {
 public:
  InspectorReader(ImportedLog& log, const ImportOptions& options, Diagnostics& diagnostics)
      : log_{log}, options_{options}, diagnostics_{diagnostics} {}

  void read(const std::string& text) {
    for (const JsonPiece& piece : split_json_objects(text)) {
      if (!piece.closed) {
        log_.flagged.push_back({piece.line, false, "the log ends within this object: it was cut"});
        break;
      }
      Diagnostics own;
      const auto value = parse_json(piece.text, log_.file, own, piece.line);
      if (value)
        take(*value);
      else
        log_.flagged.push_back({piece.line, false, own.items().front().message});
    }
    finish();
  }

 private:
  void take(const JsonValue& event) {
    const JsonValue* const result = event.find("coll_perf");
    if (result == nullptr) return;
    const JsonValue* const nested = event.find("header");
    const JsonValue& header = nested == nullptr ? event : *nested;
    const auto number = [&](const JsonValue& of, const char* key) {
      return of.number_of(key).value_or(-1.0);
    };
    const std::string collective = collective_of(result->text_of("coll"));
    const double ranks = number(header, "n_ranks");
    const double nodes = number(header, "nnodes");
    const SweepLine row{number(*result, "coll_msg_size_bytes"),
                        number(*result, "coll_exec_time_us"),
                        result->number_of("coll_algobw_gbs"),
                        result->number_of("coll_busbw_gbs"),
                        1e-6,
                        1e-6};
    constexpr double most = 1e6;
    if (row.size_bytes < 1.0 || row.time_us <= 0.0 || ranks < 2.0 || ranks > most || nodes < 1.0 ||
        nodes > ranks || std::floor(ranks) != ranks || std::floor(nodes) != nodes)
      return flag(event.line, "size, time, n_ranks or nnodes is missing or no such number");
    if (collective.empty())
      return flag(event.line,
                  "the collective " + in_quotes(result->text_of("coll")) + " has no model here");
    const std::string wrong = row_contradiction(row, collective, ranks);
    if (!wrong.empty()) return flag(event.line, wrong);
    const Shape shape{collective, static_cast<int>(ranks), static_cast<int>(nodes)};
    if (std::fmod(ranks, nodes) != 0.0)
      return flag(event.line, "ranks are not spread evenly over the nodes");
    if (lines_.emplace(shape, event.line).second && lines_.size() > 10'000) return;
    double& fastest =
        calls_[{shape, row.size_bytes}][{header.text_of("id"), number(*result, "coll_sn")}];
    fastest = fastest == 0.0 ? row.time_us : std::min(fastest, row.time_us);
    if (log_.facts.date.empty()) take_date(event);
  }

  void take_date(const JsonValue& event) {
    const JsonValue* const metadata = event.find("metadata");
    const auto stamp =
        metadata == nullptr ? std::nullopt : metadata->number_of("dump_timestamp_us");
    if (!stamp || *stamp < 0.0 || *stamp > 4e15) return;
    log_.facts.date = date_of_seconds(*stamp * 1e-6);
  }

  void finish() {
    log_.facts.tool = "nccl-inspector";
    for (const auto& [key, calls] : calls_) {
      const auto& [shape, size] = key;
      ImportOptions options = options_;
      options.nodes = shape.nodes;
      options.gpus_per_node = shape.ranks / shape.nodes;
      SweepRecord base;
      base.source = source_of(log_);
      base.collective = shape.collective;
      if (!complete_base(options, log_, lines_.at(shape), base, diagnostics_)) return;
      base.sweep = fmt::format("{}-{}x{}-{}", base.collective, base.nodes, base.gpus_per_node,
                               stem_of(log_.file));
      std::vector<double> times;
      for (const auto& [call, time] : calls) times.push_back(time);
      SweepLine row;
      row.size_bytes = size;
      row.time_us = percentile_of(times, 0.5);
      log_.sweeps.push_back(sweep_record(base, row, false));
      log_.sweeps.back().note = fmt::format("calls={}", times.size());
    }
  }

  void flag(int line, std::string what) { log_.flagged.push_back({line, false, std::move(what)}); }

  ImportedLog& log_;
  const ImportOptions& options_;
  Diagnostics& diagnostics_;
  std::map<std::pair<Shape, double>, Calls> calls_;
  std::map<Shape, int> lines_;
};

}  // namespace

ImportedLog import_inspector(const std::string& text, const std::string& file,
                             const ImportOptions& options, Diagnostics& diagnostics) {
  ImportedLog log;
  log.file = file;
  log.format = LogFormat::nccl_inspector;
  InspectorReader(log, options, diagnostics).read(text);
  return log;
}

}  // namespace foretrain
