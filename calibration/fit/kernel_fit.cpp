// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/kernel_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "calibration/fit/internal/numeric_fit.hpp"
#include "calibration/records/run_source.hpp"

namespace foretrain {
namespace {

constexpr int kernel_digits = 3;
constexpr double most_rows = 60.0;  // that one table counts for where several are fitted together

using KernelNames = std::vector<std::string>;

/// A measured kernel, and the table it stands in.
struct KernelFact {
  KernelCase kernel;
  std::string table;
};

std::vector<KernelFact> kernel_facts(const std::vector<KernelRecord>& records) {
  std::vector<KernelFact> facts;
  for (const KernelRecord& record : records) {
    MappedKernel mapped = map_kernel(record);
    if (mapped.kernel)
      facts.push_back({std::move(*mapped.kernel), record.family() + " " + record.op});
  }
  return facts;
}

/// A fit's constants: where each goes in a profile, and how its file writes it.
struct Slot {
  std::string key;
  std::string unit;
  double scale;  ///< of the unit in base units
  NumericConstant constant;
  std::function<void(DeviceProfile&, InferenceExtras&, double)> set;
  bool extra = false;  ///< of InferenceExtras, in no profile
};

Slot gemm_slot(Precision precision, const char* key, const NumericConstant& constant,
               double GemmProfile::*member) {
  return {"gemm." + std::string(name_of(precision)) + "." + key, "", 1.0, constant,
          [precision, member](DeviceProfile& profile, InferenceExtras&, double value) {
            profile.gemm[precision].*member = value;
          }};
}

std::vector<Slot> gemm_slots(Precision precision) {
  std::vector<Slot> slots{
      gemm_slot(precision, "efficiency", {0.85, 0.2, 0.3, 1.0}, &GemmProfile::efficiency),
      gemm_slot(precision, "ramp_k", {200.0, 0.7, 20.0, 2000.0}, &GemmProfile::ramp_k),
      gemm_slot(precision, "tile_128", {0.95, 0.1, 0.6, 1.0}, &GemmProfile::tile_128)};
  slots.push_back({"gemm." + std::string(name_of(precision)) + ".launch",
                   " us",
                   1e-6,
                   {2.4, 0.3, 0.5, 10.0},
                   [precision](DeviceProfile& profile, InferenceExtras&, double value) {
                     profile.gemm[precision].launch = microseconds(value);
                   }});
  return slots;
}

/// Of 8-bit products, whose small tiles no benchmark shows to be slower than large ones.
std::vector<Slot> eight_bit_slots() {
  std::vector<Slot> slots = gemm_slots(Precision::fp8);
  std::erase_if(slots, [](const Slot& slot) { return slot.key.ends_with(".tile_128"); });
  return slots;
}

std::vector<Slot> power_slots() {
  return {{"alone.boost",
           " us",
           1e-6,
           {1500.0, 0.5, 100.0, 10000.0},
           [](DeviceProfile& profile, InferenceExtras&, double value) {
             profile.alone.boost = microseconds(value);
           }},
          {"alone.long_clock",
           "",
           1.0,
           {0.82, 0.05, 0.6, 1.0},
           [](DeviceProfile& profile, InferenceExtras&, double value) {
             profile.alone.long_clock = value;
           }}};
}

template <class V>
Slot extras_slot(const char* name, V InferenceExtras::*member, V unit,
                 const NumericConstant& constant) {
  return {name,
          "",
          1.0,
          constant,
          [member, unit](DeviceProfile&, InferenceExtras& extras, double v) {
            extras.*member = v * unit;
          },
          true};
}

/// What 8-bit products spend on making their operands.
std::vector<Slot> quantise_slots() {
  return {
      extras_slot("quantise_bytes", &InferenceExtras::quantise_bytes, 1.0, {6.0, 0.5, 1.0, 20.0}),
      extras_slot("quantise_fixed", &InferenceExtras::quantise_fixed, 1.0 * us,
                  {6.0, 0.5, 0.5, 20.0})};
}

Slot attention_slot(const char* key, const NumericConstant& constant,
                    FlopPerSecond AttentionKernels::*member) {
  return {std::string("alone.attention.") + key, " TFLOP/s", 1e12, constant,
          [member](DeviceProfile& profile, InferenceExtras&, double value) {
            profile.alone.attention.*member = value * TFLOPS;
          }};
}

Slot attention_slot(const char* key, const NumericConstant& constant,
                    double AttentionKernels::*member) {
  return {std::string("alone.attention.") + key, "", 1.0, constant,
          [member](DeviceProfile& profile, InferenceExtras&, double value) {
            profile.alone.attention.*member = value;
          }};
}

std::vector<Slot> attention_slots(bool hopper) {
  std::vector<Slot> slots{
      attention_slot("flash2", {hopper ? 400.0 : 190.0, 0.3, 50.0, 900.0},
                     &AttentionKernels::flash2),
      attention_slot("flash2_both", {1.0, 0.2, 0.5, 1.5}, &AttentionKernels::flash2_both),
      attention_slot("length_half", {512.0, 0.5, 100.0, 3000.0}, &AttentionKernels::length_half),
      attention_slot("tiles_half", {132.0, 0.5, 10.0, 600.0}, &AttentionKernels::tiles_half),
      attention_slot("small_head", {0.8, 0.2, 0.5, 1.0}, &AttentionKernels::small_head)};
  if (!hopper) return slots;
  slots.push_back(attention_slot("flash3", {650.0, 0.2, 300.0, 989.0}, &AttentionKernels::flash3));
  slots.push_back(attention_slot("vendor", {600.0, 0.2, 300.0, 989.0}, &AttentionKernels::vendor));
  slots.push_back(
      extras_slot("cache_passes", &InferenceExtras::cache_passes, 1.0, {2.0, 0.5, 0.1, 10.0}));
  slots.push_back(
      extras_slot("query_passes", &InferenceExtras::query_passes, 1.0, {1.0, 0.5, 0.1, 10.0}));
  slots.push_back(
      extras_slot("cache_fixed", &InferenceExtras::cache_fixed, 1.0 * us, {10.0, 0.5, 0.1, 50.0}));
  return slots;
}

/// Fits slots of the chip `parts` to facts, reports residuals and adds the values of all parts.
class Chip {
 public:
  Chip(const KernelNames& parts, const RunCatalog& catalog, KernelFit& fit)
      : parts_{parts},
        catalog_{catalog},
        profile_{catalog.device_profiles.at(parts.front())},
        fit_{fit} {
    for (const std::string& part : parts_) fit_.profiles[part] = catalog.device_profiles.at(part);
  }

