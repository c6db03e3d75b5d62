// SPDX-License-Identifier: Apache-2.0
#include "calibration/validate/validations.hpp"

#include <fmt/format.h>

#include "calibration/cases/kernel_case.hpp"
#include "models/kernels/kernel_band.hpp"

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

}  // namespace

std::vector<RecordCheck> check_kernels(const std::vector<KernelRecord>& records,
                                       const RunCatalog& catalog) {
  std::vector<RecordCheck> checks;
  checks.reserve(records.size());
  for (const KernelRecord& record : records) checks.push_back(check_kernel(record, catalog));
  return checks;
}

}  // namespace foretrain
