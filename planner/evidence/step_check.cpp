// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "planner/evidence/validate.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
namespace {

/// Runs that one's own profiles were fitted to differ from them by what the fit left, each by its
/// own: what all have in common is known better than any of them, by the root of their number.
class CommonShift {
 public:
  void add(const RecordCheck& check) {
    sum_ += std::log(check.measured / check.predicted);
    below_ = std::hypot(below_, std::log(check.stack_low));
    above_ = std::hypot(above_, std::log(check.stack_high));
    ++count_;
  }
  /// Of the mean of ln(measured / forecast).
  [[nodiscard]] bool outside() const { return count_ > 1 && (sum_ > above_ || sum_ < -below_); }
  [[nodiscard]] std::string text() const {
    const double shift = std::exp(sum_ / count_) - 1.0;
    return fmt::format(
        "all {} runs together: {:.0f} % {} than their own profiles expect ({:+.0f} to {:+.0f} %)",
        count_, 100.0 * std::abs(shift), shift > 0.0 ? "slower" : "faster",
        100.0 * (std::exp(-below_ / count_) - 1.0), 100.0 * (std::exp(above_ / count_) - 1.0));
  }

 private:
  double sum_ = 0.0;
  double below_ = 0.0;
  double above_ = 0.0;
  int count_ = 0;
};

bool is_memory(const RecordCheck& check) {
  return check.quantity.starts_with("mem_") && check.high > 0.0;
}

void judge_memory(const RecordCheck& check, RecordsCheck& result) {
  ++result.memory;
  if (check.measured >= check.low && check.measured <= check.high) return;
  result.outside.push_back(
      fmt::format("{}: measured {} of memory ({}), {} than the forecast expects: {} ({} to {})",
                  check.id, bytes_text(Bytes{check.measured}), check.quantity.substr(4),
                  check.measured > check.high ? "more" : "less", bytes_text(Bytes{check.predicted}),
                  bytes_text(Bytes{check.low}), bytes_text(Bytes{check.high})));
}

}  // namespace

RecordsCheck check_records(const Validation& validation, bool own) {
  RecordsCheck result;
  CommonShift shift;
  for (const RecordCheck& check : validation.records) {
    if (check.skipped) continue;
    if (is_memory(check)) judge_memory(check, result);
    if (check.quantity != step_quantity) continue;
    ++result.steps;
    shift.add(check);
    if (check.measured >= check.low && check.measured <= check.high) continue;
    result.outside.push_back(fmt::format(
        "{}: measured {:.4g} s, {} than the forecast expects: {:.4g} s ({:.4g} to {:.4g} s)",
        check.id, check.measured, check.measured > check.high ? "slower" : "faster",
        check.predicted, check.low, check.high));
  }
  if (own && shift.outside()) result.outside.push_back(shift.text());
  return result;
}

}  // namespace foretrain
