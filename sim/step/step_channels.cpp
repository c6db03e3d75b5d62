// SPDX-License-Identifier: Apache-2.0
#include "sim/step/internal/step_channels.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "models/base/require.hpp"
#include "models/step/step_exchanges.hpp"
#include "sim/flows/flow_network.hpp"

namespace foretrain {
namespace {

/// Data replicas that the groups of a block of `ranks` ranks of a stage reach over.
int replicas_of(const ProcessGrid& grid, int ranks) {
  const int replica = grid.shard_ranks();
  if (replica % ranks == 0) return 1;
  return ranks % replica == 0 ? ranks / replica : grid.stage_ranks() / replica;
}

/// Data replicas that take part in one exchange.
int together_of(const Parallel& plan, GroupKind group) {
  const ProcessGrid grid{plan};
  switch (group) {
    case GroupKind::holders:
    case GroupKind::expert_data:
    case GroupKind::data:
    case GroupKind::data_context:
      return plan.data;
    case GroupKind::expert:
      return replicas_of(grid, plan.expert * plan.expert_tensor_size());
    case GroupKind::expert_tensor:
      return replicas_of(grid, plan.expert_tensor_size());
    default:
      return 1;
  }
}

using Members = std::vector<int>;

/// Ranks of a stage next to each other.
struct RankRange {
  int stage = 0;
  int first = 0;
  int count = 0;
};

/// Groups of a kind whose members are all in the range, by their lowest rank.
template <class Use>
void for_each_group(const RankMap& ranks, GroupKind kind, RankRange range, const Use& use) {
  const Group group = ranks.grid.group(kind);
  const int last = ranks.grid.rank(range.stage, range.first + range.count - 1);
  for (int number = range.first; number < range.first + range.count; ++number) {
    const int rank = ranks.grid.rank(range.stage, number);
    if (group.first_of(rank) == rank && rank + group.reach() <= last)
      use(ranks.members(group, rank));
  }
}

/// What every member of a group passes on to the next: of sums and gathers the payload but for its
/// own part, as often as it goes round.
double ring_bytes(const Exchange& exchange, std::size_t members) {
  if (exchange.op == CollectiveOp::send) return exchange.payload.value();
  const auto n = static_cast<double>(members);
  const double rounds = exchange.op == CollectiveOp::all_reduce ? 2.0 : 1.0;
  return rounds * (n - 1.0) / n * exchange.payload.value();
}

/// Rings over the shards, and where they are summed over the ranks that hold the same shard.
void add_state_rings(const Exchange& exchange, const Members& members, LoadBuilder& load) {
  const std::size_t all = members.size();
  const std::size_t shard =
      exchange.shard > 0 ? std::min(all, static_cast<std::size_t>(exchange.shard)) : all;
  for (std::size_t first = 0; first + shard <= all; first += shard)
    load.ring({members.data() + first, shard}, ring_bytes(exchange, shard));
  if (exchange.op != CollectiveOp::reduce_scatter || shard == all) return;
  const std::size_t copies = all / shard;
  const Exchange sums{.op = CollectiveOp::all_reduce,
                      .payload = exchange.payload / static_cast<double>(shard)};
  Members same;
  for (std::size_t i = 0; i < shard; ++i) {
    same.clear();
    for (std::size_t copy = 0; copy < copies; ++copy) same.push_back(members[copy * shard + i]);
    load.ring(same, ring_bytes(sums, copies));
  }
}

/// Over all ranks that hold the same weights, of every data replica.
void add_holders(const Exchange& exchange, const RankMap& ranks, int stage, LoadBuilder& load) {
  const Group same = ranks.grid.group(GroupKind::data_context);
  for (int number = 0; number < ranks.stage; ++number) {
    const int rank = ranks.grid.rank(stage, number);
    if (same.first_of(rank) != rank) continue;
    Members members = ranks.grid.group_of(GroupKind::holders, rank);
    for (int& member : members) member = ranks.gpu[static_cast<std::size_t>(member)];
    add_state_rings(exchange, members, load);
  }
}

void add_exchange(const Exchange& exchange, const RankMap& ranks, const Channel& channel,
                  const RankRange& inside, LoadBuilder& load) {
  switch (exchange.group) {
    case GroupKind::holders:
      return add_holders(exchange, ranks, channel.stage, load);
    case GroupKind::neighbours:
    case GroupKind::ends:
      for (int i = inside.first; i < inside.first + inside.count; ++i)
        load.send(ranks.at(channel.stage, i), ranks.at(channel.peer, i), exchange.payload.value());
      return;
    default:
      return for_each_group(ranks, exchange.group, inside, [&](const Members& members) {
        if (exchange.op == CollectiveOp::all_to_all)
          load.exchange(members, exchange.payload.value());
        else
          load.ring(members, ring_bytes(exchange, members.size()));
      });
  }
}

}  // namespace

RankMap::RankMap(const Parallel& plan, std::vector<int> gpu_of_rank)
    : grid{plan},
      gpu{std::move(gpu_of_rank)},
      replica{grid.shard_ranks()},
      stage{grid.stage_ranks()} {
  FORETRAIN_REQUIRE(static_cast<int>(gpu.size()) == grid.ranks());
}

std::vector<int> RankMap::members(const Group& group, int first) const {
  std::vector<int> members = group.members(first);
  for (int& member : members) member = gpu[static_cast<std::size_t>(member)];
  return members;
}

namespace {

/// The commonest cost of every channel's tasks, which stands for all of them.
std::vector<std::uint32_t> usual_costs(const TaskGraph& graph, const StepChannels& channels) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> tasks;  // by channel and cost
  for (std::uint32_t id = 0; id < graph.tasks.size(); ++id)
    if (channels.of_task[id] != TaskTraffic::none)
      ++tasks[{channels.of_task[id], graph.tasks[id].cost}];
  std::vector<std::uint32_t> usual(channels.channels.size());
  std::vector<int> most(channels.channels.size());
  for (const auto& [key, count] : tasks) {
    if (count <= most[key.first]) continue;
    most[key.first] = count;
    usual[key.first] = key.second;
  }
  return usual;
}

/// What tells channels from each other: their first exchange's group and what can cover it (weights
/// in every pass from those once per step), what they do, and where they run.
using ChannelKey = std::tuple<GroupKind, Cover, std::set<CollectiveOp>, int, int>;

ChannelKey key_of(const std::vector<Exchange>& each, int stage, int peer) {
  std::set<CollectiveOp> does;
  for (const Exchange& exchange : each) does.insert(exchange.op);
  return {each.front().group, each.front().cover, std::move(does), stage, peer};
}

/// The channel's tasks take what the graph says; latency has the part that it has in the price.
void price(const Exchanges& exchanges, const TaskCost& cost, Channel& channel) {
  const bool once = exchanges.each.front().cover == Cover::passes;
  const Seconds whole = once ? exchanges.time : cost.duration / cost.share;
  const Seconds time = exchanges.time;
  const double share = time > Seconds{} ? std::clamp(exchanges.latency / time, 0.0, 1.0) : 1.0;
  channel.each = exchanges.each;
  channel.latency = share * whole;
  // What hides of an all-to-all takes no more than nine tenths off its latency.
  if (exchanges.each.front().op == CollectiveOp::all_to_all)
    channel.latency = min(exchanges.latency, 0.9 * whole);
  channel.wire = whole - channel.latency;
}

/// As training frameworks call what the group does.
std::string_view words_of(GroupKind group) {
  switch (group) {
    case GroupKind::data:
    case GroupKind::data_context:
    case GroupKind::holders:
      return "data-parallel";
    case GroupKind::expert_data:
      return "expert data-parallel";
    case GroupKind::neighbours:
      return "pipeline";
    case GroupKind::ends:
      return "embedding";
    default:
      return name_of(group);
  }
}

}  // namespace

