// SPDX-License-Identifier: Apache-2.0
#include "sim/step/internal/step_channels.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "models/base/require.hpp"
#include "models/collectives/collective_cost.hpp"
#include "models/data/data_parallel.hpp"
#include "models/layers/eight_bit_weights.hpp"
#include "models/layers/memory_parameters.hpp"
#include "models/schedules/registry.hpp"
#include "sim/flows/traffic.hpp"

namespace foretrain {
namespace {

constexpr double half = 2.0;  // bytes of a bf16 or fp16 element

double gradient_bytes(const Job& job) {
  return job.communication.gradient_dtype == Precision::fp32 ? 4.0 : 2.0;
}

ChannelKind kind_of(const Task& task, const TaskCost& cost) {
  switch (task.role) {
    case TaskRole::transfer:
      return ChannelKind::transfer;
    case TaskRole::gradients:
      return cost.name == "tied embedding" ? ChannelKind::tied : ChannelKind::gradients;
    case TaskRole::weights:
      return cost.name == "sharded weights" ? ChannelKind::shards : ChannelKind::weights;
    case TaskRole::context:
      return ChannelKind::context;
    case TaskRole::expert:
      return ChannelKind::expert;
    default:
      return cost.name.starts_with("expert ") ? ChannelKind::expert_tensor : ChannelKind::tensor;
  }
}

GroupKind tensor_group(ChannelKind kind) {
  return kind == ChannelKind::tensor ? GroupKind::tensor : GroupKind::expert_tensor;
}

/// Prices channels like the tables that the graph was built from.
class Pricer {
 public:
  Pricer(const Job& job, const StageLayout& layout)
      : job_{job},
        layout_{layout},
        plan_{job.parallel},
        grid_{job.parallel},
        path_{job.cluster, job.device_profile, job.site} {}

  void price(const TaskCost& cost, Channel& channel) const;

 private:
  [[nodiscard]] CommGroup group(GroupKind kind) const {
    return grid_.group(kind).on_hosts(job_.cluster.host.gpus);
  }
  [[nodiscard]] RankParameters held(int stage) const;
  void price_once(bool gradients, Channel& channel) const;
  void price_transfer(Channel& channel) const;
  /// Latency in the proportion that `nothing` has in `all`.
  static void split(Seconds duration, Seconds nothing, Seconds all, Channel& channel) {
    const double share = all > Seconds{} ? std::clamp(nothing / all, 0.0, 1.0) : 1.0;
    channel.latency = share * duration;
    channel.wire = duration - channel.latency;
  }

