// SPDX-License-Identifier: Apache-2.0
#include "calibration/diagnosis/run_course.hpp"

#include <algorithm>
#include <cmath>

#include "calibration/training_logs/step_series.hpp"
#include "models/base/percentile.hpp"

namespace foretrain {
namespace {

constexpr std::size_t block = 32;         // records that a record is compared with
constexpr double per_deviation = 1.4826;  // standard deviations per median absolute deviation

/// Records that have a time, without the warm-up.
std::vector<LoggedStep> steady_records(const TrainingLog& log) {
  std::vector<LoggedStep> steps;
  for (const LoggedStep& step : log.series)
    if (std::isfinite(step.seconds) && step.seconds > 0.0F) steps.push_back(step);
  const std::size_t left_out = steps.size() >= 10 ? 5 : steps.size() >= 2 ? 1 : 0;
  steps.erase(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(left_out));
  return steps;
}

/// What the records around each record take.
std::vector<double> baseline(const std::vector<LoggedStep>& steps) {
  std::vector<double> levels(steps.size());
  for (std::size_t first = 0; first < steps.size(); first += block) {
    const std::size_t half = block / 2;
    const std::size_t from = first < half ? 0 : first - half;
    const std::size_t to = std::min(steps.size(), first + block + half);
    std::vector<float> around;
    for (std::size_t i = from; i < to; ++i) around.push_back(steps[i].seconds);
    const double level = median_of(std::move(around));
    for (std::size_t i = first; i < std::min(steps.size(), first + block); ++i) levels[i] = level;
  }
  return levels;
}

double spread_of(const std::vector<LoggedStep>& steps, const std::vector<double>& levels) {
  std::vector<float> apart;
  for (std::size_t i = 0; i < steps.size(); ++i)
    apart.push_back(static_cast<float>(std::abs(steps[i].seconds / levels[i] - 1.0)));
  return per_deviation * median_of(std::move(apart));
}

double interval_of(const std::vector<LoggedStep>& steps) {
  std::vector<float> rises;
  for (std::size_t i = 1; i < steps.size(); ++i)
    if (steps[i].step > steps[i - 1].step)
      rises.push_back(static_cast<float>(steps[i].step - steps[i - 1].step));
  return rises.empty() ? 1.0 : median_of(std::move(rises));
}

bool checkpoint_between(const TrainingLog& log, double after, double until) {
  return std::ranges::any_of(log.events, [&](const LogEvent& event) {
    return event.kind == LogEventKind::checkpoint && event.step &&
           static_cast<double>(*event.step) >= after && static_cast<double>(*event.step) <= until;
  });
}

void find_stalls(RunCourse& course, const std::vector<LoggedStep>& steps,
                 const std::vector<double>& levels, const TrainingLog& log) {
  constexpr double deviations = 6.0;
  constexpr double least = 0.05;
  const double limit = std::max(deviations * course.spread, least);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].seconds <= levels[i] * (1.0 + limit)) continue;
    Stall stall{steps[i].step, steps[i].seconds, (steps[i].seconds - levels[i]) * course.interval,
                false};
    const auto step = static_cast<double>(stall.step);
    stall.at_checkpoint = checkpoint_between(log, step - course.interval, step);
    ++course.stall_count;
    course.stalls_at_checkpoints += stall.at_checkpoint ? 1 : 0;
    course.stalled_seconds += stall.lost;
    if (course.stalls.size() < most_stalls) course.stalls.push_back(stall);
  }
}

/// How many of some steps lie at one and at multiples of a distance from it, give or take half a
/// record.
long steps_on_grid(const std::vector<long>& steps, double interval, long phase, double period) {
  return std::ranges::count_if(steps, [&](long step) {
    const double apart = static_cast<double>(step - phase) / period;
    return std::abs(apart - std::round(apart)) * period <= 0.5 * interval;
  });
}

/// The distance between steps, where most of them lie at multiples of one, and most of these have
/// one. Distances are those of steps that follow each other, one or two left out between.
/// @param interval steps from one record to the next
std::optional<double> period_of(const std::vector<long>& steps, double interval) {
  constexpr long few = 4;
  constexpr double most_of_them = 0.6;
  const auto all = static_cast<double>(steps.size());
  std::optional<double> best;
  double best_score = 0.0;
  for (std::size_t next = 1; next < steps.size(); ++next)
    for (std::size_t before = next < 3 ? 0 : next - 3; before < next; ++before) {
      const auto period = static_cast<double>(steps[next] - steps[before]);
      if (period <= interval) continue;
      const auto hits = steps_on_grid(steps, interval, steps[before], period);
      const double places = static_cast<double>(steps.back() - steps.front()) / period + 1.0;
      const double hit = static_cast<double>(hits) / all;
      const double filled = static_cast<double>(hits) / places;
      if (hits < few || hit < most_of_them || filled < most_of_them) continue;
      if (hit + filled > best_score) best = period;
      best_score = std::max(best_score, hit + filled);
    }
  return best;
}

/// What numbers lie apart from their median, in the sum.
double apart_of(const std::vector<float>& levels, double median) {
  double sum = 0.0;
  for (const float level : levels) sum += std::abs(level - median);
  return sum;
}

