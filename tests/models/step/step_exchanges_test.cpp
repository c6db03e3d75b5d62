// SPDX-License-Identifier: Apache-2.0
#include "models/step/step_exchanges.hpp"

#include <catch2/catch.hpp>

#include "models/forecast/path_forecast.hpp"
#include "tests/models/example_job.hpp"
#include "tests/models/layers/moe_jobs.hpp"

using namespace foretrain;

namespace {

StepPath told_path(const Job& job, Detail detail) {
  return step_path(job, stage_layout(job.model, job.parallel), detail);
}

/// What all tasks of a stage exchange over a group in a step.
Bytes moved_over(const StepPath& path, GroupKind group, int stage) {
  Bytes sum;
  for (const Task& task : path.graph.tasks) {
    const TaskCost& cost = path.graph.costs[task.cost];
    const Exchanges* exchanges = path.graph.exchanges_of(cost);
    if (task.rank != stage || exchanges == nullptr) continue;
    for (const Exchange& exchange : exchanges->each)
      if (exchange.group == group) sum += cost.share * exchange.payload;
  }
  return sum;
}

}  // namespace

TEST_CASE("exchanges: every task that communicates tells what it exchanges", "[models][exchange]") {
  for (const Detail detail : {Detail::pass, Detail::op}) {
    const StepPath path = told_path(test::llama2_70b_job(), detail);
    for (const Task& task : path.graph.tasks) {
      if (task.kind != TaskKind::flow && task.kind != TaskKind::collective) continue;
      const TaskCost& cost = path.graph.costs[task.cost];
      CAPTURE(cost.name);
      REQUIRE(path.graph.exchanges_of(cost) != nullptr);
      CHECK(path.graph.exchanges_of(cost)->time > Seconds{});
      CHECK(path.graph.exchanges_of(cost)->latency < path.graph.exchanges_of(cost)->time);
    }
  }
}

TEST_CASE("exchanges: gradients and weights leave in parts that add up to what a rank holds",
          "[models][exchange]") {
  const Job job = test::llama2_70b_job();
  const StageLayout layout = stage_layout(job.model, job.parallel);
  for (const int stage : {0, 3, 7}) {
    const RankParameters held = rank_parameters(job, layout, stage);
    // ZeRO-1: fp32 gradients scattered, 16-bit weights gathered.
    CHECK(moved_over(told_path(job, Detail::op), GroupKind::holders, stage).value() ==
          Approx((4.0 + 2.0) * held.dense()));
  }
}

TEST_CASE("exchanges: a stage that holds its mirror's weights exchanges both once",
          "[models][exchange]") {
  Job job = test::llama2_70b_job();
  const StageLayout layout = stage_layout(job.model, job.parallel);
  const auto alone = [&](int stage) { return rank_parameters(job, layout, stage).dense(); };
  const double both = alone(2) + alone(5);  // no ends, which the two stages there would share
  job.parallel.schedule = ScheduleKind::dualpipe;
  job.parallel.virtual_stages = 1;
  CHECK(moved_over(told_path(job, Detail::pass), GroupKind::holders, 2).value() ==
        Approx((4.0 + 2.0) * both));
}

TEST_CASE("exchanges: a pass as one task moves what its operators move one by one",
          "[models][exchange]") {
  Job job = test::llama2_70b_job();
  job.parallel.sequence = GENERATE(false, true);
  const StepPath whole = told_path(job, Detail::pass);
  const StepPath apart = told_path(job, Detail::op);
  for (const int stage : {0, 4, 7})
    CHECK(moved_over(whole, GroupKind::tensor, stage).value() ==
          Approx(moved_over(apart, GroupKind::tensor, stage).value()));
  // A layer in the middle: before and after each half an activation of 4096 x 8192 x 2 bytes, in
  // the forward and in the backward pass (all-reduces: once per half and pass); 10 layers and 64
  // micro-batches.
  const double per_layer = (job.parallel.sequence ? 8.0 : 4.0) * 4096.0 * 8192.0 * 2.0;
  CHECK(moved_over(apart, GroupKind::tensor, 4).value() == Approx(10.0 * 64.0 * per_layer));
}