  const Job& job_;
  const StageLayout& layout_;
  const Parallel& plan_;
  ProcessGrid grid_;
  CollectivePath path_;
};

/// As step_costs() has it: of two stages where it holds both.
RankParameters Pricer::held(int stage) const {
  RankParameters held = rank_parameters(job_, layout_, stage);
  if (!holds_mirror(plan_)) return held;
  const RankParameters mirror = rank_parameters(job_, layout_, plan_.pipeline - 1 - stage);
  held.layers += mirror.layers;
  held.experts += mirror.experts;
  held.embedding += mirror.embedding;
  held.output += mirror.output;
  return held;
}

void Pricer::price_once(bool gradients, Channel& channel) const {
  const RankParameters parameters = held(channel.stage);
  const auto traffic = gradients ? gradient_traffic : weight_traffic;
  const Seconds all = traffic(job_, parameters, Seconds{}).total();
  split(all, traffic(job_, RankParameters{}, Seconds{}).total(), all, channel);
  if (!gradients) {
    const WeightBytes weights = gathered_weight_bytes(job_, parameters);
    channel.payload = weights.dense;
    channel.experts = weights.experts;
    return;
  }
  const double each = gradient_bytes(job_);
  channel.payload = Bytes{each * parameters.dense()};
  channel.experts = Bytes{each * parameters.experts};
}

void Pricer::price_transfer(Channel& channel) const {
  const double tokens =
      static_cast<double>(job_.training.micro_batch) * job_.training.sequence / plan_.context;
  const double parts = plan_.sequence || job_.stack.times.scatter_gather ? plan_.tensor : 1.0;
  channel.payload = Bytes{half * tokens * job_.model.hidden / parts};
  const int span = group(GroupKind::neighbours).span_hosts;
  const Seconds all = send_time(channel.payload, span, path_);
  split(all, send_time(Bytes{}, span, path_), all, channel);
}

void Pricer::price(const TaskCost& cost, Channel& channel) const {
  channel.payload = cost.bytes;
  switch (channel.kind) {
    case ChannelKind::gradients:
    case ChannelKind::weights:
      return price_once(channel.kind == ChannelKind::gradients, channel);
    case ChannelKind::shards: {
      const RankLayer layer = rank_layer(job_, LayerKind::dense);
      channel.payload = Bytes{half * layer.dense};
      const CommGroup ranks = group(GroupKind::data_context);
      return split(cost.duration, all_gather_time(ranks, Bytes{}, path_),
                   all_gather_time(ranks, channel.payload, path_), channel);
    }
    case ChannelKind::tied: {
      channel.payload =
          Bytes{gradient_bytes(job_) * job_.vocabulary() * job_.model.hidden / plan_.tensor};
      const Seconds all = tied_embedding_time(job_);
      return split(all, all_reduce_time(group(GroupKind::ends), Bytes{}, path_), all, channel);
    }
    case ChannelKind::transfer:
      return price_transfer(channel);
    case ChannelKind::tensor:
    case ChannelKind::expert_tensor: {
      const CommGroup ranks = group(tensor_group(channel.kind));
      return split(cost.duration, all_gather_time(ranks, Bytes{}, path_),
                   all_gather_time(ranks, cost.bytes, path_), channel);
    }
    case ChannelKind::context: {
      const CommGroup ranks = group(GroupKind::context);
      const int span = ranks.hosts() > 1 ? ranks.span_hosts : 1;
      return split(cost.duration, send_time(Bytes{}, span, path_),
                   send_time(cost.bytes / std::max(1, plan_.context - 1), span, path_), channel);
    }
    case ChannelKind::expert: {
      const CommGroup ranks = group(GroupKind::expert);
      const Seconds nothing = job_.stack.times.expert_latency + all_to_all_time(ranks, {}, path_);
      // What DualPipe hides of an exchange takes no more than nine tenths off its latency.
      return split(cost.duration, min(nothing, 0.9 * cost.duration), cost.duration, channel);
    }
  }
}

/// Data replicas that the groups of a block of `ranks` ranks of a stage reach over.
int replicas_of(const ProcessGrid& grid, int ranks) {
  const int replica = grid.shard_ranks();
  if (replica % ranks == 0) return 1;
  return ranks % replica == 0 ? ranks / replica : grid.stage_ranks() / replica;
}

/// Data replicas that take part in one exchange.
int together_of(const Parallel& plan, ChannelKind kind) {
  switch (kind) {
    case ChannelKind::gradients:
    case ChannelKind::weights:
    case ChannelKind::shards:
      return plan.data;
    case ChannelKind::expert:
      return replicas_of(ProcessGrid{plan}, plan.expert * plan.expert_tensor_size());
    case ChannelKind::expert_tensor:
      return replicas_of(ProcessGrid{plan}, plan.expert_tensor_size());
    default:
      return 1;
  }
}

using Members = std::vector<int>;

/// Ranks that hold the same dense weights: data and context ranks of the stage, and of the
/// one that mirrors it where each holds both.
Members holders(const Job& job, const RankMap& ranks, int stage, int tensor_rank) {
  const Parallel& plan = job.parallel;
  const Group same = ranks.grid.group(GroupKind::data_context);
  Members members = ranks.members(same, ranks.grid.rank(stage, tensor_rank));
  if (!holds_mirror(plan)) return members;
  const int opposite = plan.pipeline - 1 - stage;
  const Members mirror = ranks.members(same, ranks.grid.rank(opposite, tensor_rank));
  members.insert(members.end(), mirror.begin(), mirror.end());
  return members;
}

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

/// What every member of a ring passes on: `passes` times the payload but for its own part.
double ring_bytes(std::size_t members, double passes, Bytes payload) {
  const auto n = static_cast<double>(members);
  return passes * (n - 1.0) / n * payload.value();
}

/// Rings over the shard groups, and where sums are wanted over the ranks that hold the same shard.
void add_data_rings(const Job& job, const Members& members, const Channel& channel,
                    LoadBuilder& load) {
  const Parallel& plan = job.parallel;
  const bool reduces = channel.kind == ChannelKind::gradients;
  const std::size_t all = members.size();
  const std::size_t shard =
      plan.zero_group > 0 ? std::min(all, static_cast<std::size_t>(plan.zero_group)) : all;
  const double passes = reduces && plan.zero < 1 ? 2.0 : 1.0;
  for (std::size_t first = 0; first + shard <= all; first += shard)
    load.ring({members.data() + first, shard}, ring_bytes(shard, passes, channel.payload));
  if (!reduces || shard == all || plan.zero < 1) return;
  const std::size_t copies = all / shard;
  Members same;
  for (std::size_t i = 0; i < shard; ++i) {
    same.clear();
    for (std::size_t copy = 0; copy < copies; ++copy) same.push_back(members[copy * shard + i]);
    load.ring(same, ring_bytes(copies, 2.0, channel.payload / static_cast<double>(shard)));
  }
}

void add_expert_rings(const Job& job, const RankMap& ranks, const Channel& channel,
                      LoadBuilder& load) {
  const Parallel& plan = job.parallel;
  if (channel.experts <= Bytes{}) return;
  const double passes = channel.kind == ChannelKind::gradients && plan.zero < 1 ? 2.0 : 1.0;
  for_each_group(ranks, GroupKind::expert_data, {channel.stage, 0, ranks.stage},
                 [&](const Members& members) {
                   load.ring(members, ring_bytes(members.size(), passes, channel.experts));
                 });
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

}  // namespace

StepChannels step_channels(const Job& job, const StageLayout& layout, const TaskGraph& graph) {
  StepChannels result;
  result.of_task.assign(graph.tasks.size(), TaskTraffic::none);
  std::map<std::tuple<ChannelKind, int, int>, std::uint32_t> known;
  for (std::uint32_t id = 0; id < graph.tasks.size(); ++id) {
    const Task& task = graph.tasks[id];
    const TaskCost& cost = graph.cost_of(id);
    if (task.kind != TaskKind::flow && task.kind != TaskKind::collective) continue;
    if (cost.duration <= Seconds{}) continue;
    const ChannelKind kind = kind_of(task, cost);
    const int last = job.parallel.pipeline - 1;
    const int peer = kind == ChannelKind::tied ? (task.rank == 0 ? last : 0) : task.peer;
    const auto [found, added] =
        known.try_emplace({kind, task.rank, peer}, static_cast<std::uint32_t>(known.size()));
    result.of_task[id] = found->second;
    if (!added) continue;
    Channel channel;
    channel.kind = kind;
    channel.stream = task.stream;
    channel.stage = task.rank;
    channel.peer = peer;
    channel.together = together_of(job.parallel, kind);
    result.channels.push_back(channel);
  }
  const Pricer pricer{job, layout};
  const std::vector<std::uint32_t> usual = usual_costs(graph, result);
  for (std::size_t c = 0; c < usual.size(); ++c)
    pricer.price(graph.costs[usual[c]], result.channels[c]);
  for (std::uint32_t& channel : result.of_task)
    if (channel != TaskTraffic::none && result.channels[channel].wire <= Seconds{})
      channel = TaskTraffic::none;
  return result;
}

void add_load(const Job& job, const RankMap& ranks, const Channel& channel, int group,
              LoadBuilder& load) {
  const Parallel& plan = job.parallel;
  const int first = group * channel.together * ranks.replica;
  const int count = std::min(ranks.stage - first, channel.together * ranks.replica);
  const RankRange inside{channel.stage, first, count};
  switch (channel.kind) {
    case ChannelKind::gradients:
    case ChannelKind::weights:
    case ChannelKind::shards:
      for (int t = 0; t < plan.tensor; ++t)
        add_data_rings(job, holders(job, ranks, channel.stage, t), channel, load);
      return add_expert_rings(job, ranks, channel, load);
    case ChannelKind::tied:
    case ChannelKind::transfer:
      for (int i = first; i < first + count; ++i)
        load.send(ranks.at(channel.stage, i), ranks.at(channel.peer, i), channel.payload.value());
      return;
    case ChannelKind::tensor:
    case ChannelKind::expert_tensor:
      return for_each_group(ranks, tensor_group(channel.kind), inside, [&](const Members& members) {
        load.ring(members, ring_bytes(members.size(), 1.0, channel.payload));
      });
    case ChannelKind::context:
      return for_each_group(ranks, GroupKind::context, inside, [&](const Members& members) {
        load.ring(members, channel.payload.value());
      });
    case ChannelKind::expert:
      return for_each_group(ranks, GroupKind::expert, inside, [&](const Members& members) {
        load.exchange(members, channel.payload.value());
      });
  }
}

}  // namespace foretrain
