// SPDX-License-Identifier: Apache-2.0
// torch.nn.DataParallel: models/data/README.md, "One process for all GPUs".
#include "models/data/single_process.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <string>

#include "models/forecast/closed_form.hpp"
#include "models/forecast/memory_course.hpp"
#include "models/forecast/path_forecast.hpp"
#include "models/layers/parameters.hpp"
#include "models/memory/memory.hpp"
#include "models/rules/plan_rules.hpp"
#include "models/step/data_loading.hpp"
#include "models/step/step_costs.hpp"
#include "models/step/step_time.hpp"
#include "tests/models/example_job.hpp"

using namespace foretrain;

namespace {

/// A model of 1 billion parameters on the GPUs of one H100 host, in eager PyTorch with fp32 weights
/// under autocast.
Job replicas(int gpus = 8, int microbatches = 1) {
  Job job = test::llama2_70b_job();
  job.model.layers = 16;
  job.model.hidden = 2048;
  job.model.heads = job.model.kv_heads = 16;
  job.model.ffn_hidden = 5632;
  job.training.sequence = 2048;
  job.training.global_batch = gpus * microbatches;
  job.cluster.hosts = 1;
  job.cluster.host.gpus = gpus;
  job.parallel = Parallel{};
  job.parallel.data = gpus;
  job.parallel.processes = ProcessKind::per_host;
  job.stack.eager_torch = true;
  MemoryRules& rules = job.stack.memory;
  rules.weight_bytes = 4.0;
  rules.compute_weight_bytes = 2.0;
  rules.gradient_bytes = 4.0;
  rules.optimizer_bytes = 8.0;
  rules.gradients_resident = false;
  rules.loss_bytes = 14.0;
  return job;
}

Job per_gpu(Job job) {
  job.parallel.processes = ProcessKind::per_gpu;
  return job;
}

StepCosts costs_of(const Job& job) {
  return step_costs(job, stage_layout(job.model, job.parallel));
}

Seconds step_seconds(const Job& job) { return step_seconds(costs_of(job)); }

MemoryForecast replica_memory(const Job& job) {
  return forecast_memory(job, stage_layout(job.model, job.parallel));
}

StageAccount first_gpu(const Job& job) {
  return account_stage(job, stage_layout(job.model, job.parallel), activation_model(job), 0);
}

RankParameters parameters(double count) {
  RankParameters held;
  held.layers = count;
  return held;
}

ReplicaTraffic traffic_of(const Job& job) {
  return replica_traffic(job, rank_parameters(job, stage_layout(job.model, job.parallel), 0));
}

bool names(const std::vector<Infeasible>& reasons, const std::string& key) {
  return std::any_of(reasons.begin(), reasons.end(),
                     [&](const Infeasible& reason) { return reason.key == key; });
}

}  // namespace

TEST_CASE(
    "DataParallel: weights and gradients cross the links once, in calls of 10 MiB or a tensor",
    "[models][replicas]") {
  const Job job = replicas();
  const ReplicaTraffic traffic = replica_traffic(job, parameters(1e9));
  // 4 GB in 192 tensors of 20.8 MB, each a call of its own: 10.6 us, 3.8 ns per root of a byte, and
  // 4 GB at 0.79 x 450 GB/s.
  const double ring = 192.0 * (10.6e-6 + 3.8e-9 * std::sqrt(4e9 / 192.0)) + 4e9 / 355.5e9;
  CHECK(traffic.weights.value() == Approx(ring));
  CHECK(traffic.gradients.value() == Approx(ring));
  CHECK_FALSE(replica_calls(job, Bytes{4e9}).joined);
  // 2048 tokens x 32,000 logits of 2 bytes from each of seven, and back.
  const double logits = 7.0 * (10.6e-6 + 2048.0 * 32000.0 * 2.0 / 355.5e9);
  CHECK(traffic.outputs.value() == Approx(logits));
  CHECK(traffic.output_gradients.value() == Approx(logits));
  CHECK(traffic.inputs.value() == Approx(7.0 * (10.6e-6 + 2048.0 * 8.0 / 355.5e9)));
}

TEST_CASE("DataParallel: tensors below 10 MiB are copied into a buffer first",
          "[models][replicas]") {
  const Job job = replicas();
  const Bytes all{4e8};  // 39 buffers for 192 tensors
  CHECK(replica_calls(job, all).count == 39.0);
  CHECK(replica_calls(job, all).joined);
  const double ring = 39.0 * (10.6e-6 + 3.8e-9 * std::sqrt(4e8 / 39.0)) + 4e8 / 355.5e9;
  const double copy = 2.0 * 4e8 / (0.85 * 3.35e12);
  CHECK(replica_traffic(job, parameters(1e8)).weights.value() ==
        Approx(ring + copy).epsilon(0.01));  // and the launch of the copy
}

