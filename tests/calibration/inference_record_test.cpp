// SPDX-License-Identifier: Apache-2.0
#include "calibration/records/inference_record.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "calibration/cases/inference_case.hpp"
#include "calibration/validate/validations.hpp"
#include "tests/calibration/measured_records.hpp"

namespace foretrain {
namespace {

std::vector<InferenceRecord> read(const std::string& text, Diagnostics& diagnostics) {
  const auto document = parse_yaml(text, "mine.yaml", YamlLimits{}, diagnostics);
  REQUIRE(document.has_value());
  return read_inference_records(*document, "mine.yaml", diagnostics);
}

/// Llama 3.1 8B (arXiv 2407.21783, table 3) with 16 clients of 1,024 + 512 tokens on one H100.
const std::string record = R"(schema: 1
runs:
- id: mine-1
  group: mine/Llama-3.1-8B
  kind: inference
  model: {name: Llama-3.1-8B, layers: 32, hidden: 4096, heads: 32, kv_heads: 8, ffn_hidden: 14336,
    vocab: 128256, gated_mlp: true, head_dim: 128, moe: null, mla: null}
  gpu: H100 SXM
  gpus: 1
  gpus_per_node: 8
  parallel: {tp: 1, pp: 1, dp: 1, ep: null}
  precision: {weights: bf16, kv: null}
  engine: vllm
  engine_version: 0.12.0
  workload: {input_len: 1024, output_len: 512, concurrency: 16}
  measured: {ttft_ms: 80, tpot_ms: 9.5}
)";

std::string with(std::string text, const std::string& what, const std::string& instead) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), instead);
}

std::string why(const std::string& text) {
  Diagnostics diagnostics;
  const auto records = read(text, diagnostics);
  REQUIRE(records.size() == 1);
  return inference_case(records.front(), shipped_catalog()).why;
}

TEST_CASE("inference records: times are seconds, and a null is what the source does not say",
          "[calibration][serving]") {
  Diagnostics diagnostics;
  const auto records = read(record, diagnostics);
  REQUIRE(records.size() == 1);
  const InferenceRecord& one = records.front();
  CHECK(one.table() == "mine");
  CHECK(one.ttft_s == Approx(0.080));
  CHECK(one.tpot_s == Approx(0.0095));
  CHECK_FALSE(one.output_tokens_per_s.has_value());
  CHECK_FALSE(one.parallel.expert.has_value());
  CHECK(one.cache.empty());
  CHECK(one.workload.concurrency == 16.0);
}

TEST_CASE("inference records: a run without an id and a file without runs are told",
          "[calibration][serving][error]") {
  Diagnostics nameless;
  CHECK(read("runs:\n- group: a/b\n", nameless).empty());
  CHECK_FALSE(nameless.empty());
  Diagnostics listless;
  CHECK(read("schema: 1\n", listless).empty());
  CHECK_FALSE(listless.empty());
}

TEST_CASE("inference records: what decides and is not said is refused by name",
          "[calibration][serving]") {
  CHECK(why(record).empty());
  CHECK(why(with(record, "input_len: 1024, ", "")) == "input or output lengths are not stated");
  CHECK(why(with(record, "tp: 1, ", "")).empty());  // one GPU has one layout
  CHECK(why(with(with(record, "tp: 1, ", ""), "gpus: 1", "gpus: 8")) == "the layout is not stated");
  CHECK(why(with(record, ", concurrency: 16", "")) == "the load is not stated");
  CHECK(why(with(record, "concurrency: 16", "concurrency: 16, speculative: true")) ==
        "speculative decoding with an acceptance that is not stated");
  // 512 answer tokens in 9.5 ms each take 4.9 s.
  CHECK(why(with(record, "ttft_ms: 80", "ttft_ms: 4800")).empty());
  CHECK(why(with(record, "ttft_ms: 80", "ttft_ms: 5000")) ==
        "requests queue for seats: how many run at once is not stated");
}

