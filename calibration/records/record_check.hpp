// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace foretrain {

/// A measurement and its prediction.
struct RankedPair {
  double measured;
  double predicted;
};

/// How well predictions order measurements: pairs in the right order, and in the wrong one. A tie
/// of predictions is neither.
struct RankAgreement {
  int pairs = 0;
  int right = 0;
  int wrong = 0;

  /// Kendall's tau (Biometrika 30, 1938): (right - wrong) / pairs, in -1..1. @pre pairs > 0
  [[nodiscard]] double tau() const;
  RankAgreement& operator+=(const RankAgreement& other);
};

/// Compares every two values whose measurements differ by at least `resolution` of the smaller one;
/// closer ones are noise. @pre measured > 0
[[nodiscard]] RankAgreement rank_agreement(const std::vector<RankedPair>& values,
                                           double resolution);

inline constexpr const char* fits_quantity = "fits";
inline constexpr const char* step_quantity = "step_time_s";
inline constexpr const char* kernel_quantity = "kernel_time_us";
inline constexpr const char* collective_quantity = "collective_time_us";
inline constexpr const char* output_tokens_quantity = "output_tokens_per_s";
inline constexpr const char* first_token_quantity = "ttft_s";
/// The same of records with so few clients that requests hardly wait for each other, once more.
inline constexpr const char* low_load_first_token_quantity = "ttft_low_load_s";
inline constexpr const char* output_token_quantity = "tpot_s";
inline constexpr const char* rl_step_quantity = "rl_step_s";
inline constexpr const char* rl_generation_quantity = "rl_generation_s";
inline constexpr const char* rl_train_quantity = "rl_train_s";

/// Of inference: tokens per second, and times to a token; of post-training, times of a step.
[[nodiscard]] bool is_inference(const std::string& quantity);

/// One quantity of one record, predicted and measured. Bytes or seconds, of kernels and collectives
/// microseconds; for `fits`, 1 is yes and 0 no.
struct RecordCheck {
  std::string id;
  std::string source;  ///< family of records
  /// mem_allocated, mem_max, mem_reserved, mem_device, fits, step_time_s, kernel_time_us,
  /// collective_time_us, output_tokens_per_s, ttft_s, tpot_s, or of post-training rl_*
  std::string quantity;
  /// What is summarised together besides the source, e.g. "dense fp8"; empty: no such division.
  std::string group;
  /// What within a source and group is summarised apart: device and operation of a kernel or
  /// collective; empty: no such division.
  std::string item;
  double measured = 0.0;
  double predicted = 0.0;
  double low = 0.0;  ///< band of the prediction
  double high = 0.0;
  /// For `fits`: predicted device memory over what a process can get.
  double load = 0.0;
  /// For `step_time_s`: measured over predicted of the runs that the stack was fitted on, 10th and
  /// 90th percentile.
  double stack_low = 1.0;
  double stack_high = 1.0;
  /// For `step_time_s`: the time at a model FLOPs utilisation of 50 %, which everyone can guess.
  double at_half_peak = 0.0;
  /// For `step_time_s`: runs of one grid do the same work on as many GPUs; what differs is the
  /// plan.
  std::string grid;
  /// Allocated bytes by pipeline stage, where the source gives them.
  std::vector<double> measured_by_stage;
  std::vector<double> predicted_by_stage;
  bool skipped = false;
  std::string why;                   ///< of a skipped record
  std::vector<std::string> remarks;  ///< what was assumed, or is in the record but not modelled

  /// predicted / measured - 1; for `fits`: 1 promised too much, -1 too little, 0 right.
  [[nodiscard]] double error() const;
};

/// Marks a check as not made.
void skip(RecordCheck& check, std::string why);

/// Errors of the checks of one source, quantity and group. For `fits`, shares of wrong answers.
struct CheckSummary {
  std::string source;
  std::string quantity;
  std::string group;
  std::string item;
  int count = 0;
  int skipped = 0;
  double bias = 0.0;
  double mape = 0.0;
  double median = 0.0;
  double p90 = 0.0;
  double worst = 0.0;
  std::string worst_id;
  double covered = 0.0;  ///< share of measurements within the predicted band; 0 for memory
  /// Of `step_time_s` only; tau and pairs of inference, too:
  double tau = 0.0;             ///< Kendall's, over `pairs` pairs of runs of one grid
  int pairs = 0;                ///< whose measurements differ by at least 2 %
  double half_peak_mape = 0.0;  ///< error of a constant MFU of 50 %
  double own_mfu_mape = 0.0;  ///< error of one constant MFU, the geometric mean of these very runs
};

/// One summary per source, quantity, group and item in order of first appearance, then the source
/// "all": per quantity, and per quantity and group where there are several.
[[nodiscard]] std::vector<CheckSummary> summarize(const std::vector<RecordCheck>& checks);

}  // namespace foretrain
