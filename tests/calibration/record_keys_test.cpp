// SPDX-License-Identifier: Apache-2.0
// No key of a record is dropped, whatever its kind.
#include "calibration/records/record_keys.hpp"

#include <catch2/catch.hpp>

#include "calibration/cases/post_training_case.hpp"
#include "calibration/records/run_record.hpp"
#include "tests/calibration/measured_records.hpp"

namespace foretrain {
namespace {

std::vector<std::string> complaints(const std::string& text) {
  Diagnostics diagnostics;
  const auto document = parse_yaml(text, "mine.yaml", run_record_limits(), diagnostics);
  REQUIRE(document.has_value());
  (void)read_run_records(*document, "mine.yaml", diagnostics);
  (void)read_inference_records(*document, "mine.yaml", diagnostics);
  std::vector<std::string> texts;
  for (const Diagnostic& item : diagnostics.sorted()) texts.push_back(item.text());
  return texts;
}

}  // namespace

TEST_CASE("a misspelt key of a record is an error with its place and the nearest name",
          "[calibration][error]") {
  const std::vector<std::string> texts = complaints(
      "schema: 1\nruns:\n- id: x\n  model: {name: llama3-8b, seq: 8192, hiden: 4096}\n"
      "  parallel: {tp: 2, vpp_typo: 4}\n  recompte: full\n"
      "  measured: {iteration_s: 7.0, memry_gb: 3}\n"
      "  fine_tuning: {adapter: lroa, rnk: 16}\n");
  const std::vector<std::string> expected{
      "mine.yaml:4:39: runs[].model.hiden: unknown key of a record; did you mean 'hidden'?",
      "mine.yaml:5:21: runs[].parallel.vpp_typo: unknown key of a record; did you mean 'vpp'?",
      "mine.yaml:6:3: runs[].recompte: unknown key of a record; did you mean 'recompute'?",
      "mine.yaml:7:32: runs[].measured.memry_gb: unknown key of a record; did you mean "
      "'memory_gb'?",
      "mine.yaml:8:26: runs[].fine_tuning.adapter: 'lroa' is none of none, lora, dora",
      "mine.yaml:8:32: runs[].fine_tuning.rnk: unknown key of a record; did you mean 'rank'?"};
  CHECK(texts == expected);
}

TEST_CASE("what a record has no field for it says in the words of scenarios",
          "[calibration][error]") {
  const std::string start = "schema: 1\nruns:\n- id: x\n  plan:\n";
  CHECK(complaints(start + "    memory: {offload: paged, activation_offload: [mlp-norm]}\n"
                           "    training: {optimizer: adam8bit}\n")
            .empty());
  const std::vector<std::string> texts =
      complaints(start +
                 "    memory: {ofload: paged}\n    training: {optimizer: adam9bit}\n"
                 "    cluster: {hosts: 2}\n");
  REQUIRE(texts.size() == 3);
  CHECK(texts.at(0).starts_with("mine.yaml:5:14: memory.ofload: unknown key; did you mean"));
  CHECK(texts.at(1).starts_with("mine.yaml:6:27: training.optimizer: 'adam9bit'"));
  CHECK(texts.at(2).find("cluster.hosts: is no part of a plan") != std::string::npos);
}

TEST_CASE("records of inference and of post-training have keys of their own",
          "[calibration][error]") {
  const std::string start = "schema: 1\nruns:\n- id: x\n  kind: ";
  CHECK(complaints(start + "inference\n  workload: {input_len: 1, output_len: 1}\n").empty());
  CHECK(complaints(start + "inference\n  workload: {input_length: 1}\n").size() == 1);
  CHECK(complaints(start + "rl\n  rollout: {n: 8, max_seq_len: 4096}\n").empty());
  CHECK(complaints(start + "rl\n  rollout: {n: 8, max_seq: 4096}\n").size() == 1);
  // What a server was started with has names of its own.
  CHECK(complaints(start + "inference\n  server_env: {VLLM_USE_V1: 1}\n").empty());
}

TEST_CASE("every shipped record reads without a complaint", "[calibration]") {
  for (const char* file :
       {"inference_runs.yaml", "power_runs.yaml", "public_runs.yaml", "public_runs_2026.yaml",
        "rl_2026.yaml", "runs.yaml", "runs_2026.yaml", "runs_more.yaml", "runs_released.yaml",
        "runs_one_host.yaml", "runs_tuning.yaml", "serving_2026.yaml", "own/runs-h200.yaml"}) {
    CAPTURE(file);
    CHECK(complaints(measured_file(file)).empty());
  }
}

TEST_CASE("the longest sequence of a loop is what its record states", "[calibration]") {
  const auto most = [](const std::string& rollout) {
    Diagnostics diagnostics;
    const auto document = parse_yaml(
        "runs:\n- id: nemorl_mine\n  group: nemo_rl/mine\n  kind: rl\n  engine: vllm\n"
        "  model: {name: llama3.1-8b}\n  gpu: H100 SXM\n  gpus: 16\n  gpus_per_node: 8\n"
        "  algorithm: grpo\n  rollout: {n: 32, prompt_len: 150, response_len: 1060, batch: 2048" +
            rollout +
            "}\n  placement: {kind: colocated, generation_gpus: 16, train_gpus: 16}\n"
            "  parallel: {generation: {tp: 1, pp: 1}, train: {tp: 1, pp: 1, cp: 1, ep: 1}}\n"
            "  precision: {weights: bf16, kv: null, compute: bf16}\n"
            "  measured: {step_s: 97.7, tokens_per_s_per_gpu: 1562.0}\n",
        "mine.yaml", run_record_limits(), diagnostics);
    const auto records = read_inference_records(*document, "mine.yaml", diagnostics);
    REQUIRE(diagnostics.empty());
    const auto question = post_training_case(records.front(), shipped_catalog());
    CAPTURE(question.why);
    REQUIRE(question.asked.has_value());
    return question.asked->setup.plan.answer.most;
  };
  CHECK(most(", max_seq_len: 16384") == 16384 - 150);
  CHECK(most(", max_response_len: 2048") == 2048);
  CHECK(most("") == 4096 - 150);  // what NeMo-RL's recipes set
}

}  // namespace foretrain
