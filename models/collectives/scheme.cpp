// SPDX-License-Identifier: Apache-2.0
#include "models/collectives/scheme.hpp"

#include <algorithm>
#include <map>

#include "models/base/require.hpp"

namespace foretrain {

int Seats::fewest_on_a_host() const {
  std::size_t fewest = gpu.size();
  for (const std::vector<int>& members : hosts) fewest = std::min(fewest, members.size());
  return static_cast<int>(fewest);
}

int Seats::head(int host, int channel) const {
  const std::vector<int>& members = hosts[at(host)];
  return members[at(channel) * members.size() / at(channels())];
}

std::vector<int> Seats::order_on(int host, int channel) const {
  std::vector<int> members = hosts[at(host)];
  const auto first = at(channel) * members.size() / at(channels());
  std::rotate(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(first), members.end());
  return members;
}

CommGroup Seats::group() const {
  const int per_domain = host_count() == 1 ? size() : fewest_on_a_host();
  return {size(), per_domain, span_hosts, domain_hosts};
}

Seats seats_of(std::vector<int> gpus, const Packing& packing) {
  FORETRAIN_REQUIRE(!gpus.empty() && packing.host >= 1 && packing.domain >= packing.host);
  std::vector<int> sorted = gpus;
  std::ranges::sort(sorted);
  FORETRAIN_REQUIRE(sorted.front() >= 0);
  FORETRAIN_REQUIRE(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
  Seats seats;
  seats.domain_hosts = packing.domain / packing.host;
  if (sorted.back() / packing.domain != sorted.front() / packing.domain)
    seats.span_hosts = sorted.back() / packing.host - sorted.front() / packing.host + 1;
  std::map<int, int> index;
  for (std::size_t position = 0; position < gpus.size(); ++position) {
    const int domain = gpus[position] / packing.domain;
    const auto [found, added] = index.try_emplace(domain, seats.host_count());
    if (added) seats.hosts.emplace_back();
    seats.place.push_back(gpus[position] % packing.host);
    seats.host_of.push_back(found->second);
    seats.hosts[static_cast<std::size_t>(found->second)].push_back(static_cast<int>(position));
  }
  seats.gpu = std::move(gpus);
  return seats;
}

HostEdges::HostEdges(const Seats& seats, int host)
    : members_{seats.hosts[static_cast<std::size_t>(host)]},
      shares_(members_.size() * members_.size(), 0.0) {}

std::size_t HostEdges::index(int member) const {
  const auto found = std::ranges::find(members_, member);
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
