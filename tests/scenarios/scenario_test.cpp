// SPDX-License-Identifier: Apache-2.0
#include "scenarios/resolve/scenario.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "scenarios/yaml/sha256.hpp"
#include "tests/test_text.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

const fs::path examples = fs::path(FORETRAIN_SOURCE_DIR) / "scenarios";
const fs::path bases = fs::path(FORETRAIN_SOURCE_DIR) / "tests" / "bad_scenarios";

const ResolvedValue* value_of(const Scenario& scenario, const std::string& path) {
  const auto found = std::find_if(scenario.values.begin(), scenario.values.end(),
                                  [&](const ResolvedValue& value) { return value.path == path; });
  return found == scenario.values.end() ? nullptr : &*found;
}

TEST_CASE("every example scenario loads, and every value has an origin", "[scenarios]") {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(examples)) {
    if (entry.path().extension() != ".yaml") continue;
    INFO(entry.path().filename().string());
    const Scenario scenario = load_scenario(entry.path());
    CHECK(scenario.job.name == entry.path().stem().string());
    CHECK(scenario.job.parallel.gpus() == scenario.job.cluster.gpus());
    for (const ResolvedValue& value : scenario.values) {
      INFO(value.path);
      CHECK_FALSE(value.origin.empty());
    }
    ++count;
  }
  CHECK(count >= 7);
}

TEST_CASE("the 70B example resolves to the job that its file describes", "[scenarios]") {
  const fs::path file = examples / "llama2-70b-1024xh100.yaml";
  const Scenario scenario = load_scenario(file);
  const Job& job = scenario.job;
  CHECK(job.model.layers == 80);
  CHECK(job.cluster.hosts == 128);
  CHECK(job.cluster.gpus() == 1024);
  CHECK(job.training.sequence == 4096);
  CHECK(job.training.global_batch == 1024);
  CHECK(job.training.tokens == 2e12);
  CHECK(job.parallel.tensor == 8);
  CHECK(job.parallel.sequence);
  CHECK(job.parallel.pipeline == 8);
  CHECK(job.parallel.data == 16);
  CHECK(job.parallel.zero == 1);
  CHECK(job.memory.recompute.kind == RecomputeKind::selective);
  CHECK(job.stack.name == "megatron-core");
  CHECK(job.microbatches() == 64);

  REQUIRE(value_of(scenario, "parallel.tensor"));
  CHECK(value_of(scenario, "parallel.tensor")->value == "8");
  CHECK(value_of(scenario, "parallel.tensor")->origin.rfind(file.string() + ":", 0) == 0);
  CHECK(value_of(scenario, "training.tokens")->value == "2 T");
  CHECK(value_of(scenario, "communication.bucket")->origin == "default");
  REQUIRE_FALSE(scenario.files.empty());
  CHECK(scenario.files[0].path == file.string());
  CHECK(scenario.files[0].sha256 == sha256_hex(test::contents(file)));
}

TEST_CASE("a data degree that was left out is derived, and shown as derived", "[scenarios]") {
  LoadOptions options;
  options.overrides = {"parallel.tensor=4"};
  const Scenario scenario =
      load_scenario_text("schema: 1\nextends: bases/good.yaml\n", "f.yaml", bases, options);
  CHECK(scenario.job.parallel.data == 32);
  REQUIRE(value_of(scenario, "parallel.data"));
  CHECK(value_of(scenario, "parallel.data")->value == "32");
  CHECK(value_of(scenario, "parallel.data")->origin ==
        "derived: gpus / (tensor * context * pipeline)");
  CHECK(value_of(scenario, "parallel.tensor")->origin == "--set");
  CHECK(value_of(scenario, "cluster.hosts")->origin == "bases/good.yaml:6");
}

TEST_CASE("what operations leaves out stays unknown", "[scenarios]") {
  const Scenario scenario =
      load_scenario_text("schema: 1\nextends: bases/good.yaml\n", "f.yaml", bases);
  const Operations& operations = scenario.job.operations;
  CHECK_FALSE(operations.price_per_gpu.has_value());
  CHECK_FALSE(operations.mean_time_between_interruptions.has_value());
  CHECK_FALSE(operations.checkpoint_every.has_value());
  CHECK(value_of(scenario, "operations.price") == nullptr);
}

