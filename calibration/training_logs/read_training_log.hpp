// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibration/training_logs/training_log.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// A format that training logs are read in.
struct TrainingLogFormat {
  std::string name;
  std::string signature;  ///< what tells it apart, in words
};
[[nodiscard]] std::vector<TrainingLogFormat> training_log_formats();

/// Reads the logs of one run: one file, or several that were rotated or written by ranks, in any
/// order. Files that cannot be read, are no text, or say nothing of a run become diagnostics.
[[nodiscard]] TrainingLog read_training_log(const std::vector<std::string>& files,
                                            Diagnostics& diagnostics);

/// The same of a text, under a name.
[[nodiscard]] TrainingLog read_training_log_text(const std::string& text, const std::string& name,
                                                 Diagnostics& diagnostics);

/// Parts of a step of post-training as logs of its loops time them.
enum class LoggedPart {
  step,
  generation,
  rewards,
  log_probs,
  reference,
  scoring,  ///< log-probabilities and reference in one figure
  values,
  training,
  critic,
  sync,
  turn,
  loop,
  answer_tokens  ///< mean length of answers, no time
};

/// What a log said of one part, seconds in order of its steps.
struct LoggedSeries {
  LoggedPart part = LoggedPart::step;
  std::string word;  ///< the loop's own: "timing_s/old_log_prob"
  std::vector<double> seconds;

  /// Of all steps, the first left out where there are three and more.
  [[nodiscard]] double median() const;
};

/// Times by the words of verl (timing_s/gen:29.1), NeMo-RL ("generation: 36.0s"), slime
/// (perf/rollout_time), SkyRL and OpenRLHF (timing/generate), in text, JSON lines or printed
/// dictionaries. Other text is passed over; a part that no line names is absent.
[[nodiscard]] std::vector<LoggedSeries> read_post_training_log(std::string_view text);

}  // namespace foretrain
