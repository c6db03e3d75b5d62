// SPDX-License-Identifier: Apache-2.0

#include "models/grid/process_grid.hpp"

#include <algorithm>
#include <utility>

#include "models/base/require.hpp"
#include "models/collectives/collective_cost.hpp"
#include "models/schedules/registry.hpp"

namespace foretrain {
namespace {

/// Members of a span within one domain.
int in_one_domain(const RankSpan& span, int gpus_per_domain) {
  return std::min(span.size, std::max(1, gpus_per_domain / span.stride));
}

int place_on(const RankSpan& span, int rank) { return rank / span.stride % span.size; }

}  // namespace

void Group::add(RankSpan span) {
  if (span.size == 1) return;
  ranks_ *= span.size;
  if (count_ > 0) {
    RankSpan& last = spans_[static_cast<std::size_t>(count_) - 1];
    if (last.size * last.stride == span.stride) {
      last.size *= span.size;
      return;
    }
  }
  spans_[static_cast<std::size_t>(count_++)] = span;
}

int Group::reach() const {
  int sum = 0;
  for (const RankSpan& span : spans_) sum += (span.size - 1) * span.stride;
  return sum;
}

std::vector<int> Group::members(int first) const {
  std::vector<int> members;
  members.reserve(static_cast<std::size_t>(ranks_));
  for (int i = 0; i < ranks_; ++i) {
    int rank = first;
    int rest = i;
    for (const RankSpan& span : spans_) {
      rank += rest % span.size * span.stride;
      rest /= span.size;
    }
    members.push_back(rank);
  }
  return members;
}

int Group::first_of(int rank) const {
  int first = rank;
  for (int i = 0; i < count_; ++i) {
    const RankSpan& span = spans_[static_cast<std::size_t>(i)];
    first -= place_on(span, rank) * span.stride;
  }
  return first;
}

Group Group::part(int ranks) const {
  FORETRAIN_REQUIRE(1 <= ranks && ranks <= ranks_);
  Group part;
  int left = ranks;
  for (int i = 0; i < count_; ++i) {
    const RankSpan& span = spans_[static_cast<std::size_t>(i)];
    part.add({std::min(span.size, left), span.stride});
    left = std::max(1, left / span.size);
  }
  return part;
}

Group Group::copies(int ranks) const {
  FORETRAIN_REQUIRE(1 <= ranks && ranks <= ranks_);
  Group copies;
  int left = ranks;
  for (int i = 0; i < count_; ++i) {
    const RankSpan& span = spans_[static_cast<std::size_t>(i)];
    const int taken = std::min(span.size, left);
    copies.add({span.size / taken, span.stride * taken});
    left = std::max(1, left / span.size);
  }
  return copies;
}

CommGroup Group::on_hosts(const Packing& packing) const {
  FORETRAIN_REQUIRE(packing.host >= 1 && packing.domain >= packing.host);
  const int reached = reach();
  const int span_hosts = reached < packing.domain ? 1 : reached / packing.host + 1;
  CommGroup group{ranks_, 1, span_hosts, packing.domain / packing.host};
  for (int i = 0; i < count_; ++i)
    group.ranks_per_domain *= in_one_domain(spans_[static_cast<std::size_t>(i)], packing.domain);
  return group;
}

Group spaced_group(int ranks, int stride) {
  FORETRAIN_REQUIRE(ranks >= 1 && stride >= 1);
  Group group;
  group.add({ranks, stride});
  return group;
}

ProcessGrid::ProcessGrid(const Parallel& plan) : order_{plan.order}, mirrored_{holds_mirror(plan)} {
  const int stage = plan.tensor * plan.context * plan.data;
  const int experts = plan.expert * plan.expert_tensor_size();
  const auto set = [](Spans& spans, RankAxis axis, int size) {
    spans[static_cast<std::size_t>(axis)].size = size;
  };
  set(dense_, RankAxis::tensor, plan.tensor);
  set(dense_, RankAxis::context, plan.context);
  set(dense_, RankAxis::data, plan.data);
  set(dense_, RankAxis::pipeline, plan.pipeline);
  set(expert_, RankAxis::tensor, plan.expert_tensor_size());
  set(expert_, RankAxis::expert, plan.expert);
  set(expert_, RankAxis::data, std::max(1, stage / experts));
  set(expert_, RankAxis::pipeline, plan.pipeline);
  for (Spans* spans : {&dense_, &expert_}) {
    int stride = 1;
    for (const RankAxis axis : order_) {
      RankSpan& span = (*spans)[static_cast<std::size_t>(axis)];
      span.stride = stride;
      stride *= span.size;
    }
  }
}

Group ProcessGrid::only(const Spans& spans, RankAxis axis) const {
  Group group;
  group.add(of(spans, axis));
  return group;
}

Group ProcessGrid::group(GroupKind kind) const {
  const RankSpan& stages = of(dense_, RankAxis::pipeline);
  switch (kind) {
    case GroupKind::tensor:
      return only(dense_, RankAxis::tensor);
    case GroupKind::context:
      return only(dense_, RankAxis::context);
    case GroupKind::data:
      return only(dense_, RankAxis::data);
    case GroupKind::pipeline:
      return only(dense_, RankAxis::pipeline);
    case GroupKind::expert:
      return only(expert_, RankAxis::expert);
    case GroupKind::expert_tensor:
      return only(expert_, RankAxis::tensor);
    case GroupKind::expert_data:
      return only(expert_, RankAxis::data);
    case GroupKind::neighbours:
      return spaced_group(std::min(2, stages.size), stages.stride);
    case GroupKind::ends:
      return spaced_group(std::min(2, stages.size), std::max(1, stages.size - 1) * stages.stride);
    case GroupKind::data_context: {
      Group group;
      for (const RankAxis axis : order_)
        if (axis == RankAxis::context || axis == RankAxis::data) group.add(of(dense_, axis));
      return group;
    }
    case GroupKind::holders: {
      Group group = this->group(GroupKind::data_context);
      // As if the stage that mirrors this one came next to it.
      if (mirrored_)
        group.add({2, std::max(size_of(dense_, RankAxis::tensor), group.reach() + group.stride())});
      return group;
    }
    case GroupKind::world:
      return spaced_group(ranks(), 1);
  }
  return {};
}

std::vector<int> ProcessGrid::group_of(GroupKind kind, int rank) const {
  FORETRAIN_REQUIRE(0 <= rank && rank < ranks());
  FORETRAIN_REQUIRE(kind != GroupKind::neighbours && kind != GroupKind::ends);
  const bool both = kind == GroupKind::holders && mirrored_;
  const Group group = this->group(both ? GroupKind::data_context : kind);
  std::vector<int> members = group.members(group.first_of(rank));
  if (!both) return members;
  const RankSpan& stages = of(dense_, RankAxis::pipeline);
  const int to_mirror = (stages.size - 1 - 2 * place_on(stages, rank)) * stages.stride;
  for (std::size_t i = 0, own = members.size(); i < own; ++i)
    members.push_back(members[i] + to_mirror);
  return members;
}

std::vector<std::vector<int>> ProcessGrid::groups(GroupKind kind) const {
  FORETRAIN_REQUIRE(kind != GroupKind::holders || !mirrored_);
  const bool pairs = kind == GroupKind::neighbours || kind == GroupKind::ends;
  const Group group = this->group(pairs ? GroupKind::pipeline : kind);
  std::vector<std::vector<int>> groups;
  for (int rank = 0; rank < ranks(); ++rank) {
    if (group.first_of(rank) != rank) continue;
    std::vector<int> members = group.members(rank);
    if (kind == GroupKind::neighbours) {
      for (std::size_t i = 1; i < members.size(); ++i)
        groups.push_back({members[i - 1], members[i]});
      continue;
    }
    if (kind == GroupKind::ends && members.size() > 2)
      members.erase(members.begin() + 1, members.end() - 1);
    groups.push_back(std::move(members));
  }
  return groups;
}

RankPlace ProcessGrid::place(int rank) const {
  FORETRAIN_REQUIRE(0 <= rank && rank < ranks());
  return {place_on(of(dense_, RankAxis::pipeline), rank),
          place_on(of(dense_, RankAxis::data), rank),
          place_on(of(dense_, RankAxis::context), rank),
          place_on(of(dense_, RankAxis::tensor), rank),
          place_on(of(expert_, RankAxis::expert), rank),
          place_on(of(expert_, RankAxis::tensor), rank)};
}

int ProcessGrid::rank(int stage, int number) const {
  const RankSpan& stages = of(dense_, RankAxis::pipeline);
  const int inside = number % stages.stride;
  const int outside = number / stages.stride;
  return inside + stages.stride * (stage + stages.size * outside);
}

bool ProcessGrid::leaves_domain(int stage, int gpus_per_domain) const {
  const RankSpan& stages = of(dense_, RankAxis::pipeline);
  const bool last = stage + 1 == stages.size;
  const int from = last ? 0 : stage;
  const int blocks = last ? stages.size : 2;
  // Blocks of ranks next to each other, as often as there are ranks outside of the pipeline.
  const int turn = stages.size * stages.stride;
  for (int first = from * stages.stride; first < ranks(); first += turn)
    if ((first + blocks * stages.stride - 1) / gpus_per_domain != first / gpus_per_domain)
      return true;
  return false;
}

bool ProcessGrid::stages_agree() const {
  return of(dense_, RankAxis::pipeline).stride == of(expert_, RankAxis::pipeline).stride;
}

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