TEST_CASE("every key of the format reaches the job", "[scenarios]") {
  const Scenario scenario = load_scenario_text(
      test::contents(fs::path(FORETRAIN_SOURCE_DIR) / "tests/fuzz/corpus/all_keys.yaml"),
      "all.yaml", bases);
  const Job& job = scenario.job;
  CHECK(job.training.hidden_dropout == 0.1);
  CHECK(job.training.second_moment() == 2);
  CHECK(job.parallel.virtual_stages == 2);
  CHECK(job.parallel.schedule == ScheduleKind::interleaved);
  CHECK(job.parallel.stage_layers == std::vector<int>{19, 20, 20, 21});
  CHECK(job.parallel.zero_group == 4);
  CHECK(job.parallel.microbatch_group == 4);
  CHECK(job.memory.recompute.kind == RecomputeKind::full);
  CHECK(job.memory.recompute.method == RecomputeMethod::block);
  CHECK(job.memory.recompute.layers == 2);
  CHECK(job.memory.attention == AttentionKind::unfused);
  CHECK(job.memory.activation_offload == LayerModules{.core_attention = true, .mlp = true});
  CHECK(job.communication.transport == Transport::rdma);
  CHECK(job.communication.bucket == 25.0 * MiB);
  CHECK(job.operations.checkpoint_every == 30.0 * minutes);
  CHECK(job.operations.checkpoint_write_bandwidth == 200.0 * GBps);
  CHECK(job.operations.price_per_gpu == DollarsPerSecond{2.5 / 3600.0});
  CHECK(job.cluster.network.spine_oversubscription == 1.5);
  CHECK(job.cluster.network.switch_radix == 32);
  CHECK(job.cluster.fabric_hosts() == 40);
  CHECK(job.cluster.gpus() == 256);
  CHECK(job.simulation.seed == 7);
  CHECK(job.simulation.routing == RoutingKind::adaptive);
  CHECK(job.simulation.connections == 4);
  CHECK(job.simulation.placement == PlacementKind::scrambled);
  CHECK(job.simulation.expand_collectives);
  CHECK(job.simulation.unfold);
  CHECK(job.simulation.occupied == std::vector<int>{0, 9});
  REQUIRE(job.budget.size() == 1);
  CHECK(job.budget[0].metric == "step.time_s");
  CHECK(job.budget[0].max == 4.2);
  CHECK_FALSE(job.budget[0].min.has_value());
}

TEST_CASE("every disturbance reaches the job with its numbers", "[scenarios]") {
  const Scenario scenario = load_scenario_text(
      test::contents(fs::path(FORETRAIN_SOURCE_DIR) / "tests/fuzz/corpus/all_keys.yaml"),
      "all.yaml", bases);
  const std::vector<Disturbance>& all = scenario.job.simulation.disturbances;
  REQUIRE(all.size() == 6);
  CHECK(all[0].kind == DisturbanceKind::link_down);
  CHECK(all[0].target == "leaf0-spine0");
  CHECK(all[0].from.in(ms) == Approx(1));
  CHECK(all[0].lasts.in(ms) == Approx(2));
  CHECK(all[1].target == "leaf0>spine0");
  CHECK(all[1].factor == 0.5);
  CHECK(all[2].kind == DisturbanceKind::node_down);
  CHECK(all[3].period.in(ms) == Approx(100));
  CHECK(all[4].target == "3");
  CHECK(all[4].jitter == 0.05);
  CHECK(all[5].to == "9");
  CHECK(all[5].rate.in(Gbps) == Approx(100));
  CHECK(all[5].line == all[0].line + 5);
}

