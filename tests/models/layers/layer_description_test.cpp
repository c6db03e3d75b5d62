// SPDX-License-Identifier: Apache-2.0
#include "models/layers/layer_description.hpp"

#include <catch2/catch.hpp>

#include <string>

#include "models/layers/parameters.hpp"
#include "tests/models/layers/moe_jobs.hpp"

using namespace foretrain;

namespace {

LayerDescription describe(const Job& job, LayerKind kind) {
  LayerDescription layer;
  describe_layer(job.model, {kind}, layer_cut(job.parallel), layer);
  return layer;
}

bool runs_again(const LayerDescription& layer, LayerModule module) {
  for (const LayerOperator& op : layer.operators())
    if (op.again == module || op.again_too == module) return true;
  return false;
}

}  // namespace

TEST_CASE("description: what recomputation drops, an operator under the same switch makes again",
          "[models][layer]") {
  for (const Job& job : {test::llama2_70b_job(), test::mixtral_job(), test::deepseek_v3_job()})
    for (const LayerKind kind : {LayerKind::dense, LayerKind::moe}) {
      if (kind == LayerKind::moe && !job.model.moe) continue;
      const LayerDescription layer = describe(job, kind);
      int switched = 0;
      for (const SavedTensor& tensor : layer.saved())
        for (const LayerModule module : {tensor.remade, tensor.remade_too}) {
          if (module == nullptr) continue;
          ++switched;
          CHECK(runs_again(layer, module));
        }
      CAPTURE(job.name);
      CHECK(switched >= 4);  // two norms, scores, MLP
    }
}

TEST_CASE("description: a rank alone holds what model cards count, buffers aside",
          "[models][layer]") {
  Job job = test::deepseek_v3_job();
  job.model.moe->router_bias = true;
  job.parallel.expert = 1;
  for (const LayerKind kind : {LayerKind::dense, LayerKind::moe}) {
    const RankLayer held = rank_layer(job, LayerType{kind});
    const double buffers = kind == LayerKind::moe ? job.model.moe->experts : 0.0;
    CHECK(held.dense + held.experts + buffers ==
          static_cast<double>(layer_parameters(job.model, kind).total()));
  }
}

TEST_CASE("description: shards of the tensor and expert ranks add up to the weights of a layer",
          "[models][layer]") {
  Job job = test::mixtral_job();
  const RankLayer whole = [&] {
    Job one = job;
    one.parallel.tensor = one.parallel.expert = 1;
    return rank_layer(one, {LayerKind::moe});
  }();
  const RankLayer part = rank_layer(job, {LayerKind::moe});
  CHECK(part.experts * job.parallel.expert == whole.experts);
  CHECK(part.dense_matrices * job.parallel.tensor == whole.dense_matrices);
  CHECK(part.vectors == whole.vectors);  // norms are whole on every rank
}

TEST_CASE("description: shared experts have biases where an MLP has, on a rank as on the card",
          "[models][layer]") {
  Job job = test::deepseek_v3_job();
  const RankLayer plain = rank_layer(job, {LayerKind::moe});
  job.model.mlp_bias = true;
  const RankLayer biased = rank_layer(job, {LayerKind::moe});
  CHECK(biased.vectors - plain.vectors ==
        2.0 * job.model.moe->shared_ffn_hidden + job.model.hidden);  // gated: two inputs
}

TEST_CASE("description: a layer is listed in the order in which it runs", "[models][layer]") {
  std::string names;
  const LayerDescription layer = describe(test::llama2_70b_job(), LayerKind::dense);
  for (const LayerOperator& op : layer.operators()) names += std::string(op.name) + ", ";
  CHECK(names ==
        "attention norm, gather, QKV projection, rotary, attention, projection, scatter, "
        "attention residual, MLP norm, gather, MLP up projection, activation, "
        "MLP down projection, scatter, MLP residual, ");
}
