// SPDX-License-Identifier: Apache-2.0
#include "calibration/diagnosis/finding.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace foretrain {
namespace {

constexpr long few_records = 20;  // fewer have no pattern

class Finder {
 public:
  Finder(const TrainingLog& log, const RunCourse& course, const ExpectedRun& expected,
         const StepForecast& band)
      : log_{log}, course_{course}, expected_{expected}, band_{band} {}

  std::vector<RunFinding> find() {
    of_level();
    if (course_.records >= few_records) {
      of_course();
      of_interruptions();
    }
    of_memory();
    return std::move(found_);
  }

 private:
  void add(FindingKind kind, double size, double lost) { found_.push_back({kind, size, lost}); }

  /// Share of the run's time that a share of a median step is.
  [[nodiscard]] double of_run(double share_of_step) const {
    return share_of_step * course_.productive.value_or(1.0);
  }

  void of_level() {
    const double ratio = course_.median / band_.time.value();
    const double lost = of_run(1.0 - 1.0 / ratio);
    if (course_.median > band_.high.value()) {
      add(FindingKind::slower, ratio - 1.0, lost);
    } else if (course_.median < band_.low.value()) {
      add(FindingKind::faster, ratio - 1.0, lost);
    } else if (const auto passes = passes_apart()) {
      const double seconds = *passes * expected_passes();
      add(FindingKind::timers, *passes, of_run(seconds / course_.median));
    }
  }

  [[nodiscard]] double expected_passes() const {
    return expected_.sections.at(LogSection::forward).most +
           expected_.sections.at(LogSection::backward).most;
  }

  /// By how much the timed passes are off, where that is more than the band allows.
  [[nodiscard]] std::optional<double> passes_apart() const {
    const auto& sections = log_.clues.sections;
    const auto forward = sections.find(LogSection::forward);
    const auto backward = sections.find(LogSection::backward);
    if (forward == sections.end() || backward == sections.end() || expected_passes() <= 0.0)
      return std::nullopt;
    const double ratio = (forward->second.most + backward->second.most) / expected_passes();
    const bool inside = ratio >= band_.low / band_.time && ratio <= band_.high / band_.time;
    return inside ? std::nullopt : std::optional(ratio - 1.0);
  }

  /// The first and the last fifth differ by more than single steps scatter.
  [[nodiscard]] bool drifts() const {
    constexpr double least = 0.03;
    constexpr double deviations = 3.0;
    const double fifth = std::max(1.0, static_cast<double>(course_.records) / 5.0);
    // Standard error of the difference of two medians of a normal law: 1.2533 sqrt(2 / n).
    const double error = 1.2533 * course_.spread * std::sqrt(2.0 / fifth);
    return std::abs(course_.drift) > std::max(least, deviations * error);
  }

  void of_course() {
    if (course_.shift) {
      const double ratio = course_.shift->ratio;
      const double slow = ratio > 1.0 ? 1.0 - course_.shift->before : course_.shift->before;
      add(FindingKind::level_shift, ratio - 1.0,
          of_run(slow * (1.0 - std::min(ratio, 1.0 / ratio))));
    } else if (drifts()) {
      // Against the faster end, half of the difference in the mean.
      add(FindingKind::drift, course_.drift, of_run(0.5 * std::abs(course_.drift)));
    }
  }

  void of_interruptions() {
    constexpr double some = 0.02;
    constexpr double few = 0.01;
    constexpr double regular = 0.003;  // with a period, less is a pattern
    const double all = course_.all_seconds();
    if (all <= 0.0) return;
    const double checkpoints = course_.lost_at_checkpoints() / all;
    if (checkpoints > some) add(FindingKind::checkpoints, checkpoints, checkpoints);
    const double slow = course_.lost_in_slow_steps() / all;
    if (slow > (course_.period ? regular : few)) add(FindingKind::slow_steps, slow, slow);
    const double paused = (course_.paused_seconds - course_.paused_at_checkpoints) / all;
    if (paused > some) add(FindingKind::pauses, paused, paused);
  }

  void of_memory() {
    constexpr double allocated_far = 0.12;
    constexpr double reserved_far = 0.20;
    if (!log_.memory_max_bytes) return;
    const bool reserved = log_.memory_kind == "reserved";
    const double forecast = reserved ? expected_.reserved : expected_.allocated;
    if (forecast <= 0.0) return;
    const double apart = *log_.memory_max_bytes / forecast - 1.0;
    if (std::abs(apart) > (reserved ? reserved_far : allocated_far))
      add(FindingKind::memory, apart, 0.0);
  }

  const TrainingLog& log_;
  const RunCourse& course_;
  const ExpectedRun& expected_;
  const StepForecast& band_;
  std::vector<RunFinding> found_;
};

}  // namespace

bool is_level(FindingKind kind) {
  return kind == FindingKind::slower || kind == FindingKind::faster ||
         kind == FindingKind::timers || kind == FindingKind::suspected ||
         kind == FindingKind::drift || kind == FindingKind::level_shift;
}

void sort_findings(std::vector<RunFinding>& findings) {
  std::stable_sort(findings.begin(), findings.end(), [](const RunFinding& a, const RunFinding& b) {
    return std::abs(a.lost) > std::abs(b.lost);
  });
}

std::vector<RunFinding> findings_of(const TrainingLog& log, const RunCourse& course,
                                    const ExpectedRun& expected, const StepForecast& band) {
  std::vector<RunFinding> found = Finder(log, course, expected, band).find();
  sort_findings(found);
  return found;
}

}  // namespace foretrain