TEST_CASE("dragonfly and torus keep their sizes, and the rest their defaults", "[scenarios]") {
  const fs::path corpus = fs::path(FORETRAIN_SOURCE_DIR) / "tests/fuzz/corpus";
  const Network dragonfly = load_scenario(corpus / "dragonfly.yaml").job.cluster.network;
  CHECK(dragonfly.kind == FabricKind::dragonfly);
  CHECK(dragonfly.dragonfly.groups == 2);
  CHECK(dragonfly.dragonfly.routers == 8);
  CHECK(dragonfly.dragonfly.nics_per_router == 8);
  CHECK(dragonfly.dragonfly.global_ports == 1);
  CHECK(dragonfly.dragonfly.plus);
  const Scenario scenario = load_scenario(corpus / "torus.yaml");
  const Network& torus = scenario.job.cluster.network;
  CHECK(torus.torus.size == std::vector<int>{4, 2, 2});
  CHECK(torus.torus.channel.in(Gbps) == Approx(1600));
  CHECK(torus.switch_radix == 64);
  CHECK(scenario.job.simulation.seed == 1);
  CHECK(scenario.job.simulation.disturbances.empty());
  CHECK(scenario.job.cluster.fabric_hosts() == 16);
}

TEST_CASE("without GPUDirect a host's NICs get half of PCIe, and the forecast says so",
          "[scenarios]") {
  const std::string text = "schema: 1\nextends: bases/good.yaml\n";
  const auto with = [&](const std::string& transport) {
    LoadOptions options;
    options.overrides = {"communication.transport=" + transport};
    return load_scenario_text(text, "f.yaml", bases, options).job;
  };
  const Job direct = with("gpudirect-rdma");
  const Job bounced = with("rdma");
  const Link& pcie = direct.cluster.host.pcie;
  const Link& nic = bounced.cluster.network.nic_link;
  CHECK((nic.bandwidth * nic.achievable).in(GBps) ==
        Approx((pcie.bandwidth * 0.5 * pcie.achievable).in(GBps)));
  CHECK(bounced.cluster.network.transport == Transport::rdma);
  CHECK(bounced.cluster.network.provenance.trust == Trust::datasheet);
  CHECK(direct.cluster.network.provenance.trust == Trust::measured);
  // TCP is other hardware settings altogether: another preset, and a rule of the plan.
  CHECK(with("tcp").cluster.network.transport == Transport::gpudirect_rdma);
}

TEST_CASE("errors of the file, its flags and its names come in one go", "[scenarios][error]") {
  LoadOptions options;
  options.overrides = {"training.precision=fp61"};
  try {
    (void)load_scenario_text(
        "schema: 1\nextends: bases/good.yaml\nmodel: lama2-70b\nparallel: {tensr: 4, data: 3}\n",
        "f.yaml", bases, options);
    FAIL("accepted");
  } catch (const ScenarioError& error) {
    REQUIRE(error.diagnostics().size() == 4);
    std::vector<std::string> paths;
    for (const Diagnostic& diagnostic : error.diagnostics()) paths.push_back(diagnostic.path);
    CHECK(std::is_permutation(
        paths.begin(), paths.end(),
        std::vector<std::string>{"model", "parallel.tensr", "parallel.data", "training.precision"}
            .begin()));
  }
}

TEST_CASE("a file that is not there is an error with its name", "[scenarios][error]") {
  CHECK_THROWS_WITH(load_scenario("no/such.yaml"), "no/such.yaml: no such file");
  CHECK_THROWS_AS(load_scenario(examples), ScenarioError);
}

TEST_CASE("one scenario with its catalogs loads in a few milliseconds", "[scenarios]") {
  const fs::path file = examples / "llama2-70b-1024xh100.yaml";
  (void)load_scenario(file);
  constexpr int repeats = 20;
  const std::clock_t start = std::clock();
  for (int i = 0; i < repeats; ++i) (void)load_scenario(file);
  const double milliseconds =
      1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC / repeats;
  INFO("CPU time per load: " << milliseconds << " ms");
  // Generous, because the same test runs under sanitizers; a release build takes a few.
  CHECK(milliseconds < 100);
}

}  // namespace
}  // namespace foretrain
