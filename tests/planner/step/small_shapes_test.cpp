// SPDX-License-Identifier: Apache-2.0
// Eight bits pay for their casts and launches before their GEMMs gain.
#include <catch2/catch.hpp>

#include <filesystem>

#include "models/forecast/closed_form.hpp"
#include "scenarios/resolve/scenario.hpp"

namespace foretrain {
namespace {

Seconds step_of(const char* precision, int micro_batch) {
  const std::string text =
      "schema: 1\nname: small\nmodel: qwen3-30b-a3b\n"
      "cluster: {host: dgx-b200, hosts: 1, fabric: {kind: rail-optimized, preset: ib-ndr}}\n"
      "training: {sequence: 4096, global_batch: 512, precision: " +
      std::string(precision) + ", micro_batch: " + std::to_string(micro_batch) +
      "}\nparallel: {expert: 8, zero: 1}\nmemory: {recompute: none}\nstack: megatron-core\n";
  Job job = load_scenario_text(text, "small.yaml", std::filesystem::current_path()).job;
  Device& device = job.cluster.host.device;
  device.usable_memory = device.memory = 1e4 * GiB;
  const Prediction forecast = closed_form(job);
  REQUIRE(forecast.step);
  return forecast.step->time;
}

}  // namespace

TEST_CASE("precision: experts with few tokens are slower in eight bits, with many faster",
          "[planner][precision]") {
  // Of Qwen3-30B on 8 B200 with one sequence, mxfp8 reaches 9,299 tokens/s per GPU, with four
  // 26,859 (runs_2026.yaml, mbridge-25.11 and 26.04): casts and launches are what it waits for.
  CHECK(step_of("mxfp8", 1) > step_of("bf16", 1));
  CHECK(step_of("fp8", 1) > step_of("bf16", 1));
  CHECK(step_of("mxfp8", 8) < step_of("bf16", 8));
  CHECK(step_of("fp8", 8) < step_of("bf16", 8));
}

}  // namespace foretrain
