// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "calibration/training_logs/log_grammar.hpp"

namespace foretrain {

/// What one record of a step says. Absent: not said.
struct StepRecord {
  std::optional<double> step, seconds;
  std::optional<double> seconds_by_rate;  ///< of steps per second, which have few digits
  std::optional<double> stamp, elapsed;   ///< seconds; the clock of the lines, and the run's own
  std::optional<double> tokens_per_s, tokens_per_s_per_gpu, samples_per_s, tflops_per_gpu;
  std::optional<double> gigaflops, tokens_seen, samples_seen;
  std::optional<double> global_batch, sequence, skipped;
  std::optional<double> bar_total;  ///< steps that a progress bar goes to
};

/// What is kept of a record; not a number: not said.
struct KeptStep {
  std::int32_t step = 0;
  float seconds = 0.0F;  ///< as printed
  float clocked = 0.0F;  ///< by the clock, from the record before, per step
  float tokens_per_s = 0.0F;
  float tokens_per_s_per_gpu = 0.0F;
  float samples_per_s = 0.0F;
  float tflops_per_gpu = 0.0F;
  float tokens_per_step = 0.0F;
  double stamp = 0.0;  ///< of its line, in seconds
};

/// How many records a series keeps; of longer ones every second, then every fourth, ...
inline constexpr std::size_t most_kept_steps = std::size_t{1} << 20;

/// The steps of one grammar in one file.
class StepSeries {
 public:
  explicit StepSeries(StepClock clock) : clock_{clock} { lately_.fill(-1); }

  /// @return false: another rank's line of a step that was counted
  bool add(const StepRecord& record);
  /// A block's values that stand behind its mark, for the record that was added last.
  void amend(const StepRecord& record);
  /// What follows is another try of the run: its steps may be of earlier numbers.
  void resumed() { resumed_ = true; }

  [[nodiscard]] long count() const { return count_; }
  [[nodiscard]] const std::vector<KeptStep>& kept() const { return kept_; }
  [[nodiscard]] bool timed() const { return timed_; }
  [[nodiscard]] std::optional<long> first() const { return first_; }
  [[nodiscard]] std::optional<long> last() const { return last_; }
  /// Steps from one record to the next, in the median; 1 where that is not known.
  [[nodiscard]] long interval() const;
  [[nodiscard]] long skipped() const { return skipped_; }
  /// From which step to which the last call of add() went back, unannounced by resumed().
  [[nodiscard]] std::optional<std::array<long, 2>> went_back() const { return back_; }
  [[nodiscard]] std::optional<double> global_batch() const { return batch_; }
  [[nodiscard]] std::optional<double> sequence() const { return sequence_; }

 private:
  [[nodiscard]] bool seen_lately(long step) const;
  void note(long step);
  void keep(const StepRecord& record, KeptStep& kept);
  void thin();

  StepClock clock_;
  std::vector<KeptStep> kept_;
  std::array<long, 16> lately_{};
  long count_ = 0;
  long stride_ = 1;
  long skipped_ = 0;
  bool timed_ = false;
  bool resumed_ = false;
  std::optional<long> first_, last_;
  std::optional<double> last_clock_, last_tokens_, last_samples_, batch_, sequence_;
  std::optional<double> clock_step_, tokens_step_, samples_step_;
  std::optional<std::array<long, 2>> back_;
};

// Lines of steps that say more than words and their values.

/// Reads tqdm's `12/100 [00:42<05:10, 3.51s/it]`: step, total, and seconds since it began.
/// @param at within the brackets
void read_bar(std::string_view line, std::size_t at, StepRecord& record);

/// Seconds per step of the first "rate:1.4it/s" or "rate:2.0s/it" behind a place, as Levanter
/// prints them.
[[nodiscard]] std::optional<double> bar_rate(std::string_view line, std::size_t at);

/// LitGPT prints a line per micro-batch: `iter 8 step 2 | ... | iter time: 112.20 ms (step)`. The
/// one with `(step)` ends a step; what stands before it is a part of that. Lines may be left out
/// (`log_interval`): then those that are there tell what all of them take.
class MicroBatches {
 public:
  /// @return the step that this line ends; nothing where it is a micro-batch before its end. Lines
  /// that count no steps are steps themselves.
  [[nodiscard]] std::optional<StepRecord> take(std::string_view line, const StepRecord& record);

 private:
  double seconds_ = 0.0;
  int lines_ = 0;
  double last_iteration_ = 0.0, last_step_ = 0.0;
};

}  // namespace foretrain
