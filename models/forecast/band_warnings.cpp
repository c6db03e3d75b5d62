// SPDX-License-Identifier: Apache-2.0
#include "models/forecast/internal/band_warnings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>

#include "models/forecast/band.hpp"
#include "models/grid/process_grid.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/layers/layer_scan.hpp"
#include "models/layers/vision_tower.hpp"
#include "models/memory/memory.hpp"

namespace foretrain {
namespace {

constexpr double launch_bound_share = 0.15;  // of the step, from where its noise shows
constexpr double tight_memory = 0.95;        // of the device, from where the allocator may retry

/// Presets and transports without a measured site; a job put together without a preset says
/// nothing.
void warn_of_network(const Job& job, std::vector<Warning>& warnings) {
  const Provenance& from = job.cluster.network.provenance;
  const bool guessed = from.trust == Trust::extrapolated || from.trust == Trust::datasheet;
  if (job.cluster.hosts > 1 && guessed && !from.source.empty())
    warnings.push_back(
        {"outside-calibration",
         fmt::format("figures of {} over {} are {}: {}", job.cluster.network.preset,
                     name_of(job.cluster.network.transport), name_of(from.trust), from.source)});
}

/// Groups of equal size that fit into a scale-up domain, but not a whole number of them: some reach
/// into the next domain and pass its NICs, and prices are those of the first group.
void warn_of_domains(const Job& job, std::vector<Warning>& warnings) {
  const int domain = job.cluster.packing().domain;
  if (job.cluster.host.domain_hosts == 1 || job.cluster.gpus() <= domain) return;
  const ProcessGrid grid{job.parallel};
  for (const GroupKind kind : {GroupKind::tensor, GroupKind::context, GroupKind::expert}) {
    const Group group = grid.group(kind);
    const int block = group.ranks() * group.stride();
    if (group.ranks() == 1 || block > domain || domain % block == 0) continue;
    warnings.push_back(
        {"outside-calibration",
         fmt::format("{} groups take blocks of {} GPUs, which do not divide the {} of a scale-up "
                     "domain that the job uses (cluster.domain): some reach into the next domain, "
                     "but all are priced inside one",
                     name_of(kind), block, domain)});
  }
}

void warn_of_launches(const StepForecast& step, std::vector<Warning>& warnings) {
  const double share = step.breakdown.launch / step.time;
  if (share < launch_bound_share) return;
  warnings.push_back(
      {"launch-bound", fmt::format("{:.0f} % of the step waits for kernel launches; such runs vary "
                                   "with the host and its state",
                                   100.0 * share)});
}

/// Share of the usable memory that is forecast to be taken; 0 where it is not known.
double memory_load(const Job& job) {
  const Bytes usable = job.cluster.host.device.usable_memory;
  return usable > Bytes{} ? peak_memory(job, stage_layout(job.model, job.parallel)) / usable : 0.0;
}

/// Near the end of the memory PyTorch's allocator frees what it cached and asks again, which stops
/// the device.
bool is_tight(double load) { return load >= tight_memory && load <= 1.0; }

/// States of the optimizer that find no room in the GPU, of the stage with most of them.
Bytes paged_out(const Job& job) {
  const StageLayout layout = stage_layout(job.model, job.parallel);
  const ActivationModel activations = activation_model(job);
  Bytes most;
  for (int stage = 0; stage < layout.stages(); ++stage) {
    const StageAccount account = account_stage(job, layout, activations, stage);
    most = max(most, Bytes{account.paged - account.outside[MemoryItem::dense_optimizer]});
  }
  return most;
}

/// Faults bring pages one after the other, down and up; how far they hide is not known.
void warn_of_paging(const Job& job, std::vector<Warning>& warnings) {
  const Bytes away = paged_out(job);
  if (away <= Bytes{}) return;
  const Link& link = job.cluster.host.pcie;
  const BytesPerSecond rate = link.achievable * link.bandwidth;
  const std::string time = rate > BytesPerSecond{}
                               ? fmt::format("about {:.1f} s", (2.0 * (away / rate)).value())
                               : "time over a link that is not known";
  warnings.push_back(
      {"paged-optimizer",
       fmt::format("{:.1f} GiB of the optimizer's states have no room in the GPU: every update "
                   "pages them in and out, {} more that the step time does not include",
                   away.value() / GiB.value(), time)});
}

void warn_of_memory(const Job& job, std::vector<Warning>& warnings) {
  for (const MemoryDoubt& doubt : memory_doubts(job))
    warnings.push_back({"memory-band", fmt::format("memory has a band of {:.0f} %: {}",
                                                   100.0 * memory_band(job), doubt.why)});
  if (job.memory.offload == OffloadKind::paged) return warn_of_paging(job, warnings);
  const double load = memory_load(job);
  if (!is_tight(load)) return;
  warnings.push_back(
      {"memory-tight",
       fmt::format(
           "{:.0f} % of a GPU's memory, the allocator's cache included: 1 in 5 published runs "
           "above 95 % memory ran more than 8 % slower than forecast, 1 in 13 of those with more "
           "room",
           100.0 * load)});
}

/// Another stack of the framework whose runs are of that year; empty: none.
std::string stack_of_year(const Job& job, int year) {
  for (const auto& [name, reach] : job.stack.bands->reach)
    if (name.starts_with(job.stack.name + "-") && reach.first_year && *reach.first_year <= year &&
        year <= *reach.last_year)
      return name;
  return {};
}

void warn_of_software(const Job& job, std::vector<Warning>& warnings) {
  const SoftwareYears years = software_years(job);
  if (years.beyond() == 0) return;
  const std::string other = stack_of_year(job, *years.asked);
  warnings.push_back({"outside-calibration",
                      fmt::format("software of {} is asked for, {} was fitted on runs of {}{}",
                                  *years.asked, job.stack.name, years_text(years),
                                  other.empty() ? "" : "; of that year is the stack " + other)});
}

bool has_unmeasured_kernels(const LlmShape& model) {
  return model.indexer || model.compression || model.mamba_beside ||
         model.has_mixer(MixerKind::mamba) || model.has_mixer(MixerKind::delta);
}

/// 8-bit attention, and context ranks that do not send blocks round a ring.
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

/// Parts of layers that no measured run had.
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

/// Attention with a window: no windowed kernel was measured.
void warn_of_windows(const Job& job, std::vector<Warning>& warnings) {
  const int window = job.model.narrowest_window();
  if (window == 0 || window >= job.training.sequence) return;
  if (job.memory.attention == AttentionKind::unfused) return;
  warnings.push_back({"outside-calibration",
                      fmt::format("attention with a window of {} tokens is priced as causal "
                                  "attention over as many pairs: no windowed kernel was measured",
                                  window)});
}

}  // namespace

std::string years_text(const SoftwareYears& years) {
  if (!years.first || !years.last) return "unknown years";
  return *years.first == *years.last ? std::to_string(*years.first)
                                     : fmt::format("{} to {}", *years.first, *years.last);
}

bool memory_is_tight(const Job& job) { return is_tight(memory_load(job)); }

void warn_of_inputs(const Job& job, const StepForecast& step, std::vector<Warning>& warnings) {
  warn_of_network(job, warnings);
  warn_of_windows(job, warnings);
  warn_of_unmeasured_layers(job, warnings);
  warn_of_unmeasured_attention(job, warnings);
  warn_of_domains(job, warnings);
  warn_of_launches(step, warnings);
  warn_of_software(job, warnings);
  warn_of_memory(job, warnings);
}

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

}  // namespace foretrain
