// SPDX-License-Identifier: Apache-2.0

#include "calibration/fit/internal/fit_slots.hpp"

#include <fmt/format.h>
#include <array>
#include <string>
#include <utility>

#include "scenarios/catalog/catalog_profiles.hpp"

namespace foretrain::collective_slots {
namespace {

FitSlot line_time(const std::string& key, const NumericConstant& constant) {
  return fit_slot(device_profile_table(), "protocols." + key, constant, " us", us.value());
}

FitSlot line_share(const std::string& key, const NumericConstant& constant) {
  return fit_slot(device_profile_table(), "protocols." + key, constant);
}

FitSlot fabric_time(const std::string& key, const NumericConstant& constant) {
  return fit_slot(fabric_table(), "protocols." + key, constant, " us", us.value());
}

}  // namespace

std::vector<FitSlot> line_slots(const char* name) {
  // LL trades bandwidth for latency, Simple the other way round (NCCL's tuning tables).
  constexpr std::array<std::array<double, 3>, protocol_count> usual{
      {{5.0, 0.9, 0.02}, {6.0, 0.9, 0.3}, {20.0, 1.0, 0.75}}};
  std::vector<FitSlot> slots;
  for (std::size_t i = 0; i < protocol_count; ++i) {
    const std::string at = fmt::format("{}.{}.", name, EnumNames<Protocol>::names[i].second);
    slots.push_back(line_time(at + "base", {usual[i][0], 0.7, 0.5, 200.0}));
    slots.push_back(line_time(at + "step", {usual[i][1], 0.7, 0.02, 20.0}));
    slots.push_back(line_share(at + "share", {usual[i][2], 0.5, 0.002, 1.0}));
  }
  slots.push_back(line_share(fmt::format("{}_own", name), {0.5, 0.4, 0.02, 1.5}));
  return slots;
}

void expect_like(const ProtocolLines& lines, std::vector<FitSlot>& slots) {
  for (std::size_t i = 0; i < protocol_count; ++i) {
    if (lines[i].share <= 0.0) continue;  // not known
    slots[3 * i].constant.start = lines[i].base.in(us);
    slots[3 * i + 1].constant.start = lines[i].step.in(us);
    slots[3 * i + 2].constant.start = lines[i].share;
  }
}

void add_switch(std::vector<FitSlot>& slots) {
  slots.push_back(line_time("in_switch.base", {20.0, 0.5, 2.0, 300.0}));
  slots.push_back(line_time("in_switch.step", {5.0, 0.7, 0.02, 50.0}));
  slots.push_back(line_share("in_switch.share", {1.0, 0.2, 0.3, 1.3}));
}

std::vector<FitSlot> fabric_slots(const FabricPreset& preset) {
  constexpr std::array<double, protocol_count> hops{5.2, 20.2, 31.2};
  constexpr std::array<double, protocol_count> shares{0.25, 0.44, 1.0};
  constexpr std::array<double, protocol_count> widths{0.5, 0.5, 0.15};
  std::vector<FitSlot> slots;
  for (std::size_t i = 0; i < protocol_count; ++i) {
    const std::string name(EnumNames<Protocol>::names[i].second);
    slots.push_back(
        fabric_time(name + ".hop", {hops[i] + preset.step_latency.in(us), 0.7, 1.0, 3000.0}));
    slots.push_back(fit_slot(fabric_table(), "protocols." + name + ".share",
                             {shares[i], widths[i], 0.02, 2.0}));
  }
  slots.push_back(fabric_time("exchange_post", {0.3, 1.5, 0.01, 30.0}));
  slots.push_back(fabric_time("in_switch_tree", {75.0, 0.6, 10.0, 1500.0}));
  return slots;
}

}  // namespace foretrain::collective_slots

