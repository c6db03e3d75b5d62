// SPDX-License-Identifier: Apache-2.0
// Exchanges of the small sizes of inference steps.
#pragma once

#include <array>

#include "models/base/quantity.hpp"
#include "models/serving/deployment.hpp"

namespace foretrain::serving_detail {

/// What the engine's constants make of exchanges.
struct ExchangeRates {
  double start = 0.0;     ///< seconds: of a kernel that exchanges
  double dispatch = 0.0;  ///< seconds: of a dispatch or a combine, by what the step holds
  double share = 1.0;     ///< of the link rate
};

/// Time of an exchange by its bytes: the smallest of up to three straight lines.
struct ExchangeLine {
  struct Line {
    double start = 0.0;       ///< seconds, whatever the engine
    double starts = 0.0;      ///< times ExchangeRates::start
    double dispatches = 0.0;  ///< times ExchangeRates::dispatch
    double per_byte = 0.0;    ///< seconds
    bool shared = false;      ///< per_byte is that of the link: over ExchangeRates::share
  };
  std::array<Line, 3> lines;
  std::size_t count = 0;

  void add(const Line& line) { lines[count++] = line; }
  [[nodiscard]] Seconds time(double bytes, const ExchangeRates& rates) const;
};

/// All-reduce among the tensor ranks: in one shot (every rank reads all others' parts), in two
/// (reduce-scatter and all-gather in one kernel), or the library's for large sizes.
[[nodiscard]] ExchangeLine all_reduce_line(const Deployment& deployment, int ranks);

/// Rows of `row_bytes` to the ranks of their experts, or back; bytes are those that one rank sends.
[[nodiscard]] ExchangeLine dispatch_line(const Deployment& deployment);

/// How often a row leaves its rank for the ranks of its experts, over the links of dispatch_line():
/// in expectation, experts chosen at random.
struct DispatchCopies {
  double prompts =
      0.0;  ///< once to each other scale-up domain, or to each rank inside the only one
  double decoded = 0.0;  ///< once to each rank; inside the row's own domain NVLink carries it
};
[[nodiscard]] DispatchCopies dispatch_copies(const Deployment& deployment);

/// Between neighbouring pipeline stages.
[[nodiscard]] ExchangeLine stage_line(const Deployment& deployment);

}  // namespace foretrain::serving_detail
