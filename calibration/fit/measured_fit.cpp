// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/measured_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "calibration/fit/internal/measured_parts.hpp"
#include "calibration/imports/record_text.hpp"
#include "models/base/require.hpp"

namespace foretrain {
namespace {

constexpr int measured_digits = 3;
constexpr std::size_t fewest = 3;  // records per constant would be better; priors hold the rest

/// FNV-1a, the same on every machine.
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211ULL;
  }
  // FNV's low bits follow those of the last characters: mix once.
  hash ^= hash >> 33U;
  hash *= 0xff51afd7ed558ccdULL;
  return hash ^ (hash >> 33U);
}

bool chosen(const std::string& identity, int every) {
  return every > 1 && hash_of(identity) % static_cast<std::uint64_t>(every) == 0;
}

template <class Records>
Records kept(const Records& records, int every, int& held_out) {
  Records rest;
  for (const auto& record : records) {
    if (is_held_out(record, every))
      ++held_out;
    else
      rest.push_back(record);
  }
  return rest;
}

}  // namespace

bool is_held_out(const KernelRecord& record, int every) {
  return chosen(fmt::format("{}|{}|{}|{}|{}", record.op, record.dtype, record.m.value_or(0.0),
                            record.n.value_or(0.0), record.shape),
                every);
}

bool is_held_out(const SweepRecord& record, int every) {
  return chosen(fmt::format("{}|{}|{}|{}|{}", record.collective, record.nodes, record.gpus_per_node,
                            record.size_bytes, record.in_place),
                every);
}

void fit_group(const MeasuredGroup& group, MeasuredFit& fit) {
  constexpr double far_off = 0.2;
  constexpr double of_median = 6.0;
  const std::size_t count = group.names.size();
  if (count < std::max(fewest, group.slots.size())) return;
  const std::vector<NumericConstant> constants = constants_of(group.slots);
  const auto residuals = [&](const std::vector<double>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) group.set(group.slots[i], values[i]);
    return group.log_errors();
  };
  std::vector<double> weights(count, 1.0);
  NumericFit fitted = numeric_fit(constants, residuals, weights, {.digits = measured_digits});
  std::vector<double> errors = residuals(fitted.values);
  FORETRAIN_REQUIRE(errors.size() == count);
  std::vector<double> amounts;
  for (const double error : errors) amounts.push_back(std::abs(error));
  std::ranges::sort(amounts);
  // One record of ten may be wrong; where more look so, the form does not fit and the errors say
  // it.
  const double limit = std::max(
      {std::log1p(far_off), of_median * amounts[count / 2], amounts[count - 1 - count / 10]});
  bool again = false;
  for (std::size_t i = 0; i < count; ++i)
    if (std::abs(errors[i]) > limit) {
      weights[i] = 0.0;
      again = true;
    }
  if (again) {
    fitted = numeric_fit(constants, residuals, weights, {.digits = measured_digits});
    errors = residuals(fitted.values);
  }
  for (std::size_t i = 0; i < count; ++i)
    if (weights[i] == 0.0)
      fit.outliers.push_back({group.what + " " + group.names[i], std::exp(errors[i]) - 1.0});
  fit.residuals.push_back({group.what, fit_errors(errors)});
  for (std::size_t i = 0; i < group.slots.size(); ++i) {
    const FitSlot& slot = group.slots[i];
    const double value = fitted.values[i];
    fit.values.push_back({group.profile, slot.key, value * slot.scale,
                          fmt::format("{:g}{}", value, slot.unit), fitted.deviations[i],
                          fitted.at_bound[i]});
  }
}

MeasuredFit fit_measured(const std::vector<ImportedLog>& logs, const MeasuredFitRequest& request,
                         const RunCatalog& catalog) {
  FORETRAIN_REQUIRE(catalog.devices.contains(request.device) &&
                    catalog.device_profiles.contains(request.device));
  MeasuredFit fit;
  std::vector<KernelRecord> kernels;
  std::vector<SweepRecord> sweeps;
  for (const ImportedLog& log : logs) {
    kernels.insert(kernels.end(), log.kernels.begin(), log.kernels.end());
    sweeps.insert(sweeps.end(), log.sweeps.begin(), log.sweeps.end());
  }
  for (SweepRecord& record : sweeps)
    if (record.nodes > 1 && record.fabric.empty()) record.fabric = request.fabric;
  fit_measured_kernels(kept(kernels, request.hold_out, fit.held_out), request, catalog, fit);
  fit_measured_collectives(kept(sweeps, request.hold_out, fit.held_out), request, catalog, fit);
  fit.verdict = measured_verdict(logs, request, fit);
  return fit;
}

}  // namespace foretrain