namespace {

InferenceCase asked(const std::string& text) {
  Diagnostics diagnostics;
  auto question = inference_case(read(text, diagnostics).front(), shipped_catalog());
  CAPTURE(question.why);
  REQUIRE(question.asked.has_value());
  return *question.asked;
}

}  // namespace

TEST_CASE("inference records: a model without a shape is the catalog's of that name",
          "[calibration][serving]") {
  const std::size_t shape = record.find(", layers");
  const std::size_t end = record.find("}", shape);
  const std::string named = std::string(record).replace(shape, end - shape, "");
  CHECK(asked(named).deployment.model.layers == 32);
  CHECK(asked(with(named, "name: Llama-3.1-8B", "name: DeepSeek-R1-Distill-Llama-8B"))
            .deployment.model.name == "llama3.1-8b");
  CHECK(why(with(named, "name: Llama-3.1-8B", "name: Mine")) == "the model's shape is not stated");
}

TEST_CASE("inference records: how answers are spread shows in their mean",
          "[calibration][serving]") {
  CHECK(asked(record).lengths.spread == LengthSpread::none);
  CHECK(asked(with(record, "output_len: 512", "output_len: 505.3")).lengths.spread ==
        LengthSpread::even);
  CHECK(
      asked(with(record, "concurrency: 16", "concurrency: 16, dataset: sharegpt")).lengths.spread ==
      LengthSpread::exponential);
}

TEST_CASE(
    "inference records: experts that nothing is said of are cut as the rest, but in tables "
    "whose recipe spreads them",
    "[calibration][serving]") {
  const std::string mixture = with(
      with(record, "name: Llama-3.1-8B", "name: gpt-oss-20b"),
      ", layers: 32, hidden: 4096, heads: 32, kv_heads: 8, ffn_hidden: 14336,\n    vocab: 128256, "
      "gated_mlp: true, head_dim: 128, moe: null, mla: null",
      "");
  CHECK(asked(mixture).deployment.layout.expert == 1);
  // TensorRT-LLM's recipe for mixtures on eight GPUs: attention copied, experts spread.
  const std::string tuned =
      with(with(with(mixture, "engine: vllm", "engine: trtllm"), "gpus: 1", "gpus: 8"), "tp: 1",
           "tp: 8");
  const InferenceCase recipe = asked(tuned);
  CHECK(!recipe.layout_stated);
  CHECK(recipe.deployment.layout.attention_data == 8);
  CHECK(recipe.deployment.layout.expert == 8);
  CHECK(why(with(mixture, "ep: null", "ep: 1, moe_tp: 4")) ==
        "ranks of experts and of attention contradict each other");
}

TEST_CASE("inference records: what a release's own figures contradict is refused by name",
          "[calibration][serving]") {
  CHECK(why(record).empty());
  const std::string table =
      with(record, "  group: mine", "  source: ai-dynamo/aiconfigurator@0\n  group: mine");
  CHECK(why(table).find("some were cached") != std::string::npos);
  CHECK(why(with(table, "0.12.0", "0.13.0")).empty());
  const std::string steady =
      with(with(record, "engine: vllm", "engine: trtllm"), "0.12.0", "1.3.0rc1");
  CHECK(why(steady).find("does not move with the clients") != std::string::npos);
}

TEST_CASE("inference records: what a name leaves open of gpt-oss and random lengths",
          "[calibration][serving]") {
  const std::string shape =
      ", layers: 32, hidden: 4096, heads: 32, kv_heads: 8, ffn_hidden: 14336,\n    vocab: 128256, "
      "gated_mlp: true, head_dim: 128, moe: null, mla: null";
  const std::string open =
      with(with(with(with(record, "name: Llama-3.1-8B", "name: gpt-oss-20b"), shape, ""),
                "weights: bf16", "weights: fp8"),
           "engine: vllm", "engine: trtllm");
  // It is published in MXFP4 alone, and Hopper keeps its cache in 16 bits.
  CHECK(asked(open).deployment.precision.experts == WeightFormat::mxfp4);
  CHECK(asked(open).deployment.precision.cache == CacheFormat::bf16);
  const std::string random = with(record, "engine_version: 0.12.0",
                                  "engine_version: 0.12.0\n  notes: random lengths around 512");
  CHECK(asked(random).lengths.spread == LengthSpread::narrow);
}

