// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/collective_fit.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "calibration/cases/collective_case.hpp"
#include "calibration/fit/internal/fit_slots.hpp"
#include "calibration/fit/internal/numeric_fit.hpp"
#include "calibration/records/internal/words.hpp"
#include "calibration/records/record_networks.hpp"
#include "models/base/ranges.hpp"
#include "scenarios/catalog/catalog_profiles.hpp"

namespace foretrain {
namespace {

constexpr int sweep_digits = 3;
constexpr double small_weight = 0.6;  // below 1 MiB: tools differ there by more than libraries do

using ConstantNames = std::vector<std::string>;

/// Parts with one chip and the same lines, first the measured one; those behind a bridge have no
/// switch that adds.
struct LinkFamily {
  ConstantNames parts;
  ConstantNames without_switch;
  std::size_t fewest = 0;  ///< points below which a group of operations is not fitted
};

std::vector<LinkFamily> link_families(const RunCatalog& catalog) {
  std::vector<LinkFamily> families;
  for (auto& [measured, parts] : device_families(catalog, &DeviceFamily::collectives)) {
    families.push_back({parts, {}});
    for (const auto& [device, family] : catalog.families)
      if (family.lines == measured) families.back().without_switch.push_back(device);
  }
  return families;
}

struct SweepFact {
  CollectiveCase collective;
  std::string sweep;
  double size;
  std::string id;
};

std::vector<SweepFact> facts_of(const std::vector<SweepRecord>& records,
                                const RunCatalog& catalog) {
  std::vector<SweepFact> facts;
  for (const SweepRecord& record : records) {
    const auto network = sweep_network(record.network);
    if (network && !network->fitted) continue;
    MappedCollective mapped = map_collective(record, catalog);
    if (mapped.collective)
      facts.push_back(
          {std::move(*mapped.collective), record.sweep, record.size_bytes, record.id()});
  }
  return facts;
}

bool between_hosts(const SweepFact& fact) { return fact.collective.group.domains() > 1; }

bool is_part(const LinkFamily& family, const std::string& device) {
  return contains(family.parts, device);
}

/// The family that sweeps of a device are of, if any.
std::optional<LinkFamily> family_of_device(const std::string& device, const RunCatalog& catalog) {
  for (LinkFamily& family : link_families(catalog))
    if (is_part(family, device)) return std::move(family);
  return std::nullopt;
}

double log_error(const SweepFact& fact, const DeviceProfile& profile) {
  const auto choice = collective_choice(fact.collective, profile);
  return choice ? std::log(choice->time / fact.collective.measured) : 0.0;
}

std::vector<double> weights_of(const std::vector<SweepFact>& facts) {
  std::vector<double> weights;
  for (const SweepFact& fact : facts)
    weights.push_back(Bytes{fact.size} >= 1.0 * MiB ? 1.0 : small_weight);
  return weights;
}

/// A fit, and its points.
struct SweepFit {
  NumericFit fitted;
  std::vector<FitRecord> points;
};

std::vector<FitRecord> points_of(const std::vector<SweepFact>& facts) {
  std::vector<FitRecord> points;
  for (const SweepFact& fact : facts)
    points.push_back({fact.id, fact.sweep, fact.collective.cluster.host.device.name,
                      fact.collective.group.ranks});
  return points;
}

/// What a fit gives for the constant of a slot.
FittedValue value_of(const std::string& profile, const FitSlot& slot, const SweepFit& fit,
                     std::size_t i) {
  const double value = fit.fitted.values[i];
  FittedValue made{profile,
                   slot.key,
                   value * slot.scale,
                   fmt::format("{:g}{}", value, slot.unit),
                   fit.fitted.deviations[i],
                   fit.fitted.at_bound[i],
                   evidence_of(fit.fitted.said[i], fit.points)};
  made.evidence.prior = slot.constant.start * slot.scale;
  made.evidence.width = slot.constant.width;
  return made;
}

/// Lines of one family of links.
class FamilyFit {
 public:
  FamilyFit(const LinkFamily& family, const std::vector<SweepFact>& facts,
            const RunCatalog& catalog, CollectiveFit& fit)
      : family_{family},
        facts_{facts},
        profile_{catalog.device_profiles.at(family.parts.front())},
        fit_{fit} {}

  void run() {
    const bool hopper = profile_.protocols.in_switch.share > 0.0;
    const ProtocolLines known = profile_.protocols.gather;
    profile_.protocols = {};
    const bool measured = fit("all-gather, reduce-scatter", collective_slots::line_slots("gather"),
                              {CollectiveOp::all_gather, CollectiveOp::reduce_scatter});
    std::vector<FitSlot> reduce = collective_slots::line_slots("all_reduce");
    collective_slots::expect_like(measured ? profile_.protocols.gather : known, reduce);
    if (hopper) collective_slots::add_switch(reduce);
    fit("all-reduce", reduce, {CollectiveOp::all_reduce});
    fit("all-to-all", collective_slots::line_slots("exchange"), {CollectiveOp::all_to_all});
  }

