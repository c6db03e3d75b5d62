// SPDX-License-Identifier: Apache-2.0
#include "planner/check/check_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "planner/text/format.hpp"

namespace foretrain {
namespace {

/// Of the move itself: the band of a step moves nearly as the step does.
constexpr double same_factor = 0.02;
constexpr double rounding = 1e-9;
constexpr std::size_t shown_parts = 4;

bool is_memory(std::string_view path) { return path.starts_with("memory."); }

/// What a number is a part of; empty for one that stands for itself.
std::string_view whole_of(std::string_view path) {
  if (path.starts_with("step.breakdown.")) return "step.time_s";
  if (path.starts_with("memory.stages.")) return "memory.peak_bytes";
  return {};
}

/// Logarithm of the factor that a number moved by.
std::optional<double> factor_of(const Drift& moved) {
  const auto change = moved.change();
  if (!change || *change <= -1.0) return std::nullopt;
  return std::log1p(*change);
}

int precedence(const Drift& moved) {
  if (moved.path == "step.time_s") return 0;
  return moved.path == "memory.peak_bytes" ? 1 : 2;
}

double amount(const Drift& moved) { return std::abs(*moved.after - *moved.before); }

/// Whether it became a part of a group.
bool add_part(const Drift& moved, std::vector<DriftGroup>& groups) {
  const std::string_view whole = whole_of(moved.path);
  if (whole.empty() || !moved.before || !moved.after) return false;
  for (DriftGroup& group : groups) {
    if (group.lead.path != whole) continue;
    group.parts.push_back(moved);
    return true;
  }
  return false;
}

/// Whether it joined a group of its factor.
bool join(const Drift& moved, std::vector<DriftGroup>& groups) {
  const auto factor = factor_of(moved);
  if (!factor) return false;
  for (DriftGroup& group : groups) {
    const auto lead = factor_of(group.lead);
    if (!lead || is_memory(group.lead.path) != is_memory(moved.path)) continue;
    const double near = std::max(rounding, same_factor * std::abs(*lead));
    const bool alike = std::abs(*factor - *lead) <= near;
    if (!alike && std::abs(*factor + *lead) > near) continue;
    (alike ? group.alike : group.inverse).push_back(moved);
    return true;
  }
  return false;
}

std::string names_of(const std::vector<Drift>& list) {
  std::string names;
  for (const Drift& moved : list) names += (names.empty() ? "" : ", ") + moved.path;
  return names;
}

/// Sums of a stage's parts say nothing beside these.
bool is_sum(const Drift& moved) {
  return moved.path.ends_with(".peak_bytes") || moved.path.ends_with(".allocated_bytes");
}

/// "tensor +252 ms, bubble -10.1 ms"
std::string parts_text(std::vector<Drift> parts) {
  std::erase_if(parts, is_sum);
  std::string text;
  for (std::size_t i = 0; i < std::min(shown_parts, parts.size()); ++i) {
    const Drift& part = parts[i];
    const std::string name = part.path.substr(part.path.rfind('.') + 1);
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", name.substr(0, name.rfind('_')),
                        *part.after < *part.before ? "-" : "+",
                        is_memory(part.path) ? bytes_text(Bytes{amount(part)})
                                             : seconds_text(Seconds{amount(part)}));
  }
  if (parts.size() > shown_parts) text += fmt::format(" and {} more", parts.size() - shown_parts);
  return text;
}

}  // namespace

std::string DriftGroup::text() const {
  std::string result = lead.text();
  if (!alike.empty()) result += "; likewise " + names_of(alike);
  if (!inverse.empty()) result += "; inversely " + names_of(inverse);
  if (const std::string told = parts_text(parts); !told.empty()) result += "; parts: " + told;
  return result;
}

std::vector<DriftGroup> grouped(const std::vector<Drift>& drifts) {
  std::vector<Drift> ordered = drifts;
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const Drift& a, const Drift& b) { return precedence(a) < precedence(b); });
  std::vector<DriftGroup> groups;
  for (const Drift& moved : ordered)
    if (!add_part(moved, groups) && !join(moved, groups)) groups.push_back({moved, {}, {}, {}});
  for (DriftGroup& group : groups)
    std::stable_sort(group.parts.begin(), group.parts.end(),
                     [](const Drift& a, const Drift& b) { return amount(a) > amount(b); });
  return groups;
}

}  // namespace foretrain
