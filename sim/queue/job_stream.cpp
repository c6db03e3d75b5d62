// SPDX-License-Identifier: Apache-2.0
#include "sim/queue/internal/job_stream.hpp"

#include <cmath>

namespace foretrain::internal {
namespace {

/// Log-normal with mean 1.
double unit_lognormal(Random& random, double variation) {
  const double variance = std::log1p(variation * variation);
  return std::exp(std::sqrt(variance) * random.normal() - 0.5 * variance);
}

}  // namespace

JobStream::JobStream(const QueueClass& jobs, std::uint64_t seed, Seconds from)
    : jobs_{&jobs},
      arrivals_{seed},
      shapes_{seed ^ 0x5851F42D4C957F2DULL},
      time_{from.value()},
      highest_{jobs.arrivals.highest_rate().value()},
      even_{jobs.arrivals.day.empty() && jobs.arrivals.week.empty() &&
            jobs.arrivals.peaks.empty()} {
  // One job falls on 0.
  if (jobs.arrivals.every > Seconds{})
    time_ = -std::floor(-from / jobs.arrivals.every) * jobs.arrivals.every.value();
}

std::optional<DrawnJob> JobStream::next() {
  const ArrivalLaw& law = jobs_->arrivals;
  if (law.is_poisson()) {
    time_ = next_poisson();
    return drawn(time_);
  }
  if (law.every > Seconds{})
    return drawn(time_ + static_cast<double>(place_++) * law.every.value());
  if (place_ == law.listed.size()) return std::nullopt;
  const ListedJob& listed = law.listed[place_++];
  DrawnJob job;
  job.submit = listed.submit.value();
  job.team = listed.team;
  job.place = place_ - 1;
  job.after = listed.after;
  job.think = listed.think.value();
  job.duration = listed.duration ? listed.duration->value() : drawn_duration();
  job.hosts = listed.hosts ? *listed.hosts : drawn_hosts();
  job.limit = listed.limit   ? listed.limit->value()
              : jobs_->limit ? jobs_->limit->value()
                             : job.duration * jobs_->limit_factor * jobs_->scattered_slowdown;
  return job;
}

double JobStream::next_poisson() {
  double time = time_;
  while (true) {
    time += arrivals_.exponential(Seconds{1.0 / highest_});
    // Thinning (Lewis and Shedler, 1979).
    if (even_ || arrivals_.uniform() * highest_ <= jobs_->arrivals.rate_at(Seconds{time}).value())
      return time;
  }
}

DrawnJob JobStream::drawn(double submit) {
  DrawnJob job;
  job.submit = submit;
  job.duration = drawn_duration();
  job.hosts = drawn_hosts();
  job.limit = jobs_->limit ? jobs_->limit->value()
                           : job.duration * jobs_->limit_factor * jobs_->scattered_slowdown;
  return job;
}

double JobStream::drawn_duration() {
  const DurationLaw& law = jobs_->duration;
  switch (law.kind) {
    case DurationKind::fixed:
      return law.typical.value();
    case DurationKind::exponential:
      return shapes_.exponential(law.typical);
    case DurationKind::uniform:
      return (law.least + (law.most - law.least) * shapes_.uniform()).value();
    case DurationKind::lognormal:
      return law.typical.value() * unit_lognormal(shapes_, law.variation);
    case DurationKind::gamma:
      return law.typical.value() * shapes_.unit_gamma(1.0 / (law.variation * law.variation));
    case DurationKind::empirical:
      return law.values[shapes_.below(law.values.size())].value();
  }
  return 0.0;
}

int JobStream::drawn_hosts() {
  const std::vector<JobSize>& sizes = jobs_->sizes;
  if (sizes.size() == 1) return sizes.front().hosts;
  double weights = 0.0;
  for (const JobSize& size : sizes) weights += size.weight;
  double left = shapes_.uniform() * weights;
  for (const JobSize& size : sizes) {
    left -= size.weight;
    if (left <= 0.0) return size.hosts;
  }
  return sizes.back().hosts;
}

}  // namespace foretrain::internal
