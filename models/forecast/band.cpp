// SPDX-License-Identifier: Apache-2.0
#include "models/forecast/band.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "models/base/ranges.hpp"
#include "models/base/require.hpp"
#include "models/collectives/library.hpp"
#include "models/data/single_process.hpp"
#include "models/forecast/internal/band_warnings.hpp"
#include "models/forecast/path_forecast.hpp"
#include "models/grid/process_grid.hpp"
#include "models/inputs/recipe.hpp"
#include "models/step/step_costs.hpp"
#include "models/step/step_time.hpp"

namespace foretrain {
namespace {

// What is added to the band (as a share of the step) when an input was not measured. Sources and
// reasoning: models/forecast/README.md, "Band".
constexpr double unmeasured_device = 0.10;
constexpr double datasheet_device = 0.20;
constexpr double unmeasured_framework = 0.55;
constexpr double unmeasured_network = 0.5;         // of the exposed traffic between hosts
constexpr double unmeasured_single_process = 0.5;  // of its traffic and launches
constexpr double unmeasured_optimizer = 0.5;       // of its time
constexpr double release_year = 0.06;  // half of what a year of Megatron-Core brought (1.125)
constexpr double least_told = 5e-4;    // of the step: less is no reason

/// Constants of one device of a family that stand for the circumstances of its runs.
double kin_uncertainty(const Job& job, std::vector<Warning>& warnings) {
  const double apart = job.device_profile.kin_apart;
  if (apart == 0.0 || quantised(job.training.precision)) return 0.0;
  warnings.push_back(
      {"outside-calibration",
       fmt::format("16-bit GEMMs of {} and its kin disagree by {:.0f} % on the same cores: power, "
                   "clocks or early software of the measured runs",
                   job.cluster.host.device.name, 100.0 * apart)});
  return apart;
}

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

/// A framework of which no run was measured, with the constants of another.
double framework_uncertainty(const Job& job, std::vector<Warning>& warnings) {
  if (job.stack.provenance.trust != Trust::datasheet || !job.stack.bands) return 0.0;
  warnings.push_back({"outside-calibration",
                      "no run of this framework was measured: it is forecast as its nearest kin, " +
                          job.stack.name});
  return unmeasured_framework;
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

/// Optimizers other than Adam after the backward pass: counted, nobody's run is among the records.
double optimizer_uncertainty(const Job& job, const StepForecast& step,
                             std::vector<Warning>& warnings) {
  const Training& training = job.training;
  std::string rule(name_of(training.optimizer));
  if (training.projection.projects())
    rule += fmt::format(" after {}", name_of(training.projection.kind));
  if (training.steps_in_backward()) rule += " in the backward pass";
  if (rule == name_of(OptimizerKind::adamw)) return 0.0;
  warnings.push_back(
      {"outside-calibration", fmt::format("the time of {} is extrapolated: its bytes and GEMMs are "
                                          "counted, no run with it was measured",
                                          rule)});
  return unmeasured_optimizer * step.breakdown.optimizer / step.time;
}

/// Routing that was measured at so many expert ranks is a guess beyond them: with every doubling,
/// half of what it adds to the step is in doubt, all of it at most.
double routing_uncertainty(const Job& job, std::vector<Warning>& warnings) {
  const ExpertSpread spread = job.training.moe_routing.spread;
  const auto statistics = routing_statistics();
  const auto found =
      std::ranges::find_if(statistics, [&](const auto& one) { return one.spread == spread; });
  if (!job.model.moe || job.training.moe_imbalance > 0.0 || found == statistics.end() ||
      found->ranks == 0 || job.parallel.expert <= found->ranks)
    return 0.0;
  const double doubled = std::log2(static_cast<double>(job.parallel.expert) / found->ranks);
  const double doubt = std::min(1.0, 0.5 * doubled) * SlowerStep(job).routing();
  warnings.push_back(
      {"outside-calibration",
       fmt::format("training.moe_routing: {} was measured on {} expert ranks, {} are extrapolated: "
                   "{:.0f} % of the step is in doubt",
                   name_of(spread), found->ranks, job.parallel.expert, 100.0 * doubt)});
  return doubt;
}

/// More than two GPUs share PCIe switches, and the way between sockets, which hosts lay out as they
/// like: what was measured spans a factor of 16.
double pcie_uncertainty(const Job& job, std::vector<Warning>& warnings) {
  const Host& host = job.cluster.host;
  if (host.scale_up != ScaleUpKind::pcie || host.gpus <= 2) return 0.0;
  const double doubt = SlowerStep(job).pcie();
  if (doubt < least_told) return 0.0;
  warnings.push_back(
      {"outside-calibration",
       fmt::format(
           "{} GPUs of {} meet over PCIe, where hosts differ: without peer-to-peer transfers "
           "a step may take {:.2g} times as long (foretrain calibrate run measures it)",
           host.gpus, host.name, 1.0 + doubt)});
  return doubt;
}

/// What nobody has measured anywhere: no left-out run tells how wide it is.
struct Unmeasured {
  double device = 0.0;
  double framework = 0.0;
  double library = 0.0;
  double replicas = 0.0;
  double optimizer = 0.0;
  double release = 0.0;
  double scans = 0.0;
  double towers = 0.0;
  double routing = 0.0;
  double kin = 0.0;
  double pcie = 0.0;  ///< slower alone
};

Unmeasured unmeasured_parts(const Job& job, const StepForecast& step,
                            std::vector<Warning>& warnings) {
  return {device_uncertainty(job, warnings),
          framework_uncertainty(job, warnings),
          library_uncertainty(job, step, warnings),
          single_process_uncertainty(job, step, warnings),
          optimizer_uncertainty(job, step, warnings),
          release_year * software_years(job).beyond(),
          scan_uncertainty(job, step, warnings),
          tower_uncertainty(job, step, warnings),
          routing_uncertainty(job, warnings),
          kin_uncertainty(job, warnings),
          pcie_uncertainty(job, warnings)};
}

const StackReach* reach_of(const StackProfile& stack) {
  if (!stack.bands) return nullptr;
  const auto found = stack.bands->reach.find(stack.name);
  return found == stack.bands->reach.end() ? nullptr : &found->second;
}

/// Doublings from what was fitted to what is asked.
double doublings(int asked, int fitted) {
  return asked > fitted && fitted > 0 ? std::log2(static_cast<double>(asked) / fitted) : 0.0;
}

BandSides both(double share) { return {share, share}; }

void add_site(const Job& job, const StepForecast& step, const SlowerStep& slower,
              BandByKind& facts) {
  if (job.site.provenance.trust == Trust::measured) return;
  at(facts, BandKind::site) = both(1.0);
  if (job.cluster.hosts == 1) return;
  const double exposed = (step.breakdown.data + step.breakdown.pipeline) / step.time;
  at(facts, BandKind::network) = {exposed, std::max(exposed, slower.network())};
}

void add_stack(const Job& job, BandByKind& facts) {
  const StackReach* const reach = reach_of(job.stack);
  const bool own = job.stack.provenance.trust == Trust::measured;  // by whoever asks, perhaps
  if (reach == nullptr && job.stack.bands && !own) {
    at(facts, BandKind::stack) = both(1.0);
    return;
  }
  at(facts, BandKind::residual) = {1.0 / job.stack.band_low - 1.0, job.stack.band_high - 1.0};
  if (reach == nullptr) return;
  const std::string& device = job.cluster.host.device.name;
  const auto& devices = reach->devices;
  if (!contains(devices, device)) at(facts, BandKind::device) = both(1.0);
  at(facts, BandKind::scale) = both(doublings(job.parallel.gpus(), reach->gpus));
  at(facts, BandKind::tensor) = both(doublings(job.parallel.tensor, reach->tensor));
}

/// The stack's own residuals alone, where no table says more.
const BandByKind& widths_of(const Job& job) {
  static const BandByKind residuals = [] {
    BandByKind widths{};
    at(widths, BandKind::residual) = {1.0, 1.0};
    return widths;
  }();
  return job.stack.bands ? job.stack.bands->widths : residuals;
}

std::string why_of(BandKind kind, const Job& job, const BandSides& fact) {
  const StackReach* const reach = reach_of(job.stack);
  const int gpus = reach != nullptr ? reach->gpus : 0;
  const int tensor = reach != nullptr ? reach->tensor : 0;
  switch (kind) {
    case BandKind::pooled:
      return "runs of a stack on a device and a cluster that were all measured";
    case BandKind::residual:
      return fmt::format("what is left of the runs that {} was fitted on", job.stack.name);
    case BandKind::stack:
      return fmt::format("no run of {} was fitted", job.stack.name);
    case BandKind::device:
      return fmt::format("no run of {} on {} was fitted", job.stack.name,
                         job.cluster.host.device.name);
    case BandKind::site:
      return fmt::format("the cluster ({}) was not measured", job.site.name);
    case BandKind::network:
      return "its network may be slower than its kind";
    case BandKind::scale:
      return fmt::format("{} GPUs, {} at most were fitted", job.parallel.gpus(), gpus);
    case BandKind::tensor:
      return fmt::format("{} tensor ranks, {} at most were fitted", job.parallel.tensor, tensor);
    case BandKind::experts:
      return "routing, dispatchers and their overlap differ from run to run";
    case BandKind::precision:
      return fmt::format("recipes of {} differ", name_of(job.training.precision));
    case BandKind::launch:
      return "on slower processors launches show more";
    case BandKind::exposed:
      return "traffic that nothing hides differs from run to run";
    case BandKind::release: {
      const SoftwareYears years = software_years(job);
      return fmt::format("software of {}, fitted were runs of {}", years.asked.value_or(0),
                         years_text(years));
    }
    case BandKind::memory:
      return "memory is nearly full";
  }
  FORETRAIN_REQUIRE(fact.high >= 0.0);
  return "";
}

const char* narrower_by(BandKind kind) {
  constexpr const char* framework = "runs of this framework: foretrain calibrate fit";
  constexpr const char* links = "nccl-tests on this cluster: foretrain calibrate run or import";
  // In the order of BandKind.
  static constexpr std::array<const char*, band_kinds> ways{
      "",
      framework,
      framework,
      "one run of this framework on this device",
      links,
      links,
      "one run on more GPUs",
      "one run with as many tensor ranks",
      "one run of this mixture of experts",
      "one run in this precision",
      "CUDA graphs, or one run on these hosts",
      "a plan that leaves more memory free",
      "a profile of one run with this plan",
      "one run of this release"};
  return ways.at(static_cast<std::size_t>(kind));
}

}  // namespace

SoftwareYears software_years(const Job& job) {
  const StackReach* const reach = reach_of(job.stack);
  if (reach == nullptr) return {{}, {}, job.software_year};
  return {reach->first_year, reach->last_year, job.software_year};
}

BandByKind band_facts(const Job& job, const StepForecast& step) {
  BandByKind facts{};
  at(facts, BandKind::pooled) = both(1.0);
  add_stack(job, facts);
  const SlowerStep slower(job);
  add_site(job, step, slower, facts);
  at(facts, BandKind::experts) = both(slower.experts());
  at(facts, BandKind::precision) = both(quantised(job.training.precision) ? 1.0 : 0.0);
  at(facts, BandKind::launch) = both(slower.launches());
  const TimeBreakdown& parts = step.breakdown;
  at(facts, BandKind::exposed) = both((parts.tensor + parts.data + parts.pipeline) / step.time);
  at(facts, BandKind::release) = both(software_years(job).beyond());
  at(facts, BandKind::memory).high = memory_is_tight(job) ? 1.0 : 0.0;
  return facts;
}

BandSides band_of(const BandByKind& facts, const BandByKind& widths) {
  BandSides sum;
  for (std::size_t kind = 0; kind < band_kinds; ++kind) {
    sum.low = std::hypot(sum.low, facts[kind].low * widths[kind].low);
    sum.high = std::hypot(sum.high, facts[kind].high * widths[kind].high);
  }
  return sum;
}

namespace {

/// What is missing to the least band of a cluster without a measured site. Left-out sources are
/// known to those who chose the terms, so that new clusters are further off than these.
BandSides lacking(const Job& job, const BandSides& known) {
  if (!job.stack.bands || job.site.provenance.trust == Trust::measured) return {};
  const BandSides& least = job.stack.bands->unmeasured_site;
  const auto rest = [](double of, double is) {
    return is < of ? std::sqrt(of * of - is * is) : 0.0;
  };
  return {rest(least.low, known.low), rest(least.high, known.high)};
}

/// A processor that nobody measured may need twice as long for launches, as an H200's host did:
/// what the fitted width, which knows clusters of publishers alone, lacks to that.
double processor_lacks(const Job& job, const BandByKind& facts) {
  if (job.site.provenance.trust == Trust::measured) return 0.0;
  const double width = std::min(1.0, at(widths_of(job), BandKind::launch).high);
  return at(facts, BandKind::launch).high * std::sqrt(1.0 - width * width);
}

/// All that is known not to be known, and what lacks to the least.
BandSides whole_band(const Job& job, const BandByKind& facts) {
  const BandSides known = band_of(facts, widths_of(job));
  const BandSides rest = lacking(job, known);
  return {std::hypot(known.low, rest.low), std::hypot(known.high, rest.high)};
}

}  // namespace

std::vector<BandPart> band_parts(const Job& job, const StepForecast& step) {
  const BandByKind facts = band_facts(job, step);
  const BandByKind& widths = widths_of(job);
  std::vector<BandPart> parts;
  for (const auto& [kind, name] : EnumNames<BandKind>::names) {
    const BandSides& fact = at(facts, kind);
    const BandSides& width = at(widths, kind);
    parts.push_back({std::string(name),
                     {fact.low * width.low, fact.high * width.high},
                     why_of(kind, job, fact),
                     narrower_by(kind)});
  }
  parts.push_back({"new cluster", lacking(job, band_of(facts, widths)),
                   "clusters that no fit has read are further off", narrower_by(BandKind::site)});
  std::vector<Warning> told;
  const Unmeasured other = unmeasured_parts(job, step, told);
  parts.push_back({"device rates", both(other.device), "kernel rates were not measured",
                   "kernels of this device alone: foretrain calibrate run"});
  parts.push_back({"framework", both(other.framework), "no run of this framework was measured",
                   narrower_by(BandKind::stack)});
  parts.push_back({"library", both(other.library), "collectives of this library were not measured",
                   "a sweep of its collectives"});
  parts.push_back({"software year", both(other.release),
                   "releases of other years are faster or slower", narrower_by(BandKind::release)});
  parts.push_back({"optimizer", both(other.optimizer), "this optimizer's time was not measured",
                   "one run with it"});
  parts.push_back({"scans", both(other.scans), "chunked scans were not measured",
                   "kernel times of a chunked scan on this device"});
  parts.push_back({"vision tower", both(other.towers), "no run with images was measured",
                   "one run with images"});
  parts.push_back({"device family", both(other.kin), "devices with the same cores disagree",
                   "one run on this device"});
  parts.push_back({"routing", both(other.routing), "routing over so many ranks was not measured",
                   narrower_by(BandKind::experts)});
  parts.push_back({"processor",
                   {0.0, processor_lacks(job, facts)},
                   "how fast its processor launches kernels is not known",
                   "a short step: calibration/harness/torch_step.py"});
  parts.push_back({"PCIe",
                   {0.0, other.pcie},
                   "how its GPUs share PCIe is not known",
                   "nccl-tests on this host: foretrain calibrate run or import"});
  parts.push_back({"one process", both(other.replicas), "torch.nn.DataParallel was not measured",
                   "one run of it"});
  parts.erase(std::remove_if(parts.begin(), parts.end(),
                             [](const BandPart& part) {
                               return part.width.low < least_told && part.width.high < least_told;
                             }),
              parts.end());
  std::ranges::stable_sort(parts, [](const BandPart& a, const BandPart& b) {
    return a.width.low + a.width.high > b.width.low + b.width.high;
  });
  return parts;
}

void add_band(const Job& job, StepForecast& step, std::vector<Warning>& warnings) {
  add_band(job, band_facts(job, step), step, warnings);
}

void add_band(const Job& job, const BandByKind& facts, StepForecast& step,
              std::vector<Warning>& warnings) {
  const Unmeasured other = unmeasured_parts(job, step, warnings);
  warn_of_inputs(job, step, warnings);
  const BandSides known = whole_band(job, facts);
  double extra = 0.0;
  for (const double part :
       {other.device, other.framework, other.library, other.replicas, other.optimizer, other.scans,
        other.towers, other.release, other.routing, other.kin})
    extra = std::hypot(extra, part);
  const double slower_alone = std::hypot(other.pcie, processor_lacks(job, facts));
  step.low = step.time / (1.0 + std::hypot(known.low, extra));
  step.high = step.time * (1.0 + std::hypot(known.high, extra, slower_alone));
}

}  // namespace foretrain
