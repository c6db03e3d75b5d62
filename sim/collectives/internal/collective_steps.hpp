// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "models/collectives/scheme.hpp"

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

}  // namespace foretrain
