// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/collectives/scheme.hpp"
#include "sim/collectives/collective_run.hpp"

namespace foretrain {

/// The order of a collective's single hand-overs: one may start when its sender has sent and
/// received everything of earlier steps on its channel.
class StepOrder {
 public:
  StepOrder(const StepPlan& plan, int members);

  /// Transfers that may start at once.
  [[nodiscard]] const std::vector<std::uint32_t>& first() const { return first_; }
  /// Transfers that may start now that this one has ended.
  [[nodiscard]] std::vector<std::uint32_t> ended(std::uint32_t transfer);
  [[nodiscard]] std::uint32_t left() const { return left_; }

 private:
  /// What one member has to do on one channel in one step.
  struct Group {
    int step = 0;
    int open = 0;  ///< transfers that have not ended
    std::vector<std::uint32_t> sends;
  };
  /// A member on a channel.
  struct Node {
    std::vector<Group> groups;
    std::size_t now = 0;  ///< the first group with open transfers
  };
  struct Place {
    std::uint32_t node = 0;
    std::uint32_t group = 0;
  };

  Place join(std::uint32_t node, int step);
  void close(const Place& place, std::vector<std::uint32_t>& ready);

  std::vector<Node> nodes_;
  std::vector<Place> from_;  ///< by transfer
  std::vector<Place> to_;
  std::vector<std::uint32_t> first_;
  std::uint32_t left_ = 0;
};

/// A link, and how many of some transfers cross it.
struct LinkUses {
  LinkId link = 0;
  double times = 0.0;
};

/// Turns transfers of a collective into flows over links of the fabric.
class CollectiveRoutes {
 public:
  explicit CollectiveRoutes(const CollectiveSetting& setting);

  /// Links that a transfer crosses; remembers them for adaptive routing until release().
  /// @return false where no route is left
  [[nodiscard]] bool of(const CollectiveCall& call, const Transfer& transfer,
                        std::vector<LinkId>& links);
  /// Cables that carry what switches of the network add, up and down, each once.
  [[nodiscard]] std::optional<std::vector<LinkId>> climb(const CollectiveCall& call);
  /// The links that `of` and `climb` gave since the last call of taken(), each once, however many
  /// transfers there were; for release().
  [[nodiscard]] std::vector<LinkUses> taken();
  void release(const std::vector<LinkUses>& links);

 private:
  [[nodiscard]] RouteChoice choice(int flow) const;
  void note(const std::vector<LinkId>& links);
  [[nodiscard]] LinkId switch_link(int gpu) const;

  const CollectiveSetting& setting_;
  bool adaptive_;
  std::vector<double> load_;     ///< flows by link; only where routing is adaptive
  std::vector<double> taken_;    ///< of these, since the last call of taken()
  std::vector<LinkId> touched_;  ///< that are not zero in taken_
};

/// Many transfers as one flow that moves at the pace of its slowest link.
class CoupledFlow {
 public:
  explicit CoupledFlow(std::size_t links) : bytes_(links, 0.0), count_(links, 0) {}

  void add(const std::vector<LinkId>& route, Bytes bytes);
  /// Without links where nothing was added.
  [[nodiscard]] Flow flow() const;

 private:
  std::vector<double> bytes_;
  std::vector<int> count_;
  std::vector<LinkId> touched_;
};

}  // namespace foretrain
