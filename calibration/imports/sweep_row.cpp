// SPDX-License-Identifier: Apache-2.0
#include "calibration/imports/sweep_row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibration/imports/record_text.hpp"

namespace foretrain {

std::optional<double> nccl_bus_factor(const std::string& collective, double ranks) {
  if (collective == "all_reduce") return 2.0 * (ranks - 1.0) / ranks;
  if (collective == "all_gather" || collective == "reduce_scatter" || collective == "alltoall" ||
      collective == "gather" || collective == "scatter")
    return (ranks - 1.0) / ranks;
  if (collective == "broadcast" || collective == "reduce" || collective == "sendrecv") return 1.0;
  return std::nullopt;
}

double last_digit(std::string_view printed) {
  const auto exponent = printed.find_first_of("eE");
  double scale = 1.0;
  if (exponent != std::string_view::npos) {
    scale = std::pow(10.0, number_in(printed.substr(exponent + 1)).value_or(0.0));
    printed = printed.substr(0, exponent);
  }
  const auto point = printed.find('.');
  if (point == std::string_view::npos) return scale;
  return scale * std::pow(10.0, -static_cast<double>(printed.size() - point - 1));
}

std::string row_contradiction(const SweepLine& row, const std::string& collective, double ranks) {
  constexpr double rounding = 0.02;  // of the time's own digits, and of means over ranks
  const double algbw = row.size_bytes / row.time_us * 1e-3;
  if (row.algbw_gbs && std::abs(*row.algbw_gbs - algbw) > rounding * algbw + 0.51 * row.algbw_step)
    return fmt::format(
        "{:.0f} bytes in {:g} us are {:.4g} GB/s, but the row says {:g}: units are mixed or the "
        "row is damaged",
        row.size_bytes, row.time_us, algbw, *row.algbw_gbs);
  const auto factor = nccl_bus_factor(collective, ranks);
  if (!row.busbw_gbs || !factor) return "";
  const double busbw = *factor * algbw;
  if (std::abs(*row.busbw_gbs - busbw) <= rounding * busbw + 0.51 * row.busbw_step) return "";
  return fmt::format(
      "the bus bandwidth of {} among {:g} ranks is {:.4g} GB/s, but the row says {:g}: another "
      "operation, or another number of ranks",
      collective, ranks, busbw, *row.busbw_gbs);
}

std::string BusAverage::contradiction(double written) const {
  if (rows == 0) return "";
  const double mean = sum / rows;
  if (std::abs(mean - written) <= 0.02 * written + 0.01) return "";
  return fmt::format(
      "the log's average bus bandwidth is {:g} GB/s, that of its rows {:.4g}: rows are missing or "
      "changed",
      written, mean);
}

SweepRecord sweep_record(const SweepRecord& base, const SweepLine& row, bool in_place) {
  SweepRecord record = base;
  record.size_bytes = row.size_bytes;
  record.time_us = row.time_us;
  const double ranks = static_cast<double>(base.nodes) * base.gpus_per_node;
  const double factor = nccl_bus_factor(base.collective, ranks).value_or(1.0);
  record.busbw_gbs = row.busbw_gbs.value_or(factor * row.size_bytes / row.time_us * 1e-3);
  record.in_place = in_place;
  return record;
}

bool complete_base(const ImportOptions& options, const ImportedLog& log, int line,
                   SweepRecord& base, Diagnostics& diagnostics) {
  const LogFacts& facts = log.facts;
  base.nodes = options.nodes > 0 ? options.nodes : facts.nodes;
  base.gpus_per_node = options.gpus_per_node > 0 ? options.gpus_per_node
                       : base.nodes > 0          ? facts.gpus / std::max(1, base.nodes)
                                                 : 0;
  const std::string product = facts.gpu.empty() ? options.gpu : facts.gpu;
  const std::string device = device_of_product(product);
  base.gpu = device.empty() ? product : device;
  base.network = options.network;
  base.host = options.host;
  base.fabric = options.fabric;
  if (base.gpu.empty())
    report(log.file, line, "the log does not say which GPU it is of; name it (--gpu)", diagnostics);
  if (base.nodes < 1 || base.gpus_per_node < 1)
    report(log.file, line,
           "the log does not say how many nodes and GPUs took part; name them (--nodes, "
           "--gpus-per-node)",
           diagnostics);
  else if (facts.gpus > 0 && base.nodes * base.gpus_per_node != facts.gpus)
    report(log.file, line,
           fmt::format("{} nodes with {} GPUs are {} ranks, but the log is of {}", base.nodes,
                       base.gpus_per_node, base.nodes * base.gpus_per_node, facts.gpus),
           diagnostics);
  else
    return !base.gpu.empty();
  return false;
}

}  // namespace foretrain
