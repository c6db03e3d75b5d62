// SPDX-License-Identifier: Apache-2.0
#include "planner/waterfall.hpp"

#include <utility>

#include "models/require.hpp"

namespace foretrain {

Seconds ideal_step(const Job& job, const Prediction& prediction) {
  FORETRAIN_REQUIRE(prediction.flops.has_value());
  const FlopsForecast& flops = *prediction.flops;
  return flops.model_per_step / (flops.peak_per_gpu * static_cast<double>(job.cluster.gpus()));
}

std::vector<WaterfallPart> whole_waterfall(const Job& job, const Prediction& prediction) {
  FORETRAIN_REQUIRE(prediction.step.has_value() && prediction.flops.has_value());
  const TimeBreakdown& b = prediction.step->breakdown;
  const Seconds ideal = ideal_step(job, prediction);
  return {{"ideal", "model FLOPs at peak", ideal},
          {"kernels", "kernels below peak", b.compute - ideal},
          {"recompute_s", "recomputation", b.recompute},
          {"tensor_s", "tensor parallel", b.tensor},
          {"context_s", "context parallel", b.context},
          {"expert_s", "expert parallel", b.expert},
          {"pipeline_s", "pipeline transfers", b.pipeline},
          {"bubble_s", "pipeline bubble", b.bubble},
          {"data_s", "data parallel", b.data},
          {"optimizer_s", "optimizer", b.optimizer},
          {"input_s", "input", b.input},
          {"launch_s", "kernel launches", b.launch},
          {"imbalance_s", "imbalance, stragglers", b.imbalance}};
}

std::vector<WaterfallPart> waterfall(const Job& job, const Prediction& prediction) {
  std::vector<WaterfallPart> parts = whole_waterfall(job, prediction);
  std::erase_if(parts, [](const WaterfallPart& part) { return part.time == Seconds{}; });
  return parts;
}

}  // namespace foretrain
