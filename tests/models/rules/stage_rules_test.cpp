// SPDX-License-Identifier: Apache-2.0
// What lies on which stage: choices of tokens that layers share, and prediction modules.
#include <catch2/catch.hpp>

#include <algorithm>

#include "models/layers/layer_cost.hpp"
#include "models/layers/parameters.hpp"
#include "models/memory/memory.hpp"
#include "models/rules/plan_rules.hpp"
#include "models/step/step_costs.hpp"
#include "models/step/step_time.hpp"
#include "tests/models/layers/moe_jobs.hpp"

using namespace foretrain;

namespace {

/// DeepSeek-V3 with its prediction module on a stage before the loss: 20, 21, 20 and no layers.
Job predicting_job(std::optional<int> stage = 2) {
  Job job = test::deepseek_v3_job();
  job.model.mtp_layers = 1;
  job.parallel.pipeline = 4;
  job.parallel.data = 512;
  job.parallel.stage_layers = {20, 21, 20, 0};
  job.parallel.prediction_stage = stage;
  return job;
}

/// The one rule that a job breaks; empty where it breaks none.
std::string broken(const Job& job) {
  const std::vector<Infeasible> reasons = broken_rules(job);
  return reasons.empty() ? "" : reasons.front().rule;
}

RankParameters parameters_of(const Job& job, int stage) {
  return rank_parameters(job, stage_layout(job.model, job.parallel), stage);
}

double activations_of(const Job& job, int stage) {
  const ActivationModel activations = activation_model(job);
  const StageLayout layout = stage_layout(job.model, job.parallel);
  return account_stage(job, layout, activations, stage)
      .at(MemoryPhase::forward_loss)[MemoryItem::mtp_layers];
}

}  // namespace

TEST_CASE("stages: a choice of tokens is of the stage's own layers", "[models][rules]") {
  // GLM-5.2: layers 0 to 2 choose, then one of four; 38 does, 39 to 41 read its choice.
  Job job = test::deepseek_v3_job();
  LlmShape& model = job.model;
  model.layers = 78;
  model.indexer = IndexerShape{32, 128, 2048};
  LayerSizes reader = model;
  reader.index = IndexUse::shared;
  model.special_layers = {reader};
  model.special_pattern = "...";
  while (model.special_pattern.size() < 78) model.special_pattern += "aaa.";
  model.special_pattern.resize(78);
  job.parallel.pipeline = 2;
  job.parallel.data = 1024;
  CHECK(broken(job).empty());
  CHECK(stage_layout(model, job.parallel).layers(0) == 38);  // even, but for one layer
  job.parallel.stage_layers = {39, 39};
  const std::vector<Infeasible> reasons = broken_rules(job);
  REQUIRE(reasons.size() == 1);
  CHECK(reasons.front().rule == "source-on-stage");
  CHECK(reasons.front().message ==
        "layer 39 on stage 1 reads choice of tokens of layer 38, which lies before that stage's "
        "layers 39 to 77");
  job.parallel.stage_layers = {38, 40};
  CHECK(broken(job).empty());
}

TEST_CASE("stages: prediction modules lie behind all layers, not on the first stage",
          "[models][rules]") {
  CHECK(broken(predicting_job()).empty());
  CHECK(broken(predicting_job(3)).empty());
  CHECK(broken(predicting_job(std::nullopt)).empty());
  CHECK(broken(predicting_job(0)) == "prediction-stage");
  CHECK(broken(predicting_job(4)) == "prediction-stage");
  CHECK(broken(predicting_job(1)) == "prediction-stage");  // 20 layers lie behind it
  Job job = predicting_job();
  job.model.mtp_layers = 0;
  CHECK(broken(job) == "prediction-stage");
  job = predicting_job();
  job.parallel.vocabulary = VocabularyKind::split;
  CHECK_FALSE(refusals(job).empty());
}