 private:
  [[nodiscard]] std::vector<SweepFact> facts_of(const std::set<CollectiveOp>& operations) const {
    std::vector<SweepFact> own;
    for (const SweepFact& fact : facts_)
      if (!between_hosts(fact) && operations.count(fact.collective.op) > 0 &&
          is_part(family_, fact.collective.cluster.host.device.name))
        own.push_back(fact);
    return own;
  }

  /// From the facts of one group of operations. @return false for too few, which are not fitted
  bool fit(const std::string& what, const std::vector<FitSlot>& slots,
           const std::set<CollectiveOp>& operations) {
    const std::vector<SweepFact> facts = facts_of(operations);
    if (facts.size() < family_.fewest) return false;
    const auto residuals = [&](const std::vector<double>& values) {
      for (std::size_t i = 0; i < slots.size(); ++i) slots[i].set(profile_, values[i]);
      std::vector<double> errors;
      for (const SweepFact& fact : facts) errors.push_back(log_error(fact, profile_));
      return errors;
    };
    const SweepFit lines{
        numeric_fit(constants_of(slots), residuals, weights_of(facts), {.digits = sweep_digits}),
        points_of(facts)};
    fit_.residuals.push_back({family_.parts.front() + " " + what,
                              fit_errors(residuals(lines.fitted.values)), lines.fitted.converged});
    for (std::size_t i = 0; i < slots.size(); ++i) add(slots[i], lines, i);
    return true;
  }

  /// The constant of every part, those after the first as copies.
  void add(const FitSlot& slot, const SweepFit& lines, std::size_t i) {
    ConstantNames parts = family_.parts;
    if (!has_part(slot.key, "in_switch"))
      parts.insert(parts.end(), family_.without_switch.begin(), family_.without_switch.end());
    FittedValue value = value_of("device/" + parts.front(), slot, lines, i);
    for (const std::string& part : parts) {
      value.as = part == parts.front() ? "" : "device/" + parts.front() + " " + slot.key;
      value.profile = "device/" + part;
      fit_.values.push_back(value);
    }
  }

