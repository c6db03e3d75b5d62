// SPDX-License-Identifier: Apache-2.0
#include "models/grid/process_grid.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

using namespace foretrain;

namespace {

using Lists = std::vector<std::vector<int>>;

struct Degrees {
  int tensor = 1;
  int context = 1;
  int pipeline = 1;
  int data = 1;
  int expert = 1;
  int expert_tensor = 0;
};

ProcessGrid grid_of(const Degrees& degrees, const RankOrder& order = data_in_stage) {
  Parallel plan;
  plan.tensor = degrees.tensor;
  plan.context = degrees.context;
  plan.pipeline = degrees.pipeline;
  plan.data = degrees.data;
  plan.expert = degrees.expert;
  plan.expert_tensor = degrees.expert_tensor;
  plan.order = order;
  return ProcessGrid{plan};
}

/// What the tests of all layouts go through.
ProcessGrid any_grid() {
  constexpr std::array<RankOrder, 4> orders{
      {data_in_stage,
       stages_in_replica,
       {RankAxis::tensor, RankAxis::pipeline, RankAxis::context, RankAxis::expert, RankAxis::data},
       {RankAxis::context, RankAxis::tensor, RankAxis::expert, RankAxis::data,
        RankAxis::pipeline}}};
  const RankOrder order = orders[GENERATE(0U, 1U, 2U, 3U)];
  const int tensor = GENERATE(1, 2);
  const int context = GENERATE(1, 2);
  const int pipeline = GENERATE(1, 3);
  return grid_of({tensor, context, pipeline, 4, 2, 1}, order);
}

constexpr std::array<GroupKind, 9> partitions{
    GroupKind::tensor,        GroupKind::context,     GroupKind::data,
    GroupKind::data_context,  GroupKind::pipeline,    GroupKind::expert,
    GroupKind::expert_tensor, GroupKind::expert_data, GroupKind::world};

}  // namespace

// Megatron-LM, megatron/core/parallel_state.py: initialize_model_parallel, docstring.
TEST_CASE("process groups: 16 GPUs with tensor 2 and pipeline 4 as Megatron lists them",
          "[models][grid]") {
  const ProcessGrid grid = grid_of({.tensor = 2, .pipeline = 4, .data = 2});
  CHECK(grid.groups(GroupKind::data) ==
        Lists{{0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15}});
  CHECK(grid.groups(GroupKind::tensor) ==
        Lists{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15}});
  CHECK(grid.groups(GroupKind::pipeline) ==
        Lists{{0, 4, 8, 12}, {1, 5, 9, 13}, {2, 6, 10, 14}, {3, 7, 11, 15}});
  // default_embedding_ranks: the first and the last of every pipeline group.
  CHECK(grid.groups(GroupKind::ends) == Lists{{0, 12}, {1, 13}, {2, 14}, {3, 15}});
  CHECK(grid.groups(GroupKind::neighbours) == Lists{{0, 4},
                                                    {4, 8},
                                                    {8, 12},
                                                    {1, 5},
                                                    {5, 9},
                                                    {9, 13},
                                                    {2, 6},
                                                    {6, 10},
                                                    {10, 14},
                                                    {3, 7},
                                                    {7, 11},
                                                    {11, 15}});
}

