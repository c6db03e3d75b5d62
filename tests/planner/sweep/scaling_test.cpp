// SPDX-License-Identifier: Apache-2.0
#include "planner/sweep/scaling.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <stdexcept>

#include "planner/forecast/report.hpp"

using namespace foretrain;

namespace {

Scenario seventy_billion() {
  return load_scenario(FORETRAIN_SOURCE_DIR "/scenarios/llama2-70b-1024xh100.yaml");
}

const ScalingPoint& of(const std::vector<ScalingPoint>& points, int hosts) {
  for (const ScalingPoint& point : points)
    if (point.hosts == hosts) return point;
  throw std::out_of_range("no such machine");
}

}  // namespace

TEST_CASE("scaling: the machine of the scenario has the scenario's forecast",
          "[planner][scaling]") {
  const Scenario scenario = seventy_billion();
  const Scaling scaling = scaling_of(scenario);
  const Prediction forecast = evaluate(scenario).prediction;
  for (const auto* points : {&scaling.same_batch, &scaling.growing_batch}) {
    const ScalingPoint& own = of(*points, 128);
    CHECK(own.gpus == 1024);
    CHECK(own.global_batch == 1024);
    CHECK(own.tokens_per_s == forecast.efficiency->tokens_per_s);
    CHECK(own.mfu == forecast.efficiency->mfu);
  }
}

TEST_CASE("scaling: the same batch on more GPUs is worth less per GPU, a growing one hardly",
          "[planner][scaling]") {
  const Scaling scaling = scaling_of(seventy_billion());
  REQUIRE(scaling.same_batch.size() == 7);
  for (std::size_t i = 1; i < scaling.same_batch.size(); ++i) {
    CHECK(scaling.same_batch[i].hosts == 2 * scaling.same_batch[i - 1].hosts);
    CHECK(*scaling.same_batch[i].mfu < *scaling.same_batch[i - 1].mfu);
    CHECK(*scaling.same_batch[i].tokens_per_s > *scaling.same_batch[i - 1].tokens_per_s);
    CHECK(*scaling.growing_batch[i].mfu > 0.97 * *scaling.growing_batch[i - 1].mfu);
  }
  CHECK(of(scaling.growing_batch, 1024).global_batch == 8192);
}

TEST_CASE("scaling: a machine that the plan cannot use says why", "[planner][scaling]") {
  Scenario scenario = load_scenario_text(
      "{schema: 1, name: small, model: llama3-8b, stack: megatron-core,\n"
      " cluster: {host: dgx-h100, hosts: 2, fabric: {kind: single-switch, preset: ib-ndr}},\n"
      " training: {sequence: 4096, micro_batch: 1, global_batch: 16},\n"
      " parallel: {tensor: 2, sequence: true, zero: 1}}\n",
      "small.yaml", std::filesystem::current_path());
  const Scaling scaling = scaling_of(scenario);
  const ScalingPoint& largest = scaling.same_batch.back();
  CHECK(largest.hosts == 16);
  CHECK_FALSE(largest.tokens_per_s);
  CHECK_THAT(largest.why, Catch::Contains("64-port switches"));
  CHECK(scaling_settings(scenario, largest) == std::vector<std::string>{"cluster.hosts=16",
                                                                        "training.global_batch=16",
                                                                        "parallel.data=64"});
}