TEST_CASE("DataParallel: a loss in the module moves four bytes instead of logits",
          "[models][replicas]") {
  Job job = replicas();
  job.parallel.gather = GatherKind::loss;
  CHECK(gathered_logits(job) == Bytes{});
  CHECK(traffic_of(job).outputs.value() == Approx(7.0 * 10.6e-6).epsilon(1e-4));
  CHECK(other_loss_operators(job).empty());
  CHECK(step_seconds(job) < step_seconds(replicas()));
}

TEST_CASE("DataParallel: never faster than DDP on the same job", "[models][replicas][property]") {
  const int gpus = GENERATE(2, 4, 8);
  const int microbatches = GENERATE(1, 2, 8);
  const double link = GENERATE(32.0, 300.0, 450.0);
  const int layers = GENERATE(2, 16, 48);
  Job job = replicas(gpus, microbatches);
  job.cluster.host.gpu_link.bandwidth = link * GBps;
  job.model.layers = layers;
  for (const GatherKind gather : {GatherKind::outputs, GatherKind::loss})
    for (const auto kind : {RecomputeKind::none, RecomputeKind::full})
      for (const bool overlap : {true, false}) {
        job.parallel.gather = gather;
        job.memory.recompute.kind = kind;
        job.communication.overlap.gradients = overlap;
        CAPTURE(gpus, microbatches, link, layers, name_of(gather), name_of(kind), overlap);
        CHECK(step_seconds(job) > step_seconds(per_gpu(job)));
      }
}

TEST_CASE("DataParallel: faster links never slow it", "[models][replicas][property]") {
  const int microbatches = GENERATE(1, 4);
  Job job = replicas(8, microbatches);
  Seconds before{1e9};
  for (int grown = 0; grown < 16; ++grown) {
    const double link = 16.0 * std::pow(1.3, grown);
    job.cluster.host.gpu_link.bandwidth = link * GBps;
    const Seconds now = step_seconds(job);
    CHECK(now < before);
    before = now;
  }
}

TEST_CASE("DataParallel: on one GPU it is the module itself", "[models][replicas][property]") {
  const Job job = replicas(1, 4);
  CHECK_FALSE(job.parallel.single_process());
  CHECK(step_seconds(job) == step_seconds(per_gpu(job)));
  CHECK(replica_memory(job).peak == replica_memory(per_gpu(job)).peak);
  CHECK_FALSE(replica_memory(job).replica);
}

TEST_CASE("DataParallel: every micro-batch moves everything again", "[models][replicas]") {
  const auto data = [](const Job& job) { return step_time(costs_of(job)).breakdown.data; };
  const Job once = replicas(8, 1);
  CHECK(data(once).value() == Approx(traffic_of(once).total().value()));
  CHECK(data(replicas(8, 16)).value() == Approx(16.0 * data(once).value()));
  // DDP sums once, whatever the micro-batches.
  CHECK(data(per_gpu(replicas(8, 16))).value() <= data(per_gpu(once)).value() * 1.001);
}

TEST_CASE("DataParallel: GPU 0 computes the loss of all replicas", "[models][replicas]") {
  Job job = replicas();
  const StepForecast outside = step_time(costs_of(job));
  job.parallel.gather = GatherKind::loss;
  const StepForecast inside = step_time(costs_of(job));
  Seconds loss;
  for (const Operator& op : head_operators(job))
    if (op.name == "loss") loss += op.forward + op.input_gradient;
  REQUIRE(loss > Seconds{});
  CHECK((outside.breakdown.compute - inside.breakdown.compute).value() ==
        Approx(7.0 * loss.value()));
}

TEST_CASE("DataParallel: forward passes of all replicas wait for one interpreter",
          "[models][replicas]") {
  Job job = replicas();
  job.model.layers = 1;
  job.stack.times.launch_forward = 1000.0 * ms;
  job.stack.times.launch_backward = 2000.0 * ms;
  const auto layer = [](const Job& of) {
    return costs_of(of).pieces[static_cast<std::size_t>(PieceKind::layer)];
  };
  CHECK(layer(per_gpu(job)).forward.total().value() == Approx(1.0).epsilon(1e-3));
  CHECK(layer(job).forward.total().value() == Approx(8.0).epsilon(1e-3));
  // Backward passes run on a thread of the autograd engine per device, without the lock.
  CHECK(layer(job).backward().total().value() == Approx(2.0).epsilon(1e-3));
  job.memory.recompute.kind = RecomputeKind::full;  // runs Python again
  const PieceTimes again =
      costs_of(job).pieces[static_cast<std::size_t>(PieceKind::recomputed_layer)];
  CHECK(again.backward().total().value() == Approx(2.0 + 8.0).epsilon(1e-3));
}

