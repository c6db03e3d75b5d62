// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/base/quantity.hpp"
#include "models/collectives/collective_choice.hpp"
#include "models/forecast/path_forecast.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

enum class TraceNodeKind : std::uint8_t { metadata, compute, memory, send, receive, collective };

/// One operation of one rank, as MLCommons Chakra describes them.
struct TraceNode {
  std::uint64_t id = 0;
  std::string name;
  TraceNodeKind kind = TraceNodeKind::compute;
  bool on_cpu = false;
  bool barrier = false;  ///< a collective without bytes
  CollectiveOp op = CollectiveOp::all_reduce;
  Seconds start;      ///< as recorded; orders nodes that nothing else orders
  Seconds duration;   ///< as recorded
  Bytes bytes;        ///< what the rank puts in, of collectives and sends
  std::string group;  ///< of a collective; empty: all ranks
  int peer = -1;      ///< of a send or receive
  int tag = 0;
  std::vector<std::uint64_t> waits_for;  ///< ids of the same rank
};

struct RankTrace {
  std::vector<TraceNode> nodes;
};

/// What all ranks did, by rank.
struct ExecutionTrace {
  std::vector<RankTrace> ranks;
  std::vector<std::string> notes;  ///< what was left aside, in words
};

/// Which ranks of a job to write.
enum class TraceRanks { all, one_replica };

/// The most nodes of a trace in memory.
inline constexpr std::size_t most_trace_nodes = 4'000'000;

/// One optimizer step as the path evaluator has it, rank by rank (process_grid.hpp). Passes are
/// compute nodes with the exchanges inside them; gradients, weights and transfers are communication
/// nodes; where stages wait for each other otherwise an empty send says so. `one_replica` gives one
/// rank per stage, numbered by stage.
/// @throws UsageError beyond most_trace_nodes
[[nodiscard]] ExecutionTrace trace_of_step(const Job& job, const StepPath& path, TraceRanks ranks);

/// Whether this program can read and write Chakra files: it was built with protobuf.
[[nodiscard]] bool knows_chakra();

/// A trace as Chakra files: a GlobalMetadata message and one Node message per node, each behind its
/// length as a varint. Durations are whole microseconds, as the schema wants; the attribute
/// duration_s holds them exactly.
/// @return the bytes of one file per rank. @throws UsageError where knows_chakra() is false
[[nodiscard]] std::vector<std::string> chakra_files(const ExecutionTrace& trace);

/// Reads one rank's file. @param file its name, for messages
/// @throws ScenarioError for anything that is no such file, unknown node types and collectives, and
///   nodes whose duration nothing tells; UsageError where knows_chakra() is false
[[nodiscard]] RankTrace read_chakra(const std::string& bytes, const std::string& file,
                                    std::vector<std::string>& notes);

/// "trace.%d.et" with %d replaced by a rank. @throws UsageError where it has no %d, or several
[[nodiscard]] std::string rank_file(const std::string& pattern, int rank);

}  // namespace foretrain
