// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "models/collectives/scheme.hpp"

namespace foretrain {

/// Transfers within one host, those of all channels between the same two members as one: they take
/// the same way.
class HostEdges {
 public:
  HostEdges(const Seats& seats, int host);

  /// @pre both are members on the host
  void add(int from, int to, double share);
  /// Hands on what was added, by sender, then receiver.
  void emit(const TransferSink& sink) const;

 private:
  [[nodiscard]] std::size_t index(int member) const;

  const std::vector<int>& members_;
  std::vector<double> shares_;  ///< by sender and receiver, in the order of members_
};

}  // namespace foretrain
