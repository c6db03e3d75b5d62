// SPDX-License-Identifier: Apache-2.0
#include "planner/transfers/transfer_report.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/json_schema.hpp"

using namespace foretrain;
using Catch::Matchers::Contains;

namespace {

const std::filesystem::path source{FORETRAIN_SOURCE_DIR};

Scenario shipped(const std::string& file, std::vector<std::string> overrides) {
  LoadOptions options;
  options.overrides = std::move(overrides);
  options.purpose = Purpose::any;
  return load_scenario(source / "scenarios" / file, options);
}

Scenario disaggregated(std::vector<std::string> overrides = {}) {
  return shipped("serving/llama3.1-70b-disaggregated-16xh100.yaml", std::move(overrides));
}

std::string schema_errors_of(const TransferReport& report) {
  return test::schema_errors(source / "planner/schemas/transfers.schema.json",
                             nlohmann::json::parse(transfer_json(report)));
}

}  // namespace

TEST_CASE("transfers: a prompt's cache takes its price where every prefill has a decoder",
          "[planner][transfers]") {
  const TransferReport report = caches_on_fabric(disaggregated());
  REQUIRE(report.rows.size() == 2);
  for (const TransferRow& row : report.rows) {
    // 80 layers of 8 key heads of 128, keys and values of a byte, 4,096 tokens.
    CHECK(row.bytes.value() == 80.0 * 8.0 * 128.0 * 2.0 * 4096.0);
    CHECK(row.played.value() == Approx(row.alone.value()).epsilon(1e-9));
  }
  CHECK(schema_errors_of(report).empty());
}

TEST_CASE("transfers: two caches for one decoder share its NICs", "[planner][transfers]") {
  const TransferReport apart = caches_on_fabric(disaggregated());
  const TransferReport meet = caches_on_fabric(disaggregated({"serving.replicas=1"}));
  REQUIRE(meet.rows.size() == 2);
  // NICs are full; alone a cache fills them to that share of what they give.
  CHECK(meet.fullest_share == Approx(1.0).epsilon(0.01));
  CHECK(meet.played() / meet.alone() == Approx(2.0 * apart.fullest_share).epsilon(0.01));
}

TEST_CASE("transfers: weights that stay in place are refused by name, in words and as JSON",
          "[planner][transfers]") {
  const std::string grpo = "post-training/llama3.1-8b-grpo-16xh100.yaml";
  const TransferReport report = weights_on_fabric(shipped(grpo, {}));
  REQUIRE(report.reasons.size() == 1);
  CHECK(report.reasons.front().key == "post_training.placement");
  CHECK(schema_errors_of(report).empty());
  CHECK_THAT(answer_text(transfer_answer(report)), Contains("handed over in"));

  const TransferReport separate = weights_on_fabric(
      shipped(grpo, {"post_training.placement=separate", "post_training.generation_gpus=8"}));
  CHECK(separate.rows.size() == 8);
  CHECK(schema_errors_of(separate).empty());
}