namespace foretrain::kernel_slots {
namespace {

FitSlot number_slot(const std::string& key, const NumericConstant& constant) {
  return fit_slot(device_profile_table(), key, constant);
}

FitSlot time_slot(const std::string& key, const NumericConstant& constant) {
  return fit_slot(device_profile_table(), key, constant, " us", us.value());
}

FitSlot rate_slot(const std::string& key, const NumericConstant& constant) {
  return fit_slot(device_profile_table(), key, constant, " TFLOP/s", TFLOPS.value());
}

}  // namespace

std::vector<FitSlot> gemm_slots(Precision precision) {
  const std::string at = fmt::format("gemm.{}.", name_of(precision));
  return {number_slot(at + "efficiency", {0.85, 0.2, 0.3, 1.0}),
          number_slot(at + "ramp_k", {200.0, 0.7, 20.0, 2000.0}),
          number_slot(at + "tile_128", {0.95, 0.1, 0.6, 1.0}),
          time_slot(at + "launch", {2.4, 0.3, 0.5, 10.0})};
}

/// Of quantised products, whose small tiles no benchmark shows to be slower than large ones.
std::vector<FitSlot> quantised_slots(Precision precision) {
  std::vector<FitSlot> slots = gemm_slots(precision);
  // What a tile costs before it multiplies is depth that goes by four times as fast in four bits.
  for (FitSlot& slot : slots)
    if (precision == Precision::nvfp4 && slot.key.ends_with(".ramp_k"))
      slot.constant = {800.0, 0.7, 20.0, 8000.0};
  std::erase_if(slots, [](const FitSlot& slot) { return slot.key.ends_with(".tile_128"); });
  return slots;
}

std::vector<FitSlot> power_slots() {
  return {time_slot("alone.boost", {1500.0, 0.5, 100.0, 10000.0}),
          number_slot("alone.long_clock", {0.82, 0.05, 0.6, 1.0})};
}

bool is_extra(const FitSlot& slot) { return slot.slot.owner == &default_made<InferenceExtras>(); }

namespace {

/// Numbers as they are, times in microseconds; both are told without a unit.
template <class... Path>
FitSlot extras_slot(const std::string& name, const NumericConstant& constant, double unit,
                    Path... member) {
  return {name, slot_of<InferenceExtras>(member...), "", unit, constant};
}

}  // namespace

/// What quantised products spend on making their operands.
std::vector<FitSlot> quantise_slots(Precision precision) {
  using Making = InferenceExtras::Quantising;
  const auto of = quantising_of(precision);
  const std::string at = fmt::format("{}.", name_of(precision));
  const NumericConstant bytes{6.0, 0.5, 0.5, 20.0};
  return {extras_slot(at + "bytes", bytes, 1.0, of, &Making::bytes),
          extras_slot(at + "fixed", bytes, us.value(), of, &Making::fixed)};
}

namespace {

/// How attention fills the device, whoever wrote it.
std::vector<FitSlot> filling_slots() {
  return {number_slot("alone.attention.length_half", {512.0, 0.5, 100.0, 3000.0}),
          number_slot("alone.attention.tiles_half", {132.0, 0.5, 10.0, 600.0}),
          number_slot("alone.attention.small_head", {0.8, 0.2, 0.5, 1.0})};
}

/// What the vendor's kernels take to fill an inference cache.
std::vector<FitSlot> cache_slots() {
  using E = InferenceExtras;
  return {extras_slot("cache_passes", {2.0, 0.5, 0.1, 10.0}, 1.0, &E::cache_passes),
          extras_slot("query_passes", {1.0, 0.5, 0.1, 10.0}, 1.0, &E::query_passes),
          extras_slot("cache_fixed", {10.0, 0.5, 0.1, 50.0}, us.value(), &E::cache_fixed)};
}

}  // namespace

std::vector<FitSlot> both(std::vector<FitSlot> slots, const std::vector<FitSlot>& more) {
  slots.insert(slots.end(), more.begin(), more.end());
  return slots;
}

/// Rates of the libraries that an architecture's benchmarks ran, and what they share.
std::vector<FitSlot> attention_slots(Architecture architecture) {
  const std::vector<FitSlot> filling = filling_slots();
  // Of Blackwell no heads up to 64 wide were measured.
  if (architecture >= Architecture::blackwell)
    return {rate_slot("alone.attention.vendor", {1200.0, 0.3, 300.0, 2500.0}), filling[0],
            filling[1]};
  const bool hopper = architecture == Architecture::hopper;
  std::vector<FitSlot> slots{
      rate_slot("alone.attention.flash2", {hopper ? 400.0 : 190.0, 0.3, 50.0, 900.0}),
      number_slot("alone.attention.flash2_both", {1.0, 0.2, 0.5, 1.5})};
  slots = both(std::move(slots), filling);
  if (!hopper) return slots;
  slots.push_back(rate_slot("alone.attention.flash3", {650.0, 0.2, 300.0, 989.0}));
  slots.push_back(rate_slot("alone.attention.vendor", {600.0, 0.2, 300.0, 989.0}));
  return both(std::move(slots), cache_slots());
}

}  // namespace foretrain::kernel_slots
