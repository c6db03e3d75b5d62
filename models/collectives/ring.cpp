// SPDX-License-Identifier: Apache-2.0
#include "models/collectives/registry.hpp"

#include <algorithm>

#include "models/collectives/scheme.hpp"

namespace foretrain {
namespace ring {
namespace {

bool has_root(CollectiveOp op) {
  return op == CollectiveOp::broadcast || op == CollectiveOp::reduce;
}

/// Times around: a reduce-scatter and an all-gather, or one of the two.
int passes(CollectiveOp op) { return op == CollectiveOp::all_reduce ? 2 : 1; }

/// All members as a channel passes them; the root of a broadcast first, of a reduce last.
std::vector<int> order_of(const CollectiveProblem& problem, int channel) {
  std::vector<int> order;
  for (int host = 0; host < problem.seats.host_count(); ++host) {
    const std::vector<int> members = problem.seats.order_on(host, channel);
    order.insert(order.end(), members.begin(), members.end());
  }
  if (has_root(problem.op)) {
    auto first = std::ranges::find(order, problem.root);
    if (problem.op == CollectiveOp::reduce) ++first;
    std::rotate(order.begin(), first, order.end());
  }
  return order;
}

/// The edge of a ring that a broadcast or reduce does without.
bool is_cut(const CollectiveProblem& problem, int from, int to) {
  return (problem.op == CollectiveOp::broadcast && to == problem.root) ||
         (problem.op == CollectiveOp::reduce && from == problem.root);
}

/// What crosses one edge of the ring, all channels together.
double edge_share(const CollectiveProblem& problem) {
  if (has_root(problem.op)) return 1.0;
  const double members = problem.seats.size();
  return passes(problem.op) * (members - 1.0) / members;
}

/// Member number k of a ring sends block (k - step): after members - 1 steps it holds block k + 1
/// with everybody's part in it, which then goes around once more.
StepPlan circular_steps(const CollectiveProblem& problem) {
  const int members = problem.seats.size();
  const int channels = problem.seats.channels();
  StepPlan plan;
  plan.steps = passes(problem.op) * (members - 1);
  plan.blocks = channels * members;
  plan.block_share = 1.0 / plan.blocks;
  const int start = problem.op == CollectiveOp::all_gather ? members - 1 : 0;
  for (int step = 0; step < plan.steps; ++step)
    for (int channel = 0; channel < channels; ++channel) {
      const std::vector<int> order = order_of(problem, channel);
      const auto member = [&](int k) {
        return order[static_cast<std::size_t>(((k % members) + members) % members)];
      };
      for (int k = 0; k < members; ++k)
        plan.transfers.push_back({step, member(k), member(k + 1), channel,
                                  channel * members + member(k - start - step - 1), 1,
                                  start + step < members - 1});
    }
  return plan;
}

StepPlan chain_steps(const CollectiveProblem& problem, int chunks) {
  const int members = problem.seats.size();
  const int channels = problem.seats.channels();
  StepPlan plan;
  plan.steps = members - 2 + chunks;
  plan.blocks = channels * chunks;
  plan.block_share = 1.0 / plan.blocks;
  for (int step = 0; step < plan.steps; ++step)
    for (int channel = 0; channel < channels; ++channel) {
      const std::vector<int> order = order_of(problem, channel);
      for (int k = std::max(0, step - chunks + 1); k <= std::min(step, members - 2); ++k)
        plan.transfers.push_back(
            {step, order[static_cast<std::size_t>(k)], order[static_cast<std::size_t>(k) + 1],
             channel, channel * chunks + step - k, 1, problem.op == CollectiveOp::reduce});
    }
  return plan;
}

std::string refusal(const CollectiveProblem& problem) {
  switch (problem.op) {
    case CollectiveOp::all_reduce:
    case CollectiveOp::all_gather:
    case CollectiveOp::reduce_scatter:
    case CollectiveOp::broadcast:
    case CollectiveOp::reduce:
      return {};
    default:
      return "a ring does all-reduce, all-gather, reduce-scatter, broadcast and reduce";
  }
}

std::vector<CollectivePhase> phases(const CollectiveProblem& problem) {
  const int crossings = problem.seats.host_count() - 1;
  const int inside = problem.seats.size() - 1 - crossings;
  return {{static_cast<double>(passes(problem.op) * inside),
           static_cast<double>(passes(problem.op) * crossings), 0.0}};
}

void emit(const CollectiveProblem& problem, int /*phase*/, const TransferSink& sink) {
  const Seats& seats = problem.seats;
  const int hosts = seats.host_count();
  const int channels = seats.channels();
  const double share = edge_share(problem) / channels;
  for (int host = 0; host < hosts; ++host) {
    HostEdges inside{seats, host};
    for (int channel = 0; channel < channels; ++channel) {
      const std::vector<int> members = seats.order_on(host, channel);
      const int next = seats.head((host + 1) % hosts, channel);
      for (std::size_t k = 0; k < members.size(); ++k) {
        const int to = k + 1 < members.size() ? members[k + 1] : next;
        if (is_cut(problem, members[k], to)) continue;
        if (seats.same_host(members[k], to))
          inside.add(members[k], to, share);
        else
          sink({members[k], to, share, channel});
      }
    }
    inside.emit(sink);
  }
}

StepPlan steps(const CollectiveProblem& problem, int chunks) {
  return has_root(problem.op) ? chain_steps(problem, chunks) : circular_steps(problem);
}

}  // namespace
}  // namespace ring

// Rings, one per NIC of a host: each enters a host at another member and leaves it at the one
// before, so that every link inside and every NIC carries its part (NCCL's rings on rails).
// All-reduce, all-gather and reduce-scatter go around; a broadcast leaves out the edge into the
// root, a reduce the one out of it. Source of steps: Thakur, Rabenseifner, Gropp, IJHPCA 2005.
constinit const CollectiveScheme ring_scheme{
    "ring",        "ring",       "one ring per NIC of a host, members in order",
    ring::refusal, ring::phases, ring::emit,
    ring::steps};

}  // namespace foretrain