TEST_CASE("stages: a module away from the loss takes its weights and a table with it",
          "[models][memory]") {
  const Job apart = predicting_job();
  const Job with_loss = predicting_job(std::nullopt);
  const double table = 7168.0 * apart.vocabulary();
  const auto module = [&](const RankParameters& with, const RankParameters& without) {
    return with.layers - without.layers + with.experts - without.experts;
  };
  const RankParameters away = parameters_of(apart, 2);
  CHECK(away.embedding == table);
  CHECK(parameters_of(apart, 3).embedding == 0.0);
  CHECK(parameters_of(apart, 3).output == parameters_of(with_loss, 3).output);
  CHECK(parameters_of(apart, 3).layers == 0.0);
  CHECK(module(away, parameters_of(with_loss, 2)) ==
        module(parameters_of(with_loss, 3), parameters_of(apart, 3)));
  for (const int stage : {0, 1})
    CHECK(parameters_of(apart, stage) == parameters_of(with_loss, stage));
}

TEST_CASE("stages: a module away from the loss computes there, its output with the loss",
          "[models][step]") {
  const Job apart = predicting_job();
  const Job with_loss = predicting_job(std::nullopt);
  const LayerCost away{apart};
  const LayerCost together{with_loss};
  CHECK((away.head().forward.total() + away.prediction().forward.total()).value() ==
        Approx(together.head().forward.total().value()));
  CHECK((away.head().backward().total() + away.prediction().backward().total()).value() ==
        Approx(together.head().backward().total().value()));
  CHECK(away.prediction().forward.total() > together.layer(LayerKind::moe).forward.compute);
  CHECK(together.prediction().forward.total() == Seconds{});

  const StepCosts costs = step_costs(apart, stage_layout(apart.model, apart.parallel));
  CHECK(costs.content({2, 0}).back() == PieceRun{PieceKind::prediction, 1});
  CHECK(costs.content({3, 0}).size() == 1);
  CHECK(costs.content({3, 0}).front() == PieceRun{PieceKind::head, 1});
}

TEST_CASE("stages: hidden states of modules travel to the loss", "[models][step]") {
  Job job = predicting_job();
  const Bytes stream{2.0 * 4096 * 7168};
  CHECK(transfer_exchange(job, 1).payload == stream);
  CHECK(transfer_exchange(job, 2).payload == 2.0 * stream);
  const StepCosts costs = step_costs(job, stage_layout(job.model, job.parallel));
  CHECK(costs.stages[2].transfer > 1.5 * costs.stages[1].transfer);
  job.parallel.prediction_stage.reset();
  CHECK(transfer_exchange(job, 2).payload == stream);
  // Of two rounds of chunks the last one sends them.
  job = predicting_job();
  job.parallel.virtual_stages = 2;
  CHECK(transfer_exchange(job, 2).payload == 1.5 * stream);
  CHECK(transfer_exchange(job, 3).payload == stream);  // from the last stage back to the first
}

TEST_CASE("stages: tensors of a module are kept where it is", "[models][memory]") {
  const Job apart = predicting_job();
  const Job with_loss = predicting_job(std::nullopt);
  CHECK(activations_of(with_loss, 2) == 0.0);
  CHECK(activations_of(apart, 1) == 0.0);
  CHECK(activations_of(apart, 2) > 0.0);
  // Its softmax and the hidden states that come.
  CHECK(activations_of(apart, 3) > 0.0);
  CHECK(activations_of(apart, 3) < activations_of(with_loss, 3));
}

TEST_CASE("stages: modules on a stage of their own shorten the step of the stage with the loss",
          "[models][step]") {
  const auto seconds = [](const Job& job) {
    return step_seconds(step_costs(job, stage_layout(job.model, job.parallel)));
  };
  Job apart = predicting_job();
  apart.parallel.stage_layers = {21, 21, 19, 0};
  Job with_loss = apart;
  with_loss.parallel.prediction_stage.reset();
  CHECK(seconds(apart) > Seconds{});
  CHECK(seconds(with_loss) > Seconds{});
  // Every micro-batch waits for the busiest stage: 20 layers and a module against 21 layers.
  const StepCosts costs = step_costs(apart, stage_layout(apart.model, apart.parallel));
  CHECK(costs.at({2, 0}).forward.total() > costs.at({3, 0}).forward.total());
}
