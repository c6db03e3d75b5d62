// SPDX-License-Identifier: Apache-2.0
// Hosts that share NVLink, as catalogs and scenarios say it.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <utility>

#include "scenarios/resolve/scenario.hpp"
#include "scenarios/sections/scenario_text.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/test_text.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

constexpr const char* racks_of_70b = R"(schema: 1
name: racks
model: llama3-70b
cluster:
  host: dgx-gb200
  hosts: 64
  fabric: {kind: rail-optimized, preset: ib-ndr}
training: {sequence: 8192, micro_batch: 1, global_batch: 256}
parallel: {tensor: 4, pipeline: 4}
)";

Job rack_job_with(std::vector<std::string> overrides, std::vector<fs::path> catalogs = {}) {
  return load_scenario_text(racks_of_70b, "racks.yaml", fs::current_path(),
                            {std::move(overrides), std::move(catalogs)})
      .job;
}

std::string rack_errors(std::vector<std::string> overrides, std::vector<fs::path> catalogs = {}) {
  try {
    (void)rack_job_with(std::move(overrides), std::move(catalogs));
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("parts of hosts: a job has the GPUs that it asks for", "[scenarios]") {
  const std::vector<std::string> one{"cluster.host=dgx-h100", "cluster.hosts=1",
                                     "cluster.fabric.kind=single-switch", "parallel.tensor=1",
                                     "parallel.pipeline=1"};
  const auto with = [&](const std::string& setting) {
    std::vector<std::string> all = one;
    all.push_back(setting);
    return all;
  };
  const Job two = rack_job_with(with("cluster.gpus_per_host=2"));
  CHECK(two.cluster.gpus() == 2);
  CHECK(two.parallel.data == 2);
  CHECK(two.cluster.host.whole_gpus == 8);
  CHECK(test::has(rack_errors(with("cluster.gpus_per_host=9")), "dgx-h100 has 8 GPUs; write 8"));
  CHECK(test::has(rack_errors({"cluster.gpus_per_host=2"}), "parts of dgx-gb200"));
  CHECK(rack_job_with(with("cluster.gpus_per_host=8")).cluster.host.whole_gpus == 0);
}

TEST_CASE("master weights: none halves moments unless they are written", "[scenarios]") {
  const Training pure = rack_job_with({"training.master_weights=none"}).training;
  CHECK(pure.first_moment() == 2.0);
  CHECK(pure.second_moment() == 2.0);
  CHECK(rack_job_with({}).training.first_moment() == 4.0);
  CHECK(rack_job_with({"training.master_weights=none", "training.optimizer_state.first_moment=4 B"})
            .training.first_moment() == 4.0);
  CHECK(test::has(
      rack_errors({"training.master_weights=none", "training.optimizer_state.master=2 B"}),
      "has no effect with master_weights: none"));
}

TEST_CASE("domains: a rack of the catalog is 18 trays of four GPUs and four NICs",
          "[scenarios][domain]") {
  const Cluster cluster = rack_job_with({}).cluster;
  CHECK(cluster.host.gpus == 4);
  CHECK(cluster.host.nics == 4);
  CHECK(cluster.host.domain_hosts == 18);
  CHECK(cluster.packing().domain == 64);  // of 72, so that four racks are used alike
  CHECK(rack_job_with({"cluster.hosts=72"}).cluster.packing().domain == 72);
  CHECK(rack_job_with({"cluster.domain=72"}).cluster.packing().domain == 72);
  CHECK(rack_job_with({"cluster.domain=36"}).cluster.packing().domain == 36);
  CHECK(rack_job_with({"cluster.host=dgx-b200", "cluster.hosts=32"}).cluster.packing().domain == 8);
}

TEST_CASE("domains: every host of Blackwell and of 2026 resolves, racks as racks",
          "[scenarios][domain][catalog]") {
  for (const char* host : {"dgx-gb200", "dgx-gb300", "azure-nd-gb200-v6", "azure-nd-gb300-v6",
                           "oci-gb200", "oci-gb300", "gcp-a4x", "gcp-a4x-max"}) {
    CAPTURE(host);
    const Job job = rack_job_with({std::string("cluster.host=") + host});
    CHECK(job.cluster.packing().domain == 64);
    CHECK(job.device_profile.provenance.trust == Trust::interpolated);
  }
  for (const auto& [host, preset] : {std::pair{"hgx-b200", "ib-ndr"},
                                     {"dgx-b300", "ib-xdr"},
                                     {"hgx-b300", "roce-800"},
                                     {"hgx-b300", "spectrum-x-800"},
                                     {"oci-b300", "roce-400"},
                                     {"hgx-h20", "ib-ndr"},
                                     {"pcie-h200-nvl", "ib-ndr"},
                                     {"aws-p5en", "efa-p5en"},
                                     {"aws-p6-b200", "efa-p6"},
                                     {"aws-p6-b300", "efa-p6"},
                                     {"gcp-a4", "roce-400"},
                                     {"gcp-a4", "spectrum-x-400"}}) {
    CAPTURE(host, preset);
    const Job job = rack_job_with({std::string("cluster.host=") + host, "cluster.hosts=32",
                                   std::string("cluster.fabric.preset=") + preset});
    CHECK(job.cluster.packing().domain == 8);
  }
}

TEST_CASE("domains: a scenario cannot use more of a domain than there is, nor half a host",
          "[scenarios][domain][errors]") {
  CHECK(test::has(rack_errors({"cluster.domain=76"}),
                  "cluster.domain: a scale-up domain of dgx-gb200 has 72 GPUs; write 72 or fewer"));
  CHECK(test::has(rack_errors({"cluster.domain=6"}),
                  "6 GPUs are not whole hosts of 4 GPUs each; write a multiple of 4"));
  CHECK(test::has(rack_errors({"cluster.domain=16", "cluster.host=dgx-b200", "cluster.hosts=32"}),
                  "the scale-up links of dgx-b200 end at the host; leave it out"));
  CHECK(test::has(rack_errors({"cluster.domain=0"}), "cluster.domain"));
}

TEST_CASE("domains: a written scenario says which part of a domain it uses",
          "[scenarios][domain]") {
  WrittenScenario draft;
  draft.job = rack_job_with({"cluster.domain=36"});
  CHECK(test::has(scenario_text(draft), "domain: 36"));
  draft.job = rack_job_with({});
  CHECK_FALSE(test::has(scenario_text(draft), "domain:"));
}

TEST_CASE("domains: a host file says a domain in whole hosts, and only behind NVSwitch",
          "[scenarios][domain][errors]") {
  const test::TemporaryFolder folder;
  const auto errors = [&](const std::string& scale_up) {
    folder.write(
        "hosts/my-rack.yaml",
        "schema: 1\nname: my-rack\ntitle: My rack\nlike: dgx-gb200\nscale_up: " + scale_up +
            "\nsources:\n  - {covers: [scale_up], cite: mine, date: 2026-11-22}\n");
    return rack_errors({"cluster.host=my-rack"}, {folder.path()});
  };
  CHECK(errors("{kind: nvswitch, link: nvlink5, domain: 36}").empty());
  CHECK(test::has(errors("{kind: nvswitch, link: nvlink5, domain: 34}"),
                  "34 GPUs are not whole hosts of 4 GPUs each; write a multiple of 4"));
  CHECK(test::has(errors("{kind: nvlink-mesh, link: nvlink5, domain: 72}"),
                  "has no effect with kind: nvlink-mesh; leave it out, or write kind: nvswitch"));
}

}  // namespace foretrain
