// SPDX-License-Identifier: Apache-2.0
// Equations: models/serving/README.md, "Exchanges".
#include "models/serving/internal/step_exchange.hpp"

#include <algorithm>
#include <cmath>

#include "models/collectives/collective_choice.hpp"

namespace foretrain::serving_detail {
namespace {

CommGroup dense_group(const Deployment& deployment, int ranks) {
  const Packing packing = deployment.cluster.packing();
  CommGroup group{.ranks = ranks, .ranks_per_domain = std::min(ranks, packing.domain)};
  group.domain_hosts = std::max(1, packing.domain / packing.host);
  const int hosts = (ranks + packing.host - 1) / packing.host;
  group.span_hosts = ranks <= packing.domain ? 1 : hosts;
  return group;
}

/// The library's own price at two large sizes, as a line.
void add_library(const Deployment& deployment, int ranks, ExchangeLine& line) {
  const CollectivePath path{deployment.cluster, deployment.kernels, deployment.site};
  const CommGroup group = dense_group(deployment, ranks);
  const Bytes less = 8.0 * MiB;
  const Bytes more = 64.0 * MiB;
  const double first = collective_time(CollectiveOp::all_reduce, group, less, path).value();
  const double second = collective_time(CollectiveOp::all_reduce, group, more, path).value();
  const double per_byte = (second - first) / (more - less).value();
  line.add({.start = std::max(0.0, first - per_byte * less.value()), .per_byte = per_byte});
}

}  // namespace

Seconds ExchangeLine::time(double bytes, const ExchangeRates& rates) const {
  const auto taken = [&](const Line& line) {
    return line.start + line.starts * rates.start + line.dispatches * rates.dispatch +
           line.per_byte * bytes / (line.shared ? rates.share : 1.0);
  };
  double best = taken(lines[0]);
  for (std::size_t i = 1; i < count; ++i) best = std::min(best, taken(lines[i]));
  return Seconds{best};
}

ExchangeLine all_reduce_line(const Deployment& deployment, int ranks) {
  ExchangeLine line;
  if (ranks <= deployment.cluster.packing().domain) {
    const double link = deployment.cluster.host.gpu_link.bandwidth.value();
    const double others = ranks - 1.0;
    line.add({.starts = 1.0, .per_byte = others / link, .shared = true});
    line.add({.starts = 2.0, .per_byte = 2.0 * others / ranks / link, .shared = true});
  }
  add_library(deployment, ranks, line);
  return line;
}

ExchangeLine dispatch_line(const Deployment& deployment) {
  ExchangeLine line;
  const Host& host = deployment.cluster.host;
  const bool inside = deployment.layout.stage() <= deployment.cluster.packing().domain;
  const double rate = inside ? host.gpu_link.bandwidth.value()
                             : deployment.cluster.inter_host_bandwidth_per_gpu().value();
  const double latency = inside ? 0.0
                                : deployment.cluster.network.path_latency.value() +
                                      deployment.cluster.network.step_latency.value();
  line.add({.start = latency, .dispatches = 1.0, .per_byte = 1.0 / rate, .shared = true});
  return line;
}

DispatchCopies dispatch_copies(const Deployment& deployment) {
  const double ranks = deployment.layout.expert;
  const double chosen = deployment.model.moe->top_k;
  const auto reached = [&](double groups) { return 1.0 - std::pow(1.0 - 1.0 / groups, chosen); };
  const double domains = std::ceil(static_cast<double>(deployment.layout.stage()) /
                                   deployment.cluster.packing().domain);
  const double all = ranks * reached(ranks);
  if (domains <= 1.0) return {all, all};
  return {(domains - 1.0) * reached(domains), all * (1.0 - 1.0 / domains)};
}

ExchangeLine stage_line(const Deployment& deployment) {
  ExchangeLine line;
  const CollectivePath path{deployment.cluster, deployment.kernels, deployment.site};
  const int gpus = deployment.layout.gpus();
  const int span = gpus <= deployment.cluster.packing().domain ? 1 : 2;
  const double less = send_time(64.0 * KiB, span, path).value();
  const double more = send_time(64.0 * MiB, span, path).value();
  const double per_byte = (more - less) / (64.0 * MiB - 64.0 * KiB).value();
  line.add({.start = std::max(0.0, less - per_byte * (64.0 * KiB).value()), .per_byte = per_byte});
  return line;
}

}  // namespace foretrain::serving_detail
