// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/waterfall.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/base/require.hpp"

namespace foretrain {
namespace {

/// Nobody reads less of a step: such parts become nothing, the largest part takes their time.
constexpr Seconds least_shown = 1.0 * us;

bool shorter(const WaterfallPart& a, const WaterfallPart& b) {
  return std::abs(a.time.value()) < std::abs(b.time.value());
}

void drop_small(std::vector<WaterfallPart>& parts) {
  Seconds dropped;
  const auto largest = std::ranges::max_element(parts, shorter);
  for (auto part = parts.begin(); part != parts.end(); ++part) {
    if (part == largest || std::abs(part->time.value()) >= least_shown.value()) continue;
    dropped += part->time;
    part->time = Seconds{};
  }
  largest->time += dropped;
}

}  // namespace

Seconds ideal_step(const Job& job, const Prediction& prediction) {
  FORETRAIN_REQUIRE(prediction.flops.has_value());
  const FlopsForecast& flops = *prediction.flops;
  return flops.model_per_step / (flops.peak_per_gpu * static_cast<double>(job.cluster.gpus()));
}

std::vector<WaterfallPart> whole_waterfall(const Job& job, const Prediction& prediction,
                                           std::span<const StepPart> rows) {
  FORETRAIN_REQUIRE(prediction.step.has_value() && prediction.flops.has_value());
  const TimeBreakdown& b = prediction.step->breakdown;
  const Seconds ideal = ideal_step(job, prediction);
  std::vector<WaterfallPart> parts{{std::string(ideal_key), "model FLOPs at peak", ideal}};
  for (const StepPart& row : rows) {
    const std::string key(waterfall_key(row));
    if (key == kernels_key)
      parts.push_back({key, "kernels below peak", b.*row.time - ideal});
    else
      parts.push_back({key, std::string(row.label), b.*row.time});
  }
  drop_small(parts);
  return parts;
}

std::vector<WaterfallPart> waterfall(const Job& job, const Prediction& prediction) {
  std::vector<WaterfallPart> parts = whole_waterfall(job, prediction);
  std::erase_if(parts, [](const WaterfallPart& part) { return part.time == Seconds{}; });
  return parts;
}

}  // namespace foretrain
