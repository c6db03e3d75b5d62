// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "topologies/fabrics/internal/mixed.hpp"
#include "topologies/routes/routing.hpp"

namespace foretrain {

/// Takes the decisions of one flow, a fresh hash value for each.
class Chooser {
 public:
  Chooser(const RouteChoice& choice, int from, int to)
      : choice_{choice},
        pair_{choice.seed ^
              mixed(static_cast<std::uint64_t>(from) << 32U ^ static_cast<std::uint64_t>(to))} {
    restart();
  }

  /// For the flow that the choice names now.
  void restart() {
    hash_ = mixed(pair_ ^ static_cast<std::uint64_t>(choice_.flow) * 0xd6e8feb86659fd93U);
  }

  /// A number below `count` by the next hash value.
  int draw(int count) {
    hash_ = mixed(hash_);
    return static_cast<int>((hash_ >> 32U) * static_cast<std::uint64_t>(count) >> 32U);
  }
  [[nodiscard]] bool up(LinkId link) const {
    return choice_.down == nullptr || !(*choice_.down)[static_cast<std::size_t>(link)];
  }
  [[nodiscard]] const RouteChoice& choice() const { return choice_; }

  /// One of `count` alternatives: `link(i)` is the link it starts with, `leads(i)` whether the
  /// receiver can be reached behind it (asked only when something is down).
  /// @return -1 when none is left
  template <class LinkOf, class Leads>
  int pick(int count, const LinkOf& link, const Leads& leads) {
    if (count < 1) return -1;
    const int start = draw(count);
    if (choice_.down == nullptr && choice_.load == nullptr) return start;
    const auto legal = [&](int i) { return choice_.down == nullptr || (up(link(i)) && leads(i)); };
    return choice_.load == nullptr ? nth_legal(count, start, legal)
                                   : least_loaded(count, start, link, legal);
  }

 private:
  /// Hashes over the legal ones, as a switch does over its routing group: taking the next legal
  /// neighbour instead would give a dead cable's whole load to one other.
  template <class Legal>
  int nth_legal(int count, int start, const Legal& legal) {
    if (legal(start)) return start;
    int left = 0;
    for (int i = 0; i < count; ++i) left += legal(i) ? 1 : 0;
    if (left == 0) return -1;
    int skip = draw(left);
    for (int i = 0; i < count; ++i)
      if (legal(i) && skip-- == 0) return i;
    return -1;
  }

  template <class LinkOf, class Legal>
  [[nodiscard]] int least_loaded(int count, int start, const LinkOf& link,
                                 const Legal& legal) const {
    int best = -1;
    double least = 0.0;
    for (int step = 0; step < count; ++step) {
      const int i = start + step < count ? start + step : start + step - count;
      const double load = (*choice_.load)[static_cast<std::size_t>(link(i))];
      if ((best >= 0 && load >= least) || !legal(i)) continue;
      best = i;
      least = load;
    }
    return best;
  }

  const RouteChoice& choice_;
  std::uint64_t pair_;
  std::uint64_t hash_ = 0;
};

/// The switched part of a route, from the leaf of one NIC to that of another; appended to `links`.
/// @return false, with `links` as it was, where there is none.
[[nodiscard]] bool clos_path(const Fabric& fabric, int from_leaf, int to_leaf, Chooser& chooser,
                             std::vector<LinkId>& links);
[[nodiscard]] bool dragonfly_path(const Fabric& fabric, int from_router, int to_router,
                                  Chooser& chooser, std::vector<LinkId>& links);
[[nodiscard]] bool torus_path(const Fabric& fabric, int from_router, int to_router,
                              Chooser& chooser, std::vector<LinkId>& links);
[[nodiscard]] bool irregular_path(const Fabric& fabric, int from_switch, int to_switch,
                                  Chooser& chooser, std::vector<LinkId>& links);

}  // namespace foretrain
