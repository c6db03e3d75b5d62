// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/internal/collective_slots.hpp"

#include <fmt/format.h>

#include <array>

namespace foretrain::collective_slots {

void add_lines(const char* name, ProtocolLines CollectiveProtocols::*lines,
               double CollectiveProtocols::*own, std::vector<LineSlot>& slots) {
  // LL trades bandwidth for latency, Simple the other way round (NCCL's tuning tables).
  constexpr std::array<std::array<double, 3>, protocol_count> usual{
      {{5.0, 0.9, 0.02}, {6.0, 0.9, 0.3}, {20.0, 1.0, 0.75}}};
  for (std::size_t i = 0; i < protocol_count; ++i) {
    const std::string at =
        fmt::format("protocols.{}.{}.", name, EnumNames<Protocol>::names[i].second);
    slots.push_back({at + "base",
                     true,
                     {usual[i][0], 0.7, 0.5, 200.0},
                     [lines, i](CollectiveProtocols& all, double value) {
                       (all.*lines)[i].base = value * us;
                     }});
    slots.push_back({at + "step",
                     true,
                     {usual[i][1], 0.7, 0.02, 20.0},
                     [lines, i](CollectiveProtocols& all, double value) {
                       (all.*lines)[i].step = value * us;
                     }});
    slots.push_back(
        {at + "share",
         false,
         {usual[i][2], 0.5, 0.002, 1.0},
         [lines, i](CollectiveProtocols& all, double value) { (all.*lines)[i].share = value; }});
  }
  slots.push_back({fmt::format("protocols.{}_own", name),
                   false,
                   {0.5, 0.4, 0.02, 1.5},
                   [own](CollectiveProtocols& all, double value) { all.*own = value; }});
}

void expect_like(const ProtocolLines& lines, std::vector<LineSlot>& slots) {
  for (std::size_t i = 0; i < protocol_count; ++i) {
    if (lines[i].share <= 0.0) continue;  // not known
    slots[3 * i].constant.start = lines[i].base.in(us);
    slots[3 * i + 1].constant.start = lines[i].step.in(us);
    slots[3 * i + 2].constant.start = lines[i].share;
  }
}

void add_switch(std::vector<LineSlot>& slots) {
  slots.push_back(
      {"protocols.in_switch.base",
       true,
       {20.0, 0.5, 2.0, 300.0},
       [](CollectiveProtocols& all, double value) { all.in_switch.base = value * us; }});
  slots.push_back(
      {"protocols.in_switch.step",
       true,
       {5.0, 0.7, 0.02, 50.0},
       [](CollectiveProtocols& all, double value) { all.in_switch.step = value * us; }});
  slots.push_back({"protocols.in_switch.share",
                   false,
                   {1.0, 0.2, 0.3, 1.3},
                   [](CollectiveProtocols& all, double value) { all.in_switch.share = value; }});
}

std::vector<FabricSlot> fabric_slots(const FabricPreset& preset) {
  constexpr std::array<double, protocol_count> hops{5.2, 20.2, 31.2};
  constexpr std::array<double, protocol_count> shares{0.25, 0.44, 1.0};
  constexpr std::array<double, protocol_count> widths{0.5, 0.5, 0.15};
  std::vector<FabricSlot> slots;
  for (std::size_t i = 0; i < protocol_count; ++i) {
    const std::string at = fmt::format("protocols.{}.", EnumNames<Protocol>::names[i].second);
    slots.push_back(
        {at + "hop",
         true,
         {hops[i] + preset.step_latency.in(us), 0.7, 1.0, 3000.0},
         [i](FabricProtocols& all, double value) { all.crossing[i].hop = value * us; }});
    slots.push_back(
        {at + "share",
         false,
         {shares[i], widths[i], 0.02, 2.0},
         [i](FabricProtocols& all, double value) { all.crossing[i].nic_share = value; }});
  }
  slots.push_back({"protocols.exchange_post",
                   true,
                   {0.3, 1.5, 0.01, 30.0},
                   [](FabricProtocols& all, double value) { all.exchange_post = value * us; }});
  slots.push_back(
      {"protocols.in_switch_tree",
       true,
       {75.0, 0.6, 10.0, 1500.0},
       [](FabricProtocols& all, double value) { all.in_switch_tree_base = value * us; }});
  return slots;
}

}  // namespace foretrain::collective_slots
