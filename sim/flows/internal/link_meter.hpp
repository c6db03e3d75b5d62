// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/flows/flow_network.hpp"

namespace foretrain {

/// Counts what crosses each link. Bytes count when their flow ends.
class LinkMeter {
 public:
  explicit LinkMeter(std::size_t links) : links_(links), open_(links) {}

  /// @param uses have a link and a share each
  template <class Uses>
  void begin(const Uses& uses, Seconds now) {
    for (const auto& use : uses)
      if (open_[use.link].flows++ == 0) open_[use.link].since = now;
  }
  template <class Uses>
  void end(const Uses& uses, Bytes moved, Seconds now) {
    for (const auto& use : uses) {
      LinkRecord& link = links_[use.link];
      link.bytes += use.share * moved;
      if (--open_[use.link].flows == 0) link.busy += now - open_[use.link].since;
    }
  }
  [[nodiscard]] const std::vector<LinkRecord>& links() const { return links_; }

 private:
  struct Open {
    std::uint32_t flows = 0;
    Seconds since;
  };
  std::vector<LinkRecord> links_;
  std::vector<Open> open_;
};

}  // namespace foretrain
