// SPDX-License-Identifier: Apache-2.0
#include "models/layers/eight_bit_weights.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

#include "models/data/data_parallel.hpp"
#include "models/data/optimizer_update.hpp"
#include "models/memory/memory.hpp"
#include "models/rules/plan_rules.hpp"
#include "models/step/step_time.hpp"
#include "tests/models/example_job.hpp"

using namespace foretrain;

namespace {

/// Llama-2-70B in fp8 on Megatron-Core, its weights kept in 16 bits or in 8.
Job eight_bit_job(bool eight) {
  Job job = test::llama2_70b_job();
  job.training.precision = Precision::fp8;
  job.cluster.host.device.peak[Precision::fp8] = 1978.9 * TFLOPS;
  job.device_profile.gemm[Precision::fp8] = {0.75, 170.0, 1.0, 0.87, 2.4 * us};
  job.stack.memory.fp8_copy_bytes = 2.0;
  job.memory.fp8_parameters = eight;
  return job;
}

RankParameters matrices() {
  RankParameters parameters;
  parameters.layers = parameters.layer_matrices = 1e9;
  return parameters;
}

std::string refusal(const Job& job) {
  for (const Infeasible& reason : not_modelled(job))
    if (reason.key == "memory.fp8_parameters") return reason.message;
  return "";
}

}  // namespace

TEST_CASE("weights in 8 bits: half of the bytes are gathered, fewer are cast and written",
          "[models][data]") {
  const Job wide = eight_bit_job(false);
  const Job eight = eight_bit_job(true);
  CHECK(refusal(eight).empty());
  // The payload of a gather without a fixed part: the difference is the half of the bytes.
  const Seconds before = weight_time(wide, matrices());
  const Seconds after = weight_time(eight, matrices());
  CHECK(after < 0.6 * before);
  CHECK(after > 0.45 * before);
  CHECK(optimizer_time(eight, matrices()) < optimizer_time(wide, matrices()));
  const auto step = [](const Job& job) {
    return step_time(job, stage_layout(job.model, job.parallel)).time;
  };
  CHECK(step(eight) < step(wide));
}

TEST_CASE("weights in 8 bits: layers at the ends that compute in bf16 keep 16", "[models][data]") {
  Job job = eight_bit_job(true);
  CHECK(eight_bit_weights(job, matrices()).dense == Approx(1e9));
  job.training.bf16_end_layers = 8;  // of 80
  CHECK(eight_bit_weights(job, matrices()).dense == Approx(0.9e9));
  job.memory.fp8_parameters = false;
  CHECK(eight_bit_weights(job, matrices()).dense == 0.0);
}

TEST_CASE("weights in 8 bits: refused by name where time does not know them", "[models][rules]") {
  Job job = eight_bit_job(true);
  SECTION("bf16 training") {
    job.training.precision = Precision::bf16;
    CHECK(refusal(job).find("not in bf16") != std::string::npos);
  }
  SECTION("a stack without 8-bit copies") {
    job.stack.name = "fsdp2";
    job.stack.memory.fp8_copy_bytes = 0.0;
    CHECK(refusal(job).find("stack fsdp2") != std::string::npos);
  }
  SECTION("an optimizer that is not sharded") {
    job.parallel.zero = 0;
    CHECK(refusal(job).find("parallel.zero 0") != std::string::npos);
  }
}

namespace {

/// Llama-2-70B in fp8 on FSDP2, its shards gathered in 16 bits or in 8.
Job sharded_job(bool eight) {
  Job job = eight_bit_job(eight);
  job.training.fp8_scaling = Fp8Scaling::current;
  job.stack.name = "fsdp2";
  job.stack.memory.fp8_copy_bytes = 0.0;
  job.stack.memory.compute_weight_bytes = 2.0;
  job.parallel.tensor = job.parallel.pipeline = job.parallel.virtual_stages = 1;
  job.parallel.sequence = false;
  job.parallel.schedule = ScheduleKind::one_f_one_b;
  job.parallel.data = static_cast<int>(job.cluster.gpus());
  job.parallel.zero = 3;
  job.training.micro_batch = 1;
  job.training.global_batch = job.parallel.data;
  return job;
}

}  // namespace

TEST_CASE("shards of FSDP that are cast before they are gathered travel in half of the bytes",
          "[models][data]") {
  const Job wide = sharded_job(false);
  const Job eight = sharded_job(true);
  REQUIRE(broken_rules(eight).empty());
  CHECK(refusal(eight).empty());
  CHECK(narrower_shards(wide) == 0.0);
  CHECK(narrower_shards(eight) == Approx(0.5));
  const StageLayout layout = stage_layout(eight.model, eight.parallel);
  CHECK(step_time(eight, layout).time < step_time(wide, layout).time);
  // Shards rest as before; what is gathered for a layer in use, and the next, is half.
  const MemoryForecast before = forecast_memory(wide, layout);
  const MemoryForecast after = forecast_memory(eight, layout);
  CHECK(after.stages[0].resident.value() == Approx(before.stages[0].resident.value()));
  CHECK(after.peak < before.peak);
}

TEST_CASE("shards in 8 bits: with one scale for a weight, on FSDP2", "[models][rules]") {
  Job job = sharded_job(true);
  job.training.fp8_scaling = Fp8Scaling::row;
  CHECK(refusal(job).find("tensorwise") != std::string::npos);
  job = sharded_job(true);
  job.stack.memory.compute_weight_bytes = 0.0;
  CHECK(refusal(job).find("FSDP2") != std::string::npos);
}
