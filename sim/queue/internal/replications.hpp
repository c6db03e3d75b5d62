// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <limits>
#include <vector>

#include "sim/queue/queue_study.hpp"

namespace foretrain::internal {

/// A figure of each replication.
struct PerReplication {
  std::vector<double> values;

  void add(double value) { values.push_back(value); }
  [[nodiscard]] double mean() const;
  /// Half the width of the 95 % confidence interval of the mean. @pre at least two values
  [[nodiscard]] double half_interval() const;
  /// The interval around another estimate of the same; of shares and times, none below zero.
  /// @param most no value is larger, and so no end of the interval; none is below zero
  [[nodiscard]] QueueEstimate around(double value,
                                     double most = std::numeric_limits<double>::infinity()) const;
};

/// Times of jobs, all together and by replication.
class TimesGathered {
 public:
  void add(std::vector<float>& times);
  [[nodiscard]] std::size_t count() const { return all_.size(); }
  [[nodiscard]] QueueTimes summary();
  /// Half the interval of the mean over the mean; 0 where nobody waits.
  [[nodiscard]] double precision() const;

 private:
  static constexpr std::array<double, 3> shares{0.5, 0.9, 0.99};

  std::vector<float> all_;
  double sum_ = 0.0;
  PerReplication mean_;
  std::array<PerReplication, shares.size()> percentiles_;
};

/// Samples as they come, in order of their replications.
class SamplesGathered {
 public:
  explicit SamplesGathered(const QueueModel& model);
  void add(QueueSample sample);
  [[nodiscard]] double precision() const;
  [[nodiscard]] std::int64_t effort() const { return summary_.effort; }
  [[nodiscard]] int count() const { return summary_.replications; }
  [[nodiscard]] QueueSummary finish();

 private:
  void add_class(std::size_t index, ClassSample& sample);
  void add_hosts(const QueueSample& sample);
  void add_bins(const QueueSample& sample);

  const QueueModel& model_;
  double counted_host_s_;
  QueueSummary summary_;
  std::vector<TimesGathered> waits_;
  std::vector<TimesGathered> turnarounds_;
  std::vector<PerReplication> slowdowns_;
  std::vector<PerReplication> in_time_;  ///< share of each replication, of classes and of all
  PerReplication allocated_;
  PerReplication productive_;
  PerReplication waiting_;
  std::vector<std::vector<float>> waiting_by_bin_;
};

}  // namespace foretrain::internal
