// SPDX-License-Identifier: Apache-2.0
#include "models/forecast/internal/band_warnings.hpp"

#include <fmt/format.h>

#include <string>

#include "models/forecast/band.hpp"
#include "models/forecast/internal/scan_doubt.hpp"
#include "models/grid/process_grid.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/memory/memory.hpp"
#include "models/memory/memory_band.hpp"

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

}  // namespace foretrain
