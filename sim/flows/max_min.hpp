// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/flows/flow_network.hpp"

namespace foretrain {

/// Weighted max-min fair rates: no flow can go faster without slowing one that is not faster
/// relative to its weight (Bertsekas and Gallager, Data Networks, 1992, section 6.5.2). A flow is
/// limited by one saturated link, on which no other flow has a higher rate per weight.
///
/// solve() looks only at what changed: flows that a chain of links connects to a change, where a
/// link counts if it could be saturated at all, that is, if the flows on it could ask together for
/// more than it has.
class MaxMin {
 public:
  explicit MaxMin(const FlowNetwork& network);

  /// Flow ids are the caller's and should be dense; an id may be used again after remove().
  /// @param max_rate bytes per second that the flow never exceeds
  /// @pre every link exists and is named once; shares, weight and max_rate are above zero.
  void add(std::uint32_t flow, const std::vector<Hop>& route, double weight,
           double max_rate = std::numeric_limits<double>::infinity());
  void remove(std::uint32_t flow);
  /// @pre capacity > 0
  void set_capacity(std::uint32_t link, BytesPerSecond capacity);

  /// Brings the rates up to date. Returns the flows whose rate differs from what it was, in an
  /// order that depends on nothing but the calls made.
  const std::vector<std::uint32_t>& solve();

  /// Bytes per second, as of the last solve().
  [[nodiscard]] double rate(std::uint32_t flow) const { return flows_[flow].rate; }
  [[nodiscard]] std::size_t links() const { return links_.size(); }

 private:
  struct Use {
    std::uint32_t link;
    std::uint32_t position;  ///< in the link's members
    double share;
  };
  struct Entry {
    std::vector<Use> route;
    double weight = 1.0;
    double most = 0.0;   ///< its own limit
    double alone = 0.0;  ///< rate if nothing else used its links
    double rate = 0.0;
    std::uint64_t seen = 0;  ///< by which solve
    bool fixed = false;
  };
  struct Member {
    std::uint32_t flow;
    std::uint32_t use;  ///< index into the flow's route
  };
  struct Link {
    double capacity = 0.0;
    double asked = 0.0;  ///< sum over members of share * alone
    std::vector<Member> members;
    bool binding = false;  ///< at the last solve
    bool dirty = false;
    std::uint64_t seen = 0;
    double left = 0.0;    ///< while solving: capacity that no fixed flow has
    double weight = 0.0;  ///< while solving: sum over unfixed members of share * weight
    std::uint32_t unfixed = 0;
  };
  struct Level {
    double level;  ///< rate per weight
    std::uint32_t link;
    auto operator<=>(const Level&) const = default;
  };

  [[nodiscard]] double alone_rate(const Entry& entry) const;
  [[nodiscard]] static bool can_bind(const Link& link);
  void touch(std::uint32_t link);
  void visit_flow(std::uint32_t flow);
  void visit_link(std::uint32_t link);
  void collect();
  void open_links();
  void fill();
  void fix(std::uint32_t flow, double rate);
  double next_link_level();
  void fix_members(std::uint32_t link, double level);

  std::vector<Link> links_;
  std::vector<Entry> flows_;
  std::vector<std::uint32_t> dirty_links_;
  std::vector<std::uint32_t> new_flows_;
  std::uint64_t solves_ = 0;

  // Of the component being solved; members only to keep their memory.
  std::vector<std::uint32_t> flows_found_;
  std::vector<std::uint32_t> links_found_;
  std::vector<Level> levels_;  ///< heap, lowest level on top; may be below the link's true level
  std::vector<std::uint32_t> changed_;
};

}  // namespace foretrain
