// SPDX-License-Identifier: Apache-2.0
#include "calibration/harness/common/gemm_shapes.hpp"

#include <algorithm>
#include <set>
#include <string>

#include <catch2/catch.hpp>

namespace foretrain::harness {

TEST_CASE("the three products of a linear layer do the same work", "[harness]") {
  const LinearShape linear{2048, 12288, 4096};
  for (const GemmPass pass :
       {GemmPass::forward, GemmPass::input_gradient, GemmPass::weight_gradient}) {
    const GemmShape shape = gemm_shape(linear, pass);
    CHECK(shape.m * shape.n * shape.k == 2048LL * 12288 * 4096);
  }
  const GemmShape forward = gemm_shape(linear, GemmPass::forward);
  CHECK(forward.m == 12288);
  CHECK(forward.n == 2048);
  CHECK(forward.k == 4096);
  CHECK(forward.transpose_a);
  CHECK(gemm_shape(linear, GemmPass::weight_gradient).transpose_b);
}

TEST_CASE("cases are read a line each", "[harness]") {
  const auto parsed = parse_cases(
      "# tokens out in\n8192 12288 4096 forward bf16\n\n  512 128 64 16 weight-gradient fp8\n");
  const auto& cases = std::get<std::vector<GemmCase>>(parsed);
  REQUIRE(cases.size() == 2);
  CHECK(cases[0] == GemmCase{{8192, 12288, 4096}, GemmPass::forward, NumberType::bf16});
  CHECK(cases[1] == GemmCase{{512, 128, 64, 16}, GemmPass::weight_gradient, NumberType::fp8});
}

TEST_CASE("a wrong case is named by its line", "[harness]") {
  const auto error = [](std::string_view text) { return std::get<std::string>(parse_cases(text)); };
  CHECK(error("\n1 2 3 forward bf61") ==
        "line 2: 'bf61' is not a type: fp32, tf32, fp16, bf16, fp8");
  CHECK(error("1 2 3 backward bf16") ==
        "line 1: 'backward' is not a pass: forward, input-gradient, weight-gradient");
  CHECK(error("1 -2 3 forward bf16") == "line 1: '-2' is not a size from 1 to 16777216");
  CHECK(error("1 2 3k forward bf16") == "line 1: '3k' is not a size from 1 to 16777216");
  CHECK(error("1 2 forward bf16").substr(0, 16) == "line 1: a case i");
}

TEST_CASE("the default cases are many, different and sound", "[harness]") {
  const std::vector<GemmCase> cases = default_cases({NumberType::bf16, NumberType::fp8});
  CHECK(cases.size() > 300);
  std::set<std::string> seen;
  for (const GemmCase& one : cases) {
    CHECK(one.shape.tokens > 0);
    CHECK(one.shape.out > 0);
    CHECK(one.shape.in > 0);
    const std::string key = std::to_string(one.shape.tokens) + "/" + std::to_string(one.shape.out) +
                            "/" + std::to_string(one.shape.in) + "/" +
                            std::to_string(one.shape.batch) + std::string{name(one.pass)} +
                            std::string{name(one.type)};
    CHECK(seen.insert(key).second);
  }
}

TEST_CASE("what a budget leaves of the default cases is spread over all of them", "[harness]") {
  const std::vector<GemmCase> cases = default_cases({NumberType::bf16, NumberType::fp8});
  std::set<std::string> kinds;
  std::int64_t largest = 0;
  std::int64_t smallest = 1 << 24;
  for (std::size_t i = 0; i < cases.size() / 10; ++i) {
    kinds.insert(std::string{name(cases[i].pass)} + std::string{name(cases[i].type)} +
                 (cases[i].shape.batch > 1 ? "batched" : ""));
    largest = std::max(largest, cases[i].shape.out);
    smallest = std::min(smallest, cases[i].shape.out);
  }
  CHECK(kinds.size() == 12);  // three passes, two types, batched or not
  CHECK(largest > 100'000);
  CHECK(smallest < 512);
}

}  // namespace foretrain::harness
