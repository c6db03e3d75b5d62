// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "planner/explain/claim.hpp"
#include "planner/text/usage_error.hpp"
#include "tests/planner/fixtures.hpp"

using namespace foretrain;

TEST_CASE("a claim is read whatever its word order and spelling", "[planner][claim]") {
  const std::string text = GENERATE(
      "2 T tokens on 1024 H100 in 7 days", "1024 H100 train 2T tokens in 7 days",
      "2 trillion tokens, 1,024 H100 GPUs, one week", "in 168 hours 2000B tokens on 1024xH100",
      "2000 billion tokens with 1024 x H100 within 7d",
      "2.0 tn tokens using 1024 H100s in a week.");
  CAPTURE(text);
  const Claim claim = parse_claim(text);
  CHECK(claim.tokens == 2e12);
  CHECK(claim.gpus == 1024);
  REQUIRE(claim.device.has_value());
  CHECK(claim.device->starts_with("h100"));
  CHECK(claim.duration == 7.0 * days);
}

TEST_CASE("parts of a claim may be left out", "[planner][claim]") {
  const Claim claim = parse_claim("1.5 months on 16k GPUs");
  CHECK_FALSE(claim.tokens.has_value());
  CHECK_FALSE(claim.device.has_value());
  CHECK(claim.gpus == 16000);
  CHECK(claim.duration == 45.0 * days);
}

TEST_CASE("what a claim says beyond that is refused, with what is understood", "[planner][claim]") {
  const std::string text = GENERATE("2 T tokens on 1024 H100 in 7 fortnights", "soon", "", "2 T",
                                    "7 days 8 days", "1.5 GPUs in 7 days", "0 tokens in 7 days",
                                    "0 days", "1024 H100 and 512 A100 in 7 days",
                                    "2 T tokens @ 1024", "99999999999 GPUs in 7 days");
  CAPTURE(text);
  CHECK_THROWS_WITH(parse_claim(text), Catch::Contains("understood are tokens"));
}

TEST_CASE("2 T tokens on 1024 H100 in 7 days need more than the peak", "[planner][claim]") {
  // Llama-2-70B, 4096 tokens, full scores: 1.82e18 FLOP per 1024 x 4096 tokens = 434 GFLOP a token;
  // 8.68e23 FLOP over 1024 x 989.5e12 FLOP/s x 604800 s.
  const Report report = fixtures::fitting();
  const ClaimCheck check = check_claim(report, parse_claim("2 T tokens on 1024 H100 in 7 days"));
  CHECK(check.mfu == Approx(1.82e18 / (1024.0 * 4096.0) * 2e12 / (1024.0 * 989.5e12 * 604800.0)));
  CHECK(check.mfu > 1.0);
  CHECK(check.verdict == ClaimVerdict::impossible);
  const std::string text = answer_text(claim_answer(check));
  CHECK(text.find("impossible") != std::string::npos);
  CHECK(text.find("989.5 TFLOP/s dense bf16") != std::string::npos);
  CHECK(nlohmann::json::parse(claim_json(check))["verdict"] == "impossible");
}

TEST_CASE("verdicts follow the MFU that is needed", "[planner][claim]") {
  const Report report = fixtures::fitting();
  const auto verdict = [&](const char* text) {
    return check_claim(report, parse_claim(text)).verdict;
  };
  CHECK(verdict("1024 H100 in 8 days") == ClaimVerdict::impossible);
  CHECK(verdict("1024 H100 in 14 days") == ClaimVerdict::unpublished);
  CHECK(verdict("1024 H100 in 20 days") == ClaimVerdict::ambitious);
  CHECK(verdict("1024 H100 in 24 days") == ClaimVerdict::plausible);
}

TEST_CASE("blanks are filled from the scenario and its forecast", "[planner][claim]") {
  const Report report = fixtures::fitting();
  const ClaimCheck check = check_claim(report, parse_claim("2048 GPUs"));
  CHECK(check.tokens == 2e12);
  CHECK(check.tokens_from_scenario);
  CHECK(check.duration_from_forecast);
  CHECK(check.duration == *report.prediction.run.ideal);
}

TEST_CASE("a claim about another device, or without a duration, is refused", "[planner][claim]") {
  const Report report = fixtures::fitting();
  CHECK_THROWS_WITH(check_claim(report, parse_claim("1024 A100 in 7 days")),
                    Catch::Contains("H100 SXM5 80GB") && Catch::Contains("cluster.host"));
  CHECK_THROWS_AS(check_claim(fixtures::out_of_memory(), parse_claim("1024 H100")), UsageError);
}

TEST_CASE("an illegal plan does not hide that a claim is impossible", "[planner][claim]") {
  const ClaimCheck check =
      check_claim(fixtures::illegal(), parse_claim("2 T tokens on 1024 H100 in 7 days"));
  CHECK(check.verdict == ClaimVerdict::impossible);
  CHECK_FALSE(check.forecast_mfu.has_value());
}
