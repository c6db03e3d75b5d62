// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/quantity.hpp"

namespace foretrain {

/// An exchange that runs beside kernels, which share multiprocessors, memory and power with it.
struct ExposedExchange {
  Seconds alone;   ///< the exchange, with nothing beside it
  Seconds both;    ///< of it while kernels run
  Seconds slowed;  ///< what these lose meanwhile

  /// What a pass lasts longer than its kernels alone.
  [[nodiscard]] Seconds shown() const { return alone - both + slowed; }
};

/// An exchange beside kernels that can cover `kernels` of it and lose `slowdown` times the time in
/// which both run. 0: hides as far as they last; 1: as if nothing ran beside it. Faster kernels
/// never make both together slower.
[[nodiscard]] inline ExposedExchange exposed_exchange(Seconds exchange, Seconds kernels,
                                                      double slowdown) {
  if (slowdown >= 1.0) return {exchange, {}, {}};  // one after the other
  const Seconds both = min(exchange, kernels);
  return {exchange, both, slowdown * both};
}

[[nodiscard]] inline ExposedExchange operator*(double factor, const ExposedExchange& one) {
  return {factor * one.alone, factor * one.both, factor * one.slowed};
}

}  // namespace foretrain