  const LinkFamily& family_;
  const std::vector<SweepFact>& facts_;
  DeviceProfile profile_;
  CollectiveFit& fit_;
};

void fit_fabric(const FabricPreset& preset, std::vector<SweepFact> facts, const RunCatalog& catalog,
                CollectiveFit& fit) {
  bool exchanges = false;
  bool climbs = false;
  for (const SweepFact& fact : facts) {
    exchanges = exchanges || fact.collective.op == CollectiveOp::all_to_all;
    climbs = climbs || (fact.collective.op == CollectiveOp::all_reduce &&
                        catalog.device_profiles.at(fact.collective.cluster.host.device.name)
                                .protocols.in_switch.share > 0.0);
  }
  const std::vector<FitSlot> slots = collective_slots::fabric_slots(preset);
  FabricPreset moved;
  const auto residuals = [&](const std::vector<double>& values) {
    for (std::size_t i = 0; i < slots.size(); ++i) slots[i].set(moved, values[i]);
    std::vector<double> errors;
    for (SweepFact& fact : facts) {
      fact.collective.cluster.network.protocols = moved.protocols;
      errors.push_back(
          log_error(fact, catalog.device_profiles.at(fact.collective.cluster.host.device.name)));
    }
    return errors;
  };
  const SweepFit lines{
      numeric_fit(constants_of(slots), residuals, weights_of(facts), {.digits = sweep_digits}),
      points_of(facts)};
  std::string what = preset.name;
  if (!exchanges) what += ", no all-to-all measured";
  if (!climbs) what += ", no tree between switches measured";
  fit.residuals.push_back(
      {what, fit_errors(residuals(lines.fitted.values)), lines.fitted.converged});
  for (std::size_t i = 0; i < slots.size(); ++i)
    fit.values.push_back(value_of("fabric/" + preset.name, slots[i], lines, i));
}

void fit_fabrics(const std::vector<SweepFact>& facts, const RunCatalog& catalog,
                 CollectiveFit& fit) {
  for (const auto& [name, preset] : catalog.fabrics) {
    std::vector<SweepFact> own;
    for (const SweepFact& fact : facts)
      if (between_hosts(fact) && fact.collective.cluster.network.preset == name)
        own.push_back(fact);
    if (!own.empty()) fit_fabric(preset, std::move(own), catalog, fit);
  }
}

CollectiveFit fit_facts(const std::vector<SweepFact>& facts, const RunCatalog& catalog) {
  CollectiveFit fit;
  for (const LinkFamily& family : link_families(catalog))
    FamilyFit(family, facts, catalog, fit).run();
  fit_fabrics(facts, with_collectives(catalog, fit.values), fit);
  return fit;
}

/// Sets the constant of that key; a key that the file has not is the caller's mistake.
template <class Profile>
void set_value(const FittedValue& value, const RowTable& table, Profile& profile) {
  fit_slot(table, value.key, {}).set(profile, value.value);
}

/// What a sweep shares constants with: its links within a host, or its fabric.
std::string pool_of(const SweepFact& fact, const RunCatalog& catalog) {
  if (between_hosts(fact)) return fact.collective.cluster.network.preset;
  const auto family = catalog.families.find(fact.collective.cluster.host.device.name);
  return family == catalog.families.end() ? "" : family->second.collectives;
}

}  // namespace

CollectiveFit fit_collectives(const std::vector<SweepRecord>& records, const RunCatalog& catalog) {
  return fit_facts(facts_of(records, catalog), catalog);
}

CollectiveFit fit_device_collectives(const std::string& device,
                                     const std::vector<SweepRecord>& records,
                                     const RunCatalog& catalog) {
  constexpr std::size_t fewest = 8;  // points; constants beyond what they tell keep their priors
  const LinkFamily family{{device}, {}, fewest};
  const std::vector<SweepFact> facts = facts_of(records, catalog);
  CollectiveFit fit;
  FamilyFit(family, facts, catalog, fit).run();
  return fit;
}

CollectiveFit fit_fabric_collectives(const std::string& fabric,
                                     const std::vector<SweepRecord>& records,
                                     const RunCatalog& catalog) {
  std::vector<SweepFact> own;
  for (SweepFact& fact : facts_of(records, catalog))
    if (between_hosts(fact) && fact.collective.cluster.network.preset == fabric)
      own.push_back(std::move(fact));
  CollectiveFit fit;
  if (!own.empty()) fit_fabric(catalog.fabrics.at(fabric), std::move(own), catalog, fit);
  return fit;
}

RunCatalog with_collectives(RunCatalog catalog, const std::vector<FittedValue>& values) {
  for (const FittedValue& value : values) {
    const auto slash = value.profile.find('/');
    const std::string name = value.profile.substr(slash + 1);
    if (value.profile.starts_with("device/"))
      set_value(value, device_profile_table(), catalog.device_profiles.at(name));
    else
      set_value(value, fabric_table(), catalog.fabrics.at(name));
  }
  return catalog;
}

namespace {

/// The sweep's facts and the other ones of its pool.
struct LeftOutSweep {
  std::vector<SweepFact> asked;
  std::vector<SweepFact> rest;
};

LeftOutSweep left_out_of(const std::vector<SweepFact>& facts, const std::string& pool,
                         const std::string& sweep, const RunCatalog& catalog) {
  LeftOutSweep parts;
  for (const SweepFact& fact : facts)
    if (pool_of(fact, catalog) == pool)
      (fact.sweep == sweep ? parts.asked : parts.rest).push_back(fact);
  return parts;
}

/// Errors of a sweep by what the others of its pool give.
void judge_sweep(LeftOutSweep parts, const std::string& pool, const RunCatalog& whole,
                 std::vector<LeftOutPoint>& points) {
  CollectiveFit fit;
  const bool between = between_hosts(parts.asked.front());
  const std::string& device = parts.asked.front().collective.cluster.host.device.name;
  if (between)
    fit_fabrics(parts.rest, whole, fit);
  else
    FamilyFit(*family_of_device(device, whole), parts.rest, whole, fit).run();
  const RunCatalog refitted = with_collectives(whole, fit.values);
  for (SweepFact& fact : parts.asked) {
    Cluster& cluster = fact.collective.cluster;
    if (between) cluster.network.protocols = refitted.fabrics.at(pool).protocols;
    points.push_back({fact.sweep, fact.size, between,
                      log_error(fact, refitted.device_profiles.at(cluster.host.device.name))});
  }
}

}  // namespace

std::vector<LeftOutPoint> leave_one_sweep_out(const std::vector<SweepRecord>& records,
                                              const RunCatalog& catalog) {
  const std::vector<SweepFact> facts = facts_of(records, catalog);
  std::map<std::string, std::set<std::string>> pools;
  for (const SweepFact& fact : facts) pools[pool_of(fact, catalog)].insert(fact.sweep);
  const RunCatalog whole = with_collectives(catalog, fit_facts(facts, catalog).values);
  std::vector<LeftOutPoint> points;
  for (const auto& [pool, sweeps] : pools) {
    if (pool.empty() || sweeps.size() < 2) continue;  // of devices that no fit has
    for (const std::string& sweep : sweeps)
      judge_sweep(left_out_of(facts, pool, sweep, catalog), pool, whole, points);
  }
  return points;
}

}  // namespace foretrain
