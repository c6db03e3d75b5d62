// SPDX-License-Identifier: Apache-2.0
// Keys of serving, and scenarios without training.
#include <catch2/catch.hpp>

#include "scenarios/resolve/resolve_serving.hpp"
#include "scenarios/resolve/scenario.hpp"
#include "scenarios/sections/sections.hpp"

namespace foretrain {
namespace {

const std::string asked =
    "requests: {rate: 2000 per min, prompt: 1024, output: {tokens: 256, jitter: 0.5}}";

std::string serving(const std::string& more) {
  return "schema: 1\nname: t\nmodel: llama2-7b\n"
         "cluster: {host: dgx-h100, hosts: 1, fabric: {kind: single-switch, preset: ib-ndr}}\n" +
         more;
}

Scenario read_serving(const std::string& more, Purpose purpose = Purpose::serving,
                      std::vector<std::string> overrides = {}) {
  LoadOptions options;
  options.purpose = purpose;
  options.overrides = std::move(overrides);
  return load_scenario_text(serving(more), "t.yaml", ".", options);
}

std::string serving_complaint(const std::string& more, Purpose purpose = Purpose::serving) {
  try {
    (void)read_serving(more, purpose);
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "";
}

bool contains_text(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("keys of serving are read and written", "[scenarios][serving]") {
  const Scenario scenario = read_serving(
      "serving:\n  engine: sglang\n  replicas: 3\n  routing: round-robin\n  cuda_graphs: false\n"
      "  memory_share: 0.85\n  parallel: {tensor: 2, pipeline: 2, attention_data: 2, expert: 4}\n"
      "  prefill: {tensor: 4, replicas: 2}\n"
      "  precision: {weights: fp8, attention: bf16, cache: fp8}\n"
      "  speculation: {drafted: 3, acceptance: 0.7, draft_share: 0.05}\n"
      "  batching: {token_budget: 4096, sequences: 128, mixed_steps: false}\n"
      "  requests: {arrivals: constant, rate: 2000 per min, prompt: 1024,\n"
      "    output: {tokens: 256, variation: 0.5, most: 900}, shared_prefix: 100,\n"
      "    prefix_reuse: 0.25, number: 5000}\n"
      "  duration: 10 min\n  warm_up: 1 min\n  seed: 7\n"
      "  goals: {ttft: 1 s, tpot: 30 ms, percentile: 95}\n");
  REQUIRE(scenario.serving);
  const ServingPlan& plan = *scenario.serving;
  CHECK(plan.engine == "sglang");
  CHECK(plan.layout.gpus() == 8);
  CHECK(plan.layout.replicas == 3);
  CHECK(plan.prefill.tensor == 4);
  CHECK(plan.prefill.replicas == 2);
  CHECK(plan.routing == Routing::round_robin);
  CHECK_FALSE(plan.cuda_graphs);
  CHECK(plan.memory_share == 0.85);
  CHECK(plan.precision.attention == WeightFormat::bf16);
  CHECK(plan.precision.linear == WeightFormat::fp8);
  CHECK(plan.precision.experts == WeightFormat::fp8);
  CHECK(plan.precision.cache == CacheFormat::fp8);
  CHECK(plan.speculation.drafted == 3);
  CHECK(plan.batching.token_budget == 4096);
  CHECK(plan.batching.mixed_steps == false);
  CHECK(plan.load.arrivals == ArrivalKind::constant);
  CHECK(plan.load.rate == Approx(2000.0 / 60.0));
  CHECK(plan.load.prompt == TokenLaw{1024.0});
  CHECK(plan.load.output == TokenLaw{256.0, 0.0, 0.5, 900});
  CHECK(plan.load.shared_prefix == 100);
  CHECK(plan.duration == Seconds{600.0});
  CHECK(plan.goals.tpot == Seconds{0.03});
  CHECK(plan.goals.percentile == 95.0);
  const std::string text = serving_keys().text(plan);
  CHECK(serving_keys().text(*read_serving(text).serving) == text);
}

TEST_CASE("a scenario without training serves, and says so to whoever trains",
          "[scenarios][serving]") {
  const std::string only = "serving: {" + asked + "}\n";
  CHECK(read_serving(only).serving->duration == Seconds{3600.0});
  CHECK(read_serving(only, Purpose::any).serving);
  CHECK(contains_text(serving_complaint(only, Purpose::training), "t.yaml:5"));
  CHECK(contains_text(serving_complaint(only, Purpose::training), "foretrain serve FILE"));
  const std::string trains = "training: {sequence: 4096, global_batch: 8}\n";
  CHECK(contains_text(serving_complaint(trains), "foretrain simulate FILE"));
  CHECK(read_serving(trains + only).serving);
  CHECK(read_serving(trains + only, Purpose::training).job.training.global_batch == 8);
  CHECK(
      contains_text(serving_complaint("", Purpose::training), "training: required key is missing"));
}

TEST_CASE("scenarios that do not serve have no values of serving", "[scenarios][serving]") {
  const Scenario scenario =
      read_serving("training: {sequence: 4096, global_batch: 8}\n", Purpose::training);
  for (const ResolvedValue& value : scenario.values) CHECK_FALSE(value.path.starts_with("serving"));
}

TEST_CASE("what keys of serving need, and what has no effect, is said", "[scenarios][serving]") {
  CHECK(contains_text(serving_complaint("serving: {requests: {prompt: 10, output: 10}}\n"),
                      "serving.requests.rate: required key is missing"));
  CHECK(contains_text(
      serving_complaint("serving: {requests: {arrivals: closed, prompt: 10, output: 10}}\n"),
      "serving.requests.concurrency: required key is missing"));
  CHECK(contains_text(serving_complaint("serving: {requests: {arrivals: trace}}\n"), "trace_file"));
  CHECK(contains_text(serving_complaint("serving: {requests: {rate: 1 per s, output: 10}}\n"),
                      "serving.requests.prompt.tokens"));
  CHECK(contains_text(serving_complaint("serving: {prefill: {tensor: 2}, " + asked + "}\n"),
                      "serving.prefill.tensor: has no effect"));
  CHECK(
      contains_text(serving_complaint("serving: {speculation: {acceptance: 0.5}, " + asked + "}\n"),
                    "has no effect without drafted"));
  CHECK(contains_text(
      serving_complaint("serving: {duration: 1 min, warm_up: 2 min, " + asked + "}\n"),
      "must be shorter"));
  CHECK(contains_text(serving_complaint("serving: {engine: vlm, " + asked + "}\n"), "vllm"));
  // Another kind of arrivals is one override away.
  CHECK(read_serving("serving: {" + asked + "}\n", Purpose::serving,
                     {"serving.requests.arrivals=closed", "serving.requests.concurrency=8"})
            .serving->load.concurrency == 8);
}

TEST_CASE("sessions, a rate over a day and replicas that follow it are read",
          "[scenarios][serving]") {
  const std::string load =
      "requests: {rate: 1 per s, prompt: 10, output: 10, swing: 0.5, sessions: {turns: 4, wait: 20 "
      "s}}";
  const ServingPlan plan =
      *read_serving(
           "serving: {routing: prefix, replicas: 4, autoscaling: {least: 2, target: 16, "
           "start: 3 min}, " +
           load + "}\n")
           .serving;
  CHECK(plan.routing == Routing::prefix);
  CHECK(plan.load.sessions.turns == 4);
  CHECK(plan.load.sessions.wait == Seconds{20.0});
  CHECK(plan.load.swing == 0.5);
  CHECK(plan.autoscaling.least == 2);
  CHECK(plan.autoscaling.start == Seconds{180.0});
  CHECK(plan.autoscaling.interval == Seconds{30.0});
  const auto refused = [&](const std::string& more) {
    return serving_complaint("serving: {" + more + asked + "}\n");
  };
  CHECK(contains_text(refused("autoscaling: {least: 2, start: 1 min}, "),
                      "write for example target"));
  CHECK(contains_text(refused("autoscaling: {target: 2}, "), "without serving.autoscaling.least"));
  CHECK(contains_text(refused("replicas: 1, autoscaling: {least: 2, target: 2, start: 1 min}, "),
                      "is more than serving.replicas"));
  CHECK(contains_text(
      refused("prefill: {replicas: 1}, autoscaling: {least: 1, target: 2, start: 1 min}, "),
      "do not come and go"));
}

TEST_CASE("turns of a trace have a session and a wait", "[scenarios][serving]") {
  Diagnostics none;
  const auto trace = read_request_trace(
      "at,prompt,output,session,wait\n0,10,20,3,0\n1,40,5,3,2.5\n1,7,7,-1,0\n", "r.csv", none);
  CHECK(none.empty());
  REQUIRE(trace.size() == 3);
  CHECK(trace[1].session == 3);
  CHECK(trace[1].wait == Seconds{2.5});
  CHECK(trace[2].session == -1);
  for (const char* line : {"0,1,1,1", "0,1,1,0.5,0", "0,1,1,1,-1"}) {
    Diagnostics wrong;
    (void)read_request_trace(std::string("at,prompt,output,session,wait\n") + line + "\n", "r.csv",
                             wrong);
    CHECK(wrong.items().size() == 1);
  }
}

TEST_CASE("traces of requests are read, and errors name their line", "[scenarios][serving]") {
  Diagnostics none;
  const auto trace = read_request_trace("at,prompt,output\n0,10,20\r\n1.5,30,40\n", "r.csv", none);
  CHECK(none.empty());
  REQUIRE(trace.size() == 2);
  CHECK(trace[1].at == Seconds{1.5});
  CHECK(trace[1].prompt == 30);
  CHECK(trace[0].output == 20);
  for (const auto& [text, line, words] :
       {std::tuple{"a,b\n0,1,1\n", 1, "first line"},
        std::tuple{"at,prompt,output\n", 1, "no requests"},
        std::tuple{"at,prompt,output\n0,1\n", 2, "three numbers"},
        std::tuple{"at,prompt,output\n0,1,1,1\n", 2, "three numbers"},
        std::tuple{"at,prompt,output\n2,1,1\n1,1,1\n", 3, "must not fall"},
        std::tuple{"at,prompt,output\n0,0,1\n", 2, "whole numbers"},
        std::tuple{"at,prompt,output\n0,1.5,1\n", 2, "whole numbers"}}) {
    Diagnostics wrong;
    (void)read_request_trace(text, "r.csv", wrong);
    CAPTURE(text);
    REQUIRE(!wrong.empty());
    CHECK(wrong.items().front().line == line);
    CHECK(contains_text(wrong.items().front().message, words));
  }
}

}  // namespace foretrain
