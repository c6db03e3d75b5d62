// SPDX-License-Identifier: Apache-2.0

#include "models/serving/deployment.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <string>

#include "models/kernels/kernel_cost.hpp"
#include "models/serving/forward_step.hpp"
#include "models/serving/internal/formats.hpp"
#include "models/serving/serving_memory.hpp"

namespace foretrain {

double Speculation::tokens_per_step() const {
  double tokens = 1.0;
  double held = 1.0;
  for (int draft = 0; draft < drafted; ++draft) {
    held *= acceptance;
    tokens += held;
  }
  return tokens;
}

double weight_bytes(WeightFormat format) {
  constexpr double four = 0.5;
  switch (format) {
    case WeightFormat::bf16:
      return 2.0;
    case WeightFormat::fp8:
      return 1.0;
    case WeightFormat::fp8_block:
      return 1.0 + 4.0 / (128.0 * 128.0);
    case WeightFormat::mxfp4:
      return four + 1.0 / 32.0;
    case WeightFormat::nvfp4:
      return four + 1.0 / 16.0;
    case WeightFormat::int4:
      return four + 2.0 / 128.0;
  }
  return 2.0;
}

double cache_element_bytes(CacheFormat format) { return format == CacheFormat::fp8 ? 1.0 : 2.0; }

namespace serving_detail {

Precision product_precision(WeightFormat format, const Deployment& deployment) {
  const Device& device = deployment.cluster.host.device;
  const auto has = [&](Precision precision) {
    return has_gemm_profile({device, deployment.kernels, precision});
  };
  Precision wanted = Precision::bf16;
  if (format == WeightFormat::fp8) wanted = Precision::fp8;
  if (format == WeightFormat::fp8_block) wanted = Precision::fp8_block;
  if (format == WeightFormat::nvfp4) wanted = Precision::nvfp4;
  // Four-bit weights beside eight-bit activations, where tensor cores mix them.
  if (format == WeightFormat::mxfp4 && device.architecture >= Architecture::blackwell)
    wanted = Precision::mxfp8;
  return has(wanted) ? wanted : Precision::bf16;
}

}  // namespace serving_detail

namespace {

using Reasons = std::vector<Infeasible>;

void refuse(Reasons& reasons, std::string key, std::string message, std::string remedy) {
  reasons.push_back(
      {std::string{not_modelled_rule}, std::move(key), std::move(message), std::move(remedy)});
}

void divides(Reasons& reasons, int whole, int parts, const char* rule, const std::string& text) {
  if (parts >= 1 && whole % parts == 0) return;
  reasons.push_back({rule, "serving.parallel", text, ""});
}

void check_layout(const Deployment& deployment, Reasons& reasons) {
  const ServingLayout& layout = deployment.layout;
  const LlmShape& model = deployment.model;
  const auto count = [](int number) { return std::to_string(number); };
  divides(reasons, model.heads, layout.tensor, "heads-divide-tensor",
          count(model.heads) + " heads cannot be cut over " + count(layout.tensor) + " ranks");
  if (layout.pipeline > model.layers)
    reasons.push_back({"stages-have-layers", "serving.parallel.pipeline",
                       count(model.layers) + " layers on " + count(layout.pipeline) + " stages",
                       "fewer stages"});
  divides(reasons, layout.stage(), layout.expert, "experts-divide-ranks",
          count(layout.stage()) + " ranks of a stage cannot be cut into " + count(layout.expert) +
              " groups of experts");
  if (model.moe)
    divides(reasons, model.moe->experts, layout.expert, "experts-divide",
            count(model.moe->experts) + " experts cannot be spread over " + count(layout.expert) +
                " groups");
  else if (layout.expert > 1)
    reasons.push_back({"experts-need-moe", "serving.parallel.expert",
                       "the model has no experts to spread", "expert: 1"});
  const int gpus = layout.gpus() * layout.replicas;
  if (gpus > deployment.cluster.gpus())
    reasons.push_back({"ranks-fit-cluster", "serving.parallel",
                       count(gpus) + " ranks on " + count(deployment.cluster.gpus()) + " GPUs",
                       "more hosts"});
}

void check_model(const Deployment& deployment, Reasons& reasons) {
  const LlmShape& model = deployment.model;
  if (model.compression)
    refuse(reasons, "model.attention.compression",
           "attention over compressed keys is not modelled in inference",
           "a model without compressed attention");
  if (model.mla && model.is_hybrid())
    refuse(reasons, "model", "latent attention beside state-space mixers is not modelled", "");
  if (!has_gemm_profile({deployment.cluster.host.device, deployment.kernels, Precision::bf16}))
    refuse(reasons, "cluster.device",
           "GEMM rates of " + deployment.cluster.host.device.name + " are unknown", "");
}

}  // namespace

std::vector<Infeasible> deployment_reasons(const Deployment& deployment) {
  Reasons reasons;
  check_layout(deployment, reasons);
  check_model(deployment, reasons);
  if (!reasons.empty()) return reasons;
  const ServingMemory memory = serving_memory(deployment, 0.0, 0.0);
  if (!memory.fits())
    reasons.push_back({"out-of-memory", "serving.parallel",
                       fmt::format("weights and workspace take {:.1f} GiB of {:.1f} GiB",
                                   memory.need.in(GiB), memory.usable.in(GiB)),
                       "more ranks, or fewer bits"});
  return reasons;
}

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
