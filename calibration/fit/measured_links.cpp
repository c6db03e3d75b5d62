// SPDX-License-Identifier: Apache-2.0
// Constants of collectives from one cluster's own sweeps.
#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "calibration/cases/collective_case.hpp"
#include "calibration/fit/collective_fit.hpp"
#include "calibration/fit/internal/measured_parts.hpp"
#include "models/collectives/collective_cost.hpp"
#include "scenarios/catalog/catalog_profiles.hpp"

namespace foretrain {
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
