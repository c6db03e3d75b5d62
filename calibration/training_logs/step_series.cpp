// SPDX-License-Identifier: Apache-2.0
#include "calibration/training_logs/step_series.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "calibration/training_logs/line_values.hpp"
#include "models/base/percentile.hpp"

namespace foretrain {
namespace {

constexpr float unsaid = std::numeric_limits<float>::quiet_NaN();

float or_unsaid(const std::optional<double>& value) {
  return value && *value > 0.0 && *value < 1e30 ? static_cast<float>(*value) : unsaid;
}

std::int32_t kept_number(long step) {
  return static_cast<std::int32_t>(
      std::clamp<long>(step, 0, std::numeric_limits<std::int32_t>::max()));
}

/// How much a counter rose per step since its last value; absent: it did not, or was not known.
std::optional<double> rise(std::optional<double>& last, std::optional<double>& last_step,
                           const std::optional<double>& now, std::optional<double> step) {
  if (!now) return std::nullopt;
  const std::optional<double> before = last;
  const std::optional<double> step_before = last_step;
  last = now;
  last_step = step;
  if (!before || *now <= *before) return std::nullopt;
  if (!step || !step_before) return *now - *before;
  if (*step <= *step_before) return std::nullopt;
  return (*now - *before) / (*step - *step_before);
}

}  // namespace

bool StepSeries::seen_lately(long step) const {
  const long known = std::min<long>(count_, static_cast<long>(lately_.size()));
  return std::find(lately_.begin(), lately_.begin() + known, step) != lately_.begin() + known;
}

bool StepSeries::add(const StepRecord& record) {
  back_.reset();
  if (record.step && (*record.step < 0.0 || *record.step > 1e15)) return false;
  const auto step = record.step ? std::optional(static_cast<long>(*record.step)) : std::nullopt;
  if (step && !resumed_ && seen_lately(*step)) return false;
  const bool again = step && last_ && *step <= *last_;
  if (again) last_clock_.reset();
  if (again && !resumed_) back_ = {*last_, *step};
  resumed_ = false;
  if (step) note(*step);
  KeptStep kept{step ? kept_number(*step) : 0,
                unsaid,
                unsaid,
                unsaid,
                unsaid,
                unsaid,
                unsaid,
                unsaid,
                std::numeric_limits<double>::quiet_NaN()};
  keep(record, kept);
  if (count_ % stride_ == 0) {
    if (kept_.size() == most_kept_steps) thin();
    kept_.push_back(kept);
  }
  ++count_;
  return true;
}

void StepSeries::note(long step) {
  lately_[static_cast<std::size_t>(count_) % lately_.size()] = step;
  if (!first_) first_ = step;
  last_ = step;
}

void StepSeries::amend(const StepRecord& record) {
  if (kept_.empty()) return;
  keep(record, kept_.back());
}

void StepSeries::keep(const StepRecord& record, KeptStep& kept) {
  const auto put = [](float& slot, const std::optional<double>& value) {
    if (value) slot = or_unsaid(value);
  };
  put(kept.seconds, record.seconds);
  if (record.stamp) kept.stamp = *record.stamp;
  put(kept.tokens_per_s, record.tokens_per_s);
  put(kept.tokens_per_s_per_gpu, record.tokens_per_s_per_gpu);
  put(kept.samples_per_s, record.samples_per_s);
  put(kept.tflops_per_gpu, record.tflops_per_gpu);
  const std::optional<double> step = record.step ? record.step
                                     : last_     ? std::optional(static_cast<double>(*last_))
                                                 : std::nullopt;
  const auto& clock = clock_ == StepClock::stamps ? record.stamp : record.elapsed;
  if (clock_ != StepClock::none) put(kept.clocked, rise(last_clock_, clock_step_, clock, step));
  put(kept.clocked, record.seconds_by_rate);
  put(kept.tokens_per_step, rise(last_tokens_, tokens_step_, record.tokens_seen, step));
  const auto batch = rise(last_samples_, samples_step_, record.samples_seen, step);
  if (record.global_batch && *record.global_batch >= 1.0) batch_ = record.global_batch;
  if (!record.global_batch && batch && std::floor(*batch) == *batch) batch_ = batch;
  if (record.sequence && *record.sequence >= 1.0) sequence_ = record.sequence;
  if (record.skipped && *record.skipped > 0.0 && *record.skipped < 1e9)
    skipped_ += static_cast<long>(*record.skipped);
  timed_ = timed_ || !std::isnan(kept.seconds) || !std::isnan(kept.clocked);
}

void StepSeries::thin() {
  std::size_t to = 0;
  for (std::size_t from = 0; from < kept_.size(); from += 2) kept_[to++] = kept_[from];
  kept_.resize(to);
  stride_ *= 2;
}

long StepSeries::interval() const {
  std::vector<float> rises;
  constexpr std::size_t enough = 2000;
  for (std::size_t i = 1; i < kept_.size() && rises.size() < enough; ++i)
    if (kept_[i].step > kept_[i - 1].step)
      rises.push_back(static_cast<float>(kept_[i].step - kept_[i - 1].step));
  if (rises.empty()) return 1;
  return std::max(1L, std::lround(percentile_of(rises, 0.5)) / stride_);
}

void read_bar(std::string_view line, std::size_t at, StepRecord& record) {
  constexpr std::size_t inside = 60;  // characters between '[' and the rate
  constexpr std::size_t number = 14;  // of the total, between '/' and '['
  if (at >= line.size()) return;
  const std::size_t first = at > inside ? at - inside : 0;
  const std::size_t open = line.substr(first, at - first).rfind('[');
  if (open == std::string_view::npos) return;
  const auto elapsed = clock_length(line.substr(first + open + 1, inside));
  const std::size_t end = first + open;
  const std::size_t begin = end > number ? end - number : 0;
  const std::size_t slash = line.substr(begin, end - begin).rfind('/');
  if (!elapsed || slash == std::string_view::npos) return;
  const auto step = number_before(line, begin + slash);
  const auto total = leading_number(line.substr(begin + slash + 1, number), false);
  if (!step || !total) return;
  record.step = step;
  record.bar_total = total->value;
  record.elapsed = elapsed;
}

std::optional<double> bar_rate(std::string_view line, std::size_t at) {
  constexpr std::size_t window = 200;
  const std::string_view part = line.substr(std::min(at, line.size()), window);
  const std::size_t word = part.find("rate:");
  if (word == std::string_view::npos) return std::nullopt;
  const std::string_view rest = part.substr(word + 5);
  const auto rate = leading_number(rest, true);
  if (!rate || rate->value <= 0.0) return std::nullopt;
  return rest.substr(rate->end).starts_with("it/s") ? 1.0 / rate->value : rate->value;
}

std::optional<StepRecord> MicroBatches::take(std::string_view line, const StepRecord& record) {
  constexpr std::string_view word = " step ";
  const std::size_t at = line.find(word);
  if (at == std::string_view::npos || !record.step || !record.seconds) return record;
  const auto step = leading_number(line.substr(at + word.size()), false);
  if (!step) return record;
  seconds_ += *record.seconds;
  ++lines_;
  if (line.find("step)") == std::string_view::npos) return std::nullopt;
  StepRecord whole = record;
  whole.step = step->value;
  const double iterations = *record.step - last_iteration_;
  const double steps = step->value - last_step_;
  const double each = iterations > 0.0 && steps > 0.0 ? iterations / steps : 1.0 * lines_;
  whole.seconds = seconds_ / lines_ * each;
  last_iteration_ = *record.step;
  last_step_ = step->value;
  seconds_ = 0.0;
  lines_ = 0;
  return whole;
}

}  // namespace foretrain
