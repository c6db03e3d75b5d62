// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <cmath>
#include <map>
#include <set>

#include "models/collectives/registry.hpp"
#include "models/collectives/scheme.hpp"

using namespace foretrain;

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Whose parts a member's copy of each block holds.
using Copies = std::vector<std::set<int>>;
using Data = std::vector<Copies>;  ///< by member

std::set<int> everybody(int members) {
  std::set<int> all;
  for (int i = 0; i < members; ++i) all.insert(i);
  return all;
}

/// Member that a block of a gather or scatter belongs to.
int owner(const CollectiveScheme& scheme, const Seats& seats, int block) {
  if (scheme.name != "hierarchical") return block % seats.size();
  const int index = block / seats.host_count();
  return seats.hosts[at(block % seats.host_count())][at(index)];
}

Data before(const CollectiveScheme& scheme, const CollectiveProblem& problem,
            const StepPlan& plan) {
  const int members = problem.seats.size();
  Data data(at(members), Copies(at(plan.blocks)));
  for (int m = 0; m < members; ++m)
    for (int block = 0; block < plan.blocks; ++block) {
      bool has = true;
      switch (problem.op) {
        case CollectiveOp::all_gather:
        case CollectiveOp::gather:
          has = owner(scheme, problem.seats, block) == m;
          break;
        case CollectiveOp::all_to_all:
          has = block / members == m;
          break;
        case CollectiveOp::broadcast:
        case CollectiveOp::scatter:
        case CollectiveOp::send:
          has = m == problem.root;
          break;
        default:
          break;
      }
      if (has) data[at(m)][at(block)] = {m};
    }
  return data;
}

/// Plays the hand-overs step by step; those of one step see what was there before it.
void play(const StepPlan& plan, Data& data) {
  for (int step = 0; step < plan.steps; ++step) {
    const Data old = data;
    for (const StepTransfer& t : plan.transfers) {
      if (t.step != step) continue;
      REQUIRE(t.from != t.to);
      for (int block = t.block; block < t.block + t.blocks; ++block) {
        const std::set<int>& sent = old[at(t.from)][at(block)];
        std::set<int>& kept = data[at(t.to)][at(block)];
        REQUIRE_FALSE(sent.empty());
        if (t.reduces)
          for (const int part : sent) REQUIRE(kept.insert(part).second);  // nobody's part twice
        else
          kept = sent;
      }
    }
  }
}

void check_after(const CollectiveScheme& scheme, const CollectiveProblem& problem,
                 const StepPlan& plan, const Data& data) {
  const int members = problem.seats.size();
  for (int m = 0; m < members; ++m)
    for (int block = 0; block < plan.blocks; ++block) {
      const std::set<int>& has = data[at(m)][at(block)];
      CAPTURE(m, block);
      switch (problem.op) {
        case CollectiveOp::all_reduce:
          REQUIRE(has == everybody(members));
          break;
        case CollectiveOp::reduce_scatter:
          if (owner(scheme, problem.seats, block) == m) REQUIRE(has == everybody(members));
          break;
        case CollectiveOp::reduce:
          if (m == problem.root) REQUIRE(has == everybody(members));
          break;
        case CollectiveOp::all_gather:
          REQUIRE(has == std::set<int>{owner(scheme, problem.seats, block)});
          break;
        case CollectiveOp::gather:
          if (m == problem.root) REQUIRE(has == std::set<int>{block});
          break;
        case CollectiveOp::all_to_all:
          if (block % members == m) REQUIRE(has == std::set<int>{block / members});
          break;
        case CollectiveOp::scatter:
          if (block == m) REQUIRE(has == std::set<int>{problem.root});
          break;
        default:
          REQUIRE(has == std::set<int>{problem.root});
      }
    }
}

/// What each edge carries, all steps and channels together.
using Edges = std::map<std::pair<int, int>, double>;

Edges edges_of(const CollectiveScheme& scheme, const CollectiveProblem& problem) {
  Edges edges;
  const auto phases = scheme.phases(problem);
  for (std::size_t phase = 0; phase < phases.size(); ++phase)
    scheme.emit(problem, static_cast<int>(phase), [&](const Transfer& t) {
      edges[{t.from, t.to}] += t.share;
    });
  return edges;
}

Edges edges_of(const StepPlan& plan) {
  Edges edges;
  for (const StepTransfer& t : plan.transfers) edges[{t.from, t.to}] += t.blocks * plan.block_share;
  return edges;
}

std::vector<int> some_gpus(int members, int stride) {
  std::vector<int> gpus;
  for (int i = 0; i < members; ++i) gpus.push_back(i * stride);
  return gpus;
}

}  // namespace