  template <class Choose>
  void fit(const std::string& what, const std::vector<KernelFact>& all,
           const std::vector<Slot>& slots, Choose choose) {
    std::vector<const KernelFact*> facts;
    std::map<std::string, double> rows;
    for (const KernelFact& fact : all)
      if (choose(fact)) facts.push_back(&fact);
    for (const KernelFact* fact : facts) rows[fact->table] += 1.0;
    std::vector<double> weights;
    for (const KernelFact* fact : facts)
      weights.push_back(rows.size() == 1 ? 1.0 : std::min(1.0, most_rows / rows[fact->table]));
    std::vector<NumericConstant> constants;
    for (const Slot& slot : slots) constants.push_back(slot.constant);
    const auto residuals = [&](const std::vector<double>& values) {
      for (std::size_t i = 0; i < slots.size(); ++i) slots[i].set(profile_, fit_.extras, values[i]);
      std::vector<double> errors;
      for (const KernelFact* fact : facts)
        errors.push_back(
            std::log(kernel_time(fact->kernel, catalog_.devices.at(fact->kernel.device), profile_,
                                 fit_.extras) /
                     fact->kernel.measured));
      return errors;
    };
    const NumericFit fitted = numeric_fit(constants, residuals, weights, kernel_digits);
    const std::vector<double>& values = fitted.values;
    fit_.residuals.push_back(
        {parts_.front() + " " + what, fit_errors(residuals(values)), fitted.converged});
    for (std::size_t i = 0; i < slots.size(); ++i) {
      if (slots[i].extra) {
        fit_.extra_values.push_back({"", slots[i].key, values[i] * slots[i].scale,
                                     fmt::format("{:g}{}", values[i], slots[i].unit),
                                     fitted.deviations[i], fitted.at_bound[i]});
        continue;
      }
      add(slots[i].key, values[i], slots[i].unit, slots[i].scale, fitted.deviations[i],
          fitted.at_bound[i]);
      for (const std::string& part : parts_)
        slots[i].set(fit_.profiles.at(part), fit_.extras, values[i]);
    }
  }

  /// The band of the last fit under that key.
  void add_band(const std::string& key, ResidualBand KernelsAlone::*member) {
    constexpr int band_digits = 3;
    const FitErrors& errors = fit_.residuals.back().errors;
    const ResidualBand band{rounded(std::min(1.0, errors.low), band_digits),
                            rounded(std::max(1.0, errors.high), band_digits)};
    add(key + ".low", band.low, "", 1.0);
    add(key + ".high", band.high, "", 1.0);
    for (const std::string& part : parts_) fit_.profiles.at(part).alone.*member = band;
  }

