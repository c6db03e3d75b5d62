// SPDX-License-Identifier: Apache-2.0
// Racks in searches, reports and exports.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "models/forecast/closed_form.hpp"
#include "planner/exchange/exports.hpp"
#include "planner/exchange/tuner_csv.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/network/fabric_text.hpp"
#include "planner/search/search_space.hpp"
#include "planner/solve/solve.hpp"
#include "planner/text/usage_error.hpp"
#include "tests/test_text.hpp"

namespace foretrain {
namespace {

Scenario racks_with(std::vector<std::string> overrides) {
  overrides.insert(overrides.begin(), {"cluster.host=dgx-gb200", "cluster.hosts=256"});
  return load_scenario(FORETRAIN_SOURCE_DIR "/scenarios/llama3.1-70b-1024xh100.yaml",
                       {std::move(overrides), {}});
}

}  // namespace

TEST_CASE("domains: searches try tensor ranks up to the domain", "[planner][domain]") {
  const Job racks = racks_with({}).job;
  const auto sizes_of = [](Job job, int key_heads) {
    job.model.kv_heads = key_heads;
    return default_space(job).tensor;
  };
  CHECK(sizes_of(racks, 64) == std::vector<int>{1, 2, 4, 8, 16, 32, 64});
  CHECK(sizes_of(racks_with({"cluster.domain=16"}).job, 64) == std::vector<int>{1, 2, 4, 8, 16});
  // Ranks beyond the key heads share them evenly.
  CHECK(sizes_of(racks, 8) == std::vector<int>{1, 2, 4, 8, 16, 32, 64});
}

TEST_CASE("domains: a Slurm script asks for segments of one domain", "[planner][domain][export]") {
  const Scenario racks = racks_with({});
  const Prediction prediction = closed_form(racks.job);
  REQUIRE(prediction.feasible());
  CHECK(test::has(export_scenario(ExportKind::sbatch, racks, &prediction).text,
                  "#SBATCH --nodes=256\n"));
  CHECK(test::has(export_scenario(ExportKind::sbatch, racks, &prediction).text,
                  "#SBATCH --segment=16\n"));
}

TEST_CASE("domains: what the NCCL tuner's file cannot say is refused by name",
          "[planner][domain][export]") {
  CHECK_THROWS_WITH(tuner_csv(racks_with({}).job),
                    Catch::Contains("dgx-gb200 shares NVLink between hosts"));
}

TEST_CASE("domains: a job of one rack needs no bandwidth between hosts",
          "[planner][domain][solve]") {
  CHECK_THROWS_WITH(needed_bandwidth(racks_with({"cluster.hosts=16"}), {}),
                    Catch::Contains("share one scale-up domain"));
  CHECK_NOTHROW(needed_bandwidth(racks_with({}), {}));
}

TEST_CASE("domains: reports say how far NVLink reaches", "[planner][domain][fabric]") {
  const FabricReport report = judge_fabric(racks_with({}), {});
  CHECK(test::has(answer_text(fabric_answer(report)), "16 NVLink domains, each 64 of 72 GPUs"));
  CHECK(nlohmann::json::parse(fabric_json(report))["domain_hosts"] == 16);
  CHECK(report.fabric.count(NodeKind::host_switch) == 16);
  bool said = false;
  for (const auto& [label, text] : question_lines(racks_with({}).job))
    said = said || test::has(text, "64 GPUs of each NVLink domain");
  CHECK(said);
}

}  // namespace foretrain
