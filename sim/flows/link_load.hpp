// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "models/base/quantity.hpp"
#include "models/base/ranges.hpp"
#include "models/inputs/simulation.hpp"
#include "topologies/fabrics/fabric.hpp"
#include "topologies/routes/routing.hpp"

namespace foretrain {

/// Failures that cut ranks of a job off from each other.
class FabricCut : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What crosses one link.
struct LinkLoad {
  LinkId link = 0;
  double bytes = 0.0;
};
using LinkLoads = std::vector<LinkLoad>;  ///< ascending by link, each once

/// Adds up bytes by link.
class LinkSum {
 public:
  explicit LinkSum(std::size_t links)
      : bytes_(links), touched_(links / 64 + 1), pages_(links / 4096 + 1) {}

  void add(LinkId link, double bytes) {
    const std::size_t at = index(link);
    touched_[at / 64] |= std::uint64_t{1} << at % 64;
    pages_[at / 4096] |= std::uint64_t{1} << at / 64 % 64;
    if (bytes_[at] == 0.0) ++count_;
    bytes_[at] += bytes;
  }
  /// What was added since the last call.
  [[nodiscard]] LinkLoads take();

 private:
  std::vector<double> bytes_;
  std::vector<std::uint64_t> touched_;  ///< a bit per link, so that they come in order unsorted
  std::vector<std::uint64_t> pages_;    ///< a bit per word of touched_ that is not zero
  std::size_t count_ = 0;               ///< links touched
};

/// Share of a link's rate in use from each time on, ascending.
struct LinkUseSeries {
  struct Point {
    Seconds time;
    double share = 0.0;
  };
  LinkId link = 0;
  std::vector<Point> points;
};

/// What exchanges of one kind put on a link over a step.
struct LinkExchange {
  std::string name;         ///< "expert all-to-all"
  Bytes bytes;              ///< of all data replicas
  bool inside = false;      ///< passes that the graph does not take apart: without times
  std::uint64_t count = 0;  ///< exchanges of the played replicas that cross the link
  Seconds alone;            ///< what these take with the fabric to themselves, one after another
  Seconds took;             ///< what they took
};

/// One flow with its way.
struct RoutedFlow {
  std::vector<LinkId> links;
  double bytes = 0.0;
};

/// Adds up what exchanges between GPUs of a fabric put on its links.
class LoadBuilder {
 public:
  /// @param down links that carry nothing; null: none. Both outlive the builder.
  LoadBuilder(const Fabric& fabric, const Simulation& simulation, const LinkSet* down = nullptr);

  /// To another host over all connections of the simulation.
  /// @throws FabricCut where no way is left
  void send(int from, int to, double bytes);
  /// A ring as NCCL builds it: hosts in the order of their first member, one channel per member of
  /// a host, which leaves and enters over that member's rail and passes all others of the host on
  /// the way; each member passes `bytes` on, over all channels.
  void ring(std::span<const int> members, double bytes);
  /// Every member sends `bytes`, an equal part to each other one.
  void exchange(std::span<const int> members, double bytes);

  /// What was added since the last call.
  [[nodiscard]] LinkLoads take() { return sum_.take(); }
  /// The same flow by flow. @pre keep_flows(true) was called before they were added
  [[nodiscard]] std::vector<RoutedFlow> take_flows();
  void keep_flows(bool keep) { keeps_flows_ = keep; }
  /// Adaptive routes avoid what was added since here.
  void forget_load();

 private:
  void put(std::span<const LinkId> links, double bytes);

  const Fabric& fabric_;
  RouteChoice choice_;
  int connections_;  ///< flows between two GPUs of different hosts
  bool spray_;
  bool keeps_flows_ = false;
  std::vector<double> load_;  ///< since forget_load(); by link
  std::vector<LinkId> loaded_;
  LinkSum sum_;  ///< since take()
  std::vector<LinkId> route_;
  std::vector<RoutedFlow> flows_;
};

}  // namespace foretrain
