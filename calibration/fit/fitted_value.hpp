// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace foretrain {

/// A constant as a fit gives it.
struct FittedValue {
  std::string profile;  ///< "device/h100-sxm5-80gb", "fabric/ib-ndr"
  std::string key;      ///< in that file, e.g. "gemm.bf16.efficiency"
  double value = 0.0;   ///< base units; what `text` reads back as
  std::string text;     ///< as the file writes it
  /// Posterior standard deviation of its logarithm; 0: a percentile, which has none.
  double deviation = 0.0;
  bool at_bound = false;  ///< wants to be where it may not
};

/// Errors of fitted constants over the measurements they were fitted on: predicted / measured - 1,
/// and the 10th and 90th percentile of measured over predicted.
struct FitErrors {
  int count = 0;
  double bias = 0.0;
  double mape = 0.0;
  double median = 0.0;
  double p90 = 0.0;
  double low = 1.0;
  double high = 1.0;
};

/// Residuals of one fit, by what was measured.
struct FitResiduals {
  std::string what;
  FitErrors errors;
  bool converged = true;
};

}  // namespace foretrain
