// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planner/forecast/quick_forecast.hpp"

namespace foretrain {

/// What a forecast is asked for: a scenario file and keys with values, as for --set.
struct QuickQuestion {
  std::string file;
  std::vector<std::string> keys;
  std::vector<std::string> values;
  std::vector<std::string> catalogs;
};

/// The forecast of `foretrain simulate FILE --set KEY=VALUE...`; those who change the same keys of
/// the same file again get it some hundred times as fast. Nothing where that command must be run to
/// know: it may have errors to tell. Any number of threads may ask.
[[nodiscard]] std::shared_ptr<const Prediction> quick_forecast(const QuickQuestion& question);

}  // namespace foretrain
