// SPDX-License-Identifier: Apache-2.0
#include "models/collectives/tree.hpp"

#include <algorithm>
#include <cmath>

#include "models/collectives/host_edges.hpp"

namespace foretrain::tree {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

bool climbs(CollectiveOp op) { return op != CollectiveOp::broadcast; }
bool descends(CollectiveOp op) { return op != CollectiveOp::reduce; }

/// Parent in the in-order tree: a host's lowest bit moves up by one, if such a host exists.
int in_order_parent(int host, int hosts) {
  if (host == 0) return -1;
  const int bit = host & -host;
  const int above = (host ^ bit) | (bit << 1);
  return above < hosts ? above : host ^ bit;
}

/// A set of trees over the hosts: how many, and who is whose parent.
struct Forest {
  const CollectiveProblem& problem;
  int trees;  ///< per channel

  /// Hosts are counted from the root's where one tree has to end there.
  [[nodiscard]] int parent_of(int host, int which) const {
    const int hosts = problem.seats.host_count();
    if (trees == 2) return parent(host, hosts, which == 1);
    const int root = problem.seats.host_of[at(problem.root)];
    const int above = parent((host - root + hosts) % hosts, hosts, false);
    return above < 0 ? -1 : (above + root) % hosts;
  }
  /// Calls `join(child, parent)` for the edges of a host's chain: towards the member that speaks to
  /// other hosts, or to the root where it is one of them.
  template <class Join>
  void for_each_joint(int host, int channel, const Join& join) const {
    const std::vector<int> chain = problem.seats.order_on(host, channel);
    const auto root =
        trees == 1 ? std::find(chain.begin(), chain.end(), problem.root) : chain.end();
    const auto top = root == chain.end() ? chain.begin() : root;
    for (auto member = chain.begin(); member + 1 < chain.end(); ++member)
      if (member < top)
        join(*member, *(member + 1));
      else
        join(*(member + 1), *member);
  }
  [[nodiscard]] double share() const { return 1.0 / (problem.seats.channels() * trees); }
};

void emit_forest(const Forest& forest, const TransferSink& sink) {
  const CollectiveProblem& problem = forest.problem;
  const Seats& seats = problem.seats;
  for (int host = 0; host < seats.host_count(); ++host) {
    HostEdges inside{seats, host};
    for (int channel = 0; channel < seats.channels(); ++channel) {
      const double share = forest.share() * forest.trees;
      forest.for_each_joint(host, channel, [&](int child, int above) {
        if (climbs(problem.op)) inside.add(child, above, share);
        if (descends(problem.op)) inside.add(above, child, share);
      });
    }
    inside.emit(sink);
  }
  for (int host = 0; host < seats.host_count(); ++host)
    for (int channel = 0; channel < seats.channels(); ++channel)
      for (int which = 0; which < forest.trees; ++which) {
        const int above = forest.parent_of(host, which);
        if (above < 0) continue;
        const int child = seats.head(host, channel);
        const int parent_head = seats.head(above, channel);
        const int number = channel * forest.trees + which;
        if (climbs(problem.op)) sink({child, parent_head, forest.share(), number});
        if (descends(problem.op)) sink({parent_head, child, forest.share(), number});
      }
}

/// Parent of every member in one tree of one channel; the root's is -1.
std::vector<int> parents(const Forest& forest, int channel, int which) {
  const Seats& seats = forest.problem.seats;
  std::vector<int> above(at(seats.size()), -1);
  for (int host = 0; host < seats.host_count(); ++host) {
    forest.for_each_joint(host, channel, [&](int child, int up) { above[at(child)] = up; });
    if (const int up = forest.parent_of(host, which); up >= 0)
      above[at(seats.head(host, channel))] = seats.head(up, channel);
  }
  return above;
}

std::vector<int> depths(const std::vector<int>& above) {
  std::vector<int> depth(above.size(), 0);
  for (std::size_t member = 0; member < above.size(); ++member)
    for (int up = above[member]; up >= 0; up = above[at(up)]) ++depth[member];
  return depth;
}

/// Chunk j leaves depth d upwards in step deepest - d + j and reaches it again, downwards, in step
/// deepest + j + d - 1.
StepPlan steps_of(const Forest& forest, int chunks) {
  const CollectiveProblem& problem = forest.problem;
  const int lanes = problem.seats.channels() * forest.trees;
  StepPlan plan;
  plan.blocks = lanes * chunks;
  plan.block_share = 1.0 / plan.blocks;
  for (int lane = 0; lane < lanes; ++lane) {
    const auto above = parents(forest, lane / forest.trees, lane % forest.trees);
    const auto depth = depths(above);
    const int deepest = *std::max_element(depth.begin(), depth.end());
    const int turn = climbs(problem.op) ? deepest : 0;
    plan.steps = std::max(plan.steps, turn + (descends(problem.op) ? deepest : 0) + chunks - 1);
    for (int member = 0; member < problem.seats.size(); ++member) {
      if (above[at(member)] < 0) continue;
      for (int chunk = 0; chunk < chunks; ++chunk) {
        const int block = lane * chunks + chunk;
        const int d = depth[at(member)];
        if (climbs(problem.op))
          plan.transfers.push_back(
              {deepest - d + chunk, member, above[at(member)], lane, block, 1, true});
        if (descends(problem.op))
          plan.transfers.push_back(
              {turn + chunk + d - 1, above[at(member)], member, lane, block, 1, false});
      }
    }
  }
  std::stable_sort(plan.transfers.begin(), plan.transfers.end(),
                   [](const StepTransfer& a, const StepTransfer& b) { return a.step < b.step; });
  return plan;
}

}  // namespace

