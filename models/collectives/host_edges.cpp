// SPDX-License-Identifier: Apache-2.0
#include "models/collectives/host_edges.hpp"

#include <algorithm>

#include "models/base/require.hpp"

namespace foretrain {

HostEdges::HostEdges(const Seats& seats, int host)
    : members_{seats.hosts[static_cast<std::size_t>(host)]},
      shares_(members_.size() * members_.size(), 0.0) {}

std::size_t HostEdges::index(int member) const {
  const auto found = std::find(members_.begin(), members_.end(), member);
  FORETRAIN_REQUIRE(found != members_.end());
  return static_cast<std::size_t>(found - members_.begin());
}

void HostEdges::add(int from, int to, double share) {
  shares_[index(from) * members_.size() + index(to)] += share;
}

void HostEdges::emit(const TransferSink& sink) const {
  for (std::size_t i = 0; i < shares_.size(); ++i)
    if (shares_[i] > 0.0)
      sink({members_[i / members_.size()], members_[i % members_.size()], shares_[i], 0});
}

}  // namespace foretrain
