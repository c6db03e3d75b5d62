// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "models/collectives/library.hpp"
#include "models/data/single_process.hpp"
#include "models/grid/process_grid.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/memory/memory.hpp"
#include "models/step/step_time.hpp"

namespace foretrain {
namespace {

// What is added to the band (as a share of the step) when an input was not measured. Sources and
// reasoning: models/README.md, "Band".
constexpr double unmeasured_device = 0.10;
constexpr double datasheet_device = 0.20;
constexpr double unmeasured_network = 0.5;         // of the exposed traffic between hosts
constexpr double slow_network = 0.5;               // of the rate expected where nobody measured
constexpr double unmeasured_site_low = 0.10;       // runs on clusters that no profile was fitted on
constexpr double unmeasured_site_high = 0.15;      // are slower more often than faster
constexpr double unmeasured_single_process = 0.5;  // of its traffic and launches
constexpr double expert_noise = 0.12;        // routing, dispatchers and their overlap differ by run
constexpr double launch_bound_share = 0.15;  // of the step, from where its noise shows
constexpr double launch_bound_noise = 0.10;
constexpr double tight_memory = 0.95;        // of the device, from where the allocator may retry
constexpr double tight_memory_noise = 0.15;  // on the slow side alone

double device_uncertainty(const Job& job, std::vector<Warning>& warnings) {
  const Trust trust = job.device_profile.provenance.trust;
  if (trust == Trust::measured || trust == Trust::interpolated) return 0.0;
  warnings.push_back(
      {"outside-calibration",
       fmt::format("kernel rates of {} are {}: {}", job.cluster.host.device.name,
                   trust == Trust::datasheet ? "taken from its datasheet" : "extrapolated",
                   job.device_profile.provenance.source)});
  if (trust == Trust::datasheet) return datasheet_device;
  return std::hypot(unmeasured_device, job.device_profile.apart);
}

/// Presets and transports that nobody measured; a job put together without a preset says nothing.
void warn_of_network(const Job& job, std::vector<Warning>& warnings) {
  const Provenance& from = job.cluster.network.provenance;
  const bool guessed = from.trust == Trust::extrapolated || from.trust == Trust::datasheet;
  if (job.cluster.hosts > 1 && guessed && !from.source.empty())
    warnings.push_back(
        {"outside-calibration",
         fmt::format("figures of {} over {} are {}: {}", job.cluster.network.preset,
                     name_of(job.cluster.network.transport), name_of(from.trust), from.source)});
}

/// How much longer a step takes whose NICs reach half of what is expected of them: traffic that
/// hides behind kernels no longer does.
double behind_slow_network(const Job& job) {
  const StageLayout layout = stage_layout(job.model, job.parallel);
  Job slow = job;
  for (double* share : {&slow.site.across.share, &slow.site.lone_share, &slow.site.send_share})
    *share *= slow_network;
  const auto seconds = [&layout](const Job& one) { return step_seconds(step_costs(one, layout)); };
  return std::max(0.0, seconds(slow) / seconds(job) - 1.0);
}

/// What a cluster that nobody measured adds to either side of the band.
struct SiteUncertainty {
  double low = 0.0;
  double high = 0.0;
};

SiteUncertainty site_uncertainty(const Job& job, const StepForecast& step,
                                 std::vector<Warning>& warnings) {
  warn_of_network(job, warnings);
  if (job.site.provenance.trust == Trust::measured) return {};
  if (job.cluster.hosts == 1) return {unmeasured_site_low, unmeasured_site_high};
  const double exposed =
      unmeasured_network * (step.breakdown.data + step.breakdown.pipeline) / step.time;
  const double hidden = std::max(exposed, behind_slow_network(job));
  return {std::hypot(unmeasured_site_low, exposed), std::hypot(unmeasured_site_high, hidden)};
}

/// Collectives of a library that was measured elsewhere, if at all.
double library_uncertainty(const Job& job, const StepForecast& step,
                           std::vector<Warning>& warnings) {
  const Backend backend = job.communication.backend;
  if (backend == Backend::nccl) return 0.0;
  const CollectivePath path{job.cluster, job.device_profile, job.site};
  warnings.push_back({"outside-calibration",
                      fmt::format("collectives of {} are extrapolated: {}", name_of(backend),
                                  other_library(backend, path).provenance.source)});
  return unmeasured_network * step.breakdown.data / step.time;
}

/// One process for all GPUs: nothing of it was measured, neither traffic nor the taking of turns.
double single_process_uncertainty(const Job& job, const StepForecast& step,
                                  std::vector<Warning>& warnings) {
  if (!job.parallel.single_process()) return 0.0;
  warnings.push_back({"outside-calibration", "torch.nn.DataParallel is extrapolated: " +
                                                 single_process_provenance().source});
  const TimeBreakdown& parts = step.breakdown;
  const Seconds launch = max(Seconds{}, parts.launch - job.stack.times.step_constant);
  return unmeasured_single_process * (parts.data + launch) / step.time;
}

void warn_of_windows(const Job& job, std::vector<Warning>& warnings) {
  if (!job.model.windows_cut(job.training.sequence)) return;
  if (job.memory.attention == AttentionKind::unfused) return;
  warnings.push_back({"outside-calibration",
                      fmt::format("attention with a window of {} tokens is priced as causal "
                                  "attention over as many pairs: no windowed kernel was measured",
                                  job.model.window)});
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

double launch_uncertainty(const StepForecast& step, std::vector<Warning>& warnings) {
  const double share = step.breakdown.launch / step.time;
  if (share < launch_bound_share) return 0.0;
  warnings.push_back(
      {"launch-bound", fmt::format("{:.0f} % of the step waits for kernel launches; such runs vary "
                                   "with the host and its state",
                                   100.0 * share)});
  return launch_bound_noise;
}

/// Near the end of the memory PyTorch's allocator frees what it cached and asks again, which stops
/// the device.
double memory_uncertainty(const Job& job, std::vector<Warning>& warnings) {
  const Bytes usable = job.cluster.host.device.usable_memory;
  if (!(usable > Bytes{})) return 0.0;
  const double load = peak_memory(job, stage_layout(job.model, job.parallel)) / usable;
  if (load < tight_memory || load > 1.0) return 0.0;
  warnings.push_back(
      {"memory-tight",
       fmt::format(
           "{:.0f} % of a GPU's memory is forecast to be taken, the allocator's cache "
           "included: of published runs from 95 % on one in five is more than 8 % slower than "
           "forecast, of those with more room one in thirteen",
           100.0 * load)});
  return tight_memory_noise;
}

}  // namespace

void add_band(const Job& job, StepForecast& step, std::vector<Warning>& warnings) {
  const double device = device_uncertainty(job, warnings);
  const SiteUncertainty site = site_uncertainty(job, step, warnings);
  const double library = library_uncertainty(job, step, warnings);
  const double replicas = single_process_uncertainty(job, step, warnings);
  warn_of_windows(job, warnings);
  warn_of_domains(job, warnings);
  const double launch = launch_uncertainty(step, warnings);
  const double memory = memory_uncertainty(job, warnings);
  const double experts = job.model.moe ? expert_noise : 0.0;
  const double extra = device * device + library * library + replicas * replicas + launch * launch +
                       experts * experts;
  const auto widened = [extra](double residual, double of_site) {
    return std::sqrt(residual * residual + of_site * of_site + extra);
  };
  step.low = step.time / (1.0 + widened(1.0 / job.stack.band_low - 1.0, site.low));
  step.high = step.time * (1.0 + widened(job.stack.band_high - 1.0, std::hypot(site.high, memory)));
}

}  // namespace foretrain