TEST_CASE("process groups: 8 GPUs with tensor 4 and context 2 as Megatron lists them",
          "[models][grid]") {
  // There, argument context_parallel_size.
  const ProcessGrid grid = grid_of({.tensor = 4, .context = 2});
  CHECK(grid.groups(GroupKind::context) == Lists{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(grid.groups(GroupKind::data_context) == Lists{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(grid.groups(GroupKind::ends).size() == 8);
}

TEST_CASE("process groups: data ranks outermost as generate_masked_orthogonal_rank_groups has them",
          "[models][grid]") {
  // Order tp-pp-dp, sizes 2-2-2.
  const ProcessGrid outside = grid_of({.tensor = 2, .pipeline = 2, .data = 2}, stages_in_replica);
  CHECK(outside.groups(GroupKind::data) == Lists{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(outside.groups(GroupKind::pipeline) == Lists{{0, 2}, {1, 3}, {4, 6}, {5, 7}});
  // [tp, dp, pp] = [2, 3, 4].
  const ProcessGrid inside = grid_of({.tensor = 2, .pipeline = 4, .data = 3});
  CHECK(inside.groups(GroupKind::data) == Lists{{0, 2, 4},
                                                {1, 3, 5},
                                                {6, 8, 10},
                                                {7, 9, 11},
                                                {12, 14, 16},
                                                {13, 15, 17},
                                                {18, 20, 22},
                                                {19, 21, 23}});
}

TEST_CASE("process groups: all four dense axes", "[models][grid]") {
  const Degrees degrees{.tensor = 2, .context = 2, .pipeline = 2, .data = 2};
  SECTION("tp-cp-dp-pp") {
    const ProcessGrid grid = grid_of(degrees);
    CHECK(grid.groups(GroupKind::context) ==
          Lists{{0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15}});
    CHECK(grid.groups(GroupKind::data) ==
          Lists{{0, 4}, {1, 5}, {2, 6}, {3, 7}, {8, 12}, {9, 13}, {10, 14}, {11, 15}});
    CHECK(grid.groups(GroupKind::data_context) ==
          Lists{{0, 2, 4, 6}, {1, 3, 5, 7}, {8, 10, 12, 14}, {9, 11, 13, 15}});
    CHECK(grid.groups(GroupKind::pipeline) ==
          Lists{{0, 8}, {1, 9}, {2, 10}, {3, 11}, {4, 12}, {5, 13}, {6, 14}, {7, 15}});
  }
  SECTION("tp-cp-pp-dp") {
    const ProcessGrid grid = grid_of(degrees, stages_in_replica);
    CHECK(grid.groups(GroupKind::context) ==
          Lists{{0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15}});
    CHECK(grid.groups(GroupKind::data) ==
          Lists{{0, 8}, {1, 9}, {2, 10}, {3, 11}, {4, 12}, {5, 13}, {6, 14}, {7, 15}});
    CHECK(grid.groups(GroupKind::data_context) ==
          Lists{{0, 2, 8, 10}, {1, 3, 9, 11}, {4, 6, 12, 14}, {5, 7, 13, 15}});
    CHECK(grid.groups(GroupKind::pipeline) ==
          Lists{{0, 4}, {1, 5}, {2, 6}, {3, 7}, {8, 12}, {9, 13}, {10, 14}, {11, 15}});
  }
}

// The same rule over the expert grid: tensor is expert tensor, context 1 (expert_decoder_rank_
// generator in parallel_state.py).
TEST_CASE("process groups: experts over data ranks", "[models][grid]") {
  const ProcessGrid grid = grid_of({.data = 8, .expert = 4});
  CHECK(grid.groups(GroupKind::expert) == Lists{{0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK(grid.groups(GroupKind::expert_data) == Lists{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(grid.groups(GroupKind::data) == Lists{{0, 1, 2, 3, 4, 5, 6, 7}});
}

TEST_CASE("process groups: experts whole over tensor and data ranks", "[models][grid]") {
  const ProcessGrid grid = grid_of({.tensor = 2, .data = 4, .expert = 4, .expert_tensor = 1});
  CHECK(grid.groups(GroupKind::expert) == Lists{{0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK(grid.groups(GroupKind::expert_data) == Lists{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(grid.groups(GroupKind::expert_tensor).size() == 8);
}

TEST_CASE("process groups: experts split over tensor ranks, two stages", "[models][grid]") {
  const ProcessGrid grid = grid_of({.tensor = 2, .pipeline = 2, .data = 4, .expert = 2});
  CHECK(grid.groups(GroupKind::expert_tensor) ==
        Lists{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15}});
  CHECK(grid.groups(GroupKind::expert) ==
        Lists{{0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15}});
  CHECK(grid.groups(GroupKind::expert_data) ==
        Lists{{0, 4}, {1, 5}, {2, 6}, {3, 7}, {8, 12}, {9, 13}, {10, 14}, {11, 15}});
}

TEST_CASE("process groups: experts over context ranks too", "[models][grid]") {
  const ProcessGrid grid = grid_of({.context = 2, .data = 2, .expert = 4});
  CHECK(grid.groups(GroupKind::expert) == Lists{{0, 1, 2, 3}});
  CHECK(grid.groups(GroupKind::context) == Lists{{0, 1}, {2, 3}});
  CHECK(grid.groups(GroupKind::expert_data) == Lists{{0}, {1}, {2}, {3}});
}

// DeepSpeed, deepspeed/utils/groups.py: docstrings of _create_expert_and_data_parallel and
// _create_expert_data_and_model_parallel.
TEST_CASE("process groups: DeepSpeed's two examples of experts on 16 GPUs", "[models][grid]") {
  const ProcessGrid plain = grid_of({.data = 16, .expert = 2});
  CHECK(plain.groups(GroupKind::expert) ==
        Lists{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15}});
  CHECK(plain.groups(GroupKind::expert_data) ==
        Lists{{0, 2, 4, 6, 8, 10, 12, 14}, {1, 3, 5, 7, 9, 11, 13, 15}});
  const ProcessGrid tensor = grid_of({.tensor = 2, .data = 8, .expert = 4});
  CHECK(tensor.groups(GroupKind::data) ==
        Lists{{0, 2, 4, 6, 8, 10, 12, 14}, {1, 3, 5, 7, 9, 11, 13, 15}});
  CHECK(tensor.groups(GroupKind::expert) ==
        Lists{{0, 2, 4, 6}, {1, 3, 5, 7}, {8, 10, 12, 14}, {9, 11, 13, 15}});
  CHECK(tensor.groups(GroupKind::expert_data) ==
        Lists{{0, 8}, {1, 9}, {2, 10}, {3, 11}, {4, 12}, {5, 13}, {6, 14}, {7, 15}});
}

// nanotron, src/nanotron/parallel/context.py: with experts ranks are (data, pipeline, context,
// tensor) and (expert data, pipeline, expert, expert tensor), the last one innermost.
TEST_CASE("process groups: nanotron's experts, data ranks outermost", "[models][grid]") {
  const ProcessGrid grid =
      grid_of({.tensor = 2, .pipeline = 2, .data = 4, .expert = 1}, stages_in_replica);
  CHECK(grid.groups(GroupKind::data) ==
        Lists{{0, 4, 8, 12}, {1, 5, 9, 13}, {2, 6, 10, 14}, {3, 7, 11, 15}});
  const ProcessGrid experts = grid_of(
      {.tensor = 4, .pipeline = 2, .data = 2, .expert = 2, .expert_tensor = 2}, stages_in_replica);
  CHECK(experts.stages_agree());
  CHECK(experts.groups(GroupKind::expert) ==
        Lists{{0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15}});
  CHECK(experts.groups(GroupKind::expert_data) ==
        Lists{{0, 8}, {1, 9}, {2, 10}, {3, 11}, {4, 12}, {5, 13}, {6, 14}, {7, 15}});
  // Two expert ranks per pair of tensor ranks would put experts on another stage.
  CHECK_FALSE(grid_of({.tensor = 2, .pipeline = 2, .data = 4, .expert = 2}, stages_in_replica)
                  .stages_agree());
}

TEST_CASE("process groups: shards are neighbours in the group, copies a shard apart",
          "[models][grid]") {
  // Megatron's num_distributed_optimizer_instances 2: intra and inter partial data-parallel groups.
  const Group holders = grid_of({.tensor = 2, .data = 8}).group(GroupKind::data_context);
  REQUIRE(holders.members() == std::vector<int>{0, 2, 4, 6, 8, 10, 12, 14});
  CHECK(holders.part(4).members(8) == std::vector<int>{8, 10, 12, 14});
  CHECK(holders.copies(4).members(2) == std::vector<int>{2, 10});
  // Of context and data ranks with stages between them.
  const Group apart = grid_of({.context = 2, .pipeline = 2, .data = 4}, stages_in_replica)
                          .group(GroupKind::data_context);
  REQUIRE(apart.members() == std::vector<int>{0, 1, 4, 5, 8, 9, 12, 13});
  CHECK(apart.part(4).members(8) == std::vector<int>{8, 9, 12, 13});
  CHECK(apart.copies(4).members(1) == std::vector<int>{1, 9});
}

TEST_CASE(
    "process groups: every rank is in one group of each kind, with the ranks that differ in "
    "its axes alone",
    "[models][grid][property]") {
  const ProcessGrid grid = any_grid();
  for (const GroupKind kind : partitions) {
    CAPTURE(name_of(kind));
    std::set<int> seen;
    for (const std::vector<int>& members : grid.groups(kind)) {
      REQUIRE(static_cast<int>(members.size()) == grid.group(kind).ranks());
      CHECK(std::is_sorted(members.begin(), members.end()));
      for (const int rank : members) {
        CHECK(seen.insert(rank).second);
        CHECK(grid.group_of(kind, rank) == members);
      }
    }
    CHECK(static_cast<int>(seen.size()) == grid.ranks());
  }
  for (const std::vector<int>& members : grid.groups(GroupKind::data_context)) {
    const RankPlace first = grid.place(members.front());
    for (const int rank : members) {
      CHECK(grid.place(rank).tensor == first.tensor);
      CHECK(grid.place(rank).stage == first.stage);
    }
  }
}

TEST_CASE("process groups: the ranks of a stage by number are those that are placed on it",
          "[models][grid][property]") {
  const ProcessGrid grid = any_grid();
  std::set<int> all;
  for (int stage = 0; stage * grid.stage_ranks() < grid.ranks(); ++stage)
    for (int number = 0; number < grid.stage_ranks(); ++number) {
      const int rank = grid.rank(stage, number);
      CHECK(grid.place(rank).stage == stage);
      CHECK((number == 0 || rank > grid.rank(stage, number - 1)));
      all.insert(rank);
    }
  CHECK(static_cast<int>(all.size()) == grid.ranks());
}

TEST_CASE("process groups: hosts and ranks per host are those of the members",
          "[models][grid][property]") {
  const ProcessGrid grid = any_grid();
  const int gpus = GENERATE(2, 4, 8);
  for (const GroupKind kind : partitions) {
    CAPTURE(name_of(kind), gpus);
    const Group group = grid.group(kind);
    // Where strides and hosts divide each other all groups sit alike; else the widest counts.
    const std::vector<int> members = group.members();
    if (std::any_of(members.begin(), members.end(),
                    [&](int rank) { return rank % gpus != 0 && gpus % rank != 0; }))
      continue;
    std::set<int> hosts;
    for (const int rank : members) hosts.insert(rank / gpus);
    const CommGroup seated = group.on_hosts({gpus, gpus});
    CHECK(seated.domains() == static_cast<int>(hosts.size()));
    CHECK(seated.span_hosts == *hosts.rbegin() + 1);
  }
}

TEST_CASE("process groups: a stage leaves its host where a rank's next stage is on another one",
          "[models][grid][property]") {
  const ProcessGrid grid = any_grid();
  const int gpus = GENERATE(2, 4, 8);
  const int stages = grid.ranks() / grid.stage_ranks();
  for (int stage = 0; stage + 1 < stages; ++stage) {
    bool apart = false;
    for (int number = 0; number < grid.stage_ranks(); ++number)
      apart = apart || grid.rank(stage, number) / gpus != grid.rank(stage + 1, number) / gpus;
    CAPTURE(stage, gpus);
    // Blocks of ranks that straddle hosts count as leaving them.
    if (apart) CHECK(grid.leaves_domain(stage, gpus));
    const int first = grid.rank(stage, 0);
    const int last = grid.rank(stage + 1, grid.stage_ranks() - 1);
    if (first / gpus == last / gpus) CHECK_FALSE(grid.leaves_domain(stage, gpus));
  }
}
