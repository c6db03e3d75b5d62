// SPDX-License-Identifier: Apache-2.0
// Constants of kernels from one device's own measurements.
// Constants of collectives from one cluster's own sweeps.

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "calibration/cases/collective_case.hpp"
#include "calibration/cases/kernel_case.hpp"
#include "calibration/fit/collective_fit.hpp"
#include "calibration/fit/internal/measured_parts.hpp"
#include "calibration/imports/record_text.hpp"
#include "models/base/percentile.hpp"
#include "models/collectives/collective_cost.hpp"
#include "scenarios/catalog/catalog_profiles.hpp"

namespace foretrain {
namespace {

struct Fact {
  KernelCase kernel;
  std::string mode;  ///< "warm", "cold", "sustained", ...; empty: the source does not say
  std::string name;
};

std::vector<Fact> facts_of(const std::vector<KernelRecord>& records, const std::string& device) {
  std::vector<Fact> facts;
  for (const KernelRecord& record : records) {
    MappedKernel mapped = map_kernel(record);
    if (!mapped.kernel || mapped.kernel->device != device) continue;
    const std::string name =
        record.m ? fmt::format("{:.0f}x{:.0f}x{}", *record.m, record.n.value_or(0.0), record.shape)
                 : record.op + " " + record.shape;
    facts.push_back({std::move(*mapped.kernel), note_text(record.note, "mode").value_or(""), name});
  }
  return facts;
}

/// Everything that the groups of one device share.
class KernelFitter {
 public:
  KernelFitter(const std::vector<Fact>& facts, const MeasuredFitRequest& request,
               const RunCatalog& catalog, MeasuredFit& fit)
      : facts_{facts},
        where_{"device/" + request.device},
        device_{catalog.devices.at(request.device)},
        profile_{catalog.device_profiles.at(request.device)},
        fit_{fit} {}

  void run() {
    fit_streaming();
    std::map<Precision, int> precisions;
    for (const Fact& fact : facts_)
      if (std::holds_alternative<GemmCase>(fact.kernel.work)) ++precisions[fact.kernel.precision];
    for (const auto& [precision, count] : precisions) fit_products(precision);
    fit_attention();
  }

 private:
  static FitSlot number(const std::string& key, const NumericConstant& constant) {
    return fit_slot(device_profile_table(), key, constant);
  }
  static FitSlot time(const std::string& key, const NumericConstant& constant) {
    return fit_slot(device_profile_table(), key, constant, " us", us.value());
  }

  /// The group of the facts that `choose` takes, without constants yet.
  template <class Choose>
  MeasuredGroup group_of(const std::string& what, Choose choose) {
    MeasuredGroup group{where_, what, {}, {}, {}, {}};
    group.set = [this](const FitSlot& slot, double value) { slot.set(profile_, value); };
    std::vector<const Fact*> own;
    for (const Fact& fact : facts_)
      if (choose(fact)) {
        own.push_back(&fact);
        group.names.push_back(fact.name);
      }
    group.log_errors = [this, own] {
      std::vector<double> errors;
      for (const Fact* fact : own)
        errors.push_back(std::log(kernel_time(fact->kernel, device_, profile_, InferenceExtras{}) /
                                  fact->kernel.measured));
      return errors;
    };
    return group;
  }

  void fit_streaming() {
    constexpr double least_bytes = 64e6;  // beyond the caches
    MeasuredGroup group = group_of("memory", [](const Fact& fact) {
      const auto* const work = std::get_if<StreamCase>(&fact.kernel.work);
      return work != nullptr && work->traffic.value() >= least_bytes;
    });
    group.slots = {number("memory_efficiency", {0.85, 0.5, 0.2, 1.0})};
    fit_group(group, fit_);
    add_band("alone.memory_band", "memory");
  }

  /// Operands come from memory in training; where cold caches were measured, they count.
  void fit_products(Precision precision) {
    const auto is_product = [precision](const Fact& fact) {
      return fact.kernel.precision == precision &&
             std::holds_alternative<GemmCase>(fact.kernel.work);
    };
    const bool cold = std::ranges::any_of(
        facts_, [&](const Fact& fact) { return is_product(fact) && fact.mode == "cold"; });
    const std::string name(name_of(precision));
    MeasuredGroup group = group_of("gemm " + name, [&](const Fact& fact) {
      if (!is_product(fact) || fact.mode == "sustained" || fact.mode == "trace") return false;
      return !cold || fact.mode == "cold";
    });
    const std::string at = "gemm." + name + ".";
    group.slots = {number(at + "efficiency", {0.85, 0.3, 0.1, 1.0}),
                   number(at + "ramp_k", {200.0, 0.7, 20.0, 2000.0}),
                   number(at + "tile_128", {0.95, 0.1, 0.6, 1.0}),
                   time(at + "launch", {2.4, 0.5, 0.5, 50.0})};
    if (precision == Precision::bf16) add_power(group);
    const std::size_t before = fit_.values.size();
    fit_group(group, fit_);
    if (fit_.values.size() == before) {
      profile_.gemm = base_gemm_;
      return;
    }
    if (precision == Precision::bf16) add_band("alone.gemm_band", "gemm bf16");
    fit_sustained(precision);
    base_gemm_ = profile_.gemm;
  }

