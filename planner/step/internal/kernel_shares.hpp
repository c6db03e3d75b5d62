// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/quantity.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// Kernel time of a step by what bounds it, summed over the stages and micro-batches of a replica;
/// recomputation not counted.
struct KernelShares {
  Seconds products;
  Seconds attention;
  Seconds streaming;  ///< bound by memory
  Flop product_flop;  ///< forward and both halves of the backward pass

  [[nodiscard]] Seconds total() const { return products + attention + streaming; }
};

/// @pre broken_rules(job) and not_modelled(job) are empty
[[nodiscard]] KernelShares kernel_shares(const Job& job);

}  // namespace foretrain
