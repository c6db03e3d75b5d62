// SPDX-License-Identifier: Apache-2.0

#include "sim/serving/serving_summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "models/base/percentile.hpp"
#include "sim/serving/internal/serving_engine.hpp"

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

namespace {

constexpr double shortest_gap = 1e-6;
constexpr double gap_class = 0.01;  ///< width of a class, natural logarithm

}  // namespace

void GapHistogram::add(double seconds, double count) {
  const double place = std::log(std::max(seconds, shortest_gap) / shortest_gap) / gap_class;
  const auto index = static_cast<std::size_t>(place);
  if (index >= counts_.size()) counts_.resize(index + 1);
  counts_[index] += count;
  total_ += count;
  sum_ += count * seconds;
}

double GapHistogram::percentile(double share) const {
  double seen = 0.0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= share * total_ && counts_[i] > 0.0)
      return shortest_gap * std::exp((static_cast<double>(i) + 0.5) * gap_class);
  }
  return 0.0;
}

namespace internal {
namespace {

/// Slices of time that bins are made of in the end: loads without a duration have no known end.
constexpr double first_slice_s = 1.0 / 16.0;
constexpr std::size_t most_slices = 8192;

}  // namespace

ServingTally::ServingTally(const ServingModel& model, int bins)
    : from_{model.warm_up.value()},
      until_{model.duration > Seconds{} ? model.duration.value()
                                        : std::numeric_limits<double>::infinity()},
      limited_{model.load.arrivals == ArrivalKind::trace
                   ? static_cast<std::int64_t>(model.load.trace.size())
                   : model.load.requests},
      slice_s_{first_slice_s},
      bins_{static_cast<std::size_t>(bins)} {}

ServingTally::Slice& ServingTally::slice_at(double time) {
  auto index = static_cast<std::size_t>(time / slice_s_);
  while (index >= most_slices) {
    for (std::size_t i = 0; i < slices_.size(); ++i) {
      const Slice slice = slices_[i];
      if (i % 2 == 0) slices_[i / 2] = {};
      slices_[i / 2].waiting += slice.waiting;
      slices_[i / 2].running += slice.running;
      slices_[i / 2].tokens += slice.tokens;
    }
    slices_.resize((slices_.size() + 1) / 2);
    slice_s_ *= 2.0;
    index = static_cast<std::size_t>(time / slice_s_);
  }
  if (index >= slices_.size()) slices_.resize(index + 1);
  return slices_[index];
}

void ServingTally::held(double now, int waiting, int running) {
  const double to = std::min(now, until_);
  double from = std::max(time_, from_);
  if (to > from) longest_ = std::max(longest_, waiting);
  while (from < to) {
    Slice& slice = slice_at(from);
    const double end = (std::floor(from / slice_s_) + 1.0) * slice_s_;
    const double until = end > from ? std::min(to, end) : to;
    slice.waiting += waiting * (until - from);
    slice.running += running * (until - from);
    from = until;
  }
  time_ = now;
}

void ServingTally::tokens(double now, double count) {
  if (!inside(now)) return;
  tokens_ += count;
  slice_at(now).tokens += count;
}

void ServingTally::finish(double last_answer, ServingSample& sample) {
  const bool by_number = std::isinf(until_) || (limited_ > 0 && sample.submitted >= limited_);
  double until = by_number ? std::min(until_, last_answer) : until_;
  if (!sample.complete) until = std::min(until, time_);
  const double whole = std::max(0.0, until - from_);
  sample.counted_s = whole;
  sample.counted_until_s = until;
  sample.output_tokens = tokens_;
  sample.longest_queue = longest_;
  sample.bins.resize(bins_);
  const double bin_s = whole / static_cast<double>(bins_);
  for (std::size_t i = 0; i < slices_.size() && whole > 0.0; ++i) {
    const double middle = (static_cast<double>(i) + 0.5) * slice_s_ - from_;
    const double place = std::clamp(middle / bin_s, 0.0, static_cast<double>(bins_) - 1.0);
    ServingBin& bin = sample.bins[static_cast<std::size_t>(place)];
    bin.waiting += slices_[i].waiting / bin_s;
    bin.running += slices_[i].running / bin_s;
    bin.tokens += slices_[i].tokens;
    sample.mean_waiting += slices_[i].waiting / whole;
    sample.mean_running += slices_[i].running / whole;
  }
}

}  // namespace internal

}  // namespace foretrain