TEST_CASE("DataParallel: GPU 0 is the heaviest", "[models][replicas][memory][property]") {
  const int gpus = GENERATE(2, 8);
  const int microbatches = GENERATE(1, 4);
  const auto gather = GENERATE(GatherKind::outputs, GatherKind::loss);
  const auto recompute = GENERATE(RecomputeKind::none, RecomputeKind::full);
  const bool resident = GENERATE(true, false);
  Job job = replicas(gpus, microbatches);
  job.parallel.gather = gather;
  job.memory.recompute.kind = recompute;
  job.stack.memory.gradients_resident = resident;
  const MemoryForecast memory = replica_memory(job);
  REQUIRE(memory.replica);
  CHECK(memory.peak >= memory.replica->peak);
  CHECK(memory.stages[0].allocated >= memory.replica->allocated);
  CHECK(memory.replica->optimizer == Bytes{});
  // Of DDP's ranks each holds no more, but for its buckets, a copy of the gradients.
  const Job processes = per_gpu(job);
  const StageAccount rank = account_stage(processes, stage_layout(job.model, processes.parallel),
                                          activation_model(processes), 0);
  const double buckets = rank.at(MemoryPhase::between_steps)[MemoryItem::reduce_buffers];
  CHECK(memory.stages[0].allocated.value() + buckets >= rank.allocated);
  CHECK(peak_memory(job, stage_layout(job.model, job.parallel)) == memory.peak);
  // What they hold in a phase, GPU 0 holds too.
  const StageAccount first = first_gpu(job);
  const StageAccount other =
      account_replica(job, stage_layout(job.model, job.parallel), activation_model(job));
  for (std::size_t phase = 0; phase < memory_phases; ++phase)
    CHECK(first.phase[phase].total() >= other.phase[phase].total());
}

TEST_CASE("DataParallel: logits, sums and gradients on GPU 0, by row",
          "[models][replicas][memory]") {
  const auto row = [](const StageAccount& account, MemoryPhase phase, MemoryItem item) {
    return account.at(phase)[item];
  };
  const Job once = replicas(8, 1);
  const double logits = 2048.0 * 32000.0;
  CHECK(row(first_gpu(once), MemoryPhase::forward_loss, MemoryItem::loss) == 8.0 * 14.0 * logits);
  CHECK(row(first_gpu(once), MemoryPhase::backward_output, MemoryItem::loss_gradient) ==
        8.0 * 2.0 * logits);
  const double count = rank_parameters(once, stage_layout(once.model, once.parallel), 0).total();
  // One micro-batch: the replica's gradients and their sum. More: what was summed before, too.
  CHECK(row(first_gpu(once), MemoryPhase::reduction, MemoryItem::replica_gradients) ==
        Approx(4.0 * count));
  CHECK(first_gpu(once).at(MemoryPhase::backward_layer)[MemoryItem::replica_gradients] == 0.0);
  const Job many = replicas(8, 4);
  CHECK(row(first_gpu(many), MemoryPhase::reduction, MemoryItem::replica_gradients) ==
        Approx(8.0 * count));
  CHECK(row(first_gpu(many), MemoryPhase::backward_layer, MemoryItem::replica_gradients) ==
        Approx(4.0 * count));
  CHECK(row(first_gpu(many), MemoryPhase::reduction, MemoryItem::reduce_buffers) ==
        2.0 * replica_buffer.value());
  const StageAccount other =
      account_replica(many, stage_layout(many.model, many.parallel), activation_model(many));
  CHECK(row(other, MemoryPhase::forward_loss, MemoryItem::loss) == 2.0 * logits);
  CHECK(row(other, MemoryPhase::between_steps, MemoryItem::dense_weights) == 0.0);
  CHECK(row(other, MemoryPhase::backward_layer, MemoryItem::replica_gradients) ==
        Approx(4.0 * count));
}

TEST_CASE("DataParallel: memory over time peaks where the account does",
          "[models][replicas][memory][property]") {
  const int microbatches = GENERATE(1, 4);
  const auto gather = GENERATE(GatherKind::outputs, GatherKind::loss);
  const int layers = GENERATE(4, 40);
  Job job = replicas(8, microbatches);
  job.parallel.gather = gather;
  job.model.layers = layers;
  const StageLayout layout = stage_layout(job.model, job.parallel);
  const MemoryCourse course = memory_course(job, layout, step_path(job, layout), 0);
  CAPTURE(microbatches, name_of(gather), layers);
  CHECK(course.points[course.peak].total().value() == Approx(first_gpu(job).device).epsilon(1e-6));
  CHECK(course.points.back().total().value() ==
        Approx(course.points.front().total().value()).epsilon(1e-9));
}

