// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/serving_summary.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "models/base/percentile.hpp"

namespace foretrain {
namespace {

/// @pre sorted is sorted
ServingTimes times_of(std::vector<float> values) {
  if (values.empty()) return {};
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {sum / static_cast<double>(values.size()), percentile_of(values, 0.5),
          percentile_of(values, 0.9), percentile_of(values, 0.95), percentile_of(values, 0.99)};
}

ServingTimes times_of(const GapHistogram& gaps) {
  if (gaps.count() <= 0.0) return {};
  return {gaps.mean(), gaps.percentile(0.5), gaps.percentile(0.9), gaps.percentile(0.95),
          gaps.percentile(0.99)};
}

bool keeps(const ServedRequest& request, const ServingLimits& limits) {
  if (limits.ttft && request.first_token - request.submitted > limits.ttft->value()) return false;
  return !limits.tpot || request.per_token() <= limits.tpot->value();
}

/// Requests under way, mean over the bins [from, to) as shares of all.
double under_way(const std::vector<ServingBin>& bins, double from, double to) {
  const auto size = static_cast<double>(bins.size());
  const auto first = static_cast<std::size_t>(from * size);
  const auto last = static_cast<std::size_t>(to * size);
  double sum = 0.0;
  for (std::size_t i = first; i < last; ++i) sum += bins[i].waiting + bins[i].running;
  return last > first ? sum / static_cast<double>(last - first) : 0.0;
}

bool grows(const std::vector<ServingBin>& bins) {
  constexpr double few = 20.0;
  return under_way(bins, 0.75, 1.0) > 4.0 / 3.0 * under_way(bins, 0.25, 0.5) + few;
}

/// Requests that were answered in the counted time, whenever they came.
struct Answered {
  double requests = 0.0;
  double prompt_tokens = 0.0;
  double kept = 0.0;  ///< of the requests
};

Answered answered_in(const ServingSample& sample, const ServingLimits& limits) {
  Answered answered;
  for (const auto* requests : {&sample.requests, &sample.early})
    for (const ServedRequest& request : *requests) {
      if (request.ended > sample.counted_until_s) continue;
      answered.requests += 1.0;
      answered.prompt_tokens += request.prompt;
      answered.kept += keeps(request, limits) ? 1.0 : 0.0;
    }
  return answered;
}

}  // namespace

ServingSummary summary_of(const ServingSample& sample, const ServingLimits& limits) {
  std::vector<float> ttft;
  std::vector<float> tpot;
  std::vector<float> queue;
  std::vector<float> whole;
  std::int64_t kept = 0;
  for (const ServedRequest& request : sample.requests) {
    ttft.push_back(static_cast<float>(request.first_token - request.submitted));
    if (request.output > 1) tpot.push_back(static_cast<float>(request.per_token()));
    queue.push_back(static_cast<float>(request.started - request.submitted));
    whole.push_back(static_cast<float>(request.ended - request.submitted));
    kept += keeps(request, limits) ? 1 : 0;
  }
  ServingSummary summary;
  summary.requests = static_cast<std::int64_t>(sample.requests.size());
  summary.ttft = times_of(std::move(ttft));
  summary.tpot = times_of(std::move(tpot));
  summary.itl = times_of(sample.gaps);
  summary.queue = times_of(std::move(queue));
  summary.whole = times_of(std::move(whole));
  if (sample.counted_s > 0.0) {
    const Answered answered = answered_in(sample, limits);
    summary.submitted_per_s = static_cast<double>(summary.requests) / sample.counted_s;
    summary.requests_per_s = answered.requests / sample.counted_s;
    summary.output_tokens_per_s = sample.output_tokens / sample.counted_s;
    summary.prompt_tokens_per_s = answered.prompt_tokens / sample.counted_s;
    summary.goodput_per_s = answered.kept / sample.counted_s;
  }
  if (summary.requests > 0)
    summary.within_limits = static_cast<double>(kept) / static_cast<double>(summary.requests);
  summary.overloaded =
      grows(sample.bins) || (sample.waiting_at_end > 20 &&
                             sample.waiting_at_end > 0.05 * static_cast<double>(sample.submitted));
  return summary;
}

}  // namespace foretrain
