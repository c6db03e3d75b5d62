// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sim/flows/flow_network.hpp"

namespace foretrain {

/// Weighted max-min fair rates: no flow can go faster without slowing one that is not faster
/// relative to its weight (Bertsekas and Gallager, Data Networks, 1992, section 6.5.2). A flow has
/// all it could use, or is limited by one saturated link, on which no other flow has a higher rate
/// per weight.
///
/// solve() looks only at what a change touches. It solves the flows that the change limits or
/// frees, with all others as they are, on the links that were ever too full. Then it looks whether
/// some other link is too full now, and whether the definition still holds for the others on every
/// link that it changed; such links and flows are solved with the rest, until all is well. There is
/// one set of rates for which it is, so this is the one of the whole network.
class MaxMin {
 public:
  using RouteId = std::uint32_t;
  /// One step of a route.
  struct Use {
    std::uint32_t link;
    std::uint32_t position;  ///< in the link's users
    double share;
  };

  explicit MaxMin(const FlowNetwork& network);

  /// Keeps a route for flows to come.
  /// @pre every link exists and is named once; shares are above zero
  [[nodiscard]] RouteId add_route(std::span<const Hop> route);
  /// @pre no flow is on it
  void remove_route(RouteId route);
  [[nodiscard]] std::span<const Use> uses(RouteId route) const { return routes_[route].uses; }

  /// Flow ids are the caller's and should be dense; an id may be used again after remove().
  /// @param max_rate bytes per second that the flow never exceeds
  /// @pre weight and max_rate are above zero
  void add(std::uint32_t flow, RouteId route, double weight, double max_rate = unlimited);
  /// The same on a route of its own.
  void add(std::uint32_t flow, const std::vector<Hop>& route, double weight,
           double max_rate = unlimited);
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
  static constexpr double unlimited = std::numeric_limits<double>::infinity();
  static constexpr std::uint32_t none = ~0U;

  struct Route {
    std::vector<Use> uses;
    double bound = unlimited;    ///< rate that its links allow
    std::uint32_t first = none;  ///< of its flows, which are chained
    bool kept = false;
  };
  struct Entry {
    std::uint32_t route = none;  ///< none: not under way
    std::uint32_t next = none;   ///< flow of the route
    std::uint32_t last = none;
    bool own_route = false;
    bool fixed = false;  ///< while solving
    double weight = 1.0;
    double most = 0.0;                    ///< its own limit
    double alone = 0.0;                   ///< rate if nothing else used its links
    double rate = 0.0;                    ///< what its links know of
    double before = 0.0;                  ///< rate after the last solve
    double trial = 0.0;                   ///< while solving
    std::uint32_t limit = none;           ///< link that limits it; none: it has all it could use
    std::uint32_t trial_limit = none;     ///< while solving
    std::uint64_t seen = 0;               ///< by which solve
    std::vector<std::uint32_t> critical;  ///< its uses of critical links
  };
  struct User {
    std::uint32_t route;
    std::uint32_t use;  ///< index into the route's uses
  };
  /// What every start and end of a flow looks at; by link, apart from the rest to stay in caches.
  struct Load {
    double used = 0.0;  ///< sum over flows of share * rate
    double most = 0.0;  ///< more is too much; capacity but for rounding
    std::uint32_t flows = 0;
    bool critical = false;  ///< it was too full, so it may limit flows
  };
  struct Link {
    double capacity = 0.0;
    std::vector<User> users;
    double level = 0.0;         ///< rate per weight of the flows that it limits
    std::uint32_t limited = 0;  ///< how many these are
    std::uint32_t idle = 0;     ///< solves in a row in which it limited none
    std::uint64_t summed = 0;   ///< by which solve its load was last added up anew
    bool dirty = false;
    // While solving:
    std::uint64_t seen = 0;     ///< by which trial
    double left = 0.0;          ///< capacity that no fixed flow has
    double weight = 0.0;        ///< sum over unfixed flows of share * weight
    double top = 0.0;           ///< highest rate per weight of a fixed flow
    std::uint32_t unfixed = 0;  ///< flows
    std::uint32_t inside = 0;   ///< of the limited flows, those that are solved again
  };
  struct Level {
    double level;  ///< rate per weight
    std::uint32_t link;
    bool operator>(const Level& other) const {
      return level != other.level ? level > other.level : link > other.link;
    }
  };

  template <class Visit>
  void for_each_flow(std::uint32_t link, const Visit& visit);
  void touch(std::uint32_t link);
  void set_rate(Entry& entry, double rate);
  bool admit_crowded();
  void make_critical(std::uint32_t link);
  void forget(std::uint32_t link);
  void sum_up(std::uint32_t link);
  void join(std::uint32_t flow);
  void leave(std::uint32_t flow);
  void bound_route(Route& route) const;
  void include(std::uint32_t flow);
  void include_limited(std::uint32_t link);
  void collect();
  void include_connected();
  void open(const Entry& entry, const Use& use);
  void open_links();
  void fix(std::uint32_t flow, double rate, std::uint32_t limit);
  double next_link_level();
  void fix_members(std::uint32_t link, double level);
  void fill();
  void apply();
  void check();
  void finish();

  std::vector<Load> loads_;
  std::vector<Link> links_;
  std::vector<Route> routes_;
  std::vector<RouteId> free_routes_;
  std::vector<Entry> flows_;
  std::vector<std::uint32_t> dirty_links_;
  std::vector<std::uint32_t> new_flows_;
  std::vector<std::uint32_t> crowded_;  ///< links that were too full at some moment
  std::size_t under_way_ = 0;           ///< flows
  std::uint64_t solves_ = 0;
  std::uint64_t trials_ = 0;

  // Of the flows being solved; members only to keep their memory.
  std::vector<std::uint32_t> flows_found_;
  std::vector<std::uint32_t> order_;  ///< these, by what they could use
  std::vector<std::uint32_t> links_found_;
  std::vector<Level> levels_;  ///< heap, lowest level on top; may be below the link's true level
  std::vector<Level> full_;    ///< links that limit some of them
  std::vector<std::uint32_t> changed_;
};

template <class Visit>
void MaxMin::for_each_flow(std::uint32_t link, const Visit& visit) {
  for (const User& user : links_[link].users)
    for (std::uint32_t flow = routes_[user.route].first; flow != none; flow = flows_[flow].next)
      visit(flow, user.use);
}

}  // namespace foretrain