std::string channel_name(const Channel& channel) {
  std::string name;
  for (const Exchange& exchange : channel.each) {
    const std::string one =
        std::string(words_of(exchange.group)) + " " + std::string(name_of(exchange.op));
    if (exchange.payload > Bytes{} && name.find(one) == std::string::npos)
      name += (name.empty() ? "" : ", ") + one;
  }
  return name;
}

StepChannels step_channels(const Job& job, const TaskGraph& graph) {
  StepChannels result;
  result.of_task.assign(graph.tasks.size(), TaskTraffic::none);
  std::map<ChannelKey, std::uint32_t> known;
  for (std::uint32_t id = 0; id < graph.tasks.size(); ++id) {
    const Task& task = graph.tasks[id];
    const Exchanges* exchanges = graph.exchanges_of(graph.cost_of(id));
    if (task.kind != TaskKind::flow && task.kind != TaskKind::collective) continue;
    if (exchanges == nullptr || graph.cost_of(id).duration <= Seconds{}) continue;
    const Exchange& first = exchanges->each.front();
    const int last = job.parallel.pipeline - 1;
    const int peer = first.group == GroupKind::ends ? (task.rank == 0 ? last : 0) : task.peer;
    const auto [found, added] = known.try_emplace(key_of(exchanges->each, task.rank, peer),
                                                  static_cast<std::uint32_t>(known.size()));
    result.of_task[id] = found->second;
    if (!added) continue;
    Channel channel;
    channel.stream = task.stream;
    channel.stage = task.rank;
    channel.peer = peer;
    channel.together = together_of(job.parallel, first.group);
    result.channels.push_back(channel);
  }
  const std::vector<std::uint32_t> usual = usual_costs(graph, result);
  for (std::size_t c = 0; c < usual.size(); ++c) {
    const TaskCost& cost = graph.costs[usual[c]];
    price(*graph.exchanges_of(cost), cost, result.channels[c]);
  }
  for (std::uint32_t& channel : result.of_task)
    if (channel != TaskTraffic::none && result.channels[channel].wire <= Seconds{})
      channel = TaskTraffic::none;
  return result;
}

std::vector<Channel> inside_passes(const Job& job, const TaskGraph& graph) {
  std::map<std::pair<int, int>, Channel> channels;  // by stage and replicas that take part
  for (std::uint32_t id = 0; id < graph.tasks.size(); ++id) {
    const Task& task = graph.tasks[id];
    const TaskCost& cost = graph.cost_of(id);
    const Exchanges* exchanges = graph.exchanges_of(cost);
    if (task.kind != TaskKind::compute || exchanges == nullptr) continue;
    for (const Exchange& exchange : exchanges->each) {
      const int together = together_of(job.parallel, exchange.group);
      Channel& channel = channels[{task.rank, together}];
      channel.stage = task.rank;
      channel.together = together;
      add_exchanges({exchange}, cost.share, channel.each);
    }
  }
  std::vector<Channel> result;
  result.reserve(channels.size());
  for (auto& [key, channel] : channels) result.push_back(std::move(channel));
  return result;
}

void add_load(const Job& job, const RankMap& ranks, const Channel& channel, int group,
              LoadBuilder& load) {
  FORETRAIN_REQUIRE(job.parallel.data * ranks.replica == ranks.stage);
  const int first = group * channel.together * ranks.replica;
  const int count = std::min(ranks.stage - first, channel.together * ranks.replica);
  for (const Exchange& exchange : channel.each)
    add_exchange(exchange, ranks, channel, {channel.stage, first, count}, load);
}

}  // namespace foretrain
