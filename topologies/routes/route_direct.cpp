// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "topologies/fabrics/internal/fabric_builder.hpp"
#include "topologies/routes/internal/route_parts.hpp"

namespace foretrain {
namespace {

/// A switch of a dragonfly group: a router, or with `plus` a leaf or a spine.
struct GroupNode {
  int index = 0;
  bool spine = false;
};

/// Links inside one group; at most two.
struct LocalHop {
  bool found = false;
  int count = 0;
  std::array<LinkId, 2> links{};
};

class DragonflyRoute {
 public:
  DragonflyRoute(const Fabric& fabric, Chooser& chooser, std::vector<LinkId>& links)
      : fabric_{fabric},
        shape_{std::get<DragonflyShape>(fabric.spec.network)},
        chooser_{chooser},
        links_{links} {}

  bool find(int from_router, int to_router) {
    const int from_group = from_router / shape_.routers;
    const int to_group = to_router / shape_.routers;
    const GroupNode from{from_router % shape_.routers, false};
    const GroupNode to{to_router % shape_.routers, false};
    if (from_group == to_group) return append(local(from_group, from, to));
    return direct(from_group, from, to_group, to) || by_third_group(from_group, from, to_group, to);
  }

 private:
  [[nodiscard]] GroupNode gateway_to(int group, int peer, int cable) const {
    return {gateway(shape_, group, peer, cable) % shape_.routers, shape_.plus};
  }
  [[nodiscard]] LinkId local_link(int group, GroupNode a, GroupNode b) const {
    const int n = shape_.routers;
    if (shape_.plus) {
      const int cable = group * n * n + (a.spine ? b.index * n + a.index : a.index * n + b.index);
      return fabric_.first_tier + 2 * cable + (a.spine ? 1 : 0);
    }
    const int cable = group * (n * (n - 1) / 2) +
                      pair_index(std::min(a.index, b.index), std::max(a.index, b.index), n);
    return fabric_.first_tier + 2 * cable + (a.index < b.index ? 0 : 1);
  }
  [[nodiscard]] LinkId global_link(int from, int to, int cable) const {
    const int pair = pair_index(std::min(from, to), std::max(from, to), shape_.groups);
    return fabric_.second_tier + 2 * (pair * cables_between_groups(shape_) + cable) +
           (from < to ? 0 : 1);
  }

  /// Within a group: one link where there is one, else through a third switch.
  LocalHop local(int group, GroupNode a, GroupNode b) {
    if (a.index == b.index && a.spine == b.spine) return {true, 0, {}};
    const bool adjacent = !shape_.plus || a.spine != b.spine;
    if (adjacent) {
      const LinkId link = local_link(group, a, b);
      if (chooser_.up(link)) return {true, 1, {link, 0}};
      if (shape_.plus) return {};
    }
    // Classic: the others of the group, a and b left out. With `plus`: all of the other side.
    const auto relay = [&](int i) {
      if (shape_.plus) return GroupNode{i, !a.spine};
      const auto [low, high] = std::minmax(a.index, b.index);
      const int past_low = i + (i >= low ? 1 : 0);
      return GroupNode{past_low + (past_low >= high ? 1 : 0), false};
    };
    const int chosen = chooser_.pick(
        shape_.plus ? shape_.routers : shape_.routers - 2,
        [&](int i) { return local_link(group, a, relay(i)); },
        [&](int i) { return chooser_.up(local_link(group, relay(i), b)); });
    if (chosen < 0) return {};
    return {true, 2, {local_link(group, a, relay(chosen)), local_link(group, relay(chosen), b)}};
  }

  bool append(const LocalHop& hop) {
    links_.insert(links_.end(), hop.links.begin(), hop.links.begin() + hop.count);
    return hop.found;
  }

  bool direct(int from_group, GroupNode from, int to_group, GroupNode to) {
    const auto link = [&](int cable) { return global_link(from_group, to_group, cable); };
    const auto leads = [&](int cable) {
      return local(from_group, from, gateway_to(from_group, to_group, cable)).found &&
             local(to_group, gateway_to(to_group, from_group, cable), to).found;
    };
    const int cable = chooser_.pick(cables_between_groups(shape_), link, leads);
    if (cable < 0) return false;
    append(local(from_group, from, gateway_to(from_group, to_group, cable)));
    links_.push_back(link(cable));
    append(local(to_group, gateway_to(to_group, from_group, cable), to));
    return true;
  }

  bool by_third_group(int from_group, GroupNode from, int to_group, GroupNode to) {
    const std::size_t before = links_.size();
    const int start = chooser_.draw(shape_.groups);
    for (int step = 0; step < shape_.groups; ++step) {
      const int via = (start + step) % shape_.groups;
      if (via == from_group || via == to_group) continue;
      for (int cable = 0; cable < cables_between_groups(shape_); ++cable) {
        const GroupNode exit = gateway_to(via, to_group, cable);
        // With `plus` the way through the third group turns at a spine, not at a leaf.
        if (direct(from_group, from, via, exit) && direct(via, exit, to_group, to)) return true;
        links_.resize(before);
      }
    }
    return false;
  }

