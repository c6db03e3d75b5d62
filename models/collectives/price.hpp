// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/collectives/collective_choice.hpp"
#include "models/collectives/library.hpp"
#include "models/collectives/scheme.hpp"
#include "models/kernels/kernel_cost.hpp"

namespace foretrain {

/// What a phase takes alone: first what does not depend on the payload, then what does.
struct PricedPhase {
  Seconds latency;
  Seconds wire;
};

/// One way to run a collective, alone on a healthy fabric without oversubscription.
struct CollectivePrice {
  const CollectiveScheme* scheme = nullptr;
  std::optional<Protocol> protocol;  ///< NCCL's
  std::vector<PricedPhase> phases;   ///< as many as the scheme has
  Seconds before;  ///< copies to host memory before the first phase, and back after the last
  Seconds after;
  /// From the measured cost model; otherwise put together from hand-overs that were.
  bool measured = false;

  [[nodiscard]] Seconds time() const;
};

/// What a user may force; empty members leave the choice to the library.
struct CollectiveWish {
  const CollectiveScheme* scheme = nullptr;
  std::optional<Protocol> protocol;
};

/// A price, or why there is none.
struct PricedCollective {
  CollectivePrice price;
  std::string refusal;  ///< empty: there is one
};

/// NCCL: the fastest of what its cost model offers, among the wished; schemes that it does not have
/// are put together from its hand-overs. Costs of one phase: hand-overs one after the other, and
/// the busiest member's traffic inside hosts or over its NIC, whichever takes longer.
/// @pre payload > 0; at least two members
[[nodiscard]] PricedCollective nccl_price(const CollectiveProblem& problem, Bytes payload,
                                          const CollectivePath& path, const CollectiveWish& wish);

/// The same of another library: the fastest wished scheme it has.
[[nodiscard]] PricedCollective other_price(const CollectiveProblem& problem, Bytes payload,
                                           const OtherLibrary& library, Backend backend,
                                           const CollectiveWish& wish);

/// Band of a collective that takes `time` alone on a healthy fabric, from the residuals of the
/// sweeps in calibration/measured/nccl_sweeps.csv: of the device within a host, of all fabrics
/// between hosts; wider (root of squares) where the device's or the fabric's figures are
/// extrapolated or from a datasheet, and for more hosts than any sweep has.
/// models/forecast/README.md, "Band".
[[nodiscard]] TimeBand collective_band(CollectiveOp op, const CommGroup& group, Bytes payload,
                                       Seconds time, const CollectivePath& path);

}  // namespace foretrain