TEST_CASE("collective schemes: step by step everyone ends with what the operation promises",
          "[models][collective][property]") {
  const int members = GENERATE(2, 3, 4, 6, 8, 12, 16, 24);
  const int stride = GENERATE(1, 2, 4);
  const Seats seats = seats_of(some_gpus(members, stride), {4, 4});
  int played = 0;
  for (const CollectiveScheme& scheme : collective_schemes())
    for (const auto& [op, name] : EnumNames<CollectiveOp>::names) {
      const CollectiveProblem problem{op, seats, op == CollectiveOp::send ? 0 : members / 2};
      if (scheme.steps == nullptr || !scheme.refusal(problem).empty()) continue;
      CAPTURE(scheme.name, name, members, stride);
      const StepPlan plan = scheme.steps(problem, 3);
      Data data = before(scheme, problem, plan);
      play(plan, data);
      check_after(scheme, problem, plan, data);
      const Edges whole = edges_of(scheme, problem);
      const Edges stepwise = edges_of(plan);
      REQUIRE(whole.size() == stepwise.size());
      for (const auto& [edge, share] : stepwise)
        REQUIRE(whole.at(edge) == Approx(share).epsilon(1e-12));
      ++played;
    }
  CHECK(played >= 10);
}

TEST_CASE("collective schemes: a ring over rails uses every NIC of a host evenly",
          "[models][collective]") {
  const Seats seats = seats_of(some_gpus(32, 1), {8, 8});
  const CollectiveProblem problem{CollectiveOp::all_reduce, seats, 0};
  std::map<int, double> leaving, entering, inside;
  find_scheme("ring")->emit(problem, 0, [&](const Transfer& t) {
    if (seats.same_host(t.from, t.to)) {
      inside[t.from] += t.share;
      return;
    }
    leaving[t.from] += t.share;
    entering[t.to] += t.share;
  });
  // 2 (n-1)/n of the payload, an eighth of it over each NIC, the rest over NVLink
  for (int member = 0; member < 32; ++member) {
    CHECK(leaving[member] == Approx(2.0 * 31.0 / 32.0 / 8.0));
    CHECK(entering[member] == Approx(2.0 * 31.0 / 32.0 / 8.0));
    CHECK(inside[member] == Approx(2.0 * 31.0 / 32.0 * 7.0 / 8.0));
  }
}

TEST_CASE("collective schemes: every host is inner in one of the two trees at most",
          "[models][collective][property]") {
  const int hosts = GENERATE(2, 3, 4, 5, 8, 13, 32, 33, 100);
  CAPTURE(hosts);
  std::array<std::vector<int>, 2> children;
  for (int second = 0; second < 2; ++second) {
    children[at(second)].assign(at(hosts), 0);
    int roots = 0;
    for (int host = 0; host < hosts; ++host) {
      const int above = tree::parent(host, hosts, second == 1);
      if (above < 0)
        ++roots;
      else
        ++children[at(second)][at(above)];
      int depth = 0;
      for (int h = host; h >= 0; h = tree::parent(h, hosts, second == 1)) ++depth;
      CHECK(depth <= std::ceil(std::log2(hosts)) + 1);
    }
    CHECK(roots == 1);
  }
  for (int host = 0; host < hosts; ++host) {
    CHECK(children[0][at(host)] <= 2);
    CHECK(children[1][at(host)] <= 2);
    if (hosts > 2 && children[0][at(host)] == 2) CHECK(children[1][at(host)] <= 1);
  }
}

TEST_CASE("collective schemes: what cannot be done is refused with a reason",
          "[models][collective]") {
  const Seats one_host = seats_of({0, 1, 2, 3}, {8, 8});
  const Seats lone = seats_of({0, 8, 16}, {8, 8});
  const Seats uneven = seats_of({0, 1, 8}, {8, 8});
  const auto refusal = [](const char* name, CollectiveOp op, const Seats& seats) {
    return find_scheme(name)->refusal({op, seats, 0});
  };
  CHECK_FALSE(refusal("tree", CollectiveOp::all_reduce, one_host).empty());
  CHECK_FALSE(refusal("nvls", CollectiveOp::all_reduce, lone).empty());
  CHECK_FALSE(refusal("nvls", CollectiveOp::all_gather, one_host).empty());
  CHECK_FALSE(refusal("collnet", CollectiveOp::all_reduce, one_host).empty());
  CHECK_FALSE(refusal("hierarchical", CollectiveOp::all_reduce, uneven).empty());
  CHECK_FALSE(refusal("ring", CollectiveOp::all_to_all, one_host).empty());
  CHECK_FALSE(refusal("direct", CollectiveOp::all_reduce, one_host).empty());
  CHECK_FALSE(refusal("direct", CollectiveOp::send, one_host).empty());
  CHECK(refusal("ring", CollectiveOp::reduce, lone).empty());
  CHECK(find_scheme("no-such") == nullptr);
}

TEST_CASE("collective schemes: seats know hosts, spans and channels", "[models][collective]") {
  const Seats seats = seats_of({3, 11, 2, 10, 26}, {8, 8});
  CHECK(seats.host_count() == 3);
  CHECK(seats.span_hosts == 4);
  CHECK(seats.channels() == 1);
  CHECK(seats.hosts[1] == std::vector<int>{1, 3});
  CHECK(seats.group().ranks_per_domain == 1);
  const Seats whole = seats_of(some_gpus(16, 1), {8, 8});
  CHECK(whole.channels() == 8);
  CHECK(whole.order_on(1, 3) == std::vector<int>{11, 12, 13, 14, 15, 8, 9, 10});
  CHECK_THROWS_AS(seats_of({1, 1}, {8, 8}), std::logic_error);
}
