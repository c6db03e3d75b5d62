// SPDX-License-Identifier: Apache-2.0
#include "planner/edit/scenario_draft.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <string>

#include "planner/text/usage_error.hpp"

using namespace foretrain;

namespace {

DraftAnswers answers(const std::string& model, const std::string& host, int hosts) {
  DraftAnswers result;
  result.model = model;
  result.host = host;
  result.hosts = hosts;
  return result;
}

DraftResult drafted(const DraftAnswers& asked) {
  return draft_scenario(asked, std::filesystem::current_path());
}

}  // namespace

TEST_CASE("a draft reads back as the scenario that was forecast") {
  DraftAnswers asked = answers("llama3-8b", "dgx-h100", 4);
  asked.tokens = "1 T";
  const DraftResult result = drafted(asked);
  REQUIRE(result.draft);
  const Scenario read =
      load_scenario_text(result.draft->text, "draft", std::filesystem::current_path());
  CHECK(read.job.name == "llama3-8b-4xdgx-h100");
  CHECK(read.job.training.tokens == 1e12);
  CHECK(read.job.parallel.gpus() == 32);
  const Report& report = result.draft->report;
  REQUIRE(report.prediction.feasible());
  CHECK(report.prediction.memory->peak <= 0.95 * report.prediction.memory->usable);
  CHECK(report.prediction.memory->high <= report.prediction.memory->usable);
  CHECK(evaluate(read, AttentionFlops::full, EngineKind::path).prediction.step->time ==
        report.prediction.step->time);
}

TEST_CASE("the plan of a draft is no slower than that of plain data parallelism") {
  const DraftResult result = drafted(answers("llama3-8b", "dgx-a100", 2));
  REQUIRE(result.draft);
  LoadOptions plain;
  plain.overrides = {
      "parallel.tensor=2",         "parallel.sequence=true", "parallel.pipeline=1",
      "parallel.virtual_stages=1", "parallel.context=1",     "parallel.data=8",
      "parallel.schedule=1f1b",    "training.micro_batch=1", "memory.recompute=selective"};
  const Scenario other =
      load_scenario_text(result.draft->text, "draft", std::filesystem::current_path(), plain);
  const Prediction p = evaluate(other, AttentionFlops::full, EngineKind::path).prediction;
  REQUIRE(p.step);
  CHECK(result.draft->report.prediction.step->time <= p.step->time);
}

TEST_CASE("a draft takes the fabric that the host's NICs are made for") {
  for (const auto& [host, preset] :
       {std::pair{"aws-p5", "efa-p5"}, {"gcp-a3-high", "tcpx"}, {"dgx-a100", "ib-hdr"}}) {
    const DraftResult result = drafted(answers("llama3-8b", host, 3));
    REQUIRE(result.draft);
    CHECK(result.draft->report.scenario.job.cluster.network.preset == preset);
  }
}

TEST_CASE("a draft trains in fp16 where the device has no bf16, and keeps to learned positions") {
  const DraftResult volta = drafted(answers("gpt2-small", "dgx-1", 1));
  REQUIRE(volta.draft);
  CHECK(volta.draft->report.scenario.job.training.precision == Precision::fp16);
  CHECK(volta.draft->report.scenario.job.training.sequence == 1024);
}

TEST_CASE("replicas of any size share the batch of a draft") {
  for (const int hosts : {1, 3, 7, 12}) {
    const DraftResult result = drafted(answers("llama3-8b", "dgx-h100", hosts));
    REQUIRE(result.draft);
    const Job& job = result.draft->report.scenario.job;
    CHECK(job.training.global_batch % (8 * hosts) == 0);
  }
}

TEST_CASE("without a plan that fits, a draft says how many hosts would do") {
  const DraftResult result = drafted(answers("llama3.1-405b", "dgx-h100", 1));
  CHECK_FALSE(result.draft);
  CHECK(result.why.find("79.1 GiB") != std::string::npos);
  CHECK(result.why.find("it fits on 14 hosts") != std::string::npos);
  CHECK(drafted(answers("llama3.1-405b", "dgx-h100", 14)).draft);
}

TEST_CASE("a draft takes a part of a host, or says how many of its GPUs would do") {
  DraftAnswers asked = answers("llama3.2-1b", "dgx-h100", 0);
  asked.gpus = 1;
  CHECK(draft_name(asked) == "llama3.2-1b-1gpu-dgx-h100");
  DraftAnswers of_file = asked;
  of_file.model = "shapes/My_Model/./config.json";
  CHECK(draft_name(of_file) == "my-model-1gpu-dgx-h100");
  of_file.model = "./config.json";
  CHECK(draft_name(of_file).find_first_not_of(".-") == 0);
  const DraftResult one = drafted(asked);
  REQUIRE(one.draft);
  const Cluster& machine = one.draft->report.scenario.job.cluster;
  CHECK(machine.gpus() == 1);
  CHECK(machine.host.whole_gpus == 8);
  asked.model = "llama3-8b";
  const DraftResult small = drafted(asked);
  CHECK_FALSE(small.draft);
  CHECK(small.why.find("1 of 8 GPUs") != std::string::npos);
  CHECK(small.why.find("it fits on 2 GPUs") != std::string::npos);
  asked.gpus = 13;
  CHECK_THROWS_AS(drafted(asked), UsageError);
}

TEST_CASE("where a rule refuses every plan, a draft names the rule") {
  DraftAnswers asked = answers("gpt2-small", "dgx-h100", 1);
  asked.sequence = 4096;
  const DraftResult result = drafted(asked);
  CHECK_FALSE(result.draft);
  CHECK(result.why.find("1024 learned positions") != std::string::npos);
}

TEST_CASE("names with characters of YAML are quoted in a draft") {
  DraftAnswers asked = answers("llama3-8b", "dgx-h100", 1);
  asked.name = "it's: {a} #1";
  const DraftResult result = drafted(asked);
  REQUIRE(result.draft);
  CHECK(result.draft->report.scenario.job.name == "it's: {a} #1");
}

TEST_CASE("answers that are none are refused") {
  CHECK_THROWS_AS(drafted(answers("", "dgx-h100", 1)), UsageError);
  CHECK_THROWS_AS(drafted(answers("llama3-8b", "", 1)), UsageError);
  CHECK_THROWS_AS(drafted(answers("llama3-8b", "dgx-h100", 0)), UsageError);
  CHECK_THROWS_AS(drafted(answers("llama3-8b", "no-such-host", 1)), ScenarioError);
}
