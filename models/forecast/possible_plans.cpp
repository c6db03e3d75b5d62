// SPDX-License-Identifier: Apache-2.0
#include "models/forecast/possible_plans.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain {
namespace {

std::string plan_text(const PossiblePlan& plan) {
  const std::string bytes = fmt::format("{:.1f} GiB", plan.peak.in(GiB));
  if (!plan.fits) return fmt::format("{} would need {}, which is too much", plan.recompute, bytes);
  if (plan.step <= Seconds{}) return fmt::format("{} would need {}", plan.recompute, bytes);
  return fmt::format("{} would be {:.3g} s with {}", plan.recompute, plan.step.value(), bytes);
}

template <class T>
struct Range {
  T least;
  T most;

  void add(T value) {
    if (value <= T{}) return;
    least = least > T{} ? min(least, value) : value;
    most = max(most, value);
  }
};

}  // namespace

std::vector<Job> possible_plans(const Job& job) {
  std::vector<Job> plans;
  for (const RecomputeKind kind :
       {RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full}) {
    plans.push_back(job);
    plans.back().memory.recompute = Recompute{};
    plans.back().memory.recompute.kind = kind;
  }
  return plans;
}

std::string unknown_recompute_text(const std::vector<PossiblePlan>& plans) {
  Range<Seconds> steps;
  Range<Bytes> peaks;
  std::string each;
  for (const PossiblePlan& plan : plans) {
    each += (each.empty() ? "" : ", ") + plan_text(plan);
    if (!plan.fits) continue;
    steps.add(plan.step);
    peaks.add(plan.peak);
  }
  std::string range;
  if (steps.most > Seconds{})
    range = fmt::format("{:.3g} to {:.3g} s, ", steps.least.value(), steps.most.value());
  if (peaks.most > Bytes{})
    range += fmt::format("{:.1f} to {:.1f} GiB", peaks.least.in(GiB), peaks.most.in(GiB));
  return fmt::format("recomputation unknown: {}; {}. Find out what the run recomputes",
                     range.empty() ? "nothing fits" : range, each);
}

}  // namespace foretrain
