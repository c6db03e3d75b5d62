// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "models/base/quantity.hpp"
#include "models/inputs/cluster.hpp"

namespace foretrain {

/// What a size sweep's words about its network stand for.
struct SweepNetwork {
  std::string why;                     ///< it cannot be expressed; empty: it can
  std::string fabric;                  ///< preset of the catalog
  int nics = 0;                        ///< of a host with eight GPUs
  std::optional<BytesPerSecond> rate;  ///< of one NIC; absent: that of the host's own
  bool fitted = true;                  ///< tells a fit something about the fabric
};

/// As calibration/measured/networks.yaml says; nothing where none of its words are there.
[[nodiscard]] std::optional<SweepNetwork> sweep_network(const std::string& words);

/// Whether the hosts of a size sweep share the scale-up domains that their files give them.
[[nodiscard]] bool shares_domains(const std::string& words);

/// The preset for what a training run's words say of its network, and the rate of a NIC of it:
/// where the words name no kind of network, that of the host's own NICs if they have that rate.
[[nodiscard]] std::string run_fabric(const std::string& words, BytesPerSecond nic,
                                     const Host& host);

}  // namespace foretrain
