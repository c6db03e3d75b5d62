// SPDX-License-Identifier: Apache-2.0
#include "sim/step/internal/step_traffic.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>

#include "models/base/index.hpp"
#include "models/base/require.hpp"
#include "models/base/too_large.hpp"

namespace foretrain {
namespace {

bool within_host(LinkKind kind) {
  return kind == LinkKind::gpu_link || kind == LinkKind::pcie || kind == LinkKind::nic;
}

bool before(const LinkLoad& load, LinkId link) { return load.link < link; }

/// `loads` with the bytes that `total` has on the same links. An exchange crosses few links of all:
/// they are looked up, not walked to.
LinkLoads lifted(LinkLoads loads, const LinkLoads& total) {
  auto next = total.begin();
  for (LinkLoad& load : loads) {
    next = std::lower_bound(next, total.end(), load.link, before);
    load.bytes = next->bytes;
  }
  return loads;
}

}  // namespace

std::vector<double> achievable_rates(const Job& job, const Fabric& fabric) {
  std::vector<double> rates(fabric.capacity);
  for (std::size_t link = 0; link < rates.size(); ++link) {
    const LinkKind kind = fabric.kind[link];
    if (kind == LinkKind::gpu_link)
      rates[link] *= job.device_profile.inside.share;
    else if (kind != LinkKind::pcie)
      rates[link] *= job.cluster.network.nic_link.achievable;
  }
  return rates;
}

StepTraffic::StepTraffic(const PlacedJob& placed, const TaskGraph& graph, StepChannels channels,
                         StepTrafficOptions options)
    : placed_{placed},
      graph_{graph},
      channels_{std::move(channels)},
      options_{std::move(options)},
      capacity_{achievable_rates(placed.job, placed.fabric)},
      load_{placed.fabric, placed.job.simulation},
      crowded_(static_cast<std::size_t>(placed.job.parallel.data)) {
  FORETRAIN_REQUIRE(channels_.of_task.size() == graph_.tasks.size());
  refuse_too_many_routes();
  load_.keep_flows(options_.expand);
  price_channels();
  choose_replicas();
  build_shared();
}

int StepTraffic::groups_of(const Channel& channel) const {
  const int data = placed_.job.parallel.data;
  return (data + channel.together - 1) / channel.together;
}

StepTraffic::Way StepTraffic::route(std::uint32_t channel, int group) const {
  add_load(placed_.job, placed_.ranks, channels_.channels[channel], group, load_);
  Way way;
  way.loads = load_.take();
  if (options_.expand) way.flows = load_.take_flows();
  return way;
}

/// Seconds that the busiest link of a host needs.
double StepTraffic::most_within_hosts(const LinkLoads& loads) const {
  double most = 0.0;
  for (const auto& [link, bytes] : loads)
    if (within_host(placed_.fabric.kind[index(link)]))
      most = std::max(most, bytes / capacity_[index(link)]);
  return most;
}

/// How much longer each exchange takes when all exchanges of the channel run at once.
std::vector<double> StepTraffic::crowding(const std::vector<Way>& ways,
                                          const LinkLoads& total) const {
  const double alone = most_within_hosts(total);
  std::vector<double> result;
  result.reserve(ways.size());
  for (const Way& way : ways) {
    double most = alone;
    for (const auto& [link, bytes] : lifted(way.loads, total))
      most = std::max(most, bytes / capacity_[index(link)]);
    result.push_back(alone > 0.0 ? most / alone : 1.0);
  }
  return result;
}

/// Before all are laid out: the first group of a channel stands for the others.
void StepTraffic::refuse_too_many_routes() const {
  std::int64_t crossings = 0;
  for (const auto& channel : channels_.channels) {
    load_.forget_load();
    add_load(placed_.job, placed_.ranks, channel, 0, load_);
    crossings += static_cast<std::int64_t>(load_.take().size()) * groups_of(channel);
  }
  if (crossings <= most_crossings) return;
  throw TooLarge("the exchanges of a step on " + std::to_string(placed_.job.parallel.gpus()) +
                 " GPUs cross " + std::to_string(crossings) +
                 " links, each counted for itself; at most " + std::to_string(most_crossings) +
                 " can be shared out in memory: ask for fewer replicas (parallel.data), which the "
                 "others repeat");
}

/// The cost model prices an exchange by the links of the hosts, all ranks at work. From these two
/// follows how many bytes of capacity a byte of payload takes.
void StepTraffic::price_channels() {
  const auto count = static_cast<std::uint32_t>(channels_.channels.size());
  LinkSum total(capacity_.size());
  for (std::uint32_t c = 0; c < count; ++c) {
    const Channel& channel = channels_.channels[c];
    std::vector<Way> ways;
    load_.forget_load();
    for (int group = 0; group < groups_of(channel); ++group) {
      if (options_.go_on && !options_.go_on()) throw StepStopped{};
      ways.push_back(route(c, group));
      for (const auto& [link, bytes] : ways.back().loads) total.add(link, bytes);
    }
    totals_.push_back(total.take());
    const double alone = most_within_hosts(totals_[c]);
    const double wire = channel.wire.value();
    priced_.push_back({alone > 0.0 ? wire / alone : 1.0, 0.0});
    const std::vector<double> crowded = crowding(ways, totals_[c]);
    for (int group = 0; group < groups_of(channel); ++group) {
      const auto g = static_cast<std::size_t>(group);
      if (channel.together == 1) crowded_[g] += crowded[g] * wire;
      ways_.emplace(Key{c, group}, std::move(ways[g]));
    }
  }
}

/// Folded, the replicas whose exchanges meet least and most stand for all: the step waits for the
/// slowest. Symmetric replicas do not differ.
void StepTraffic::choose_replicas() {
  const int data = placed_.job.parallel.data;
  if (!options_.fold || data <= 2) {
    replicas_.resize(static_cast<std::size_t>(data));
    std::iota(replicas_.begin(), replicas_.end(), 0);
    options_.fold = false;
    return;
  }
  const auto least = std::min_element(crowded_.begin(), crowded_.end());
  const auto most = std::max_element(crowded_.rbegin(), crowded_.rend());
  replicas_ = {static_cast<int>(least - crowded_.begin()),
               static_cast<int>(crowded_.rend() - most - 1)};
  if (replicas_[0] > replicas_[1]) std::swap(replicas_[0], replicas_[1]);
  std::map<Key, Way> kept;
  for (const auto& [key, way] : ways_) {
    const int together = channels_.channels[key.first].together;
    for (std::size_t i = 0; i < (together > 1 ? 1 : replicas_.size()); ++i)
      if (key.second == replicas_[i] / together) {
        Way alone = way;
        alone.loads = lifted(std::move(alone.loads), totals_[key.first]);
        kept.emplace(Key{key.first, static_cast<int>(i)}, std::move(alone));
      }
  }
  ways_ = std::move(kept);
}

LinkDemand StepTraffic::demand_of(std::uint32_t channel, const LinkLoads& loads) const {
  const double scale = priced_[channel].occupied / channels_.channels[channel].wire.value();
  LinkDemand demand;
  demand.rates.reserve(loads.size());
  for (const auto& [link, bytes] : loads)
    demand.rates.push_back({static_cast<std::uint32_t>(link), scale * bytes});
  return demand;
}

/// Which links can slow anybody, and the flows of all exchanges on these.
void StepTraffic::build_shared() {
  std::vector<LinkDemand> demands;
  for (auto& [key, way] : ways_) {
    const Channel& channel = channels_.channels[key.first];
    Priced& priced = priced_[key.first];
    LinkDemand demand = demand_of(key.first, way.loads);
    for (const auto& use : demand.rates)
      if (within_host(placed_.fabric.kind[use.link])) priced.base = std::max(priced.base, use.rate);
    // Tasks of one stream of one rank run one after another.
    const auto stream = static_cast<std::uint64_t>(channel.stream);
    demand.key = ((static_cast<std::uint64_t>(channel.stage) * 16 + stream) << 1U |
                  (channel.together > 1 ? 1U : 0U))
                     << 32U |
                 static_cast<std::uint64_t>(key.second);
    demands.push_back(std::move(demand));
  }
  for (Priced& priced : priced_)
    if (priced.base <= 0.0) priced.base = 1.0;  // nothing leaves a GPU: a timer
  if (options_.changing || options_.expand) {
    for (const double rate : capacity_) shared_.network.links.emplace_back(rate);
    shared_.network.fabric = &placed_.fabric;
    return;
  }
  shared_ = shared_links(demands, capacity_);
  std::size_t i = 0;
  for (const auto& [key, way] : ways_) {
    Flow flow;
    const double base = priced_[key.first].base;
    for (const auto& [link, rate] : shared_.routes[i]) flow.route.push_back({link, rate / base});
    flow.bytes = Bytes{base * channels_.channels[key.first].wire.value()};
    flow.max_rate = BytesPerSecond{base};
    flows_[key] = {flow};
    ++i;
  }
}

/// On the links of the fabric as they are.
std::vector<Flow> StepTraffic::flows_of(std::uint32_t channel, const Way& way) const {
  const Priced& priced = priced_[channel];
  const Seconds wire = channels_.channels[channel].wire;
  std::vector<Flow> result;
  if (options_.expand) {
    for (const RoutedFlow& routed : way.flows) {
      Flow flow;
      for (const LinkId link : routed.links)
        flow.route.push_back({static_cast<std::uint32_t>(link)});
      flow.bytes = Bytes{priced.occupied * routed.bytes};
      flow.max_rate = flow.bytes / wire;
      result.push_back(flow);
    }
    return result;
  }
  Flow flow;
  const LinkDemand demand = demand_of(channel, way.loads);
  for (const auto& [link, rate] : demand.rates) flow.route.push_back({link, rate / priced.base});
  flow.bytes = Bytes{priced.base * wire.value()};
  flow.max_rate = BytesPerSecond{priced.base};
  return {flow};
}

TaskTraffic StepTraffic::of(std::uint32_t task) const {
  TaskTraffic use;
  const Task& what = graph_.tasks[task];
  const int all = placed_.job.parallel.data;
  use.channel = channels_.of_task[task];
  if (use.channel == TaskTraffic::none) {
    // The norm of the gradients is everybody's.
    if (what.kind == TaskKind::delay && what.role == TaskRole::constant && !graph_.staggered)
      use.together = all;
    return use;
  }
  const Channel& channel = channels_.channels[use.channel];
  use.together = options_.fold && channel.together > 1 ? all : channel.together;
  use.amount = graph_.cost_of(task).duration / (channel.latency + channel.wire);
  use.latency = use.amount * channel.latency;
  return use;
}

const std::vector<Flow>& StepTraffic::flows(std::uint32_t channel, int group) {
  const Key key{channel, group};
  const auto found = flows_.find(key);
  if (found != flows_.end()) return found->second;
  Way& way = ways_.at(key);
  if (detours_ != nullptr) {
    detours_->forget_load();
    add_load(placed_.job, placed_.ranks, channels_.channels[channel], group, *detours_);
    way.loads = detours_->take();
    if (options_.expand) way.flows = detours_->take_flows();
  }
  return flows_.emplace(key, flows_of(channel, way)).first->second;
}

void StepTraffic::started(std::uint32_t channel, int group, Seconds now) {
  ways_.at({channel, group}).since = now;
}

void StepTraffic::moved(std::uint32_t channel, int group, double amount, Seconds now) {
  Way& way = ways_.at({channel, group});
  way.moved += amount;
  if (options_.record) ran_.push_back({channel, group, amount, way.since, now});
}

LinkUseSeries StepTraffic::link_use(LinkId link) const {
  FORETRAIN_REQUIRE(options_.record);
  std::map<Key, double> bytes;  // of the link, by exchange
  for (const auto& [key, way] : ways_) {
    const auto found = std::lower_bound(way.loads.begin(), way.loads.end(), link, before);
    if (found != way.loads.end() && found->link == link) bytes[key] = found->bytes;
  }
  std::map<Seconds, double> changes;
  for (const Ran& one : ran_) {
    const auto found = bytes.find({one.channel, one.group});
    if (found == bytes.end() || one.end <= one.begin) continue;
    const double rate = one.amount * found->second / (one.end - one.begin).value();
    changes[one.begin] += rate;
    changes[one.end] -= rate;
  }
  LinkUseSeries series;
  series.link = link;
  double rate = 0.0;
  for (const auto& [time, change] : changes) {
    rate += change;
    const double share = std::max(rate / placed_.fabric.capacity[index(link)], 1e-9) - 1e-9;
    const double before = series.points.empty() ? 0.0 : series.points.back().share;
    if (std::abs(share - before) > 1e-6) series.points.push_back({time, share});
  }
  return series;
}

void StepTraffic::set_down(const LinkSet* down) {
  FORETRAIN_REQUIRE(options_.changing && !options_.fold);
  crossed_ = link_bytes();
  for (auto& [key, way] : ways_) way.moved = 0.0;
  flows_.clear();
  detours_ = std::make_unique<LoadBuilder>(placed_.fabric, placed_.job.simulation, down);
  detours_->keep_flows(options_.expand);
}

std::vector<double> StepTraffic::link_bytes() const {
  std::vector<double> bytes(crossed_);
  bytes.resize(capacity_.size());
  const auto add = [&](const LinkLoads& loads, double amount) {
    for (const auto& [link, each] : loads) bytes[index(link)] += amount * each;
  };
  for (const auto& [key, way] : ways_) {
    const bool stands_for_all = options_.fold && channels_.channels[key.first].together == 1;
    const double share = stands_for_all ? 1.0 / static_cast<double>(replicas_.size()) : 1.0;
    add(options_.fold ? totals_[key.first] : way.loads, share * way.moved);
  }
  return bytes;
}

}  // namespace foretrain
