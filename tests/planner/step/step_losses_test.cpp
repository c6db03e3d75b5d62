// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "models/step/step_time.hpp"
#include "planner/step/event_report.hpp"
#include "planner/step/roofline.hpp"
#include "planner/step/step_losses.hpp"
#include "planner/text/format.hpp"
#include "tests/planner/fixtures.hpp"
#include "tests/test_text.hpp"

using namespace foretrain;

namespace {

const std::filesystem::path own_scenarios =
    std::filesystem::path(FORETRAIN_SOURCE_DIR) / "scenarios";

Report shipped(const std::string& name, const std::vector<std::string>& overrides = {}) {
  return evaluate(load_scenario(own_scenarios / name, {overrides, {}}));
}

const StepLoss& loss(const StepLosses& all, const std::string& key) {
  const auto found = std::find_if(all.losses.begin(), all.losses.end(),
                                  [&](const auto& candidate) { return candidate.key == key; });
  REQUIRE(found != all.losses.end());
  return *found;
}

}  // namespace

TEST_CASE("the losses lead from peak to the MFU without a rest", "[planner][losses][property]") {
  int seen = 0;
  for (const auto& file : std::filesystem::directory_iterator(own_scenarios)) {
    if (file.path().extension() != ".yaml") continue;
    const Report report = evaluate(load_scenario(file.path()));
    if (!report.prediction.step) continue;
    CAPTURE(file.path());
    const StepLosses all = step_losses(report);
    Seconds sum = all.ideal;
    double product = 1.0;
    for (const StepLoss& one : all.losses) {
      sum += one.time;
      product *= one.factor;
      CHECK(one.mfu_after == Approx(product).epsilon(1e-12));
      CHECK(one.mfu_after == Approx(all.ideal / sum).epsilon(1e-12));
      CHECK_FALSE(one.cause.empty());
    }
    CHECK(sum.value() == Approx(report.prediction.step->time.value()).epsilon(1e-12));
    CHECK(all.step.value() == Approx(report.prediction.step->time.value()).epsilon(1e-12));
    CHECK(product == Approx(report.prediction.efficiency->mfu).epsilon(1e-12));
    CHECK(all.mfu == Approx(report.prediction.efficiency->mfu).epsilon(1e-12));
    ++seen;
  }
  CHECK(seen >= 5);
}

TEST_CASE("losses come in the order of the parts of the step", "[planner][losses]") {
  Report report = shipped("llama2-70b-1024xh100.yaml");
  report.prediction.step->breakdown = fixtures::fitting().prediction.step->breakdown;
  std::vector<std::string> keys;
  for (const StepLoss& one : step_losses(report).losses) keys.push_back(one.key);
  CHECK(keys == std::vector<std::string>{"kernels", "recompute_s", "tensor_s", "context_s",
                                         "expert_s", "pipeline_s", "bubble_s", "data_s",
                                         "optimizer_s", "launch_s", "imbalance_s"});
}

TEST_CASE("a bubble is told by the formula of its schedule", "[planner][losses]") {
  // 8 stages, 1024 / 16 = 64 micro-batches; SC21 (arXiv 2104.04473) section 2.2: (p - 1) / (v m).
  const auto bubble = [](const std::vector<std::string>& overrides) {
    return loss(step_losses(shipped("llama2-70b-1024xh100.yaml", overrides)), "bubble_s").cause;
  };
  CHECK(test::has(bubble({}), "(p - 1) / m = 7 / 64 = 10.9 %; here"));
  CHECK(test::has(bubble({"parallel.schedule=interleaved", "parallel.virtual_stages=2"}),
                  "(p - 1) / (v m) = 7 / (2 x 64) = 5.5 %; here"));
}

TEST_CASE("a bubble says how much of it is waiting for the stage with the most work",
          "[planner][losses]") {
  // The last of 8 stages has the vocabulary besides its 10 layers.
  const Report report = shipped("llama2-70b-1024xh100.yaml");
  const Job& job = report.scenario.job;
  const StepCosts costs = step_costs(job, stage_layout(job.model, job.parallel));
  const StageWork work = stage_work(costs);
  const Seconds more = costs.release * (work.busiest - work.mean.total());
  REQUIRE(more > 0.1 * report.prediction.step->breakdown.bubble);
  CHECK(test::has(loss(step_losses(report), "bubble_s").cause,
                  seconds_text(more) + " of it for the stage with the most work"));
}