  const Fabric& fabric_;
  const DragonflyShape& shape_;
  Chooser& chooser_;
  std::vector<LinkId>& links_;
};

class TorusRoute {
 public:
  TorusRoute(const Fabric& fabric, int from, int to, Chooser& chooser, std::vector<LinkId>& links)
      : fabric_{fabric},
        size_{std::get<TorusShape>(fabric.spec.network).size},
        chooser_{chooser},
        links_{links},
        from_{from} {
    int stride = 1;
    for (std::size_t d = 0; d < size_.size(); ++d) {
      stride_[d] = stride;
      steps_[d] = shorter_way(from / stride % size_[d], to / stride % size_[d], size_[d]);
      stride *= size_[d];
    }
  }

  bool find() { return (chooser_.choice().load != nullptr && adaptive()) || in_some_order(); }

 private:
  /// Steps along a ring, negative backwards; of two equal ways the hash takes one.
  int shorter_way(int from, int to, int size) {
    const int forward = (to - from + size) % size;
    if (2 * forward == size) return chooser_.draw(2) == 1 ? forward : -forward;
    return 2 * forward < size ? forward : forward - size;
  }
  [[nodiscard]] int next(int router, std::size_t d, int direction) const {
    const int place = router / stride_[d] % size_[d];
    return router + ((place + direction + size_[d]) % size_[d] - place) * stride_[d];
  }
  [[nodiscard]] LinkId link(int router, std::size_t d, int direction) const {
    const int holder = direction > 0 ? router : next(router, d, -1);
    const int dimensions = static_cast<int>(size_.size());
    return fabric_.first_tier + 2 * (holder * dimensions + static_cast<int>(d)) +
           (direction > 0 ? 0 : 1);
  }

  /// The least loaded of the links that bring the flow nearer, at every router.
  bool adaptive() {
    const std::size_t before = links_.size();
    std::array<int, 3> left = steps_;
    for (int at = from_; left != std::array<int, 3>{};) {
      const auto towards = [&](int d) { return left[static_cast<std::size_t>(d)] > 0 ? 1 : -1; };
      const auto wanted = [&](int d) { return left[static_cast<std::size_t>(d)] != 0; };
      int best = -1;
      for (int d = 0; d < static_cast<int>(size_.size()); ++d) {
        if (!wanted(d) || !chooser_.up(link(at, static_cast<std::size_t>(d), towards(d)))) continue;
        if (best < 0 || load(link(at, static_cast<std::size_t>(d), towards(d))) <
                            load(link(at, static_cast<std::size_t>(best), towards(best))))
          best = d;
      }
      if (best < 0) {
        links_.resize(before);
        return false;
      }
      const auto d = static_cast<std::size_t>(best);
      const int direction = towards(best);
      links_.push_back(link(at, d, direction));
      at = next(at, d, direction);
      left[d] -= direction;
    }
    return true;
  }

  [[nodiscard]] double load(LinkId id) const {
    return (*chooser_.choice().load)[static_cast<std::size_t>(id)];
  }

  /// One dimension after the other; the order by the hash, then around what is down: every other
  /// order, and then rings the long way round, as few of them as possible.
  bool in_some_order() {
    std::array<std::size_t, 3> order{0, 1, 2};
    const std::size_t dimensions = size_.size();
    const int orders = dimensions == 2 ? 2 : 6;
    for (int skip = chooser_.draw(orders); skip > 0; --skip) permute(order, dimensions);
    for (int turned = 0; turned <= static_cast<int>(dimensions); ++turned)
      for (unsigned mask = 0; mask < 1U << dimensions; ++mask) {
        if (std::popcount(mask) != turned) continue;
        for (int i = 0; i < orders; ++i, permute(order, dimensions))
          if (along(order, mask)) return true;
      }
    return false;
  }

  static void permute(std::array<std::size_t, 3>& order, std::size_t dimensions) {
    std::next_permutation(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(dimensions));
  }

  bool along(const std::array<std::size_t, 3>& order, unsigned long_way) {
    const std::size_t before = links_.size();
    int at = from_;
    for (std::size_t i = 0; i < size_.size(); ++i) {
      const std::size_t d = order[i];
      int left = steps_[d];
      if (left != 0 && (long_way >> d & 1U) != 0) left += left > 0 ? -size_[d] : size_[d];
      for (const int direction = left > 0 ? 1 : -1; left != 0; left -= direction) {
        if (!chooser_.up(link(at, d, direction))) {
          links_.resize(before);
          return false;
        }
        links_.push_back(link(at, d, direction));
        at = next(at, d, direction);
      }
    }
    return true;
  }

  const Fabric& fabric_;
  const std::vector<int>& size_;
  Chooser& chooser_;
  std::vector<LinkId>& links_;
  int from_;
  std::array<int, 3> stride_{};
  std::array<int, 3> steps_{};  ///< the shorter way round each ring, with its direction
};

}  // namespace

bool dragonfly_path(const Fabric& fabric, int from_router, int to_router, Chooser& chooser,
                    std::vector<LinkId>& links) {
  return DragonflyRoute{fabric, chooser, links}.find(from_router, to_router);
}

bool torus_path(const Fabric& fabric, int from_router, int to_router, Chooser& chooser,
                std::vector<LinkId>& links) {
  return TorusRoute{fabric, from_router, to_router, chooser, links}.find();
}

}  // namespace foretrain
