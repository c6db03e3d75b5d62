// SPDX-License-Identifier: Apache-2.0
#include "models/step/internal/step_parts.hpp"

namespace foretrain::internal {
namespace {

/// The time from one span to the next.
class Steps {
 public:
  Steps(Seconds begin, Seconds end) : at_{min(begin, end)}, end_{end} {}

  Seconds until(Seconds next) {
    const Seconds reached = min(max(next, at_), end_);
    const Seconds part = reached - at_;
    at_ = reached;
    return part;
  }

 private:
  Seconds at_;
  Seconds end_;
};

}  // namespace

void settle(TimeBreakdown& parts, Seconds time) {
  constexpr double rounding_share = 1e-12;
  Seconds sum;
  Seconds before_last;
  Seconds* last = nullptr;
  for (const auto part : time_parts) {
    Seconds& here = parts.*part;
    if (here <= rounding_share * time) {
      here = Seconds{};
      continue;
    }
    before_last = sum;
    last = &here;
    sum += here;
  }
  if (last != nullptr) *last = time - before_last;
}

StepForecast forecast_of(const StepSpans& spans, double jitter, double release) {
  StepForecast step;
  TimeBreakdown& parts = step.breakdown;
  parts.compute = spans.work.compute;
  parts.recompute = spans.work.recompute;
  parts.tensor = spans.work.tensor;
  parts.context = spans.work.context;
  parts.expert = spans.work.expert;
  Steps steps{spans.work.total(), spans.all};
  parts.bubble = steps.until(spans.passes);
  parts.pipeline = steps.until(spans.transfers);
  parts.data = spans.work.data + steps.until(spans.synchronised);
  parts.optimizer = steps.until(spans.updated);
  parts.launch = spans.work.launch + steps.until(spans.all);
  parts.imbalance = jitter * spans.all;
  parts *= release;
  step.time = spans.all * (1.0 + jitter) * release;
  settle(parts, step.time);
  step.updating = release * spans.updating;
  step.low = step.high = step.time;
  return step;
}

}  // namespace foretrain::internal
