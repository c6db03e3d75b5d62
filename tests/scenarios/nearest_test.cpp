// SPDX-License-Identifier: Apache-2.0
#include "scenarios/yaml/nearest.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <random>

namespace foretrain {
namespace {

TEST_CASE("edit distance: one per insertion, deletion, substitution or swap", "[scenarios]") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("tensor", "tesnor") == 1);
  CHECK(edit_distance("ca", "abc") == 3);  // the restricted form; the full distance is 2
}

TEST_CASE("edit distance: symmetric, and zero only for equal texts", "[scenarios][property]") {
  const std::vector<std::string> words = {"", "a", "tensor", "tesnor", "pipeline", "1f1b", "gpipe"};
  for (const auto& a : words)
    for (const auto& b : words) {
      CHECK(edit_distance(a, b) == edit_distance(b, a));
      CHECK((edit_distance(a, b) == 0) == (a == b));
    }
}

TEST_CASE("nearest name: misspellings find their name", "[scenarios]") {
  const std::vector<std::string> keys = {"tensor",   "sequence",    "context",
                                         "pipeline", "micro_batch", "global_batch"};
  CHECK(nearest("tensr", keys) == "tensor");
  CHECK(nearest("Tensor", keys) == "tensor");
  CHECK(nearest("micro-batch", keys) == "micro_batch");
  CHECK(nearest("micro_batch_size", keys) == "micro_batch");
  CHECK(nearest("pipelines", keys) == "pipeline");
  CHECK(nearest("pipe", keys) == "pipeline");
}

TEST_CASE("nearest name: passing over what is too far changes no answer", "[scenarios][property]") {
  // Words over few letters, so that many are near each other; the rule as the header states it.
  std::mt19937 random(7);
  const auto word = [&] {
    std::string text(1 + random() % 12, ' ');
    for (char& c : text) c = "abcd_-"[random() % 6];
    return text;
  };
  const auto plain = [](const std::string& text) {
    std::string result = text;
    std::replace(result.begin(), result.end(), '_', '-');
    return result;
  };
  for (int round = 0; round < 500; ++round) {
    std::vector<std::string> candidates(20);
    for (std::string& candidate : candidates) candidate = word();
    const std::string text = word();
    const std::string wanted = plain(text);
    std::optional<std::string> best;
    for (const std::string& candidate : candidates) {
      const std::string name = plain(candidate);
      const std::size_t distance = edit_distance(wanted, name);
      const std::size_t common = std::min(wanted.size(), name.size());
      const bool extends = common >= 3 && wanted.substr(0, common) == name.substr(0, common);
      if (distance > std::max(wanted.size(), name.size()) / 3 && !extends) continue;
      if (!best || distance < edit_distance(wanted, plain(*best))) best = candidate;
    }
    CAPTURE(text, candidates);
    CHECK(nearest(text, candidates) == best);
  }
}

TEST_CASE("nearest name: another number is another product", "[scenarios]") {
  const std::vector<std::string> names = {"rtx3090",      "rtx4080",  "rtx-a4000",
                                          "rtx-4000-ada", "l4",       "gemma3-1b",
                                          "llama2-7b",    "gpt3-13b", "rtx4080-super"};
  for (const char* other : {"rtx3080", "RTX 3070", "RTX 4070", "gemma3-12b", "llama2-13b",
                            "RTX 4500 Ada", "gpt3-1.3b"}) {
    INFO(other);
    CHECK_FALSE(nearest(other, names).has_value());
  }
  CHECK(nearest("RTX 3090", names) == "rtx3090");
  CHECK(nearest("rtx4080super", names) == "rtx4080-super");
  CHECK(nearest_hint("google/gemma3-12b", names) == "; of other sizes there are 'gemma3-1b'.");
  CHECK(nearest_hint("gpt4-13b", names).empty());
  for (const char* other : {"qwen3-9b", "qwen2.5-8b"})
    CHECK_FALSE(nearest(other, {"qwen3-4b", "qwen3.5-9b", "qwen3-8b"}));
  CHECK_FALSE(nearest("opt-350m", {"gpt3-350m"}));
  CHECK_FALSE(nearest("phi-2", {"phi-4"}));
  CHECK(nearest_hint("llama3-7b", {"llama3-8b", "olmo3-7b"}) ==
        "; of other sizes there are 'llama3-8b'.");
  CHECK(nearest_hint("gemma-3-13b-it", {"gemma3-12b", "gemma3-1b", "gemma2-9b"}) ==
        "; of other sizes there are 'gemma3-12b', 'gemma3-1b'.");
  CHECK(nearest("llama2-7", names) == "llama2-7b");
  CHECK(nearest("lama2-7b", names) == "llama2-7b");
}

TEST_CASE("nearest name: no guess where nothing is near", "[scenarios]") {
  const std::vector<std::string> keys = {"tensor", "data"};
  CHECK_FALSE(nearest("colour", keys).has_value());
  CHECK_FALSE(nearest("", keys).has_value());
  CHECK_FALSE(nearest(std::string(5000, 't'), keys).has_value());
  CHECK(nearest_hint("colour", keys).empty());
  CHECK(nearest_hint("tensro", keys) == "; did you mean 'tensor'?");
}

TEST_CASE("nearest name: another chip is no misspelling", "[scenarios]") {
  const std::vector<std::string> hosts = {"aws-p5",   "dgx-a100", "dgx-b200",     "dgx-gb200",
                                          "dgx-h100", "hgx-h200", "pcie-h200-nvl"};
  CHECK(nearest("dgx-h200", hosts) == "hgx-h200");
  CHECK(nearest("dgx-b20", hosts) == "dgx-b200");
  CHECK(nearest("dgxh100", hosts) == "dgx-h100");
  CHECK_FALSE(nearest("dgx-b400", hosts).has_value());
  CHECK(nearest_hint("h100", hosts) == "; did you mean 'dgx-h100'?");
  CHECK(nearest_hint("h200", hosts) == "; did you mean 'hgx-h200', 'pcie-h200-nvl'?");
  CHECK(nearest("bf61", {"bf16", "fp16", "fp8"}) == "bf16");
  const std::vector<std::string> models = {"llama2-70b", "llama3-8b", "mistral-7b-v0.1"};
  CHECK(nearest("llama-3-8b", models) == "llama3-8b");
  CHECK_FALSE(nearest("llama2-7b", models).has_value());
  CHECK(nearest("llama2-70", models) == "llama2-70b");
}

}  // namespace
}  // namespace foretrain
