// SPDX-License-Identifier: Apache-2.0
#include "models/collectives/registry.hpp"

#include <bit>

namespace foretrain {
namespace halving_doubling {
namespace {

/// Rounds in order: the extra members join (if there are any), halving, doubling, they get theirs.
struct Rounds {
  int members;
  int core = static_cast<int>(std::bit_floor(static_cast<unsigned>(members)));
  int levels = std::countr_zero(static_cast<unsigned>(core));
  int join = members > core ? 1 : 0;

  [[nodiscard]] int count() const { return 2 * (levels + join); }
  [[nodiscard]] bool is_join(int round) const { return join == 1 && round == 0; }
  [[nodiscard]] bool is_leave(int round) const { return join == 1 && round == count() - 1; }
  [[nodiscard]] bool is_halving(int round) const { return round - join < levels; }
  /// Distance 2^level; halving goes up, doubling down again.
  [[nodiscard]] int level(int round) const {
    const int swap = round - join;
    return swap < levels ? swap : 2 * levels - 1 - swap;
  }
};

/// First of the blocks that a member is left with after halving up to `level`, exclusive.
int first_block(int member, int level, int core) {
  int block = 0;
  for (int i = 0; i < level; ++i)
    if ((member >> i & 1) != 0) block += core >> (i + 1);
  return block;
}

/// Calls `hand(from, to, block, blocks, reduces)` for one round.
template <class Hand>
void for_each_transfer(const Rounds& rounds, int round, const Hand& hand) {
  if (rounds.is_join(round) || rounds.is_leave(round)) {
    for (int extra = rounds.core; extra < rounds.members; ++extra) {
      const int partner = extra - rounds.core;
      if (rounds.is_join(round))
        hand(extra, partner, 0, rounds.core, true);
      else
        hand(partner, extra, 0, rounds.core, false);
    }
    return;
  }
  const int level = rounds.level(round);
  const int blocks = rounds.core >> (level + 1);
  const bool halving = rounds.is_halving(round);
  for (int member = 0; member < rounds.core; ++member) {
    const int partner = member ^ (1 << level);
    // Halving gives away the partner's half, doubling hands over one's own.
    const int owner = halving ? partner : member;
    hand(member, partner, first_block(owner, level + 1, rounds.core), blocks, halving);
  }
}

std::string refusal(const CollectiveProblem& problem) {
  return problem.op == CollectiveOp::all_reduce ? "" : "halving and doubling does all-reduce";
}

std::vector<CollectivePhase> phases(const CollectiveProblem& problem) {
  const Rounds rounds{problem.seats.size()};
  std::vector<CollectivePhase> result;
  for (int round = 0; round < rounds.count(); ++round) {
    bool leaves = false;
    for_each_transfer(rounds, round, [&](int from, int to, int, int, bool) {
      leaves = leaves || !problem.seats.same_host(from, to);
    });
    result.push_back({leaves ? 0.0 : 1.0, leaves ? 1.0 : 0.0, 0.0});
  }
  return result;
}

void emit(const CollectiveProblem& problem, int phase, const TransferSink& sink) {
  const Rounds rounds{problem.seats.size()};
  for_each_transfer(rounds, phase, [&](int from, int to, int, int blocks, bool) {
    sink({from, to, static_cast<double>(blocks) / rounds.core, 0});
  });
}

StepPlan steps(const CollectiveProblem& problem, int /*chunks*/) {
  const Rounds rounds{problem.seats.size()};
  StepPlan plan;
  plan.steps = rounds.count();
  plan.blocks = rounds.core;
  plan.block_share = 1.0 / rounds.core;
  for (int round = 0; round < rounds.count(); ++round)
    for_each_transfer(rounds, round, [&](int from, int to, int block, int blocks, bool reduces) {
      plan.transfers.push_back({round, from, to, 0, block, blocks, reduces});
    });
  return plan;
}

}  // namespace
}  // namespace halving_doubling

// All-reduce by recursive halving and doubling: partners at distance 1, 2, 4, ... swap halves,
// quarters, eighths and add, then hand them back the same way. What is beyond a power of two
// gives its data to a partner before and gets the sum after (Rabenseifner, ICCS 2004; Thakur,
// Rabenseifner, Gropp, IJHPCA 2005, section 4.5).
constinit const CollectiveScheme halving_doubling_scheme{"halving-doubling",
                                                         "halving",
                                                         "recursive halving, then doubling",
                                                         halving_doubling::refusal,
                                                         halving_doubling::phases,
                                                         halving_doubling::emit,
                                                         halving_doubling::steps};

}  // namespace foretrain
