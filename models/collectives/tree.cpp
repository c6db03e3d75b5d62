// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>

#include "models/collectives/registry.hpp"
#include "models/collectives/scheme.hpp"

namespace foretrain {
namespace tree {
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
    const auto root = trees == 1 ? std::ranges::find(chain, problem.root) : chain.end();
    const auto top = root == chain.end() ? chain.begin() : root;
    for (auto member = chain.begin(); member + 1 < chain.end(); ++member)
      if (member < top)
        join(*member, *(member + 1));
      else
        join(*(member + 1), *member);
  }
  [[nodiscard]] double share() const { return 1.0 / (problem.seats.channels() * trees); }
};

/// Transfers inside a host: chains of its members, one a channel.
void emit_inside(const Forest& forest, int host, const TransferSink& sink) {
  const CollectiveOp op = forest.problem.op;
  HostEdges inside{forest.problem.seats, host};
  const double share = forest.share() * forest.trees;
  for (int channel = 0; channel < forest.problem.seats.channels(); ++channel)
    forest.for_each_joint(host, channel, [&](int child, int above) {
      if (climbs(op)) inside.add(child, above, share);
      if (descends(op)) inside.add(above, child, share);
    });
  inside.emit(sink);
}

/// Transfers between a host and those above it in each tree of each channel.
void emit_above(const Forest& forest, int host, const TransferSink& sink) {
  const CollectiveOp op = forest.problem.op;
  const Seats& seats = forest.problem.seats;
  for (int number = 0; number < seats.channels() * forest.trees; ++number) {
    const int channel = number / forest.trees;
    const int above = forest.parent_of(host, number % forest.trees);
    if (above < 0) continue;
    const int child = seats.head(host, channel);
    const int parent_head = seats.head(above, channel);
    if (climbs(op)) sink({child, parent_head, forest.share(), number});
    if (descends(op)) sink({parent_head, child, forest.share(), number});
  }
}

void emit_forest(const Forest& forest, const TransferSink& sink) {
  const int hosts = forest.problem.seats.host_count();
  for (int host = 0; host < hosts; ++host) emit_inside(forest, host, sink);
  for (int host = 0; host < hosts; ++host) emit_above(forest, host, sink);
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

/// How one lane's tree lies: parents and depths of its members.
struct LaneTree {
  std::vector<int> above;
  std::vector<int> depth;
  int deepest = 0;
};

LaneTree tree_of_lane(const Forest& forest, int lane) {
  LaneTree tree;
  tree.above = parents(forest, lane / forest.trees, lane % forest.trees);
  tree.depth = depths(tree.above);
  tree.deepest = *std::ranges::max_element(tree.depth);
  return tree;
}

/// Chunk j leaves depth d upwards in step deepest - d + j and reaches it again, downwards, in step
/// deepest + j + d - 1.
void add_lane(CollectiveOp op, const LaneTree& tree, int lane, int chunks, StepPlan& plan) {
  const int turn = climbs(op) ? tree.deepest : 0;
  plan.steps = std::max(plan.steps, turn + (descends(op) ? tree.deepest : 0) + chunks - 1);
  for (std::size_t i = 0; i < tree.above.size(); ++i) {
    const int up = tree.above[i];
    if (up < 0) continue;
    const int member = static_cast<int>(i);
    const int d = tree.depth[i];
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const int block = lane * chunks + chunk;
      if (climbs(op))
        plan.transfers.push_back({tree.deepest - d + chunk, member, up, lane, block, 1, true});
      if (descends(op))
        plan.transfers.push_back({turn + chunk + d - 1, up, member, lane, block, 1, false});
    }
  }
}

StepPlan steps_of(const Forest& forest, int chunks) {
  const int lanes = forest.problem.seats.channels() * forest.trees;
  StepPlan plan;
  plan.blocks = lanes * chunks;
  plan.block_share = 1.0 / plan.blocks;
  for (int lane = 0; lane < lanes; ++lane)
    add_lane(forest.problem.op, tree_of_lane(forest, lane), lane, chunks, plan);
  std::ranges::stable_sort(
      plan.transfers, [](const StepTransfer& a, const StepTransfer& b) { return a.step < b.step; });
  return plan;
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

void emit_between_hosts(const Seats& seats, const TransferSink& sink) {
  emit_forest({{CollectiveOp::all_reduce, seats, 0}, 2}, [&](const Transfer& transfer) {
    if (!seats.same_host(transfer.from, transfer.to)) sink(transfer);
  });
}

}  // namespace tree

// Chains inside hosts, their heads joined by binary trees between hosts, one set per NIC.
// `tree` is NCCL's: two complementary trees that carry half of the payload each, every host inner
// in one and leaf in the other (Sanders, Speck, Traff, Parallel Computing 35, 2009). `single-tree`
// is one tree with everything, rooted at the root's host.
constinit const CollectiveScheme tree_scheme{
    "tree",        "tree",       "double binary tree between hosts, chains inside",
    tree::refusal, tree::phases, tree::emit,
    tree::steps};
constinit const CollectiveScheme single_tree_scheme{
    "single-tree",        "1-tree",     "one binary tree between hosts",
    tree::single_refusal, tree::phases, tree::single_emit,
    tree::single_steps};

}  // namespace foretrain
