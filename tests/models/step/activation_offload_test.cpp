// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <cstdint>

#include "models/forecast/path_forecast.hpp"
#include "models/rules/plan_rules.hpp"
#include "models/step/step_costs.hpp"
#include "models/step/step_time.hpp"
#include "tests/models/example_job.hpp"

namespace foretrain {
namespace {

constexpr auto layer_at = static_cast<std::size_t>(PieceKind::layer);

/// Its layers offload the input of attention over a link of that rate.
Job offloading(BytesPerSecond rate) {
  Job job = test::llama2_70b_job();
  job.cluster.host.pcie.bandwidth = rate;
  job.memory.activation_offload.core_attention = true;
  return job;
}

const PieceTimes& layer_times(const StepCosts& costs) { return costs.pieces[layer_at]; }

StepCosts offload_costs(const Job& job) {
  return step_costs(job, stage_layout(job.model, job.parallel));
}

}  // namespace

TEST_CASE("copies to host memory that kernels cover cost nothing, the rest shows",
          "[models][step]") {
  Job without = test::llama2_70b_job();
  const PieceTimes usual = layer_times(offload_costs(without));
  const PieceTimes fast = layer_times(offload_costs(offloading(10'000.0 * GBps)));
  CHECK(fast.forward.total() == usual.forward.total());
  CHECK(fast.backward().total() == usual.backward().total());

  const Job slow = offloading(1.0 * GBps);
  // Queries, keys and values of 4096 tokens in 16 bits, 64 + 2 x 8 heads of 128 over 8 ranks, and
  // the log-sum-exp of 8 heads in 32.
  const Bytes bytes = ActivationOffload{slow}.of_layer({});
  CHECK(bytes.value() == Approx(4096.0 * (2.0 * (64 + 16) * 128 / 8 + 4.0 * 64 / 8)));
  const Seconds copies = bytes / (1.0 * GBps);
  const PieceTimes shown = layer_times(offload_costs(slow));
  CHECK((shown.forward.total() / copies) == Approx(1.0));
  CHECK((shown.forward.data + usual.forward.total()) / copies == Approx(1.0));
  CHECK((shown.input_gradient.data + usual.backward().total()) / copies == Approx(1.0));
}

TEST_CASE("a slower link to host memory never makes a step faster", "[models][step][property]") {
  Seconds before;
  for (const double rate : {400.0, 50.0, 10.0, 2.0, 0.5}) {
    const Job job = offloading(rate * GBps);
    const Seconds step = step_time(job, stage_layout(job.model, job.parallel)).time;
    CAPTURE(rate);
    CHECK(step >= before);
    before = step;
  }
}

TEST_CASE("at operator detail the copies are tasks of their own, and the step is as long",
          "[models][step]") {
  const Job job = offloading(1.0 * GBps);
  const StageLayout layout = stage_layout(job.model, job.parallel);
  const StepPath path = step_path(job, layout, Detail::op);
  Seconds copies;
  for (std::uint32_t id = 0; id < path.graph.tasks.size(); ++id)
    if (path.graph.tasks[id].role == TaskRole::offload) copies += path.graph.cost_of(id).duration;
  // Down and up, of each layer in each micro-batch of the replica.
  const OffloadShown shown = offload_costs(job).offload[layer_at];
  CHECK(copies / (job.model.layers * job.microbatches() * (shown.forward + shown.backward)) ==
        Approx(1.0));
  CHECK(step_forecast(path).time / path_step(job, layout).time == Approx(1.0).epsilon(1e-6));
}

TEST_CASE("the first layers' copies are spread over all layers' kernels", "[models][step]") {
  Job job = test::llama2_70b_job();
  job.memory.offloaded_layers = job.model.layers;
  const Bytes all = ActivationOffload{job}.of_layer({});
  job.memory.offloaded_layers = job.model.layers / 4;
  CHECK(ActivationOffload{job}.of_layer({}) / all == Approx(0.25));
}

TEST_CASE("a layer that is made again sends its input alone", "[models][step]") {
  Job job = test::llama2_70b_job();
  job.memory.recompute.kind = RecomputeKind::full;
  job.memory.offloaded_layers = job.model.layers;
  const auto bytes = [&] { return ActivationOffload{job}.of_layer({.recomputed = true}).value(); };
  const double input = activation_model(job).layer_input;
  CHECK(bytes() == input);
  job.memory.recompute.layers = 4;  // one input for four layers
  CHECK(bytes() == input / 4.0);
  job.memory.offloaded_layers = job.model.layers / 2;
  CHECK(bytes() == input / 8.0);
}

TEST_CASE("offloading over a link that nobody knows is refused by name", "[models][rules]") {
  const auto key_of = [](const Job& job) {
    const auto refused = not_modelled(job);
    return refused.empty() ? std::string() : refused.front().key;
  };
  CHECK(key_of(offloading(BytesPerSecond{})) == "memory.activation_offload");
  CHECK(key_of(offloading(50.0 * GBps)).empty());
  Job whole = offloading(50.0 * GBps);
  whole.memory.offloaded_layers = 2;
  CHECK(key_of(whole) == "memory.offloaded_layers");  // it has a pipeline
}

}  // namespace foretrain
