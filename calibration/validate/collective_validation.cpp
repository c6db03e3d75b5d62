// SPDX-License-Identifier: Apache-2.0
#include "calibration/validate/validations.hpp"

#include <fmt/format.h>

#include "calibration/cases/collective_case.hpp"
#include "models/collectives/collective_band.hpp"

namespace foretrain {
namespace {

std::string item_of(const SweepRecord& record, const std::optional<CollectiveCase>& collective) {
  std::string device = record.gpu;
  std::string where = record.nodes > 1 ? record.network : "one host";
  if (collective) device = collective->cluster.host.device.name;
  if (collective && record.nodes > 1)
    where = collective->group.domains() > 1 ? collective->cluster.network.preset : "one rack";
  return fmt::format("{} {} {}", device, record.collective, where);
}

RecordCheck check_collective(const SweepRecord& record, const RunCatalog& catalog) {
  RecordCheck check;
  check.id = record.id();
  check.source = record.family();
  check.quantity = collective_quantity;
  check.group = Bytes{record.size_bytes} >= 1.0 * MiB ? large_group : small_group;
  check.measured = record.time_us.value_or(0.0);
  MappedCollective mapped = map_collective(record, catalog);
  check.remarks = std::move(mapped.assumptions);
  check.item = item_of(record, mapped.collective);
  if (!mapped.collective) {
    skip(check, std::move(mapped.why));
    return check;
  }
  const CollectiveCase& collective = *mapped.collective;
  check.measured = collective.measured.in(us);
  const auto profile = catalog.device_profiles.find(collective.cluster.host.device.name);
  if (profile == catalog.device_profiles.end()) {
    skip(check, "no profile of " + collective.cluster.host.device.name);
    return check;
  }
  const auto choice = collective_choice(collective, profile->second);
  if (!choice) {
    skip(check, fmt::format("the forced algorithm ({}) does not exist there",
                            name_of(*collective.forced)));
    return check;
  }
  const TimeBand band = collective_band(collective.op, collective.group, collective.payload,
                                        choice->time, {collective.cluster, profile->second, {}});
  check.predicted = choice->time.in(us);
  check.low = band.low.in(us);
  check.high = band.high.in(us);
  return check;
}

}  // namespace

std::vector<RecordCheck> check_collectives(const std::vector<SweepRecord>& records,
                                           const RunCatalog& catalog) {
  std::vector<RecordCheck> checks;
  checks.reserve(records.size());
  for (const SweepRecord& record : records) checks.push_back(check_collective(record, catalog));
  return checks;
}

}  // namespace foretrain
