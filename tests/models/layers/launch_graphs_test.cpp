// SPDX-License-Identifier: Apache-2.0
// CUDA graphs: launches, waits for the processor, and the memory of pools.
#include <catch2/catch.hpp>

#include "models/grid/stage_layout.hpp"
#include "models/layers/launch_graphs.hpp"
#include "models/layers/layer_cost.hpp"
#include "models/rules/plan_rules.hpp"
#include "models/step/step_costs.hpp"
#include "models/step/step_time.hpp"
#include "tests/models/layers/moe_jobs.hpp"
#include "tests/models/memory/memory_jobs.hpp"

using namespace foretrain;
using foretrain::testing::account;
using foretrain::testing::row;

namespace {

CudaGraphs graphs_of(std::initializer_list<GraphPart> parts) {
  CudaGraphs graphs;
  for (const GraphPart part : parts) graphs.add(part);
  return graphs;
}

double left(const Job& job, LayerKind kind, std::initializer_list<GraphPart> parts) {
  Job graphed = job;
  graphed.training.cuda_graphs = graphs_of(parts);
  return relative_launches(graphed, {kind, false});
}

}  // namespace

TEST_CASE("CUDA graphs: a captured stretch of operators is one launch", "[models][layer]") {
  Job job = test::llama2_70b_job();
  job.parallel.tensor = 1;
  job.parallel.sequence = false;
  const auto dense = LayerKind::dense;
  CHECK(left(job, dense, {}) == 1.0);
  // norm, QKV, rotary, attention, projection, residual; norm, up, activation, down, residual
  CHECK(left(job, dense, {GraphPart::attention}) == Approx(6.0 / 11.0));
  CHECK(left(job, dense, {GraphPart::mlp}) == Approx(7.0 / 11.0));
  CHECK(left(job, dense, {GraphPart::attention, GraphPart::mlp}) == Approx(1.0 / 11.0));
  CHECK(left(job, dense, {GraphPart::moe, GraphPart::moe_router}) == 1.0);
  CHECK(left(job, dense, {GraphPart::full_iteration}) == 0.0);
}

TEST_CASE("launches: a step that is one graph does not wait for its loop", "[models][step]") {
  Job job = test::llama2_70b_job();
  job.stack.times.step_constant = Seconds{0.116};
  const StageLayout layout = stage_layout(job.model, job.parallel);
  const Seconds before = step_time(job, layout).time;
  CHECK(step_constant(job, Seconds{1.0}) == Seconds{0.116});
  job.training.cuda_graphs = graphs_of({GraphPart::full_iteration});
  CHECK(step_constant(job, Seconds{1.0}) == Seconds{0.005});
  CHECK(step_time(job, layout).time < before - Seconds{0.1});
  job.stack.times.step_constant = Seconds{0.001};
  CHECK(step_constant(job, Seconds{1.0}) == Seconds{0.001});
}

TEST_CASE("launches: steps shorter than a constant was fitted to have it in proportion",
          "[models][step]") {
  Job job = test::llama2_70b_job();
  job.stack.times.step_constant = Seconds{0.1};
  job.stack.times.constant_from = Seconds{0.5};
  CHECK(step_constant(job, Seconds{0.1}).value() == Approx(0.02));
  CHECK(step_constant(job, Seconds{2.0}) == Seconds{0.1});
  const StageLayout layout = stage_layout(job.model, job.parallel);
  const StepCosts costs = step_costs(job, layout);
  CHECK(stage_work(costs).busiest > Seconds{0.5});
  job.stack.times.constant_from = 2.0 * stage_work(costs).busiest;
  CHECK((costs.constant - step_costs(job, layout).constant).value() == Approx(0.05));
}

TEST_CASE("launches: layers of many kernels take the processor longer", "[models][layer]") {
  const Job job = test::deepseek_v3_job();
  Job plain = test::llama2_70b_job();
  CHECK(left(plain, LayerKind::dense, {}) == 1.0);
  // Latent attention has more GEMMs and norms, experts a router, two permutations and exchanges.
  const double latent = left(job, LayerKind::dense, {});
  const double experts = left(job, LayerKind::moe, {});
  CHECK(latent > 1.2);
  CHECK(experts > latent + 1.0);
  CHECK(experts < 10.0);
}

