// SPDX-License-Identifier: Apache-2.0
#include "models/serving/engine_bands.hpp"

#include <algorithm>

#include "models/serving/forward_step.hpp"

namespace foretrain {
namespace {

bool experts_in_blocks(const Deployment& deployment) {
  const WeightFormat format = deployment.precision.experts;
  return deployment.engine.rules.padded_rows > 0 && deployment.model.moe &&
         (format == WeightFormat::fp8 || format == WeightFormat::fp8_block) &&
         deployment.cluster.host.device.architecture == Architecture::hopper;
}

}  // namespace

bool pads_experts(const Deployment& deployment) {
  if (!experts_in_blocks(deployment)) return false;
  const EngineRules& rules = deployment.engine.rules;
  if (rules.padded_experts == 0) return true;
  const MoeShape& moe = *deployment.model.moe;
  return moe.experts == rules.padded_experts && moe.expert_ffn_hidden == rules.padded_width &&
         deployment.cluster.host.device.name == rules.padded_device;
}

bool may_pad_experts(const Deployment& deployment) {
  return experts_in_blocks(deployment) && !pads_experts(deployment);
}

ServingBands serving_bands(const Deployment& deployment, double sequences, double context) {
  const EngineProfile& engine = deployment.engine;
  ServingBands bands{engine.ttft, engine.tpot, engine.throughput};
  if (!may_pad_experts(deployment)) return bands;
  Deployment padded = deployment;
  padded.engine.rules.padded_experts = 0;
  const ServingBatch batch{{}, sequences, sequences * context, 0.0};
  const double slower =
      std::max(1.0, step_time(padded, batch).total() / step_time(deployment, batch).total());
  const double low = std::min(bands.tpot.low, engine.stranger.low);
  const double high = std::max(bands.tpot.high, engine.stranger.high);
  bands.tpot = {low, slower * high};
  bands.ttft = {std::min(bands.ttft.low, low), slower * std::max(bands.ttft.high, high)};
  bands.throughput = {std::min(bands.throughput.low, 1.0 / high) / slower,
                      std::max(bands.throughput.high, 1.0 / low)};
  return bands;
}

}  // namespace foretrain
