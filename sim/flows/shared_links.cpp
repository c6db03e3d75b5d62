// SPDX-License-Identifier: Apache-2.0

#include "sim/flows/shared_links.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <numeric>
#include <span>
#include <unordered_map>

#include "models/base/ranges.hpp"

namespace foretrain {
namespace {

double best_share(const CollectiveProtocols& protocols) {
  double best = 0.0;
  for (const ProtocolLines* lines : {&protocols.gather, &protocols.all_reduce, &protocols.exchange})
    for (const ProtocolLine& line : *lines) best = std::max(best, line.share);
  return best;
}

/// What large messages get out of a NIC, where sweeps over the fabric saw more than its link
/// promises.
double nic_share(const Network& network) {
  double best = 1.0;
  if (network.protocols)
    for (const HostCrossing& crossing : network.protocols->crossing)
      best = std::max(best, crossing.nic_share);
  return best * network.nic_link.achievable;
}

}  // namespace

FlowNetwork achievable_links(const Fabric& fabric, const Cluster& cluster,
                             const DeviceProfile& device) {
  const double inside = best_share(device.protocols);
  const double outside = nic_share(cluster.network);
  FlowNetwork network;
  network.links.reserve(fabric.capacity.size());
  for (std::size_t link = 0; link < fabric.capacity.size(); ++link) {
    const LinkKind kind = fabric.kind[link];
    const double share = kind == LinkKind::gpu_link ? inside
                         : kind == LinkKind::pcie   ? cluster.host.pcie.achievable
                                                    : outside;
    network.links.emplace_back(fabric.capacity[link] * share);
  }
  return network;
}

FabricSpec striped(FabricSpec spec) {
  HostShape& host = spec.host;
  const int nics = host.nics / host.ports;
  if (nics <= host.gpus || nics % host.gpus != 0) return spec;
  const double joined = static_cast<double>(nics) / host.gpus;
  host.nics = host.gpus * host.ports;
  host.nic *= joined;
  if (auto* torus = std::get_if<TorusShape>(&spec.network)) torus->channel *= joined;
  if (auto* irregular = std::get_if<std::shared_ptr<const IrregularShape>>(&spec.network)) {
    auto first_of_each = std::make_shared<IrregularShape>(**irregular);
    const auto each = static_cast<std::size_t>(std::lround(joined));
    first_of_each->nics.clear();
    for (std::size_t nic = 0; nic < (*irregular)->nics.size(); nic += each)
      first_of_each->nics.push_back((*irregular)->nics[nic]);
    *irregular = first_of_each;
  }
  return spec;
}

namespace {

constexpr double near_enough = 1e-9;

/// Most that can be asked of every link at once, over its capacity.
std::vector<double> most_asked(const std::vector<LinkDemand>& demands,
                               const std::vector<double>& capacity) {
  std::vector<std::size_t> order(demands.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return demands[a].key < demands[b].key; });
  struct OfKey {
    std::uint64_t key = ~0ULL;
    double most = 0.0;
  };
  std::vector<OfKey> last(capacity.size());
  std::vector<double> asked(capacity.size());
  for (const std::size_t i : order)
    for (const auto& [link, bytes] : demands[i].loads) {
      OfKey& now = last[index(link)];
      if (now.key != demands[i].key) {
        asked[index(link)] += now.most;
        now = {demands[i].key, 0.0};
      }
      now.most = std::max(now.most, demands[i].rate * bytes);
    }
  for (std::size_t link = 0; link < capacity.size(); ++link)
    asked[link] = (asked[link] + last[link].most) / capacity[link];
  return asked;
}

struct User {
  std::uint32_t demand;
  double part;  ///< of the link's capacity
};

/// Links that can be filled, each with its users in order.
struct Users {
  std::vector<std::uint32_t> links;
  std::vector<std::size_t> first;
  std::vector<User> users;

  [[nodiscard]] std::span<const User> of(std::size_t i) const {
    return {users.data() + first[i], users.data() + first[i + 1]};
  }
};

Users users_of(const std::vector<LinkDemand>& demands, const std::vector<double>& capacity) {
  const std::vector<double> asked = most_asked(demands, capacity);
  Users result;
  std::vector<std::uint32_t> place(capacity.size(), SharedLinks::left_out);
  for (std::uint32_t link = 0; link < capacity.size(); ++link) {
    if (asked[link] <= 1.0 + near_enough) continue;
    place[link] = static_cast<std::uint32_t>(result.links.size());
    result.links.push_back(link);
  }
  result.first.assign(result.links.size() + 1, 0);
  for (const LinkDemand& demand : demands)
    for (const auto& load : demand.loads)
      if (const std::uint32_t at = place[index(load.link)]; at != SharedLinks::left_out)
        ++result.first[at + 1];
  std::partial_sum(result.first.begin(), result.first.end(), result.first.begin());
  result.users.resize(result.first.back());
  std::vector<std::size_t> next(result.first.begin(), result.first.end() - 1);
  for (std::uint32_t i = 0; i < demands.size(); ++i)
    for (const auto& [link, bytes] : demands[i].loads)
      if (const std::uint32_t at = place[index(link)]; at != SharedLinks::left_out)
        result.users[next[at]++] = {i, demands[i].rate * bytes / capacity[index(link)]};
  return result;
}

/// Whether `one` is never fuller than `other`, which has the same users.
bool covers(std::span<const User> other, std::span<const User> one) {
  for (std::size_t i = 0; i < one.size(); ++i)
    if (one[i].demand != other[i].demand || one[i].part > other[i].part * (1.0 + near_enough))
      return false;
  return true;
}

std::uint64_t hash_of(std::span<const User> users) {
  std::uint64_t hash = users.size();
  for (const User& user : users) hash = (hash ^ user.demand) * 0x9e3779b97f4a7c15U + (hash >> 29U);
  return hash;
}

/// Positions of links that no other one covers.
std::vector<std::size_t> telling(const Users& users) {
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> kept;
  std::vector<bool> tells(users.links.size(), false);
  for (std::size_t i = 0; i < users.links.size(); ++i) {
    std::vector<std::size_t>& alike = kept[hash_of(users.of(i))];
    const auto same = [&](std::size_t other) {
      return users.of(other).size() == users.of(i).size();
    };
    if (std::ranges::any_of(alike, [&](std::size_t other) {
          return same(other) && covers(users.of(other), users.of(i));
        }))
      continue;
    std::erase_if(alike, [&](std::size_t other) {
      const bool covered = same(other) && covers(users.of(i), users.of(other));
      if (covered) tells[other] = false;
      return covered;
    });
    alike.push_back(i);
    tells[i] = true;
  }
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < tells.size(); ++i)
    if (tells[i]) result.push_back(i);
  return result;
}

}  // namespace

SharedLinks shared_links(const std::vector<LinkDemand>& demands,
                         const std::vector<double>& capacity) {
  const Users users = users_of(demands, capacity);
  SharedLinks result;
  result.place.assign(capacity.size(), SharedLinks::left_out);
  for (const std::size_t i : telling(users)) {
    result.place[users.links[i]] = static_cast<std::uint32_t>(result.network.links.size());
    result.network.links.emplace_back(capacity[users.links[i]]);
  }
  return result;
}

}  // namespace foretrain