TEST_CASE("inference records: limits of a step, drafts and ranks as notes and GPUs tell them",
          "[calibration][serving]") {
  const std::string noted =
      with(record, "engine_version: 0.12.0",
           "engine_version: 0.12.0\n  notes: max_batch_size 128, max_num_tokens 1151");
  CHECK(asked(noted).deployment.engine.rules.token_budget == 1151);
  CHECK(asked(noted).deployment.engine.rules.sequences == 128);
  CHECK(asked(record).deployment.engine.rules.sequences == 1024);
  CHECK(why(with(noted, "max_batch_size 128", "MTP 3")).find("speculative") == 0);
  // Eight attention groups of a command line with eight tensor ranks on eight GPUs.
  const std::string wide = with(with(record, "gpus: 1", "gpus: 8"), "tp: 1, pp: 1, dp: 1",
                                "tp: 8, pp: 1, dp: 8, attention_dp: 8");
  const ServingLayout layout = asked(wide).deployment.layout;
  CHECK(layout.gpus() * layout.replicas == 8);
  CHECK(layout.attention_data == 8);
}

TEST_CASE("inference records: first tokens of few clients are a quantity of their own",
          "[calibration][serving]") {
  const auto quantities = [](const std::string& text) {
    Diagnostics diagnostics;
    std::size_t low = 0;
    for (const RecordCheck& check : check_inference(read(text, diagnostics), shipped_catalog()))
      low += check.quantity == low_load_first_token_quantity ? 1U : 0U;
    return low;
  };
  CHECK(quantities(record) == 0);
  CHECK(quantities(with(record, "concurrency: 16", "concurrency: 4")) == 1);
}

TEST_CASE("inference records: figures that stand beside two devices are of neither",
          "[calibration][serving]") {
  const std::string measured =
      with(record, "tpot_ms: 9.5", "tpot_ms: 9.5, output_tokens_per_s: 1500");
  const std::string twin = with(with(measured.substr(measured.find("- id")), "mine-1", "mine-2"),
                                "gpu: H100 SXM", "gpu: A100 80GB SXM");
  Diagnostics diagnostics;
  const auto one = check_inference(read(measured, diagnostics), shipped_catalog());
  REQUIRE(one.size() == 3);
  CHECK(!one.front().skipped);
  for (const RecordCheck& check :
       check_inference(read(measured + twin, diagnostics), shipped_catalog()))
    CHECK(check.why == "the same figures stand beside another device, of which they may be");
}

TEST_CASE("inference records: a median is told from a mean", "[calibration][serving]") {
  CHECK(!asked(record).closed->median_first_token);
  CHECK(asked(with(record, "ttft_ms: 80,", "ttft_ms: 80, ttft_median_ms: 80,"))
            .closed->median_first_token);
}

TEST_CASE("inference records: all requests at once need equal lengths, or a batch size",
          "[calibration][serving]") {
  const std::string offline = with(record, "concurrency: 16", "num_requests: 100");
  CHECK(why(offline).empty());
  const std::string logged = with(offline, "input_len: 1024", "input_len: 229.5");
  CHECK(why(logged).starts_with("all requests at once, of unlike lengths"));
  const std::string batched =
      with(logged, "  measured:", "  notes: Section 'case ShareGPT batch size 4'.\n  measured:");
  CHECK(why(batched).empty());
  Diagnostics diagnostics;
  const auto asked = inference_case(read(batched, diagnostics).front(), shipped_catalog()).asked;
  REQUIRE(asked.has_value());
  REQUIRE(asked->closed.has_value());
  CHECK(asked->closed->concurrency == 4.0);
}

}  // namespace
}  // namespace foretrain
