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

#include "calibration/fit/internal/fit_slots.hpp"
#include "calibration/records/run_source.hpp"
#include "models/base/ranges.hpp"

namespace foretrain {
namespace {

constexpr int kernel_digits = 3;
constexpr double most_rows = 60.0;  // that one table counts for where several are fitted together

using KernelNames = std::vector<std::string>;

/// A measured kernel, and the table it stands in.
struct KernelFact {
  KernelCase kernel;
  std::string table;
  std::string id;  ///< in words, since tables number their lines apart
};

std::string words_of(const KernelRecord& record) {
  std::string sizes;
  for (const auto& size : {record.m, record.n})
    if (size) sizes += fmt::format("{:.0f}x", *size);
  return fmt::format("{} {} {} {} {}{}", record.family(), record.op, record.gpu, record.dtype,
                     sizes, record.shape);
}

std::vector<KernelFact> kernel_facts(const std::vector<KernelRecord>& records) {
  std::vector<KernelFact> facts;
  for (const KernelRecord& record : records) {
    MappedKernel mapped = map_kernel(record);
    if (mapped.kernel)
      facts.push_back(
          {std::move(*mapped.kernel), record.family() + " " + record.op, words_of(record)});
  }
  return facts;
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
           const std::vector<FitSlot>& slots, Choose choose) {
    std::vector<const KernelFact*> facts;
    std::map<std::string, double> rows;
    for (const KernelFact& fact : all)
      if (choose(fact)) facts.push_back(&fact);
    for (const KernelFact* fact : facts) rows[fact->table] += 1.0;
    std::vector<double> weights;
    for (const KernelFact* fact : facts)
      weights.push_back(rows.size() == 1 ? 1.0 : std::min(1.0, most_rows / rows[fact->table]));
    const auto residuals = [&](const std::vector<double>& values) {
      for (std::size_t i = 0; i < slots.size(); ++i) set(slots[i], profile_, values[i]);
      std::vector<double> errors;
      for (const KernelFact* fact : facts)
        errors.push_back(
            std::log(kernel_time(fact->kernel, catalog_.devices.at(fact->kernel.device), profile_,
                                 fit_.extras) /
                     fact->kernel.measured));
      return errors;
    };
    const NumericFit fitted =
        numeric_fit(constants_of(slots), residuals, weights, {.digits = kernel_digits});
    const std::vector<double>& values = fitted.values;
    fit_.residuals.push_back(
        {parts_.front() + " " + what, fit_errors(residuals(values)), fitted.converged});
    std::vector<FitRecord> told;
    for (const KernelFact* fact : facts)
      told.push_back({fact->id, fact->table, fact->kernel.device});
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const bool extra = kernel_slots::is_extra(slots[i]);
      const double unit = extra ? 1.0 : slots[i].scale;
      FittedValue value{"",
                        slots[i].key,
                        values[i] * unit,
                        fmt::format("{:g}{}", values[i], slots[i].unit),
                        fitted.deviations[i],
                        fitted.at_bound[i],
                        evidence_of(fitted.said[i], told)};
      value.evidence.prior = slots[i].constant.start * unit;
      value.evidence.width = slots[i].constant.width;
      if (extra) {
        fit_.extra_values.push_back(value);
        continue;
      }
      add(value);
      for (const std::string& part : parts_) set(slots[i], fit_.profiles.at(part), values[i]);
    }
  }

  /// The band of the last fit under that key.
  void add_band(const std::string& key, ResidualBand KernelsAlone::*member) {
    constexpr int band_digits = 3;
    const FitErrors& errors = fit_.residuals.back().errors;
    const ResidualBand band{rounded(std::min(1.0, errors.low), band_digits),
                            rounded(std::max(1.0, errors.high), band_digits)};
    add({"", key + ".low", band.low, fmt::format("{:g}", band.low)});
    add({"", key + ".high", band.high, fmt::format("{:g}", band.high)});
    for (const std::string& part : parts_) fit_.profiles.at(part).alone.*member = band;
  }

  /// Of every part of the chip.
  void add(FittedValue value) {
    const std::string own = "device/" + parts_.front() + " " + value.key;
    for (const std::string& part : parts_) {
      value.profile = "device/" + part;
      value.as = part == parts_.front() ? "" : own;
      fit_.values.push_back(value);
    }
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
      if (!value.key.starts_with("gemm.bf16.") || !contains(parts_, value.profile.substr(7)))
        continue;
      FittedValue copy = value;
      if (copy.as.empty()) copy.as = value.profile + " " + value.key;
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
  void set(const FitSlot& slot, DeviceProfile& profile, double value) {
    if (kernel_slots::is_extra(slot))
      slot.set(fit_.extras, value);
    else
      slot.set(profile, value);
  }

  const KernelNames& parts_;
  const RunCatalog& catalog_;
  DeviceProfile profile_;
  KernelFit& fit_;
};

/// The preferred tables that the device has products in.
KernelNames tables_of(const std::string& device, const std::vector<KernelFact>& facts) {
  for (const KernelNames& tables : product_tables())
    for (const KernelFact& fact : facts)
      if (fact.kernel.device == device && std::holds_alternative<GemmCase>(fact.kernel.work) &&
          contains(tables, fact.table))
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
      std::vector<FitSlot> slots = kernel_slots::quantised_slots(precision);
      if (made.insert(precision).second)
        slots = kernel_slots::both(std::move(slots), kernel_slots::quantise_slots(precision));
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
             fact.kernel.precision == precision && contains(tables_, fact.table);
    };
  }

  [[nodiscard]] bool has_products(Precision precision) const {
    return std::ranges::any_of(facts_, products(precision));
  }

  void fit_sixteen_bits() {
    const bool powered = device_.architecture >= Architecture::hopper;
    const std::vector<FitSlot> slots = kernel_slots::gemm_slots(Precision::bf16);
    chip_.fit("gemm bf16", facts_,
              powered ? kernel_slots::both(slots, kernel_slots::power_slots()) : slots,
              products(Precision::bf16));
    chip_.copy_bf16();
    chip_.add_band("alone.gemm_band", &KernelsAlone::gemm_band);
  }

  /// Attention of the part that it was measured on, streaming kernels of all parts.
  void fit_rest() {
    const auto attention = [&](const KernelFact& fact) {
      const auto* const work = std::get_if<AttentionCase>(&fact.kernel.work);
      return work != nullptr && contains(parts_, fact.kernel.device) &&
             runs_here(fact.kernel.device, work->library);
    };
    if (std::ranges::any_of(facts_, attention)) {
      chip_.fit("attention", facts_, kernel_slots::attention_slots(device_.architecture),
                attention);
      chip_.add_band("alone.attention_band", &KernelsAlone::attention_band);
    }
    const auto streams = [&](const KernelFact& fact) {
      return contains(parts_, fact.kernel.device) &&
             std::holds_alternative<StreamCase>(fact.kernel.work);
    };
    if (std::ranges::none_of(facts_, streams)) return;
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
  std::ranges::stable_sort(oldest_first, [&](const KernelNames* a, const KernelNames* b) {
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
