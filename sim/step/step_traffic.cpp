// SPDX-License-Identifier: Apache-2.0
#include "sim/step/internal/step_traffic.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "models/base/ranges.hpp"
#include "models/base/require.hpp"
#include "models/base/too_large.hpp"

namespace foretrain {
namespace {

bool within_host(LinkKind kind) {
  return kind == LinkKind::gpu_link || kind == LinkKind::pcie || kind == LinkKind::nic;
}

bool before(const LinkLoad& load, LinkId link) { return load.link < link; }

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
  options_.fold = options_.fold && placed.job.parallel.data > 2;
  refuse_too_many_routes();
  price_channels();
  choose_replicas();
  build_shared();
}

int StepTraffic::groups_of(const Channel& channel) const {
  const int data = placed_.job.parallel.data;
  return (data + channel.together - 1) / channel.together;
}

StepTraffic::Way StepTraffic::route(std::uint32_t channel, int group) const {
  load_.keep_flows(options_.expand);
  add_load(placed_.job, placed_.ranks, channels_.channels[channel], group, load_);
  Way way;
  way.loads = load_.take();
  if (options_.expand) way.flows = load_.take_flows();
  return way;
}

/// Most bytes on a link of a host.
double StepTraffic::most_bytes_within_hosts(const LinkLoads& loads) const {
  double most = 0.0;
  for (const auto& [link, bytes] : loads)
    if (within_host(placed_.fabric.kind[index(link)])) most = std::max(most, bytes);
  return most;
}

/// Seconds that the busiest link of a host needs.
double StepTraffic::most_within_hosts(const LinkLoads& loads) const {
  double most = 0.0;
  for (const auto& [link, bytes] : loads)
    if (within_host(placed_.fabric.kind[index(link)]))
      most = std::max(most, bytes / capacity_[index(link)]);
  return most;
}

/// Adaptive ways depend on those laid out before, so they cannot be laid out again one by one.
bool StepTraffic::keeps_all_ways() const {
  return !options_.fold || placed_.job.simulation.routing == RoutingKind::adaptive;
}

StepTraffic::Way& StepTraffic::way(std::uint32_t channel, int group) {
  return ways_[channel][index(group)];
}

void StepTraffic::ask_to_go_on() const {
  if (options_.go_on && !options_.go_on()) throw StepStopped{};
}

/// Before all are laid out: the first group of a channel stands for the others.
void StepTraffic::refuse_too_many_routes() const {
  if (!keeps_all_ways()) return;
  std::int64_t crossings = 0;
  for (const auto& channel : channels_.channels) {
    ask_to_go_on();
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

/// What all exchanges of a channel put on links; their ways are kept.
LinkLoads StepTraffic::lay_out(std::uint32_t channel) {
  load_.forget_load();
  LinkSum total(capacity_.size());
  for (int group = 0; group < groups_of(channels_.channels[channel]); ++group) {
    ask_to_go_on();
    ways_[channel].push_back(route(channel, group));
    for (const auto& [link, bytes] : ways_[channel].back().loads) total.add(link, bytes);
  }
  return total.take();
}

/// How much longer each exchange takes when all exchanges of the channel run at once, by replica.
void StepTraffic::add_crowding(std::uint32_t channel, const LinkLoads& total) {
  const double alone = most_within_hosts(total);
  if (alone <= 0.0 || channels_.channels[channel].together > 1) return;
  if (needs_.empty()) needs_.resize(capacity_.size());
  for (const auto& [link, bytes] : total) needs_[index(link)] = bytes / capacity_[index(link)];
  for (int group = 0; group < groups_of(channels_.channels[channel]); ++group) {
    double most = alone;
    for (const auto& load : way(channel, group).loads)
      most = std::max(most, needs_[index(load.link)]);
    crowded_[index(group)] += most / alone * channels_.channels[channel].wire.value();
  }
}

/// The cost model prices an exchange by the links of the hosts, all ranks at work. From these two
/// follows how many bytes of capacity a byte of payload takes.
void StepTraffic::price_channels() {
  const auto count = static_cast<std::uint32_t>(channels_.channels.size());
  ways_.resize(count);
  for (std::uint32_t c = 0; c < count; ++c) {
    LinkLoads total = lay_out(c);
    const double alone = most_within_hosts(total);
    const double wire = channels_.channels[c].wire.value();
    priced_.push_back({alone > 0.0 ? wire / alone : 1.0, 0.0});
    if (!options_.fold) continue;
    add_crowding(c, total);
    if (!keeps_all_ways()) ways_[c] = {};
    totals_.push_back(std::move(total));
  }
  needs_ = {};
}

/// Folded, the replicas whose exchanges meet least and most stand for all: the step waits for the
/// slowest. Symmetric replicas do not differ.
void StepTraffic::choose_replicas() {
  if (!options_.fold) {
    replicas_.resize(index(placed_.job.parallel.data));
    std::iota(replicas_.begin(), replicas_.end(), 0);
    return;
  }
  const auto least = std::ranges::min_element(crowded_);
  const auto most = std::max_element(crowded_.rbegin(), crowded_.rend());
  replicas_ = {static_cast<int>(least - crowded_.begin()),
               static_cast<int>(crowded_.rend() - most - 1)};
  if (replicas_[0] > replicas_[1]) std::swap(replicas_[0], replicas_[1]);
  keep_chosen();
}

/// What all replicas put on the links of one's way. It crosses few links of all: they are looked
/// up, not walked to.
void StepTraffic::add_others(const LinkLoads& total, Way& way) {
  auto next = total.begin();
  for (LinkLoad& load : way.loads) {
    next = std::lower_bound(next, total.end(), load.link, before);
    way.own.push_back(std::exchange(load.bytes, next->bytes));
  }
}

/// Ways of the chosen replicas, with what all replicas put on their links.
void StepTraffic::keep_chosen() {
  for (std::uint32_t c = 0; c < channels_.channels.size(); ++c) {
    const int together = channels_.channels[c].together;
    std::vector<Way> kept;
    for (std::size_t i = 0; i < (together > 1 ? 1 : replicas_.size()); ++i) {
      const int group = replicas_[i] / together;
      kept.push_back(keeps_all_ways() ? way(c, group) : route(c, group));
      add_others(totals_[c], kept.back());
    }
    ways_[c] = std::move(kept);
  }
}

void StepTraffic::meet_others(bool meet) {
  FORETRAIN_REQUIRE(options_.fold);
  meets_others_ = meet;
  for (std::vector<Way>& groups : ways_)
    for (Way& way : groups) way.moved = 0.0;
  ran_.clear();
  build_shared();
}

/// What an exchange asks of links.
LinkLoads StepTraffic::asked(const Way& way) const {
  LinkLoads loads = way.loads;
  for (std::size_t i = 0; i < way.own.size() && !meets_others_; ++i) loads[i].bytes = way.own[i];
  return loads;
}

/// Which links can slow anybody.
void StepTraffic::build_shared() {
  std::vector<LinkDemand> demands;
  std::vector<LinkLoads> alone;
  if (!meets_others_) alone.reserve(ways_.size() * replicas_.size());  // demands point at them
  for (std::uint32_t c = 0; c < ways_.size(); ++c) {
    const Channel& channel = channels_.channels[c];
    Priced& priced = priced_[c];
    // Tasks of one stream of one rank run one after another.
    const auto stream = static_cast<std::uint64_t>(channel.stream);
    const std::uint64_t key = ((static_cast<std::uint64_t>(channel.stage) * 16 + stream) << 1U |
                               (channel.together > 1 ? 1U : 0U))
                              << 32U;
    const bool moves = channel.wire > Seconds{};
    for (std::size_t group = 0; moves && group < ways_[c].size(); ++group) {
      if (!meets_others_) alone.push_back(asked(ways_[c][group]));
      const LinkLoads& loads = meets_others_ ? ways_[c][group].loads : alone.back();
      priced.base = std::max(priced.base, pace(c) * most_bytes_within_hosts(loads));
      demands.push_back({loads, pace(c), key | group});
    }
    if (priced.base <= 0.0) priced.base = 1.0;  // nothing leaves a GPU: a timer
  }
  if (options_.changing || options_.expand) {
    for (const double rate : capacity_) shared_.network.links.emplace_back(rate);
    shared_.network.fabric = &placed_.fabric;
  } else {
    shared_ = shared_links(demands, capacity_);
  }
  shared_.network.metered = false;  // link_bytes() knows
}

/// On the links that can slow anybody; where routes change, or every flow is one of its own, on
/// those of the fabric as they are.
void StepTraffic::make_flows(std::uint32_t channel, const Way& way) {
  const Priced& priced = priced_[channel];
  const Seconds wire = channels_.channels[channel].wire;
  flows_.clear();
  if (options_.expand) {
    for (const RoutedFlow& routed : way.flows) {
      Flow flow;
      for (const LinkId link : routed.links)
        flow.route.push_back({static_cast<std::uint32_t>(link)});
      flow.bytes = Bytes{priced.occupied * routed.bytes};
      flow.max_rate = flow.bytes / wire;
      flows_.push_back(flow);
    }
    return;
  }
  Flow flow;
  const double share = pace(channel) / priced.base;
  for (const auto& [link, bytes] : asked(way)) {
    const std::uint32_t place =
        options_.changing ? static_cast<std::uint32_t>(link) : shared_.place[index(link)];
    if (place != SharedLinks::left_out) flow.route.push_back({place, share * bytes});
  }
  flow.bytes = Bytes{priced.base * wire.value()};
  flow.max_rate = BytesPerSecond{priced.base};
  flows_.push_back(std::move(flow));
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
  Way& way = this->way(channel, group);
  if (detours_ != nullptr) {
    detours_->forget_load();
    add_load(placed_.job, placed_.ranks, channels_.channels[channel], group, *detours_);
    way.loads = detours_->take();
    if (options_.expand) way.flows = detours_->take_flows();
  }
  make_flows(channel, way);
  return flows_;
}

void StepTraffic::started(std::uint32_t channel, int group, Seconds now) {
  way(channel, group).since = now;
}

void StepTraffic::moved(std::uint32_t channel, int group, double amount, Seconds now) {
  way(channel, group).moved += amount;
  if (options_.record) ran_.push_back({channel, group, amount, way(channel, group).since, now});
}

double StepTraffic::bytes_on(const LinkLoads& loads, LinkId link) {
  const auto found = std::lower_bound(loads.begin(), loads.end(), link, before);
  return found != loads.end() && found->link == link ? found->bytes : 0.0;
}

double StepTraffic::crossed_by(std::uint32_t channel, LinkId link) const {
  const bool stands_for_all = options_.fold && channels_.channels[channel].together == 1;
  const double share = stands_for_all ? 1.0 / static_cast<double>(replicas_.size()) : 1.0;
  double moved = 0.0;
  double bytes = 0.0;
  for (const Way& way : ways_[channel]) {
    moved += share * way.moved;
    if (!options_.fold && way.moved > 0.0) bytes += way.moved * bytes_on(way.loads, link);
  }
  return options_.fold ? moved * bytes_on(totals_[channel], link) : bytes;
}

std::vector<LinkExchange> StepTraffic::crossing(LinkId link) const {
  FORETRAIN_REQUIRE(options_.record);
  std::map<std::string, LinkExchange> kinds;
  for (std::uint32_t c = 0; c < channels_.channels.size(); ++c) {
    const double bytes = crossed_by(c, link);
    if (bytes <= 0.0) continue;
    LinkExchange& kind = kinds[channel_name(channels_.channels[c])];
    kind.bytes += Bytes{bytes};
  }
  for (const Ran& one : ran_) {
    const Channel& channel = channels_.channels[one.channel];
    if (bytes_on(ways_[one.channel][index(one.group)].loads, link) <= 0.0) continue;
    LinkExchange& kind = kinds[channel_name(channel)];
    ++kind.count;
    kind.alone += one.amount * (channel.latency + channel.wire);
    kind.took += one.end - one.begin;
  }
  std::vector<LinkExchange> named;
  for (auto& [name, kind] : kinds) {
    kind.name = name;
    named.push_back(std::move(kind));
  }
  return named;
}

LinkUseSeries StepTraffic::link_use(LinkId link) const {
  FORETRAIN_REQUIRE(options_.record);
  const auto bytes = [&](const Ran& one) {
    return bytes_on(ways_[one.channel][index(one.group)].loads, link);
  };
  std::map<Seconds, double> changes;
  for (const Ran& one : ran_) {
    const double crossed = bytes(one);
    if (crossed <= 0.0 || one.end <= one.begin) continue;
    const double rate = one.amount * crossed / (one.end - one.begin).value();
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

void StepTraffic::play_back(
    Seconds length, int frames,
    const std::function<void(const std::vector<double>& use)>& on_frame) const {
  FORETRAIN_REQUIRE(options_.record && frames >= 1);
  struct Change {
    Seconds at;
    std::size_t ran;
    double sign;
  };
  std::vector<Change> changes;
  for (std::size_t i = 0; i < ran_.size(); ++i) {
    if (ran_[i].end <= ran_[i].begin) continue;
    changes.push_back({ran_[i].begin, i, 1.0});
    changes.push_back({ran_[i].end, i, -1.0});
  }
  std::ranges::stable_sort(changes, [](const Change& a, const Change& b) { return a.at < b.at; });
  std::vector<double> use(capacity_.size());
  auto next = changes.begin();
  for (int frame = 0; frame < frames; ++frame) {
    const Seconds at = length * ((frame + 0.5) / frames);
    for (; next != changes.end() && next->at <= at; ++next) {
      const Ran& one = ran_[next->ran];
      const double rate = next->sign * one.amount / (one.end - one.begin).value();
      for (const auto& [link, bytes] : ways_[one.channel][index(one.group)].loads)
        use[index(link)] += rate * bytes / placed_.fabric.capacity[index(link)];
    }
    on_frame(use);
  }
}

void StepTraffic::set_down(const LinkSet* down) {
  FORETRAIN_REQUIRE(options_.changing && !options_.fold);
  crossed_ = link_bytes();
  for (std::vector<Way>& groups : ways_)
    for (Way& way : groups) way.moved = 0.0;
  detours_ = std::make_unique<LoadBuilder>(placed_.fabric, placed_.job.simulation, down);
  detours_->keep_flows(options_.expand);
}

std::vector<double> StepTraffic::link_bytes() const {
  std::vector<double> bytes(crossed_);
  bytes.resize(capacity_.size());
  const auto add = [&](const LinkLoads& loads, double amount) {
    for (const auto& [link, each] : loads) bytes[index(link)] += amount * each;
  };
  for (std::size_t c = 0; c < ways_.size(); ++c) {
    const bool stands_for_all = options_.fold && channels_.channels[c].together == 1;
    const double share = stands_for_all ? 1.0 / static_cast<double>(replicas_.size()) : 1.0;
    double moved = 0.0;
    for (const Way& way : ways_[c]) {
      moved += share * way.moved;
      if (!options_.fold) add(way.loads, way.moved);
    }
    if (options_.fold) add(totals_[c], moved);
  }
  return bytes;
}

}  // namespace foretrain