TEST_CASE("launches: libraries launch every expert of a rank, with its casts", "[models][layer]") {
  Job job = test::deepseek_v3_job();
  const auto launches = [&](Precision precision, int ranks) {
    job.training.precision = precision;
    job.parallel.expert = ranks;
    return left(job, LayerKind::moe, {});
  };
  const double usual = job.parallel.tensor > 1 ? 15.0 : 11.0;
  // Two products; 256 experts over 8 and 16 ranks, a third of an operator's launch each.
  const double more = 2.0 * (32.0 - 16.0) / 3.0 / usual;
  CHECK(launches(Precision::bf16, 8) - launches(Precision::bf16, 16) == Approx(more));
  CHECK(launches(Precision::mxfp8, 8) - launches(Precision::mxfp8, 16) == Approx(4.0 * more));
  CHECK(launches(Precision::fp8, 8) - launches(Precision::fp8, 16) == Approx(2.0 * more));
  const double grouped = launches(Precision::bf16, 8);
  job.training.grouped_experts = false;
  CHECK(left(job, LayerKind::moe, {}) > 1.5 * grouped);
}

TEST_CASE("CUDA graphs: of experts the router, the sorting, or all of them", "[models][layer]") {
  const Job job = test::deepseek_v3_job();
  const auto moe = LayerKind::moe;
  const double attention = left(job, moe, {GraphPart::attention});
  const double router = left(job, moe, {GraphPart::attention, GraphPart::moe_router});
  const double sorted =
      left(job, moe, {GraphPart::attention, GraphPart::moe_router, GraphPart::moe_preprocess});
  const double all = left(job, moe, {GraphPart::attention, GraphPart::moe});
  CHECK(attention < left(job, moe, {}));
  CHECK(router < attention);
  CHECK(sorted < router);
  CHECK(all < sorted);
  CHECK(left(job, moe, {GraphPart::mlp}) == left(job, moe, {}));
}

TEST_CASE("CUDA graphs: what the processor launches is the floor of a pass", "[models][layer]") {
  Job job = test::llama2_70b_job();
  job.stack.times.launch_forward = 1000.0 * ms;
  job.stack.times.launch_backward = 2000.0 * ms;
  job.stack.times.launch_tensor = Seconds{};
  job.training.cuda_graphs = graphs_of({GraphPart::attention});
  const double share = relative_launches(job, {LayerKind::dense, false});
  CHECK(LayerCost{job}.layer().forward.total().in(ms) == Approx(1000.0 * share).epsilon(1e-3));
  job.training.cuda_graphs = graphs_of({GraphPart::full_iteration});
  CHECK(LayerCost{job}.layer().all().launch == Seconds{});
}

TEST_CASE("CUDA graphs: rows of experts do not wait for the processor inside a graph",
          "[models][layer]") {
  Job job = test::deepseek_v3_job();
  job.stack.times.expert_latency = 10.0 * ms;
  const auto exchange = [&](GraphPart part) {
    job.training.cuda_graphs = graphs_of({part});
    return LayerCost{job}.layer(LayerKind::moe).forward.expert;
  };
  const Seconds waiting = exchange(GraphPart::moe_router);
  CHECK((waiting - exchange(GraphPart::moe)).in(ms) == Approx(10.0));
  CHECK(exchange(GraphPart::full_iteration) == exchange(GraphPart::moe));
}

TEST_CASE("CUDA graphs: pools keep their place while no pass fills them", "[models][memory]") {
  Job job = test::deepseek_v3_job();
  const StageAccount plain = account(job);
  job.training.cuda_graphs = graphs_of({GraphPart::attention});
  const StageAccount parts = account(job);
  const double pool = row(parts, MemoryPhase::optimizer, MemoryItem::graph_pools);
  const auto held = [&](MemoryItem item) { return row(plain, MemoryPhase::forward_loss, item); };
  CHECK(pool > held(MemoryItem::qkv));
  CHECK(pool < held(MemoryItem::qkv) + held(MemoryItem::attention_scores) +
                   held(MemoryItem::attention_output) + held(MemoryItem::norms));
  CHECK(row(parts, MemoryPhase::backward_layer, MemoryItem::graph_pools) == 0.0);
  CHECK(parts.allocated - plain.allocated ==
        Approx(row(parts, MemoryPhase::backward_layer, MemoryItem::graph_buffers)));
  // one graph: the optimizer finds as much taken as the passes need at most
  job.training.cuda_graphs = graphs_of({GraphPart::full_iteration});
  const StageAccount whole = account(job);
  CHECK(whole.at(MemoryPhase::optimizer).total() ==
        Approx(plain.allocated + row(plain, MemoryPhase::optimizer, MemoryItem::main_gradients)));
}

TEST_CASE("CUDA graphs: layers that run again whole are captured with the step alone",
          "[models][rules]") {
  Job job = test::llama2_70b_job();
  job.memory.recompute.kind = RecomputeKind::full;
  job.training.cuda_graphs = graphs_of({GraphPart::attention});
  const auto reasons = broken_rules(job);
  REQUIRE(reasons.size() == 1);
  CHECK(reasons.front().key == "training.cuda_graphs");
  job.training.cuda_graphs = graphs_of({GraphPart::full_iteration});
  CHECK(broken_rules(job).empty());
}