  void add(const std::string& key, double value, const std::string& unit, double scale,
           double deviation = 0.0, bool at_bound = false) {
    for (const std::string& part : parts_)
      fit_.values.push_back({"device/" + part, key, value * scale,
                             fmt::format("{:g}{}", value, unit), deviation, at_bound});
  }

  /// The residuals of facts that nothing is fitted to, and their band.
  template <class Choose>
  void measure(const std::string& what, const std::vector<KernelFact>& all, Choose choose) {
    std::vector<double> errors;
    for (const KernelFact& fact : all)
      if (choose(fact))
        errors.push_back(std::log(kernel_time(fact.kernel, catalog_.devices.at(fact.kernel.device),
                                              profile_, fit_.extras) /
                                  fact.kernel.measured));
    fit_.residuals.push_back({parts_.front() + " " + what, fit_errors(errors)});
  }

  /// Both 16-bit formats run at one rate: what was fitted in bfloat16 stands for both.
  void copy_bf16() {
    const std::vector<FittedValue> values = fit_.values;
    for (const FittedValue& value : values) {
      if (!value.key.starts_with("gemm.bf16.") ||
          std::find(parts_.begin(), parts_.end(), value.profile.substr(7)) == parts_.end())
        continue;
      FittedValue copy = value;
      copy.key.replace(5, 4, "fp16");
      fit_.values.push_back(std::move(copy));
    }
    for (const std::string& part : parts_) {
      std::map<Precision, GemmProfile>& gemm = fit_.profiles.at(part).gemm;
      const double sustained = gemm[Precision::fp16].sustained;
      gemm[Precision::fp16] = gemm[Precision::bf16];
      gemm[Precision::fp16].sustained = sustained;
    }
  }

 private:
  const KernelNames& parts_;
  const RunCatalog& catalog_;
  DeviceProfile profile_;
  KernelFit& fit_;
};

bool is_one_of(const std::string& name, const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The preferred tables that the device has 16-bit products in.
KernelNames tables_of(const std::string& device, const std::vector<KernelFact>& facts) {
  for (const KernelNames& tables : product_tables())
    for (const KernelFact& fact : facts)
      if (fact.kernel.device == device && fact.kernel.precision == Precision::bf16 &&
          is_one_of(fact.table, tables))
        return tables;
  return {};
}

std::vector<Slot> both(std::vector<Slot> slots, const std::vector<Slot>& more) {
  slots.insert(slots.end(), more.begin(), more.end());
  return slots;
}

/// Everything that is fitted to kernels of one chip.
void fit_chip(const KernelNames& parts, const std::vector<KernelFact>& facts,
              const RunCatalog& catalog, KernelFit& fit) {
  const std::string& measured = parts.front();
  const Device& device = catalog.devices.at(measured);
  const bool hopper = device.architecture >= Architecture::hopper;
  const KernelNames tables = tables_of(measured, facts);
  const auto products = [&](Precision precision) {
    return [&measured, &tables, precision](const KernelFact& fact) {
      return fact.kernel.device == measured && fact.kernel.precision == precision &&
             std::holds_alternative<GemmCase>(fact.kernel.work) && is_one_of(fact.table, tables);
    };
  };
  Chip chip(parts, catalog, fit);
  const std::vector<Slot> sixteen_bits = gemm_slots(Precision::bf16);
  chip.fit("gemm bf16", facts, hopper ? both(sixteen_bits, power_slots()) : sixteen_bits,
           products(Precision::bf16));
  chip.copy_bf16();
  chip.add_band("alone.gemm_band", &KernelsAlone::gemm_band);
  if (device.peak_of(Precision::fp8) > FlopPerSecond{})
    chip.fit("gemm fp8", facts, both(eight_bit_slots(), quantise_slots()),
             products(Precision::fp8));
  chip.fit("attention", facts, attention_slots(hopper), [&](const KernelFact& fact) {
    return is_one_of(fact.kernel.device, parts) &&
           std::holds_alternative<AttentionCase>(fact.kernel.work);
  });
  chip.add_band("alone.attention_band", &KernelsAlone::attention_band);
  chip.measure("streaming", facts, [&](const KernelFact& fact) {
    return is_one_of(fact.kernel.device, parts) &&
           std::holds_alternative<StreamCase>(fact.kernel.work);
  });
  chip.add_band("alone.memory_band", &KernelsAlone::memory_band);
}

}  // namespace

KernelFit fit_kernels(const std::vector<KernelRecord>& records, const RunCatalog& catalog) {
  const std::vector<KernelFact> facts = kernel_facts(records);
  KernelFit fit;
  for (const auto& [measured, parts] : device_families(catalog, &DeviceFamily::kernels))
    fit_chip(parts, facts, catalog, fit);
  return fit;
}

}  // namespace foretrain
