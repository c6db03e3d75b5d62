// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <utility>

#include "calibration/cases/collective_case.hpp"
#include "calibration/cases/kernel_case.hpp"
#include "calibration/cases/step_case.hpp"
#include "calibration/validate/validations.hpp"
#include "models/collectives/price.hpp"
#include "models/kernels/kernel_cost.hpp"

namespace foretrain {
namespace {

struct Bander {
  Seconds time;
  KernelDevice on;

  TimeBand operator()(const GemmCase& work) const { return gemm_band(work.gemm, time, on); }
  TimeBand operator()(const AttentionCase& work) const {
    return attention_band(work.work, time, on);
  }
  TimeBand operator()(const StreamCase& work) const {
    return streaming_band(work.traffic, time, on);
  }
};

/// Why the profile cannot price the kernel; empty: it can.
std::string objection(const KernelCase& kernel, const KernelDevice& on) {
  const auto* const attention = std::get_if<AttentionCase>(&kernel.work);
  if (attention != nullptr && !has_attention_alone(on.profile, attention->library))
    return fmt::format("the profile of {} has no rate of this library's attention alone",
                       kernel.device);
  if (std::holds_alternative<GemmCase>(kernel.work) && !has_gemm_profile(on))
    return fmt::format("there is no kernel profile for {} on {}", name_of(kernel.precision),
                       kernel.device);
  return "";
}

RecordCheck check_kernel(const KernelRecord& record, const RunCatalog& catalog) {
  RecordCheck check;
  check.id = record.id;
  check.source = record.family();
  check.quantity = kernel_quantity;
  check.item = fmt::format("{} {}", record.gpu, record.op);
  if (record.time_us) check.measured = *record.time_us;
  MappedKernel mapped = map_kernel(record);
  check.remarks = std::move(mapped.assumptions);
  if (!mapped.kernel) {
    skip(check, std::move(mapped.why));
    return check;
  }
  const KernelCase& kernel = *mapped.kernel;
  check.item =
      fmt::format("{} {}", kernel.device, record.op.starts_with("hbm_") ? "hbm_*" : record.op);
  check.group = kernel.kind;
  check.measured = kernel.measured.in(us);
  const auto device = catalog.devices.find(kernel.device);
  const auto profile = catalog.device_profiles.find(kernel.device);
  if (device == catalog.devices.end() || profile == catalog.device_profiles.end()) {
    skip(check, "no device " + kernel.device + " with a profile");
    return check;
  }
  const KernelDevice on{device->second, profile->second, kernel.precision, true};
  if (std::string why = objection(kernel, on); !why.empty()) {
    skip(check, std::move(why));
    return check;
  }
  const Seconds time = kernel_time(kernel, on.device, on.profile, inference_extras());
  const TimeBand band = std::visit(Bander{time, on}, kernel.work);
  check.predicted = time.in(us);
  check.low = band.low.in(us);
  check.high = band.high.in(us);
  return check;
}

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

std::vector<RecordCheck> check_run_steps(const std::vector<RunRecord>& records,
                                         const RunCatalog& catalog) {
  std::vector<RecordCheck> checks;
  for (const RunRecord& record : records) {
    if (record.trains() && !record.tells_speed()) continue;
    StepRun run = step_run(record, catalog);
    predict(run);
    tell_unknown(run);
    checks.push_back(std::move(run.check));
  }
  return checks;
}

std::vector<RecordCheck> check_kernels(const std::vector<KernelRecord>& records,
                                       const RunCatalog& catalog) {
  std::vector<RecordCheck> checks;
  checks.reserve(records.size());
  for (const KernelRecord& record : records) checks.push_back(check_kernel(record, catalog));
  return checks;
}

std::vector<RecordCheck> check_collectives(const std::vector<SweepRecord>& records,
                                           const RunCatalog& catalog) {
  std::vector<RecordCheck> checks;
  checks.reserve(records.size());
  for (const SweepRecord& record : records) checks.push_back(check_collective(record, catalog));
  return checks;
}

}  // namespace foretrain
