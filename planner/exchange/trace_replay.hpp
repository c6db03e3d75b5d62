// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "models/base/prediction.hpp"
#include "planner/exchange/execution_trace.hpp"
#include "planner/network/collective_table.hpp"
#include "planner/text/text_layout.hpp"
#include "scenarios/resolve/scenario.hpp"

namespace foretrain {

struct TraceReplayOptions {
  /// Communication takes the recorded time too, and meets no one. Otherwise it is priced by the
  /// collective library of the scenario and shares the links of its fabric.
  bool recorded = false;
};

/// What a rank did.
struct RankUse {
  Seconds end;
  Seconds compute;        ///< nodes on the GPU
  Seconds communication;  ///< sends, receives and collectives, as long as they were under way
};

struct TraceReplay {
  Seconds time;  ///< until the last node has ended
  std::vector<RankUse> ranks;
  std::size_t nodes = 0;
  std::size_t exchanges = 0;
  std::uint64_t flows = 0;
  bool recorded = false;
  std::vector<BusyLink> links;  ///< the fullest first, at most ten
  std::vector<std::string> notes;
};

/// Plays a trace on the fabric of a scenario, rank r on the GPU that the scenario's placement gives
/// it. A collective is the k-th of its group on every member and begins when the last member has
/// come; a send is the k-th of its sender, receiver and tag, and begins when both have come. GPU
/// nodes of a rank run one after another, CPU nodes too, and collectives of a group; nodes that
/// nothing else orders, in the order in which they were recorded.
/// @return why ranks do not fit on the fabric or cannot reach each other
/// @throws ScenarioError naming the node where ranks do not agree, or wait for each other in a
/// circle
[[nodiscard]] std::variant<TraceReplay, Infeasible> replay_trace(const Scenario& scenario,
                                                                 const ExecutionTrace& trace,
                                                                 const TraceReplayOptions& options);

[[nodiscard]] std::string trace_replay_text(const TraceReplay& replay, const TextStyle& style);
/// {schema: "replay/1", ...}
[[nodiscard]] std::string trace_replay_json(const TraceReplay& replay);

}  // namespace foretrain