TEST_CASE("one plan has one bubble, whatever the engine", "[planner][losses]") {
  // Of the plan that a search finds best, with 8 stages and 10 virtual stages, path and event
  // engine had none and 150 ms of data traffic, the closed form half of each; a chart of DualPipe
  // had none over grey gaps.
  const std::vector<std::string> best{"training.micro_batch=1",     "parallel.tensor=2",
                                      "parallel.sequence=true",     "parallel.context=2",
                                      "parallel.virtual_stages=10", "parallel.schedule=interleaved",
                                      "parallel.data=32",           "memory.recompute=none"};
  const std::vector<std::string> dualpipe{"parallel.schedule=dualpipe"};
  for (const auto& overrides : {best, dualpipe}) {
    const Scenario scenario =
        load_scenario(own_scenarios / "llama2-70b-1024xh100.yaml", {overrides, {}});
    const StepForecast closed = evaluate(scenario).prediction.step.value();
    const StepForecast path =
        evaluate(scenario, AttentionFlops::full, EngineKind::path).prediction.step.value();
    const StepForecast event =
        evaluate_event(scenario, AttentionFlops::full).report.prediction.step.value();
    CHECK(closed.breakdown.bubble > 0.015 * closed.time);
    CHECK(std::abs((closed.breakdown.bubble - path.breakdown.bubble) / path.time) < 1e-3);
    CHECK(std::abs((event.breakdown.bubble - path.breakdown.bubble) / path.time) < 1e-3);
    CHECK(std::abs((closed.breakdown.data - path.breakdown.data) / path.time) < 1e-3);
  }
}

TEST_CASE("kernels by what bounds them add up to the compute of the breakdown",
          "[planner][losses][property]") {
  for (const char* name : {"llama2-70b-1024xh100.yaml", "gpt3-175b-1024xa100.yaml",
                           "llama3-8b-8xh100.yaml", "llama3.1-405b-16384xh100.yaml"}) {
    const Report report = shipped(name);
    CAPTURE(name);
    const Job& job = report.scenario.job;
    const KernelShares kernels = kernel_shares(job);
    const Seconds compute = report.prediction.step->breakdown.compute / job.stack.times.release;
    CHECK(kernels.total().value() / job.parallel.pipeline == Approx(compute.value()).epsilon(1e-9));
    // Products do most of the model's FLOPs, and none that the hardware count lacks.
    const Flop replica =
        report.prediction.flops->model_per_step / (job.parallel.data * job.parallel.tensor);
    CHECK(kernels.product_flop < 1.001 * replica);
    CHECK(kernels.product_flop > 0.7 * replica);
  }
}

TEST_CASE("causes name the numbers of the scenario", "[planner][losses]") {
  const StepLosses all = step_losses(shipped("llama2-70b-1024xh100.yaml"));
  CHECK(test::has(all.ideal_cause, "1,024 GPUs at 989.4 TFLOP/s"));
  // 4096 tokens x 8192 x 2 bytes
  CHECK(test::has(loss(all, "tensor_s").cause, "8 ranks of one host"));
  CHECK(test::has(loss(all, "tensor_s").cause, "64.0 MiB (4,096 tokens x 8,192 hidden x 2 B)"));
  CHECK(test::has(loss(all, "data_s").cause, "16 ranks on 16 hosts"));
  CHECK(test::has(loss(all, "imbalance_s").cause, "slowest of 128 hosts"));
}

