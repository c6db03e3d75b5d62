// SPDX-License-Identifier: Apache-2.0
#include "models/grid/group_exchange.hpp"

#include <algorithm>

#include "models/base/require.hpp"
#include "models/collectives/collective_cost.hpp"

namespace foretrain {
namespace {

/// The ranks that one copy of an exchange's states is spread over, of all ranks that take part.
Group shards_of(const Exchange& exchange, const Group& all) {
  return exchange.shard > 0 ? all.part(std::min(exchange.shard, all.ranks())) : all;
}

}  // namespace

ExchangePrices::ExchangePrices(const Job& job) : job_{job}, grid_{job.parallel} {}

Seconds ExchangePrices::time(const Exchange& exchange) const {
  const CollectivePath path{job_.cluster, job_.device_profile, job_.site};
  const Packing packing = job_.cluster.packing();
  const Group all = grid_.group(exchange.group);
  const CommGroup shards = shards_of(exchange, all).on_hosts(packing);
  switch (exchange.op) {
    case CollectiveOp::all_reduce:
      return all_reduce_time(shards, exchange.payload, path);
    case CollectiveOp::all_gather:
      return all_gather_time(shards, exchange.payload, path);
    case CollectiveOp::reduce_scatter:
      return reduce_scatter_time(shards, exchange.payload, path) +
             all_reduce_time(all.copies(shards.ranks).on_hosts(packing),
                             exchange.payload / shards.ranks, path);
    case CollectiveOp::all_to_all:
      return all_to_all_time(shards, {exchange.payload, exchange.across}, path);
    case CollectiveOp::send: {
      // Between context ranks in as many rounds as there are others.
      const double rounds = exchange.group == GroupKind::context ? shards.ranks - 1.0 : 1.0;
      const int span = shards.domains() > 1 ? shards.span_hosts : 1;
      return rounds * send_time(exchange.payload / std::max(1.0, rounds), span, path);
    }
    case CollectiveOp::broadcast:
    case CollectiveOp::reduce:
    case CollectiveOp::gather:
    case CollectiveOp::scatter:
      break;
  }
  FORETRAIN_REQUIRE(!"an operation that no step makes");
  return {};
}

Exchanges ExchangePrices::priced(const std::vector<Exchange>& exchanges) const {
  Exchanges priced;
  for (const Exchange& exchange : exchanges) {
    if (exchange.payload <= Bytes{}) continue;
    Exchange empty = exchange;
    empty.payload = empty.across = Bytes{};
    priced.latency += time(empty);
    priced.time += time(exchange);
    priced.each.push_back(exchange);
  }
  return priced;
}

}  // namespace foretrain
