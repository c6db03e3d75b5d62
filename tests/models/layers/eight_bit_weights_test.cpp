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