TEST_CASE("one process for all GPUs is told by what GPU 0 sends and gets", "[planner][losses]") {
  const StepLosses all = step_losses(shipped("basics/replicas-dp.yaml"));
  const StepLoss& data = loss(all, "data_s");
  CHECK(test::has(data.cause,
                  "One process for all GPUs (torch.nn.DataParallel): for each of 8 "
                  "micro-batches GPU 0 sends 1.24 B parameters to 7 others"));
  // 2048 tokens x 128,256 logits of 2 bytes
  CHECK(test::has(data.cause, "logits of 0.5 GiB from each"));
  CHECK(test::has(loss(all, "kernels").cause, "GPU 0 computes the loss of the 7 other replicas"));
  CHECK(test::has(loss(all, "launch_s").cause, "are serialised by Python's GIL"));
  REQUIRE(data.lever);
  CHECK(data.lever->settings == std::vector<std::string>{"parallel.processes=per-gpu"});
  const StepLosses inside = step_losses(shipped("basics/replicas-dp-loss.yaml"));
  CHECK(test::has(loss(inside, "data_s").cause, "gathers a loss from each"));
}

TEST_CASE("a lever does what it says when it is set", "[planner][losses][property]") {
  for (const char* name : {"llama2-70b-1024xh100.yaml", "gpt3-175b-1024xa100.yaml",
                           "llama3-8b-8xh100.yaml", "basics/replicas-dp.yaml"}) {
    const Report report = shipped(name);
    int levers = 0;
    for (const StepLoss& one : step_losses(report).losses) {
      if (!one.lever) continue;
      ++levers;
      CAPTURE(name, one.key, one.lever->settings);
      const Report set = shipped(name, one.lever->settings);
      REQUIRE(set.prediction.feasible());
      CHECK(set.prediction.step->time.value() ==
            Approx(one.lever->step_after.value()).epsilon(1e-12));
      CHECK(set.prediction.memory->peak.value() == Approx(one.lever->peak.value()));
      CHECK(one.lever->step_before.value() ==
            Approx(report.prediction.step->time.value()).epsilon(1e-12));
      CHECK(one.lever->loss_after < one.lever->loss_before);
    }
    CHECK(levers >= 2);
  }
}

TEST_CASE("the losses in words fit the screen", "[planner][losses][property]") {
  const int width = GENERATE(60, 80, 132);
  const TextStyle style{width, width == 132, width == 132};
  for (const Report& report :
       {shipped("llama2-70b-1024xh100.yaml"), shipped("llama3.1-405b-16384xh100.yaml")}) {
    std::istringstream in(answer_text(step_losses_answer(report, step_losses(report)), style));
    for (std::string line; std::getline(in, line);) {
      INFO(line);
      CHECK(display_width(line) <= width);
      CHECK_FALSE(line.ends_with(' '));
    }
  }
}

TEST_CASE("the losses as JSON multiply to the MFU", "[planner][losses]") {
  const auto json =
      nlohmann::json::parse(step_losses_json(step_losses(shipped("llama2-70b-1024xh100.yaml"))));
  CHECK(json["schema"] == "step-losses/1");
  double product = 1.0;
  for (const auto& one : json["losses"]) product *= one["factor"].get<double>();
  CHECK(product == Approx(json["mfu"].get<double>()));
  CHECK(json["losses"][0]["part"] == "kernels");
}

TEST_CASE("a setting is proposed where it shortens the step, not a loss alone",
          "[planner][losses]") {
  // A tenth of a percent, which no two measurements would tell apart.
  const Report small =
      shipped("llama3.1-8b-sft-8xh100.yaml", {"communication.gradient_dtype=bf16"});
  for (const auto& file : std::filesystem::directory_iterator(own_scenarios)) {
    if (file.path().extension() != ".yaml") continue;
    const Report report = evaluate(load_scenario(file.path()));
    if (!report.prediction.step) continue;
    CAPTURE(file.path());
    const StepLosses all = step_losses(report);
    double most = 1.0;
    for (const StepLoss& one : all.losses)
      if (one.lever) most = std::min(most, one.lever->step_after / one.lever->step_before);
    const AnswerHead head = step_losses_answer(report, all, "run.yaml").head;
    CHECK(test::has(head.sentence, "No setting we tried shortens it by 1 %") == (most > 0.99));
    CHECK(test::has(head.sentence, "shortens it most") == (most <= 0.99));
    CHECK(test::has(head.next, "--set") == (most <= 0.99));
  }
  CHECK(test::has(step_losses_answer(small, step_losses(small), "run.yaml").head.sentence,
                  "No setting we tried"));
}
