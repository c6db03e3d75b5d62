// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/kernel_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
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

/// Of quantised products, whose small tiles no benchmark shows to be slower than large ones.
std::vector<Slot> quantised_slots(Precision precision) {
  std::vector<Slot> slots = gemm_slots(precision);
  // What a tile costs before it multiplies is depth that goes by four times as fast in four bits.
  for (Slot& slot : slots)
    if (precision == Precision::nvfp4 && slot.key.ends_with(".ramp_k"))
      slot.constant = {800.0, 0.7, 20.0, 8000.0};
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

/// What quantised products spend on making their operands.
std::vector<Slot> quantise_slots(Precision precision) {
  const auto of = quantising_of(precision);
  const std::string at = fmt::format("{}.", name_of(precision));
  const NumericConstant bytes{6.0, 0.5, 0.5, 20.0};
  const auto slot = [&](const char* part, auto set) {
    return Slot{at + part, "", 1.0, bytes, set, true};
  };
  return {slot("bytes", [of](DeviceProfile&, InferenceExtras& extras,
                             double value) { (extras.*of).bytes = value; }),
          slot("fixed", [of](DeviceProfile&, InferenceExtras& extras, double value) {
            (extras.*of).fixed = value * us;
          })};
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

/// How attention fills the device, whoever wrote it.
std::vector<Slot> filling_slots() {
  return {
      attention_slot("length_half", {512.0, 0.5, 100.0, 3000.0}, &AttentionKernels::length_half),
      attention_slot("tiles_half", {132.0, 0.5, 10.0, 600.0}, &AttentionKernels::tiles_half),
      attention_slot("small_head", {0.8, 0.2, 0.5, 1.0}, &AttentionKernels::small_head)};
}

/// What the vendor's kernels take to fill an inference cache.
std::vector<Slot> cache_slots() {
  return {
      extras_slot("cache_passes", &InferenceExtras::cache_passes, 1.0, {2.0, 0.5, 0.1, 10.0}),
      extras_slot("query_passes", &InferenceExtras::query_passes, 1.0, {1.0, 0.5, 0.1, 10.0}),
      extras_slot("cache_fixed", &InferenceExtras::cache_fixed, 1.0 * us, {10.0, 0.5, 0.1, 50.0})};
}

std::vector<Slot> both(std::vector<Slot> slots, const std::vector<Slot>& more) {
  slots.insert(slots.end(), more.begin(), more.end());
  return slots;
}

/// Rates of the libraries that an architecture's benchmarks ran, and what they share.
std::vector<Slot> attention_slots(Architecture architecture) {
  const std::vector<Slot> filling = filling_slots();
  // Of Blackwell no heads up to 64 wide were measured.
  if (architecture >= Architecture::blackwell)
    return {attention_slot("vendor", {1200.0, 0.3, 300.0, 2500.0}, &AttentionKernels::vendor),
            filling[0], filling[1]};
  const bool hopper = architecture == Architecture::hopper;
  std::vector<Slot> slots{
      attention_slot("flash2", {hopper ? 400.0 : 190.0, 0.3, 50.0, 900.0},
                     &AttentionKernels::flash2),
      attention_slot("flash2_both", {1.0, 0.2, 0.5, 1.5}, &AttentionKernels::flash2_both)};
  slots = both(std::move(slots), filling);
  if (!hopper) return slots;
  slots.push_back(attention_slot("flash3", {650.0, 0.2, 300.0, 989.0}, &AttentionKernels::flash3));
  slots.push_back(attention_slot("vendor", {600.0, 0.2, 300.0, 989.0}, &AttentionKernels::vendor));
  return both(std::move(slots), cache_slots());
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

/// The preferred tables that the device has products in.
KernelNames tables_of(const std::string& device, const std::vector<KernelFact>& facts) {
  for (const KernelNames& tables : product_tables())
    for (const KernelFact& fact : facts)
      if (fact.kernel.device == device && std::holds_alternative<GemmCase>(fact.kernel.work) &&
          is_one_of(fact.table, tables))
        return tables;
  return {};
}

/// Formats whose operands benchmarks make, in the order in which they are fitted.
constexpr auto quantised_formats = std::to_array({Precision::fp8, Precision::nvfp4});

/// Everything that is fitted to kernels of one chip.
class ChipFit {
 public:
  ChipFit(const KernelNames& parts, const std::vector<KernelFact>& facts, const RunCatalog& catalog,
          KernelFit& fit)
      : parts_{parts},
        measured_{parts.front()},
        facts_{facts},
        device_{catalog.devices.at(measured_)},
        tables_{tables_of(measured_, facts)},
        chip_{parts, catalog, fit} {}

  /// @param made  formats whose operands' making another chip has told, to which this one's is
  /// added
  void run(std::set<Precision>& made) {
    const bool sixteen = has_products(Precision::bf16);
    if (sixteen) fit_sixteen_bits();
    bool banded = sixteen;
    for (const Precision precision : quantised_formats) {
      if (!has_products(precision)) continue;
      std::vector<Slot> slots = quantised_slots(precision);
      if (made.insert(precision).second) slots = both(std::move(slots), quantise_slots(precision));
      chip_.fit(fmt::format("gemm {}", name_of(precision)), facts_, slots, products(precision));
      if (!banded) chip_.add_band("alone.gemm_band", &KernelsAlone::gemm_band);
      banded = true;
    }
    fit_rest();
  }

 private:
  [[nodiscard]] std::function<bool(const KernelFact&)> products(Precision precision) const {
    return [this, precision](const KernelFact& fact) {
      const auto* const work = std::get_if<GemmCase>(&fact.kernel.work);
      return work != nullptr && fact.kernel.device == measured_ &&
             fact.kernel.precision == precision && is_one_of(fact.table, tables_);
    };
  }

  [[nodiscard]] bool has_products(Precision precision) const {
    return std::any_of(facts_.begin(), facts_.end(), products(precision));
  }

  void fit_sixteen_bits() {
    const bool powered = device_.architecture >= Architecture::hopper;
    const std::vector<Slot> slots = gemm_slots(Precision::bf16);
    chip_.fit("gemm bf16", facts_, powered ? both(slots, power_slots()) : slots,
              products(Precision::bf16));
    chip_.copy_bf16();
    chip_.add_band("alone.gemm_band", &KernelsAlone::gemm_band);
  }

  /// Attention of the part that it was measured on, streaming kernels of all parts.
  void fit_rest() {
    const auto attention = [&](const KernelFact& fact) {
      const auto* const work = std::get_if<AttentionCase>(&fact.kernel.work);
      return work != nullptr && is_one_of(fact.kernel.device, parts_) &&
             runs_here(fact.kernel.device, work->library);
    };
    if (std::any_of(facts_.begin(), facts_.end(), attention)) {
      chip_.fit("attention", facts_, attention_slots(device_.architecture), attention);
      chip_.add_band("alone.attention_band", &KernelsAlone::attention_band);
    }
    const auto streams = [&](const KernelFact& fact) {
      return is_one_of(fact.kernel.device, parts_) &&
             std::holds_alternative<StreamCase>(fact.kernel.work);
    };
    if (std::none_of(facts_.begin(), facts_.end(), streams)) return;
    chip_.measure("streaming", facts_, streams);
    chip_.add_band("alone.memory_band", &KernelsAlone::memory_band);
  }

  /// Up to Hopper one part stands for its chip; Blackwell's has the vendor's kernels alone.
  [[nodiscard]] bool runs_here(const std::string& device, AttentionLibrary library) const {
    if (device_.architecture >= Architecture::blackwell) return library == AttentionLibrary::vendor;
    return device_.architecture < Architecture::hopper || device == measured_;
  }

  const KernelNames& parts_;
  const std::string& measured_;
  const std::vector<KernelFact>& facts_;
  const Device& device_;
  KernelNames tables_;
  Chip chip_;
};

}  // namespace

KernelFit fit_kernels(const std::vector<KernelRecord>& records, const RunCatalog& catalog) {
  const std::vector<KernelFact> facts = kernel_facts(records);
  const auto families = device_families(catalog, &DeviceFamily::kernels);
  // What benchmarks do besides a format's products is fitted to the oldest architecture that has
  // it.
  std::vector<const KernelNames*> oldest_first;
  for (const auto& [measured, parts] : families) oldest_first.push_back(&parts);
  std::stable_sort(oldest_first.begin(), oldest_first.end(),
                   [&](const KernelNames* a, const KernelNames* b) {
                     return catalog.devices.at(a->front()).architecture <
                            catalog.devices.at(b->front()).architecture;
                   });
  KernelFit fit;
  fit.extras = inference_extras();
  std::set<Precision> made;
  for (const KernelNames* const parts : oldest_first)
    ChipFit(*parts, facts, catalog, fit).run(made);
  return fit;
}

}  // namespace foretrain
