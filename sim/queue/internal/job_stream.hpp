// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "models/base/random.hpp"
#include "sim/queue/queue_model.hpp"

namespace foretrain::internal {

/// A job as it is submitted.
struct DrawnJob {
  double submit = 0.0;  ///< seconds
  double duration = 0.0;
  double limit = 0.0;
  int hosts = 1;
  std::optional<int> team{};
  std::size_t place = 0;               ///< in a list
  std::optional<std::size_t> after{};  ///< as ListedJob
  double think = 0.0;
};

/// The jobs of one class, one after the other. Arrivals and what the jobs are like are drawn from
/// streams of their own, so that another number of hosts or another policy meets the same jobs.
class JobStream {
 public:
  /// @param from arrivals at a rate begin here; lists begin where they say
  JobStream(const QueueClass& jobs, std::uint64_t seed, Seconds from);

  /// Nothing where no job comes any more.
  [[nodiscard]] std::optional<DrawnJob> next();

 private:
  [[nodiscard]] double drawn_duration();
  [[nodiscard]] int drawn_hosts();
  [[nodiscard]] double next_poisson();
  [[nodiscard]] DrawnJob drawn(double submit);

  const QueueClass* jobs_;
  Random arrivals_;
  Random shapes_;
  double time_;
  std::size_t place_ = 0;  ///< in the list; jobs so far for `every`
  double highest_;         ///< rate
  bool even_;              ///< the rate never changes
};

}  // namespace foretrain::internal
