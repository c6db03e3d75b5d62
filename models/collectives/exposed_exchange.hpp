// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/quantity.hpp"

namespace foretrain {

/// What a pass lasts longer because of an exchange that runs beside some of its kernels: what these
/// do not cover, and what they lose while both run, as `slowdown` times that time (they share
/// multiprocessors and memory). 0: hides wholly; 1: as if nothing ran beside it. Either alone:
/// exchange and kernels as they are without the other. Faster kernels never make both slower.
[[nodiscard]] inline Seconds exposed_exchange(Seconds exchange, Seconds kernels, double slowdown) {
  return max(exchange - kernels, Seconds{}) + slowdown * min(exchange, kernels);
}

}  // namespace foretrain