int parent(int host, int hosts, bool second) {
  if (!second) return in_order_parent(host, hosts);
  if (hosts % 2 == 0) {
    const int above = in_order_parent(hosts - 1 - host, hosts);
    return above < 0 ? -1 : hosts - 1 - above;
  }
  const int above = in_order_parent((host + hosts - 1) % hosts, hosts);
  return above < 0 ? -1 : (above + 1) % hosts;
}

std::string refusal(const CollectiveProblem& problem) {
  if (problem.op != CollectiveOp::all_reduce) return "a double binary tree does all-reduce";
  return problem.seats.host_count() > 1 ? ""
                                        : "a double binary tree joins hosts, and this is one host";
}

std::string single_refusal(const CollectiveProblem& problem) {
  const CollectiveOp op = problem.op;
  if (op != CollectiveOp::all_reduce && op != CollectiveOp::broadcast && op != CollectiveOp::reduce)
    return "a tree does all-reduce, broadcast and reduce";
  return problem.seats.host_count() > 1 ? "" : "a tree joins hosts, and this is one host";
}

std::vector<CollectivePhase> phases(const CollectiveProblem& problem) {
  const double ways = climbs(problem.op) && descends(problem.op) ? 2.0 : 1.0;
  std::size_t longest = 0;
  for (const auto& members : problem.seats.hosts) longest = std::max(longest, members.size());
  return {{ways * static_cast<double>(longest - 1),
           ways * std::log2(static_cast<double>(problem.seats.host_count())), 0.0}};
}

void emit(const CollectiveProblem& problem, int /*phase*/, const TransferSink& sink) {
  emit_forest({problem, 2}, sink);
}

StepPlan steps(const CollectiveProblem& problem, int chunks) {
  return steps_of({problem, 2}, chunks);
}

void single_emit(const CollectiveProblem& problem, int /*phase*/, const TransferSink& sink) {
  emit_forest({problem, 1}, sink);
}

StepPlan single_steps(const CollectiveProblem& problem, int chunks) {
  return steps_of({problem, 1}, chunks);
}

void emit_between_hosts(const Seats& seats, const TransferSink& sink) {
  emit_forest({{CollectiveOp::all_reduce, seats, 0}, 2}, [&](const Transfer& transfer) {
    if (!seats.same_host(transfer.from, transfer.to)) sink(transfer);
  });
}

}  // namespace foretrain::tree
