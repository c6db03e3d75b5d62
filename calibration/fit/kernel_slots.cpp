// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/internal/kernel_slots.hpp"

#include <fmt/format.h>

#include <utility>

namespace foretrain::kernel_slots {

namespace {

Slot gemm_slot(Precision precision, const char* key, const NumericConstant& constant,
               double GemmProfile::*member) {
  return {"gemm." + std::string(name_of(precision)) + "." + key, "", 1.0, constant,
          [precision, member](DeviceProfile& profile, InferenceExtras&, double value) {
            profile.gemm[precision].*member = value;
          }};
}

}  // namespace

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

namespace {

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

}  // namespace

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

namespace {

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

}  // namespace

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

}  // namespace foretrain::kernel_slots
