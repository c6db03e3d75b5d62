// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/internal/collective_slots.hpp"

#include <fmt/format.h>

#include <array>

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
