// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "calibration/records/record_check.hpp"

namespace foretrain {

/// Two measured runs that differ in one choice. Data: calibration/measured/ablations.yaml.
struct AblationPair {
  std::string what;    ///< routing, dispatcher, expert overlap, tensor overlap or recompute
  std::string before;  ///< id of the record without it
  std::string after;
  std::string besides = {};  ///< what else differs; empty: nothing that the source tells of
};

/// A pair, and what the choice changes of the step time, in shares of the time before.
struct AblationCheck {
  AblationPair pair;
  double measured = 0.0;
  double predicted = 0.0;
  std::string why = {};  ///< it cannot be judged; empty: it can

  /// Measured changes below the noise of a repeated run have no sign to meet.
  [[nodiscard]] bool has_sign() const;
  [[nodiscard]] bool right_sign() const { return (measured > 0.0) == (predicted > 0.0); }
  /// The forecast change is within a third of the measured one.
  [[nodiscard]] bool right_size() const;
};

/// How those of one kind do.
struct AblationSummary {
  std::string what;
  int pairs = 0;  ///< that have a sign
  int signs = 0;  ///< of them, right
  int sizes = 0;  ///< of them, within a third
  int small = 0;  ///< others that can be judged
};

/// The shipped pairs. @throws ScenarioError with the places of what is wrong
[[nodiscard]] std::vector<AblationPair> ablation_pairs();

/// Of each pair, from the step times among `checks`.
[[nodiscard]] std::vector<AblationCheck> check_ablations(const std::vector<AblationPair>& pairs,
                                                         const std::vector<RecordCheck>& checks);

/// By kind, in order of first appearance; those that cannot be judged are in none.
[[nodiscard]] std::vector<AblationSummary> summarize(const std::vector<AblationCheck>& checks);

}  // namespace foretrain
