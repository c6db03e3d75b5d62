// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/collectives/collective_choice.hpp"
#include "models/collectives/collective_cost.hpp"

namespace foretrain {

/// The members of a process group by the scale-up domains they sit in: hosts, or several hosts
/// each. Algorithms speak of members by their position in the group, from 0.
struct Seats {
  std::vector<int> gpu;                 ///< by position: its number on the machine
  std::vector<int> place;               ///< by position: index of its GPU in the host
  std::vector<int> host_of;             ///< by position: index into `hosts`
  std::vector<std::vector<int>> hosts;  ///< positions, by host in order of its first member
  int span_hosts = 1;                   ///< as CommGroup has it
  int domain_hosts = 1;

  [[nodiscard]] int size() const { return static_cast<int>(gpu.size()); }
  [[nodiscard]] int host_count() const { return static_cast<int>(hosts.size()); }
  /// Members of the host that has fewest.
  [[nodiscard]] int fewest_on_a_host() const;
  /// Rings or trees side by side, each over its own NIC of every domain; one within a domain.
  [[nodiscard]] int channels() const { return hosts.size() == 1 ? 1 : fewest_on_a_host(); }
  [[nodiscard]] bool same_host(int a, int b) const { return host_of[at(a)] == host_of[at(b)]; }
  /// Where `channel` comes into a host and leaves it again.
  [[nodiscard]] int head(int host, int channel) const;
  /// Members of a host as `channel` passes them: its head first, then around.
  [[nodiscard]] std::vector<int> order_on(int host, int channel) const;
  /// As the cost model sees the group: domains that hold unequal numbers count as holding the
  /// fewest.
  [[nodiscard]] CommGroup group() const;

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
};

/// @pre packing.host >= 1; `gpus` is not empty, not negative, and names none twice.
[[nodiscard]] Seats seats_of(std::vector<int> gpus, const Packing& packing);

/// What is to be done: an operation over a group. `root` is a position: who has, or gets, the data
/// of a broadcast, reduce, gather or scatter. Payload as in collective_choice.hpp.
struct CollectiveProblem {
  CollectiveOp op = CollectiveOp::all_reduce;
  const Seats& seats;
  int root = 0;
};

/// What one member hands to another during a phase, all steps together.
struct Transfer {
  static constexpr int host_switch = -1;  ///< in place of a member: the switch of the other's host

  int from = 0;
  int to = 0;
  double share = 0.0;  ///< of the payload
  int channel = 0;     ///< tells transfers between the same two members apart
};
using TransferSink = std::function<void(const Transfer&)>;

/// A part of a collective whose transfers run side by side, each step of one waiting for the step
/// before; the next phase starts when all are through.
struct CollectivePhase {
  double inside_steps = 0.0;  ///< hand-overs that wait for each other, within hosts
  double across_steps = 0.0;  ///< the same between hosts
  /// Share of the payload that every member's NIC sends into the network and gets back reduced by
  /// its switches.
  double network_share = 0.0;
};

/// One hand-over of a collective taken apart. A transfer of step s starts when its sender has
/// sent and received everything of earlier steps on its channel.
struct StepTransfer {
  int step = 0;
  int from = 0;
  int to = 0;
  int channel = 0;
  int block = 0;         ///< first block
  int blocks = 1;        ///< consecutive ones
  bool reduces = false;  ///< the receiver adds to what it has; otherwise it keeps what comes
};

/// A collective as single hand-overs, by step. Blocks are equal parts of the payload; those of an
/// all-to-all are numbered sender * members + receiver and each is 1/members of what one sends.
struct StepPlan {
  int steps = 0;
  int blocks = 1;
  double block_share = 1.0;  ///< of the payload, per block
  std::vector<StepTransfer> transfers;
};

/// An algorithm as pure data: who hands how much to whom.
struct CollectiveScheme {
  std::string_view name;   ///< as users write it
  std::string_view label;  ///< at most nine letters, for tables
  std::string_view help;   ///< one line
  /// Why it cannot do this; empty when it can.
  std::string (*refusal)(const CollectiveProblem&);
  std::vector<CollectivePhase> (*phases)(const CollectiveProblem&);
  /// All transfers of one phase, no two of them alike in members and channel.
  void (*emit)(const CollectiveProblem&, int phase, const TransferSink&);
  /// The same step by step, a pipelined payload cut into `chunks` pieces; null where switches add.
  StepPlan (*steps)(const CollectiveProblem&, int chunks);
};

/// Transfers within one host, those of all channels between the same two members as one: they take
/// the same way.
class HostEdges {
 public:
  HostEdges(const Seats& seats, int host);

  /// @pre both are members on the host
  void add(int from, int to, double share);
  /// Hands on what was added, by sender, then receiver.
  void emit(const TransferSink& sink) const;

 private:
  [[nodiscard]] std::size_t index(int member) const;

  const std::vector<int>& members_;
  std::vector<double> shares_;  ///< by sender and receiver, in the order of members_
};

}  // namespace foretrain

namespace foretrain::tree {

/// Parent of a host in the in-order binary tree over `hosts` hosts, -1 at its root, host 0. The
/// second tree is the first mirrored (even number of hosts) or shifted by one.
[[nodiscard]] int parent(int host, int hosts, bool second);

/// The transfers between hosts of `tree`, both ways: what in-switch reduction climbs too.
void emit_between_hosts(const Seats& seats, const TransferSink& sink);

}  // namespace foretrain::tree
