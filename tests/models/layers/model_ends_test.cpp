// SPDX-License-Identifier: Apache-2.0
#include "models/layers/layer_ends.hpp"

#include <catch2/catch.hpp>

#include "models/layers/activations.hpp"
#include "models/layers/flops.hpp"
#include "models/layers/layer_cost.hpp"
#include "models/layers/parameters.hpp"
#include "tests/models/layers/moe_jobs.hpp"

using namespace foretrain;

namespace {

int works_of(const EndDescription& end, LayerWork work) {
  int count = 0;
  for (const LayerOperator& op : end.operators()) count += op.work == work ? 1 : 0;
  return count;
}

Seconds total_of(const PieceTimes& piece) {
  return piece.forward.total() + piece.input_gradient.total() + piece.weight_gradient.total();
}

Seconds kernels_of(const PieceTimes& piece) {
  return total_of(piece) - piece.forward.launch - piece.input_gradient.launch -
         piece.weight_gradient.launch;
}

}  // namespace

TEST_CASE("ends: tables, positions and norms are counted as published", "[models][layer]") {
  LlmShape model = test::llama2_70b_job().model;
  const std::int64_t table = std::int64_t{32000} * 8192;
  CHECK(embedding_parameters(model, 32000) == table);
  CHECK(head_parameters(model, 32000) == table + 8192);
  model.tied_embeddings = true;
  CHECK(head_parameters(model, 32000) == 8192);
  model.position = PositionKind::learned;
  model.positions = 2048;
  model.embedding_norm = true;
  model.norm_bias = true;
  CHECK(embedding_parameters(model, 32000) ==
        table + std::int64_t{2048} * 8192 + std::int64_t{2} * 8192);
}

TEST_CASE("ends: tied weights are computed with and held once", "[models][layer]") {
  Job job = test::llama2_70b_job();
  job.parallel = Parallel{};
  const auto flops = [&] {
    return flops_per_sequence(job.model, 4096, 32000, RecomputeKind::none, AttentionFlops::full)
        .forward.head.value();
  };
  const auto held = [&] {
    return rank_parameters(job, stage_layout(job.model, job.parallel), 0).total();
  };
  const double apart = held();
  const double work = flops();
  CHECK(work == 2.0 * 4096 * 32000 * 8192);
  job.model.tied_embeddings = true;
  CHECK(flops() == work);
  CHECK(apart - held() == rank_ends(job).table);
}

TEST_CASE("ends: a stack that does not split logits keeps all of them on every rank",
          "[models][layer]") {
  Job job = test::llama2_70b_job();
  job.parallel.tensor = 4;
  job.stack.memory.loss_split = true;
  const EndActivations split = activation_model(job).output;
  job.stack.memory.loss_split = false;
  const EndActivations whole = activation_model(job).output;
  CHECK(whole.loss == 4.0 * split.loss);
  CHECK(whole.loss_gradient == 4.0 * split.loss_gradient);
  CHECK(whole.kept == split.kept);
}

TEST_CASE("ends: every prediction module adds its layer, a projection, an output and a loss",
          "[models][layer]") {
  Job job = test::deepseek_v3_job();
  job.model.mtp_layers = 0;
  const Job without = job;
  job.model.mtp_layers = 2;
  EndDescription prediction;
  describe_prediction(job.model, end_cut(job), prediction);
  CHECK(works_of(prediction, LayerWork::product) == 1);
  CHECK(works_of(prediction, LayerWork::loss) == 0);
  CHECK(loss_operators(job).size() == 3 * loss_operators(without).size());

  const LayerCost with{job};
  const LayerCost cost{without};
  const Seconds module = (kernels_of(with.head()) - kernels_of(cost.head())) / 2.0;
  const Seconds parts = kernels_of(cost.layer(LayerKind::moe)) + kernels_of(cost.head());
  CHECK(module > parts);
  CHECK(module < 1.2 * parts);

  const double held = static_cast<double>(mtp_parameters(job.model)) / 2.0;
  const double whole_layer =
      static_cast<double>(layer_parameters(job.model, LayerKind::moe).total());
  CHECK(held - whole_layer == 2.0 * 7168 * 7168 + 3.0 * 7168);
}

TEST_CASE("ends: what a rank holds of them are the operators that it prices", "[models][layer]") {
  Job job = test::llama2_70b_job();
  job.parallel.tensor = 8;
  const RankEnds ends = rank_ends(job);
  double product = 0.0;
  for (const Operator& op : head_operators(job)) product += op.flop.value();
  const double tokens = local_tokens(job).all;
  CHECK(product == 2.0 * tokens * ends.projection);
  CHECK(ends.table == job.vocabulary() / 8.0 * job.model.hidden);
}