  static void add_power(MeasuredGroup& group) {
    group.slots.push_back(time("alone.boost", {1500.0, 0.5, 100.0, 10000.0}));
    group.slots.push_back(number("alone.long_clock", {0.9, 0.1, 0.4, 1.0}));
  }

  /// The clock that seconds of products leave, against what the fit takes as the short ones'.
  void fit_sustained(Precision precision) {
    std::vector<double> shares;
    for (const Fact& fact : facts_) {
      const auto* const work = std::get_if<GemmCase>(&fact.kernel.work);
      if (work == nullptr || fact.mode != "sustained" || fact.kernel.precision != precision)
        continue;
      DeviceProfile full = profile_;
      full.gemm[precision].sustained = 1.0;
      shares.push_back(gemm_time(work->gemm, {device_, full, precision}) / fact.kernel.measured);
    }
    if (shares.empty()) return;
    const double share = std::clamp(rounded(percentile_of(shares, 0.5), 3), 0.05, 1.0);
    fit_.values.push_back({where_, "gemm." + std::string(name_of(precision)) + ".sustained", share,
                           fmt::format("{:g}", share)});
    profile_.gemm[precision].sustained = share;
  }

  void fit_attention() {
    MeasuredGroup group = group_of("attention", [](const Fact& fact) {
      const auto* const work = std::get_if<AttentionCase>(&fact.kernel.work);
      return work != nullptr && work->library == AttentionLibrary::flash2;
    });
    AttentionKernels& kernels = profile_.alone.attention;
    const AttentionKernels before = kernels;
    const double start = kernels.flash2 > FlopPerSecond{} ? kernels.flash2.in(TFLOPS) : 300.0;
    const std::string at = "alone.attention.";
    group.slots = {fit_slot(device_profile_table(), at + "flash2", {start, 0.5, 20.0, 4000.0},
                            " TFLOP/s", TFLOPS.value()),
                   number(at + "flash2_both", {1.0, 0.2, 0.3, 2.0}),
                   number(at + "length_half", {512.0, 0.5, 50.0, 5000.0}),
                   number(at + "tiles_half", {132.0, 0.5, 5.0, 1000.0}),
                   number(at + "small_head", {0.8, 0.2, 0.3, 1.0})};
    const std::size_t count = fit_.values.size();
    fit_group(group, fit_);
    if (fit_.values.size() == count) {
      kernels = before;
      return;
    }
    add_band("alone.attention_band", "attention");
    // In training the rate of both passes counts, with the form's own length of 512.
    const double both = rounded(kernels.flash2.in(TFLOPS)*kernels.flash2_both, 3);
    fit_.values.push_back(
        {where_, "attention.flash2_rate", both * 1e12, fmt::format("{:g} TFLOP/s", both)});
  }

  void add_band(const std::string& key, const std::string& what) {
    for (const FitResiduals& one : fit_.residuals) {
      if (one.what != what) continue;
      const double low = rounded(std::min(1.0, one.errors.low), 3);
      const double high = rounded(std::max(1.0, one.errors.high), 3);
      fit_.values.push_back({where_, key + ".low", low, fmt::format("{:g}", low)});
      fit_.values.push_back({where_, key + ".high", high, fmt::format("{:g}", high)});
    }
  }

  const std::vector<Fact>& facts_;
  std::string where_;
  const Device& device_;
  DeviceProfile profile_;
  MeasuredFit& fit_;
  std::map<Precision, GemmProfile> base_gemm_ = profile_.gemm;
};

}  // namespace

void fit_measured_kernels(const std::vector<KernelRecord>& records,
                          const MeasuredFitRequest& request, const RunCatalog& catalog,
                          MeasuredFit& fit) {
  const std::vector<Fact> facts = facts_of(records, request.device);
  KernelFitter(facts, request, catalog, fit).run();
}

namespace {

struct LinkFact {
  CollectiveCase collective;
  std::string name;
};

/// As training prices it: a ring within a host, rings between hosts.
std::optional<Seconds> in_training(const CollectiveCase& one, const CollectivePath& path) {
  switch (one.op) {
    case CollectiveOp::all_gather:
      return all_gather_time(one.group, one.payload, path);
    case CollectiveOp::reduce_scatter:
      return reduce_scatter_time(one.group, one.payload, path);
    case CollectiveOp::all_reduce:
      return all_reduce_time(one.group, one.payload, path);
    default:
      return std::nullopt;
  }
}

bool between(const LinkFact& fact) { return fact.collective.group.domains() > 1; }

class LinkFitter {
 public:
  LinkFitter(const MeasuredFitRequest& request, const RunCatalog& catalog, MeasuredFit& fit)
      : request_{request}, profile_{catalog.device_profiles.at(request.device)}, fit_{fit} {
    site_ = catalog.sites.at("default");
    site_.wait = Seconds{};  // sweeps have no stragglers' work between their calls
  }

