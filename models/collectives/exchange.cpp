// SPDX-License-Identifier: Apache-2.0
#include "models/collectives/registry.hpp"

namespace foretrain {
namespace exchange {
namespace {

/// Whether an operation moves anything from one member to another one directly.
bool moves(const CollectiveProblem& problem, int from, int to) {
  switch (problem.op) {
    case CollectiveOp::gather:
      return from != to && to == problem.root;
    case CollectiveOp::scatter:
    case CollectiveOp::broadcast:
      return from != to && from == problem.root;
    default:
      return from != to;
  }
}

/// Calls `hand(from, to, block)` for everything that `direct` moves.
template <class Hand>
void for_each_pair(const CollectiveProblem& problem, const Hand& hand) {
  const int members = problem.seats.size();
  if (problem.op == CollectiveOp::send) {
    hand(0, 1, 0);
    return;
  }
  for (int from = 0; from < members; ++from)
    for (int to = 0; to < members; ++to) {
      if (!moves(problem, from, to)) continue;
      if (problem.op == CollectiveOp::all_to_all)
        hand(from, to, from * members + to);
      else
        hand(from, to, problem.op == CollectiveOp::scatter ? to : from);
    }
}

/// Blocks are numbered pair by pair, and every pair is a transfer: minutes for the most.
std::string too_many_pairs(const CollectiveProblem& problem) {
  constexpr int most_ranks = 32'768;
  if (problem.op != CollectiveOp::all_to_all || problem.seats.size() <= most_ranks) return {};
  return "an all-to-all of more than 32,768 ranks has more than a billion transfers";
}

double part(const CollectiveProblem& problem) {
  const bool whole = problem.op == CollectiveOp::send || problem.op == CollectiveOp::broadcast;
  return whole ? 1.0 : 1.0 / problem.seats.size();
}

std::string direct_refusal(const CollectiveProblem& problem) {
  switch (problem.op) {
    case CollectiveOp::all_to_all:
      return too_many_pairs(problem);
    case CollectiveOp::all_gather:
    case CollectiveOp::gather:
    case CollectiveOp::scatter:
    case CollectiveOp::broadcast:
      return {};
    case CollectiveOp::send:
      return problem.seats.size() == 2 ? "" : "a send goes from one rank to one other";
    default:
      return "direct transfers add nothing up: they do all-to-all, all-gather, gather, scatter, "
             "broadcast and send";
  }
}

std::vector<CollectivePhase> direct_phases(const CollectiveProblem& problem) {
  if (problem.seats.host_count() > 1) return {{0.0, 1.0, 0.0}};
  return {{1.0, 0.0, 0.0}};
}

void direct_emit(const CollectiveProblem& problem, int /*phase*/, const TransferSink& sink) {
  const double share = part(problem);
  for_each_pair(problem, [&](int from, int to, int) { sink({from, to, share, 0}); });
}

StepPlan direct_steps(const CollectiveProblem& problem, int /*chunks*/) {
  const int members = problem.seats.size();
  StepPlan plan;
  plan.steps = 1;
  plan.block_share = part(problem);
  plan.blocks = problem.op == CollectiveOp::all_to_all ? members * members
                : plan.block_share < 1.0               ? members
                                                       : 1;
  for_each_pair(problem, [&](int from, int to, int block) {
    plan.transfers.push_back({0, from, to, 0, plan.blocks == 1 ? 0 : block, 1, false});
  });
  return plan;
}

std::string pairwise_refusal(const CollectiveProblem& problem) {
  return problem.op == CollectiveOp::all_to_all ? too_many_pairs(problem)
                                                : "pairwise rounds do all-to-all";
}

std::vector<CollectivePhase> pairwise_phases(const CollectiveProblem& problem) {
  std::vector<CollectivePhase> rounds;
  const bool leaves = problem.seats.host_count() > 1;
  for (int round = 1; round < problem.seats.size(); ++round)
    rounds.push_back({leaves ? 0.0 : 1.0, leaves ? 1.0 : 0.0, 0.0});
  return rounds;
}

void pairwise_emit(const CollectiveProblem& problem, int phase, const TransferSink& sink) {
  const int members = problem.seats.size();
  for (int from = 0; from < members; ++from)
    sink({from, (from + phase + 1) % members, 1.0 / members, 0});
}

StepPlan pairwise_steps(const CollectiveProblem& problem, int /*chunks*/) {
  const int members = problem.seats.size();
  StepPlan plan;
  plan.steps = members - 1;
  plan.blocks = members * members;
  plan.block_share = 1.0 / members;
  for (int step = 0; step < plan.steps; ++step)
    for (int from = 0; from < members; ++from) {
      const int to = (from + step + 1) % members;
      plan.transfers.push_back({step, from, to, 0, from * members + to, 1, false});
    }
  return plan;
}

}  // namespace
}  // namespace exchange

// Every member speaks to every other, or to the root. `direct` starts all transfers at once, as
// NCCL's send and receive groups do; `pairwise` goes in members - 1 rounds, in round k from member
// i to member i + k (Thakur, Rabenseifner, Gropp, IJHPCA 2005).
constinit const CollectiveScheme direct_scheme{"direct",
                                               "direct",
                                               "everyone sends to everyone, or the root, at once",
                                               exchange::direct_refusal,
                                               exchange::direct_phases,
                                               exchange::direct_emit,
                                               exchange::direct_steps};
constinit const CollectiveScheme pairwise_scheme{"pairwise",
                                                 "pairwise",
                                                 "all-to-all in rounds of one partner each",
                                                 exchange::pairwise_refusal,
                                                 exchange::pairwise_phases,
                                                 exchange::pairwise_emit,
                                                 exchange::pairwise_steps};

}  // namespace foretrain