TEST_CASE("exchanges: the price of sharded sums is that of scattering and of summing the copies",
          "[models][exchange]") {
  Job job = test::llama2_70b_job();
  const CollectivePath path{job.cluster, job.device_profile, job.site};
  const Exchange sums{.op = CollectiveOp::reduce_scatter,
                      .group = GroupKind::holders,
                      .payload = 1.0 * GB,
                      .shard = 4};
  // Ranks 8 apart: one per host.
  const CommGroup shards{4, 1, 4};
  const CommGroup copies{4, 1, 13};
  CHECK(ExchangePrices{job}.time(sums).value() ==
        Approx(
            (reduce_scatter_time(shards, 1.0 * GB, path) + all_reduce_time(copies, 0.25 * GB, path))
                .value()));
}

namespace {

/// Tensor-parallel exchanges of a stage's first micro-batch, and how long kernels of that rank run
/// beside them.
struct Beside {
  Seconds exchanges;
  Seconds kernels;
  Seconds priced;
};

Beside beside_kernels(const StepPath& path, int stage) {
  Beside sum;
  const Timeline& timeline = path.timeline;
  for (std::size_t id = 0; id < path.graph.tasks.size(); ++id) {
    const Task& task = path.graph.tasks[id];
    if (task.rank != stage || task.role != TaskRole::tensor || task.micro != 0) continue;
    if (task.kind != TaskKind::collective) continue;
    const TaskCost& cost = path.graph.costs[task.cost];
    sum.exchanges += cost.duration;
    sum.priced += cost.share * path.graph.exchanges_of(cost)->time;
    for (std::size_t other = 0; other < path.graph.tasks.size(); ++other) {
      const Task& kernel = path.graph.tasks[other];
      if (kernel.rank != stage || kernel.stream != StreamKind::compute) continue;
      const Seconds both = min(timeline.end[id], timeline.end[other]) -
                           max(timeline.start[id], timeline.start[other]);
      sum.kernels += max(both, Seconds{});
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("exchanges: operators show all of an exchange, and the kernel that runs beside it",
          "[models][exchange]") {
  Job job = test::llama2_70b_job();
  job.parallel.sequence = true;
  job.training.global_batch = 16 * job.training.micro_batch * job.parallel.data;
  job.communication.overlap.tensor = false;
  const StepPath one_by_one = told_path(job, Detail::op);
  const Beside apart = beside_kernels(one_by_one, 3);
  CHECK(apart.exchanges.value() == Approx(apart.priced.value()));
  CHECK(apart.kernels == Seconds{});
  job.communication.overlap.tensor = true;
  const StepPath path = told_path(job, Detail::op);
  const Beside beside = beside_kernels(path, 3);
  CHECK(beside.exchanges.value() == Approx(apart.exchanges.value()));
  CHECK(beside.priced.value() == Approx(apart.priced.value()));
  Seconds covered;  // of a layer; the stage has ten
  for (const Operator& op : layer_operators(job, {}))
    covered += op.beside.both + op.beside_backward.both;
  CHECK(beside.kernels.value() == Approx(10.0 * covered.value()));
  CHECK(beside.kernels > 0.7 * beside.exchanges);
  CHECK(path.timeline.makespan < one_by_one.timeline.makespan);
}

namespace {

/// Time and payload of the exchanges of a role in one micro-batch on a stage, of one of the ways
/// that passes run them.
struct RoleSum {
  Seconds time;
  Bytes payload;
  Seconds beside;  ///< of the time, on a stream beside layers
};

RoleSum role_sum(const StepPath& path, TaskRole role, int stage) {
  RoleSum sum;
  for (const Task& task : path.graph.tasks) {
    if (task.rank != stage || task.role != role || task.micro != 0) continue;
    if (task.kind != TaskKind::collective) continue;
    const TaskCost& cost = path.graph.costs[task.cost];
    sum.time += cost.duration;
    if (beside_layers(task.stream)) sum.beside += cost.duration;
    for (const Exchange& exchange : path.graph.exchanges_of(cost)->each)
      sum.payload += cost.share * exchange.payload;
  }
  return sum;
}

double makespan_of(const StepPath& path) { return path.timeline.makespan.value(); }

/// FSDP without a pipeline.
Job sharded_job() {
  Job job = test::llama2_70b_job();
  job.parallel.pipeline = 1;
  job.parallel.data = 128;
  job.parallel.zero = 3;
  job.training.micro_batch = 4;
  job.training.global_batch = 2 * job.training.micro_batch * job.parallel.data;
  job.stack.times.shard_slowdown = 0.1;
  return job;
}

}  // namespace

TEST_CASE("exchanges: traffic of sharded weights goes on beside all of a layer, hidden or not",
          "[models][exchange]") {
  const Job job = sharded_job();
  const StepPath whole = told_path(job, Detail::pass);
  const StepPath apart = told_path(job, Detail::op);
  CHECK(makespan_of(apart) == Approx(makespan_of(whole)).epsilon(1e-9));
  CHECK(moved_over(apart, GroupKind::holders, 0).value() ==
        Approx(moved_over(whole, GroupKind::holders, 0).value()));
  const HeldLayers layers = held_layers(job);
  Seconds alone;
  const StepCosts costs = step_costs(job, stage_layout(job.model, job.parallel));
  for (const PieceRun& run : costs.content({0, 0})) {
    const ShardTraffic traffic = shard_traffic(job, piece_parameters(job, layers, run.kind)).beside;
    alone += run.count * (traffic.forward + traffic.input_gradient + traffic.weight_gradient);
  }
  const RoleSum all = role_sum(apart, TaskRole::weights, 0);
  CHECK(all.time.value() == Approx(alone.value()));
  CHECK(all.beside == all.time);
  CHECK(all.time > 3.0 * costs.chunks.front().all().data);  // most of it hides
}

TEST_CASE("exchanges: shards that do not overlap are waited for", "[models][exchange]") {
  const Job beside = sharded_job();
  const auto step = [](Job job, bool parameters, bool gradients) {
    job.communication.overlap.parameters = parameters;
    job.communication.overlap.gradients = gradients;
    return step_costs(job, stage_layout(job.model, job.parallel));
  };
  const StepCosts all = step(beside, true, true);
  const HeldLayers layers = held_layers(beside);
  Job none = beside;
  none.communication.overlap.parameters = none.communication.overlap.gradients = false;
  Seconds gathers, whole;
  for (const PieceRun& run : all.content({0, 0})) {
    const PieceTraffic after = shard_traffic(none, piece_parameters(none, layers, run.kind));
    CHECK(after.beside.forward == Seconds{});
    CHECK(after.beside.input_gradient == Seconds{});
    gathers += run.count * after.after.forward;
    whole += run.count * (after.after.input_gradient + after.after.weight_gradient);
  }
  const TimeParts forward = step(beside, false, true).chunks.front().forward;
  CHECK(forward.data.value() == Approx(gathers.value()));
  CHECK(step(beside, true, false).chunks.front().forward.data == all.chunks.front().forward.data);
  CHECK(step(beside, false, false).chunks.front().backward().data.value() == Approx(whole.value()));
  const Seconds most = step(beside, false, false).chunks.front().backward().data;
  for (const bool parameters : {true, false}) {
    const StepCosts one = step(beside, parameters, !parameters);
    CHECK(one.chunks.front().backward().data > all.chunks.front().backward().data);
    CHECK(one.chunks.front().backward().data < most);
    Job job = beside;
    job.communication.overlap.parameters = parameters;
    job.communication.overlap.gradients = !parameters;
    const StepPath apart = told_path(job, Detail::op);
    CHECK(makespan_of(apart) == Approx(makespan_of(told_path(job, Detail::pass))).epsilon(1e-9));
  }
}

TEST_CASE("exchanges: weights in host memory come for every pass, gradients go back",
          "[models][exchange]") {
  Job job = sharded_job();
  job.cluster.host.pcie.bandwidth = BytesPerSecond{25e9};
  job.memory.offload = OffloadKind::optimizer_and_parameters;
  job.communication.overlap.gradients = job.communication.overlap.parameters = false;
  Job resident = job;
  resident.memory.offload = OffloadKind::none;
  const auto chunk = [](const Job& one) {
    return step_costs(one, stage_layout(one.model, one.parallel)).chunks.front();
  };
  const HeldLayers layers = held_layers(job);
  const StepCosts costs = step_costs(job, stage_layout(job.model, job.parallel));
  double dense = 0.0;
  double trained = 0.0;
  for (const PieceRun& run : costs.content({0, 0})) {
    const PieceParameters held = piece_parameters(job, layers, run.kind);
    dense += run.count * held.dense;
    trained += run.count * held.trained_dense;
  }
  const Link& link = job.cluster.host.pcie;
  const double rate = link.achievable * link.bandwidth.value() * 128.0;  // of all ranks' shards
  const double wide = job.rests_wide() ? parameter_bytes(job).weight - 2.0 : 0.0;
  const double up = (2.0 * dense + wide * trained) / rate;
  CHECK((chunk(job).forward.data - chunk(resident).forward.data).value() == Approx(up));
  const Seconds backward = chunk(job).backward().data - chunk(resident).backward().data;
  CHECK(backward.value() > up);
  CHECK(backward.value() <= Approx(up + gradient_bytes(job) * trained / rate));
  job.communication.overlap.gradients = job.communication.overlap.parameters = true;
  CHECK(makespan_of(told_path(job, Detail::op)) ==
        Approx(makespan_of(told_path(job, Detail::pass))).epsilon(1e-9));
}

TEST_CASE("exchanges: all-to-alls go on beside another micro-batch, hidden or not",
          "[models][exchange]") {
  Job job = test::mixtral_job();
  job.training.global_batch = 4 * job.training.micro_batch * job.parallel.data;
  job.stack.times.expert_slowdown = GENERATE(0.1, 0.6);
  const StepPath one_by_one = told_path(job, Detail::op);
  const RoleSum shown = role_sum(one_by_one, TaskRole::expert, 0);
  REQUIRE(shown.time > Seconds{});
  CHECK(shown.beside == Seconds{});
  job.communication.overlap.experts = true;
  const StepPath path = told_path(job, Detail::op);
  const RoleSum beside = role_sum(path, TaskRole::expert, 0);
  CHECK(beside.beside == beside.time);
  CHECK(beside.time.value() == Approx(shown.time.value()));
  CHECK(beside.payload.value() == Approx(shown.payload.value()));
  CHECK(makespan_of(path) < makespan_of(one_by_one));
  CHECK(makespan_of(path) == Approx(makespan_of(told_path(job, Detail::pass))).epsilon(1e-9));
}

TEST_CASE("exchanges: all-to-alls longer than a forward pass go on in the backward pass",
          "[models][exchange]") {
  Job job = test::mixtral_job();
  job.training.global_batch = 4 * job.training.micro_batch * job.parallel.data;
  job.stack.times.expert_slowdown = 0.01;
  job.cluster.host.gpu_link.bandwidth *= 0.2;
  job.cluster.network.nic_link.bandwidth *= 0.2;
  const RoleSum shown = role_sum(told_path(job, Detail::op), TaskRole::expert, 0);
  job.communication.overlap.experts = true;
  const StepPath path = told_path(job, Detail::op);
  const RoleSum beside = role_sum(path, TaskRole::expert, 0);
  CHECK(beside.time.value() == Approx(shown.time.value()));
  CHECK(makespan_of(path) == Approx(makespan_of(told_path(job, Detail::pass))).epsilon(1e-9));
}
