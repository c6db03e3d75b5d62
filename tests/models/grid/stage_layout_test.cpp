// SPDX-License-Identifier: Apache-2.0
#include "models/grid/stage_layout.hpp"

#include <catch2/catch.hpp>

namespace foretrain {
namespace {

StageLayout layout_of(int layers, int pipeline, int virtual_stages,
                      std::vector<int> stage_layers = {}) {
  LlmShape model;
  model.layers = layers;
  Parallel parallel;
  parallel.pipeline = pipeline;
  parallel.virtual_stages = virtual_stages;
  parallel.stage_layers = std::move(stage_layers);
  return stage_layout(model, parallel);
}

}  // namespace

TEST_CASE("interleaving deals chunks in model order", "[models][stage_layout]") {
  // SC21, arXiv 2104.04473 figure 4: 16 layers, 4 devices, 2 chunks: device 0 has 1, 2, 9, 10.
  const StageLayout layout = layout_of(16, 4, 2);
  CHECK(layout.chunks[0][0].first_layer == 0);
  CHECK(layout.chunks[0][1].first_layer == 8);
  CHECK(layout.chunks[3][1].first_layer == 14);
  CHECK_FALSE(layout.uneven());
}

TEST_CASE("126 layers on 16 stages: the ends hold one layer less", "[models][stage_layout]") {
  // Llama 3, arXiv 2407.21783 section 3.3.2.
  const StageLayout layout = layout_of(126, 16, 1);
  CHECK(layout.layers(0) == 7);
  CHECK(layout.layers(1) == 8);
  CHECK(layout.layers(15) == 7);
  CHECK(layout.uneven());
}

TEST_CASE("layers that fit no rule fill the stages from the front", "[models][stage_layout]") {
  const StageLayout layout = layout_of(60, 8, 1);
  CHECK(layout.layers(0) == 8);
  CHECK(layout.layers(6) == 8);
  CHECK(layout.layers(7) == 4);
}

TEST_CASE("given layers are taken per stage or per virtual chunk", "[models][stage_layout]") {
  const StageLayout stages = layout_of(12, 4, 1, {2, 4, 4, 2});
  CHECK(stages.layers(1) == 4);
  CHECK(stages.chunks[3][0].first_layer == 10);
  const StageLayout chunks = layout_of(6, 2, 2, {1, 2, 2, 1});
  CHECK(chunks.chunks[0][1].layers == 2);
  CHECK(chunks.chunks[0][1].first_layer == 3);
  CHECK(chunks.layers(1) == 3);
}

TEST_CASE("ZB-V folds the model back: the first stage has its first and its last chunk",
          "[models][stage_layout]") {
  // Qi et al., arXiv 2401.10241 section 6.
  LlmShape model;
  model.layers = 8;
  Parallel parallel;
  parallel.pipeline = 4;
  parallel.virtual_stages = 2;
  parallel.schedule = ScheduleKind::zb_v;
  const StageLayout layout = stage_layout(model, parallel);
  CHECK(layout.chunks[0][1].first_layer == 7);
  CHECK(layout.chunks[3][0].first_layer == 3);
  CHECK(layout.chunks[3][1].first_layer == 4);
}

TEST_CASE("every layer stands in exactly one chunk", "[models][stage_layout][property]") {
  const int layers = GENERATE(1, 7, 12, 30, 61, 94, 96, 126);
  const int pipeline = GENERATE(1, 2, 3, 8, 16);
  const int virtual_stages = GENERATE(1, 2, 5);
  const StageLayout layout = layout_of(layers, pipeline, virtual_stages);
  int sum = 0;
  for (int stage = 0; stage < pipeline; ++stage) sum += layout.layers(stage);
  CHECK(sum == layers);
}

}  // namespace foretrain