TEST_CASE("DataParallel: closed form and path agree at every detail, and parts sum to the step",
          "[models][replicas][path]") {
  const int microbatches = GENERATE(1, 3);
  const auto gather = GENERATE(GatherKind::outputs, GatherKind::loss);
  Job job = replicas(8, microbatches);
  job.parallel.gather = gather;
  const StageLayout layout = stage_layout(job.model, job.parallel);
  const StepForecast closed = step_time(job, layout);
  CHECK(closed.breakdown.total().value() == Approx(closed.time.value()).epsilon(1e-9));
  for (const Detail detail : {Detail::pass, Detail::layer, Detail::op}) {
    const StepForecast path = step_forecast(step_path(job, layout, detail));
    CHECK(path.time.value() == Approx(closed.time.value()).epsilon(1e-9));
    CHECK(path.breakdown.data.value() == Approx(closed.breakdown.data.value()).epsilon(1e-9));
    CHECK(path.breakdown.compute.value() == Approx(closed.breakdown.compute.value()).epsilon(1e-9));
  }
}

TEST_CASE("DataParallel: its traffic has tasks with names of their own",
          "[models][replicas][path]") {
  const Job job = replicas(8, 2);
  const StageLayout layout = stage_layout(job.model, job.parallel);
  for (const Detail detail : {Detail::layer, Detail::op}) {
    const TaskGraph graph = step_path(job, layout, detail).graph;
    for (const std::string name :
         {"inputs and weights", "gradients to GPU 0", "outputs to GPU 0", "gradients of outputs"}) {
      int found = 0;
      for (std::uint32_t id = 0; id < graph.tasks.size(); ++id)
        if (graph.cost_of(id).name == name && graph.tasks[id].kind == TaskKind::collective) ++found;
      CAPTURE(name, name_of(detail));
      CHECK(found == 2);  // once per micro-batch
    }
  }
}

TEST_CASE("DataParallel: what it cannot run is refused by its key", "[models][replicas]") {
  CHECK(broken_rules(replicas()).empty());
  const auto reasons = [](auto change) {
    Job job = replicas();
    change(job);
    return broken_rules(job);
  };
  CHECK(names(reasons([](Job& job) {
                job.cluster.hosts = 2;
                job.parallel.data = 16;
                job.training.global_batch = 16;
              }),
              "cluster.hosts"));
  CHECK(names(reasons([](Job& job) {
                job.parallel.tensor = 2;
                job.parallel.data = 4;
              }),
              "parallel.tensor"));
  CHECK(names(reasons([](Job& job) {
                job.parallel.pipeline = 2;
                job.parallel.data = 4;
              }),
              "parallel.pipeline"));
  CHECK(names(reasons([](Job& job) { job.parallel.zero = 3; }), "parallel.zero"));
  CHECK(names(reasons([](Job& job) { job.stack.eager_torch = false; }), "stack"));
  CHECK(names(reasons([](Job& job) { job.communication.backend = Backend::gloo; }),
              "communication.backend"));
  CHECK(names(reasons([](Job& job) { job.communication.gradient_dtype = Precision::bf16; }),
              "communication.gradient_dtype"));
  CHECK(names(reasons([](Job& job) { job.memory.fused_loss = true; }), "memory.fused_loss"));
  CHECK(reasons([](Job& job) {
          job.memory.fused_loss = true;
          job.parallel.gather = GatherKind::loss;
        }).empty());
  Job fp8 = replicas();
  fp8.training.precision = Precision::fp8;
  CHECK(names(not_modelled(fp8), "training.precision"));
}

TEST_CASE("DataParallel: nothing of it was measured, so that its band is wider",
          "[models][replicas]") {
  const Job job = replicas();
  const Prediction forecast = closed_form(job);
  REQUIRE(forecast.step);
  CHECK(forecast.collectives.trust == Trust::extrapolated);
  CHECK(std::any_of(forecast.warnings.begin(), forecast.warnings.end(), [](const Warning& w) {
    return w.message.find("DataParallel") != std::string::npos;
  }));
  const Prediction ddp = closed_form(per_gpu(job));
  CHECK(forecast.step->high / forecast.step->time > ddp.step->high / ddp.step->time);
}

TEST_CASE("DataParallel: one process has one data loader", "[models][replicas]") {
  Job job = replicas();
  job.operations.loading.workers = 4;
  job.operations.loading.tokens_per_worker = 1e5;
  job.cluster.host.cpu_cores = 64;
  CHECK(input_times(job).wanted_cores == 4.0);
  CHECK(*input_times(job).workers / *input_times(per_gpu(job)).workers == Approx(8.0));
}