/// Where the records before and those after are best told by one level each, if the levels differ
/// by more than what single records scatter, and by more than what either side drifts.
std::optional<LevelShift> shift_of(const std::vector<LoggedStep>& steps, double spread) {
  constexpr std::size_t parts = 40;
  constexpr std::size_t fewest = 4;
  constexpr double least = 0.04;
  if (steps.size() < 2 * parts) return std::nullopt;
  std::vector<float> levels;
  const std::size_t size = steps.size() / parts;
  for (std::size_t part = 0; part < parts; ++part) {
    std::vector<float> values;
    for (std::size_t i = part * size; i < (part + 1) * size; ++i)
      values.push_back(steps[i].seconds);
    levels.push_back(static_cast<float>(median_of(std::move(values))));
  }
  LevelShift best;
  double within = 0.0;
  double least_apart = apart_of(levels, median_of(levels));
  for (std::size_t cut = fewest; cut + fewest <= parts; ++cut) {
    const auto middle = levels.begin() + static_cast<std::ptrdiff_t>(cut);
    const std::vector<float> first(levels.begin(), middle);
    const std::vector<float> second(middle, levels.end());
    const double before = median_of(first);
    const double after = median_of(second);
    const double apart = apart_of(first, before) + apart_of(second, after);
    if (apart >= least_apart) continue;
    least_apart = apart;
    best = {steps[cut * size].step, after / before,
            static_cast<double>(cut) / static_cast<double>(parts)};
    within = std::max(std::abs(first.back() / first.front() - 1.0F),
                      std::abs(second.back() / second.front() - 1.0F));
  }
  const double limit = std::max(least, 2.0 * spread);
  if (std::abs(best.ratio - 1.0) < limit || within > 0.5 * std::abs(best.ratio - 1.0))
    return std::nullopt;
  return best;
}

double drift_of(const std::vector<LoggedStep>& steps) {
  constexpr std::size_t few = 25;
  if (steps.size() < few) return 0.0;
  const auto fifth = static_cast<std::ptrdiff_t>(steps.size() / 5);
  const auto level = [](auto first, auto last) {
    std::vector<float> values;
    std::transform(first, last, std::back_inserter(values),
                   [](const LoggedStep& step) { return step.seconds; });
    return median_of(std::move(values));
  };
  return level(steps.end() - fifth, steps.end()) / level(steps.begin(), steps.begin() + fifth) -
         1.0;
}

/// What lies between the stamps of two records beyond their steps.
void find_pauses(RunCourse& course, const std::vector<LoggedStep>& steps, const TrainingLog& log) {
  constexpr double coarse = 1.5;  // seconds: stamps may be whole ones
  double wall = 0.0;
  double stepped = 0.0;
  std::vector<long> where;
  std::vector<float> lengths;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    const double apart = steps[i].stamp - steps[i - 1].stamp;
    const auto count = static_cast<double>(steps[i].step - steps[i - 1].step);
    if (!std::isfinite(apart) || apart <= 0.0 || count <= 0.0) continue;
    wall += apart;
    stepped += count;
    const double beyond = apart - count * steps[i].seconds;
    if (beyond <= std::max(coarse, 0.2 * course.median)) continue;
    ++course.pauses;
    course.paused_seconds += beyond;
    lengths.push_back(static_cast<float>(beyond));
    if (where.size() < most_stalls) where.push_back(steps[i].step);
    if (checkpoint_between(log, static_cast<double>(steps[i - 1].step),
                           static_cast<double>(steps[i].step)))
      course.paused_at_checkpoints += beyond;
  }
  if (wall <= 0.0) return;
  course.pause_period = period_of(where, course.interval);
  if (!lengths.empty()) course.usual_pause = median_of(std::move(lengths));
  course.wall_seconds = wall;
  course.steps = stepped;  // the first record is outside of it
  course.productive = std::min(1.0, stepped * course.median / wall);
}

}  // namespace

double RunCourse::stalled_share() const {
  const double all = static_cast<double>(records) * interval * median;
  return all > 0.0 ? stalled_seconds / (all + stalled_seconds) : 0.0;
}

RunCourse run_course(const TrainingLog& log) {
  RunCourse course;
  course.median = log.step->median;
  course.p10 = log.step->p10;
  course.p90 = log.step->p90;
  course.records = log.step->records;
  const auto steps = steady_records(log);
  if (steps.size() < 2) return course;
  course.interval = interval_of(steps);
  const auto levels = baseline(steps);
  course.spread = spread_of(steps, levels);
  for (const LoggedStep& step : steps) course.step_seconds += step.seconds * course.interval;
  course.steps = static_cast<double>(steps.size()) * course.interval;
  course.drift = drift_of(steps);
  course.shift = shift_of(steps, course.spread);
  find_stalls(course, steps, levels, log);
  std::vector<long> stalled;
  for (const Stall& stall : course.stalls) stalled.push_back(stall.step);
  course.period = period_of(stalled, course.interval);
  find_pauses(course, steps, log);
  return course;
}

}  // namespace foretrain
