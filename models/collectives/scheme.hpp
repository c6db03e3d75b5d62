// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/collectives/collective_choice.hpp"
#include "models/collectives/seats.hpp"

namespace foretrain {

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

}  // namespace foretrain
