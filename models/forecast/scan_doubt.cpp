// SPDX-License-Identifier: Apache-2.0
// Kernels of mixers that nobody measured; models/layers/README.md, "State-space mixers".
#include "models/forecast/internal/scan_doubt.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

#include "models/layers/layer_scan.hpp"
#include "models/layers/vision_tower.hpp"

namespace foretrain {

namespace {

bool has_unmeasured_kernels(const LlmShape& model) {
  return model.indexer || model.compression || model.mamba_beside ||
         model.has_mixer(MixerKind::mamba) || model.has_mixer(MixerKind::delta);
}

}  // namespace

double scan_uncertainty(const Job& job, const StepForecast& step, std::vector<Warning>& warnings) {
  const LlmShape& model = job.model;
  if (!has_unmeasured_kernels(model)) return 0.0;
  const FormCounts forms = model.form_counts(0, model.layers);
  Seconds scans;
  for (std::size_t form = 0; form < layer_forms; ++form)
    if (forms[form] > 0) scans += forms[form] * scan_time(job, variant_of(layer_types[form]));
  const double share = job.microbatches() * scans / (job.parallel.pipeline * step.time);
  warnings.push_back(
      {"outside-calibration",
       fmt::format("{} are extrapolated: {:.0f} % of the step, priced from their GEMMs "
                   "and bytes; no such kernel was measured",
                   model.indexer ? "indexers of sparse attention" : "chunked scans",
                   100.0 * share)});
  return (model.indexer ? 1.0 : scan_doubt) * share;
}

double tower_uncertainty(const Job& job, const StepForecast& step, std::vector<Warning>& warnings) {
  if (!job.has_tower()) return 0.0;
  const double share = job.microbatches() * tower_times(job).all().total() / step.time;
  warnings.push_back({"outside-calibration",
                      fmt::format("vision towers are extrapolated: {:.0f} % of the step, priced "
                                  "from GEMMs and bytes; no such run was measured",
                                  100.0 * share)});
  return scan_doubt * share;
}

void warn_of_windows(const Job& job, std::vector<Warning>& warnings) {
  const int window = job.model.narrowest_window();
  if (window == 0 || window >= job.training.sequence) return;
  if (job.memory.attention == AttentionKind::unfused) return;
  warnings.push_back({"outside-calibration",
                      fmt::format("attention with a window of {} tokens is priced as causal "
                                  "attention over as many pairs: no windowed kernel was measured",
                                  window)});
}

void warn_of_unmeasured_layers(const Job& job, std::vector<Warning>& warnings) {
  const LlmShape& model = job.model;
  std::vector<std::string_view> parts;
  const auto add = [&parts](bool there, std::string_view part) {
    if (there) parts.push_back(part);
  };
  add(model.has_mixer(MixerKind::convolution), "short convolutions");
  add(model.hyper_connections > 1, "hyper-connections");
  add(model.residual_blocks > 0, "attention over residuals");
  add(model.per_layer_input > 0, "per-layer embeddings");
  add(model.moe && model.moe->latent_hidden > 0, "experts in a latent space");
  add(model.moe && model.moe->identity_experts > 0, "experts that compute nothing");
  add(model.moe && model.moe->dense_beside, "a dense MLP beside experts");
  const bool mixes = model.has_mixer(MixerKind::mamba) || model.has_mixer(MixerKind::delta) ||
                     model.has_mixer(MixerKind::convolution) || model.mamba_beside;
  add(mixes && job.parallel.context > 1, "mixers over context ranks");
  if (parts.empty()) return;
  warnings.push_back({"outside-calibration",
                      fmt::format("{}: priced from GEMMs and bytes; no such run was measured",
                                  fmt::join(parts, ", "))});
}

void warn_of_unmeasured_attention(const Job& job, std::vector<Warning>& warnings) {
  if (job.training.fp8_attention)
    warnings.push_back({"outside-calibration",
                        "8-bit attention is extrapolated: its forward pass was measured on two "
                        "devices, its backward pass on none"});
  const ContextExchange exchange = job.communication.context_exchange;
  if (job.parallel.context > 1 && exchange != ContextExchange::ring)
    warnings.push_back({"outside-calibration",
                        fmt::format("context ranks with {} are extrapolated: no such run was "
                                    "measured",
                                    name_of(exchange))});
}

}  // namespace foretrain
