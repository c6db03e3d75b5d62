// SPDX-License-Identifier: Apache-2.0
// Rows made of samples of different lengths; models/layers/README.md, "Samples".
#include "models/layers/row_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/base/percentile.hpp"
#include "models/base/require.hpp"

namespace foretrain {
namespace {

constexpr int quantiles = 64;

/// Equally likely lengths in ascending order, none above the row: those that are listed, or the
/// middles of as many equal shares of the log-normal distribution.
std::vector<double> lengths_of(const Samples& samples, double row) {
  std::vector<double> lengths;
  if (!samples.lengths.empty()) {
    lengths.assign(samples.lengths.begin(), samples.lengths.end());
  } else {
    const double ratio = samples.deviation / samples.mean;
    const double spread = std::sqrt(std::log1p(ratio * ratio));
    const double middle = std::log(samples.mean) - spread * spread / 2.0;
    lengths.reserve(quantiles);
    for (int i = 0; i < quantiles; ++i)
      lengths.push_back(std::exp(middle + spread * normal_quantile((i + 0.5) / quantiles)));
  }
  for (double& length : lengths) length = std::clamp(length, 1.0, row);
  std::ranges::sort(lengths);
  return lengths;
}

/// Sums over equally likely values.
struct Moments {
  double mean = 0.0;
  double square = 0.0;

  [[nodiscard]] double variance() const { return std::max(0.0, square - mean * mean); }
};

/// Of the longest of `count` samples: the largest is at most value i with chance ((i+1)/n)^count.
Moments longest_of(const std::vector<double>& lengths, int count) {
  const auto size = static_cast<double>(lengths.size());
  Moments moments;
  double below = 0.0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const double until = std::pow(static_cast<double>(i + 1) / size, count);
    moments.mean += (until - below) * lengths[i];
    moments.square += (until - below) * lengths[i] * lengths[i];
    below = until;
  }
  return moments;
}

/// Share of a row that samples fill that come in any order and are put into the row at hand until
/// one does not fit, which opens the next (Megatron-Bridge, torchtune): by a run of samples whose
/// order a linear congruence decides, so that it is the same everywhere.
double filled_share(const std::vector<double>& lengths, double row) {
  constexpr int drawn = 4096;
  std::uint64_t state = 1;
  double used = 0.0, in_row = 0.0;
  int rows = 1;
  for (int i = 0; i < drawn; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const double length = lengths[(state >> 33U) % lengths.size()];
    if (in_row + length > row) {
      ++rows;
      in_row = 0.0;
    }
    in_row += length;
    used += length;
  }
  return rows > 1 ? (used - in_row) / ((rows - 1.0) * row) : used / row;
}

/// Of the sums of `count` values each, the largest of `replicas` over their mean: both as of normal
/// distributions (Blom's approximation of the largest).
double largest_sum(const Moments& each, double count, int replicas) {
  if (replicas < 2 || each.mean <= 0.0) return 1.0;
  return 1.0 +
         normal_quantile(largest_share(replicas)) * std::sqrt(each.variance() / count) / each.mean;
}

}  // namespace

RowStatistics row_statistics(const Job& job) {
  const Training& training = job.training;
  const double row = training.sequence;
  if (!training.samples.vary()) return {row, row, row, 1.0};
  const std::vector<double> lengths = lengths_of(training.samples, row);
  const Moments one = longest_of(lengths, 1);
  switch (training.samples.layout) {
    case SampleLayout::fixed:
      return {one.mean, row, row, 1.0};
    case SampleLayout::packed:
      return {row * filled_share(lengths, row), row, one.square / one.mean, 1.0};
    case SampleLayout::padded:
      break;
  }
  const Moments longest = longest_of(lengths, training.micro_batch);
  return {one.mean, longest.mean, longest.square / longest.mean,
          largest_sum(longest, std::max(1, job.microbatches()), job.parallel.data)};
}

double tokens_per_step(const Job& job, int global_batch) {
  if (!job.training.samples.vary())
    return static_cast<double>(global_batch) * job.training.sequence;
  return global_batch * row_statistics(job).tokens;
}

double tokens_per_step(const Job& job) { return tokens_per_step(job, job.training.global_batch); }

}  // namespace foretrain
