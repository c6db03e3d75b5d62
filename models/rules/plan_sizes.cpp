// SPDX-License-Identifier: Apache-2.0
// What has to lie on one stage of a pipeline, and what has to lie behind it.

#include "models/rules/plan_sizes.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "models/grid/stage_layout.hpp"
#include "models/layers/layer_ends.hpp"
#include "models/rules/internal/reasons.hpp"
#include "models/schedules/registry.hpp"

namespace foretrain {
namespace {

constexpr int least_tokens_per_context_rank = 1024;
constexpr int most_context_ranks = 64;
constexpr int most_sequences_per_pass = 8;

/// What tensor ranks have to divide: heads and widths.
int common_width(const LlmShape& model) {
  const LayerSizes sizes = common_sizes(model);
  return std::gcd(sizes.heads, std::gcd(sizes.ffn_hidden, model.hidden));
}

/// Whether `fits(heads)` of the key-value heads of all layers with attention.
template <class Fits>
bool all_key_heads(const LlmShape& model, const Fits& fits) {
  if (model.mla || model.compression) return true;  // one latent or head, whole on every rank
  const auto fit = [&](const LayerSizes& sizes) {
    return sizes.heads == 0 || sizes.kv_heads == sizes.heads || fits(sizes.kv_heads);
  };
  return fit(model) && std::ranges::all_of(model.special_layers, fit);
}

}  // namespace

LayerSizes common_sizes(const LlmShape& model) {
  LayerSizes common = model;
  for (const LayerSizes& sizes : model.special_layers) {
    common.heads = std::gcd(common.heads, sizes.heads);
    common.kv_heads = std::gcd(common.kv_heads, sizes.heads > 0 ? sizes.kv_heads : 0);
    common.ffn_hidden = std::gcd(common.ffn_hidden, sizes.ffn_hidden);
  }
  return common;
}

bool cuts_key_heads(const LlmShape& model, int tensor) {
  return all_key_heads(model, [tensor](int heads) { return heads % tensor == 0; });
}

bool shares_key_heads(const LlmShape& model, int tensor) {
  return all_key_heads(model,
                       [tensor](int heads) { return heads % tensor == 0 || tensor % heads == 0; });
}

std::vector<int> divisors_of(int number, int most) {
  std::vector<int> found;
  for (int candidate = 1; candidate <= std::min(number, most); ++candidate)
    if (number % candidate == 0) found.push_back(candidate);
  return found;
}

PlanSizes plan_sizes(const Job& job) {
  const LlmShape& model = job.model;
  const int gpus = job.cluster.gpus();
  const int sequence = job.training.sequence;
  const int domain = std::gcd(job.cluster.packing().domain, gpus);
  PlanSizes sizes;
  sizes.tensor = divisors_of(std::gcd(common_width(model), domain), domain);
  std::erase_if(sizes.tensor, [&](int tensor) { return !shares_key_heads(model, tensor); });
  sizes.pipeline = divisors_of(gpus, model.layers);
  // Two chunks of a sequence per rank, a near and a far one.
  const int halves = sequence % 2 == 0 ? std::gcd(sequence / 2, gpus) : 1;
  sizes.context = divisors_of(
      halves, std::clamp(sequence / least_tokens_per_context_rank, 1, most_context_ranks));
  sizes.expert = divisors_of(model.moe ? std::gcd(model.moe->experts, gpus) : 1, gpus);
  sizes.micro_batch = divisors_of(job.training.global_batch, most_sequences_per_pass);
  return sizes;
}

namespace {

/// Whether stage_layout() may be asked.
bool has_layout(const Job& job) {
  const Parallel& plan = job.parallel;
  const auto given = plan.stage_layers.size();
  const auto stages = static_cast<std::size_t>(plan.pipeline);
  if (given == 0) return true;
  return (given == stages || given == stages * static_cast<std::size_t>(plan.virtual_stages)) &&
         std::accumulate(plan.stage_layers.begin(), plan.stage_layers.end(), 0) == job.model.layers;
}

/// Layers read what others made in the same pass through a chunk: frameworks send nothing but the
/// residual stream on (Megatron-Core, `dsa.py`; NeMo AutoModel, `hf_utils.py`).
void check_sources(const Job& job, Reasons& reasons) {
  if (job.parallel.pipeline == 1 || !has_sources(job.model)) return;
  const StageLayout layout = stage_layout(job.model, job.parallel);
  for (int stage = 0; stage < layout.stages(); ++stage)
    for (const ChunkLayers& chunk : layout.chunks[static_cast<std::size_t>(stage)])
      for (int layer = chunk.first_layer; layer < chunk.first_layer + chunk.layers; ++layer) {
        const auto found = source_of(job.model, layer);
        if (!found || found->layer >= chunk.first_layer) continue;
        return break_rule(
            reasons, "source-on-stage", "parallel.pipeline",
            fmt::format("layer {} on stage {} reads {} of layer {}, which lies before that stage's "
                        "layers {} to {}",
                        layer, stage, found->what, found->layer, chunk.first_layer,
                        chunk.first_layer + chunk.layers - 1),
            fmt::format("parallel.stage_layers with layers {} to {} on one stage", found->layer,
                        layer));
      }
}

/// Layers in chunks behind the last one of a stage.
int layers_behind(const Job& job, int stage) {
  const StageLayout layout = stage_layout(job.model, job.parallel);
  int sum = 0;
  for (int later = stage + 1; later < layout.stages(); ++later)
    sum += layout.chunks[static_cast<std::size_t>(later)].back().layers;
  return sum;
}

/// Where modules may lie (Megatron-Core, `pipeline_parallel_layer_layout.py`): in the last chunk of
/// a stage that is not the first, behind all layers.
void check_prediction(const Job& job, Reasons& reasons) {
  const Parallel& plan = job.parallel;
  if (!plan.prediction_stage) return;
  const int stage = *plan.prediction_stage;
  const auto wrong = [&](std::string message, std::string remedy) {
    break_rule(reasons, "prediction-stage", "parallel.prediction_stage", std::move(message),
               std::move(remedy));
  };
  if (job.model.mtp_layers == 0)
    return wrong(fmt::format("{} has no prediction modules", job.model.name),
                 "leave parallel.prediction_stage out");
  if (stage < 1 || stage >= plan.pipeline)
    return wrong(
        fmt::format("stage {} of {} stages: prediction modules lie on one behind the first", stage,
                    plan.pipeline),
        fmt::format("parallel.prediction_stage: {}", std::max(1, plan.pipeline - 1)));
  if (!predicts_apart(job)) return;
  if (folds(plan) || holds_mirror(plan) || splits_vocabulary(plan))
    return refuse(reasons, "parallel.prediction_stage",
                  "prediction modules away from the loss are not modelled where stages hold chunks "
                  "of both directions or a part of the vocabulary",
                  "leave parallel.prediction_stage out");
  if (const int behind = layers_behind(job, stage); behind > 0)
    wrong(fmt::format("{} layers lie behind stage {}, whose prediction modules need all of them",
                      behind, stage),
          "parallel.stage_layers with none behind that stage");
}

}  // namespace

void check_stages(const Job& job, Reasons& reasons) {
  if (!has_layout(job)) return;
  check_sources(job, reasons);
  check_prediction(job, reasons);
}

}  // namespace foretrain