  /// Rings of training within a host: what moves shards, since sums may stay in the switch.
  void fit_inside(const std::vector<LinkFact>& facts) {
    std::vector<LinkFact> own;
    for (const LinkFact& fact : facts)
      if (!between(fact) && fact.collective.op != CollectiveOp::all_reduce && in_range(fact))
        own.push_back(fact);
    MeasuredGroup group = group_of("device/" + request_.device, "rings within a host", own);
    profile_.inside.per_step = Seconds{};
    group.set = [this](const FitSlot& slot, double value) { slot.set(profile_, value); };
    group.slots = level_slots(device_profile_table(), "inside");
    fit_group(group, fit_);
  }

  void fit_across(const std::vector<LinkFact>& facts) {
    bool many = false;
    for (const LinkFact& fact : facts) many = many || fact.collective.group.domains() > 2;
    std::vector<LinkFact> own;
    for (const LinkFact& fact : facts) {
      // Two hosts swap their sums: an all-reduce of theirs says nothing about rings.
      const bool swap =
          fact.collective.group.domains() == 2 && fact.collective.op == CollectiveOp::all_reduce;
      if (between(fact) && fact.collective.group.ranks_per_domain > 1 && !(many && swap) &&
          in_range(fact))
        own.push_back(fact);
    }
    MeasuredGroup group = group_of("site/", "rings between hosts", own);
    group.slots = level_slots(site_table(), "across");
    // Steps between hosts and the call itself can be told apart by groups of different sizes only.
    if (many)
      group.slots.push_back(
          fit_slot(site_table(), "across.per_step", {5.0, 1.0, 0.1, 1000.0}, " us", us.value()));
    fit_group(group, fit_);
  }

  /// One rank per host: its ring has one NIC.
  void fit_lone(const std::vector<LinkFact>& facts) {
    std::vector<LinkFact> own;
    for (const LinkFact& fact : facts)
      if (between(fact) && fact.collective.group.ranks_per_domain == 1 && in_range(fact))
        own.push_back(fact);
    MeasuredGroup group = group_of("site/", "rings of one rank per host", own);
    group.slots = {fit_slot(site_table(), "lone_share", {0.7, 0.5, 0.02, 1.0})};
    fit_group(group, fit_);
  }

 private:
  /// Training's collectives are of 64 KiB and more; below, protocols count that its form lacks.
  [[nodiscard]] bool in_range(const LinkFact& fact) const {
    const CollectivePath path{fact.collective.cluster, profile_, site_};
    return fact.collective.payload >= 64.0 * KiB && in_training(fact.collective, path).has_value();
  }

  /// Constants are set in the site unless the caller says where.
  MeasuredGroup group_of(const std::string& profile, const std::string& what,
                         const std::vector<LinkFact>& facts) {
    MeasuredGroup group{profile, what, {}, {}, {}, {}};
    group.set = [this](const FitSlot& slot, double value) { slot.set(site_, value); };
    for (const LinkFact& fact : facts) group.names.push_back(fact.name);
    group.log_errors = [this, facts] {
      std::vector<double> errors;
      for (const LinkFact& fact : facts) {
        const CollectivePath path{fact.collective.cluster, profile_, site_};
        errors.push_back(std::log(*in_training(fact.collective, path) / fact.collective.measured));
      }
      return errors;
    };
    return group;
  }

  static std::vector<FitSlot> level_slots(const RowTable& table, const std::string& at) {
    return {fit_slot(table, at + ".launch", {12.0, 1.0, 0.5, 2000.0}, " us", us.value()),
            fit_slot(table, at + ".ramp", {4.0, 1.5, 0.001, 5000.0}, " ns", 1e-9),
            fit_slot(table, at + ".share", {0.8, 0.5, 0.005, 1.0})};
  }

  const MeasuredFitRequest& request_;
  DeviceProfile profile_;
  SiteProfile site_;
  MeasuredFit& fit_;
};

void take(CollectiveFit part, MeasuredFit& fit) {
  for (FittedValue& value : part.values) fit.values.push_back(std::move(value));
  for (FitResiduals& one : part.residuals)
    if (one.errors.count > 0) fit.residuals.push_back(std::move(one));
}

}  // namespace

void fit_measured_collectives(const std::vector<SweepRecord>& records,
                              const MeasuredFitRequest& request, const RunCatalog& catalog,
                              MeasuredFit& fit) {
  std::vector<LinkFact> facts;
  std::vector<SweepRecord> own;
  for (const SweepRecord& record : records) {
    MappedCollective mapped = map_collective(record, catalog);
    if (!mapped.collective || mapped.collective->cluster.host.device.name != request.device)
      continue;
    facts.push_back({std::move(*mapped.collective), record.id()});
    own.push_back(record);
  }
  if (facts.empty()) return;
  const CollectiveFit lines = fit_device_collectives(request.device, own, catalog);
  take(lines, fit);
  LinkFitter links(request, catalog, fit);
  links.fit_inside(facts);
  if (request.fabric.empty()) return;
  take(fit_fabric_collectives(request.fabric, own, with_collectives(catalog, lines.values)), fit);
  links.fit_across(facts);
  links.fit_lone(facts);
}

}  // namespace foretrain
