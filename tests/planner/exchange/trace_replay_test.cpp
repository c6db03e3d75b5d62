// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <algorithm>
#include <sstream>

#include "models/grid/process_grid.hpp"
#include "models/grid/stage_layout.hpp"
#include "planner/exchange/execution_trace.hpp"
#include "planner/exchange/trace_replay.hpp"
#include "planner/exchange/tuner_csv.hpp"
#include "scenarios/resolve/scenario.hpp"

namespace foretrain {
namespace {

Scenario scenario_of(const std::string& parallel, const std::string& more = "") {
  return load_scenario_text(
      "schema: 1\nname: trace\nmodel: llama3-8b\n"
      "cluster: {host: dgx-h100, hosts: 2, fabric: {kind: rail-optimized, preset: ib-ndr}}\n"
      "training: {sequence: 4096, micro_batch: 1, global_batch: 64, precision: bf16}\n"
      "parallel: " +
          parallel + "\nmemory: {recompute: full}\nstack: megatron-core\n" + more,
      "trace.yaml", ".");
}

/// A trace as it comes back from its files.
ExecutionTrace through_files(const ExecutionTrace& trace) {
  ExecutionTrace read;
  for (const std::string& bytes : chakra_files(trace))
    read.ranks.push_back(read_chakra(bytes, "trace.et", read.notes));
  return read;
}

TraceReplay played(const Scenario& scenario, const ExecutionTrace& trace, bool recorded) {
  return std::get<TraceReplay>(replay_trace(scenario, trace, {.recorded = recorded}));
}

TraceNode compute(std::uint64_t id, Seconds duration, std::vector<std::uint64_t> waits_for = {}) {
  TraceNode node;
  node.id = id;
  node.name = "compute";
  node.duration = duration;
  node.waits_for = std::move(waits_for);
  return node;
}

TraceNode all_reduce(std::uint64_t id, Bytes bytes, std::vector<std::uint64_t> waits_for = {}) {
  TraceNode node = compute(id, Seconds{}, std::move(waits_for));
  node.kind = TraceNodeKind::collective;
  node.bytes = bytes;
  node.name = "all-reduce";
  return node;
}

TraceNode message(std::uint64_t id, bool send, int peer, Bytes bytes,
                  std::vector<std::uint64_t> waits_for = {}) {
  TraceNode node = compute(id, Seconds{}, std::move(waits_for));
  node.kind = send ? TraceNodeKind::send : TraceNodeKind::receive;
  node.peer = peer;
  node.bytes = bytes;
  return node;
}

std::string refusal(const ExecutionTrace& trace) {
  try {
    (void)replay_trace(scenario_of("{tensor: 8}"), trace, {});
  } catch (const ScenarioError& error) {
    return error.what();
  }
  FAIL("was played");
  return {};
}

}  // namespace

TEST_CASE("Chakra: one process for all GPUs has no rank per GPU", "[planner][chakra]") {
  const Scenario scenario =
      load_scenario(FORETRAIN_SOURCE_DIR "/scenarios/basics/replicas-dp.yaml");
  const Job& job = scenario.job;
  const StageLayout layout = stage_layout(job.model, job.parallel);
  CHECK_THROWS_WITH(trace_of_step(job, step_path(job, layout), TraceRanks::all),
                    Catch::Contains("parallel.processes: per-host"));
}

TEST_CASE("Chakra: a step that was exported, read and replayed takes the time of the path",
          "[planner][chakra][property]") {
  const std::string parallel =
      GENERATE("{tensor: 8}", "{tensor: 4, pipeline: 2, zero: 1}", "{tensor: 2, pipeline: 8}",
               "{tensor: 4, pipeline: 4, schedule: gpipe}",
               "{tensor: 2, pipeline: 4, virtual_stages: 2, schedule: interleaved, zero: 1}");
  CAPTURE(parallel);
  const Scenario scenario = scenario_of(parallel);
  const Job& job = scenario.job;
  const StageLayout layout = stage_layout(job.model, job.parallel);
  const StepPath path = step_path(job, layout);
  for (const TraceRanks ranks : {TraceRanks::all, TraceRanks::one_replica}) {
    const ExecutionTrace trace = trace_of_step(job, path, ranks);
    CHECK(static_cast<int>(trace.ranks.size()) ==
          (ranks == TraceRanks::all ? job.parallel.gpus() : job.parallel.pipeline));
    const ExecutionTrace read = knows_chakra() ? through_files(trace) : trace;
    CHECK(played(scenario, read, true).time.value() ==
          Approx(path.timeline.makespan.value()).epsilon(1e-9));
  }
}

TEST_CASE("Chakra: priced on an idle fabric, exchanges take what the collective library says",
          "[planner][chakra]") {
  const Scenario scenario = scenario_of("{tensor: 8}");
  ExecutionTrace trace;
  trace.ranks.resize(8);
  for (RankTrace& rank : trace.ranks)
    rank.nodes = {compute(1, 2 * ms), all_reduce(2, 64 * MiB, {1}), compute(3, 1 * ms, {2})};
  Cluster cluster = scenario.job.cluster;
  const CollectivePath path{cluster, scenario.job.device_profile, scenario.job.site};
  const Seconds alone = collective_time(CollectiveOp::all_reduce,
                                        spaced_group(8, 1).on_hosts({8, 8}), 64 * MiB, path);
  const TraceReplay replay = played(scenario, trace, false);
  CHECK(replay.time.value() == Approx((3 * ms + alone).value()).epsilon(1e-6));
  CHECK(replay.exchanges == 1);
  CHECK(replay.ranks[5].compute.value() == Approx(3e-3));
}

TEST_CASE("Chakra: two messages that meet on one NIC share it", "[planner][chakra]") {
  const Scenario scenario = scenario_of("{tensor: 8}");
  const auto time = [&](bool both) {
    ExecutionTrace trace;
    trace.ranks.resize(16);
    trace.ranks[0].nodes.push_back(message(1, true, 8, 1 * GiB));
    trace.ranks[8].nodes.push_back(message(1, false, 0, 1 * GiB));
    if (both) {
      trace.ranks[1].nodes.push_back(message(1, true, 8, 1 * GiB));
      trace.ranks[8].nodes.push_back(message(2, false, 1, 1 * GiB));
    }
    return played(scenario, trace, false).time.value();
  };
  const double alone = time(false);
  CHECK(time(true) > 1.5 * alone);
}

TEST_CASE("Chakra: a rank that comes late holds up its group", "[planner][chakra]") {
  const Scenario scenario = scenario_of("{tensor: 8}");
  ExecutionTrace trace;
  trace.ranks.resize(8);
  for (std::size_t rank = 0; rank < 8; ++rank)
    trace.ranks[rank].nodes = {compute(1, rank == 3 ? 50 * ms : 1 * ms),
                               all_reduce(2, 8 * MiB, {1})};
  CHECK(played(scenario, trace, false).time > 50 * ms);
}

TEST_CASE("Chakra: compute nodes of a rank run one after another, CPU nodes beside them",
          "[planner][chakra]") {
  const Scenario scenario = scenario_of("{tensor: 8}");
  ExecutionTrace trace;
  trace.ranks.resize(1);
  trace.ranks[0].nodes = {compute(1, 5 * ms), compute(2, 5 * ms), compute(3, 4 * ms)};
  trace.ranks[0].nodes[2].on_cpu = true;
  CHECK(played(scenario, trace, true).time.value() == Approx(10e-3));
}

TEST_CASE("Chakra: ranks that do not agree are refused by node", "[planner][chakra]") {
  ExecutionTrace trace;
  trace.ranks.resize(2);
  trace.ranks[0].nodes = {all_reduce(7, 1 * MiB)};
  trace.ranks[1].nodes = {all_reduce(9, 2 * MiB)};
  CHECK_THAT(refusal(trace), Catch::Contains("rank 1: node 9"));
  trace.ranks[1].nodes = {all_reduce(9, 1 * MiB), all_reduce(10, 1 * MiB)};
  CHECK_THAT(refusal(trace), Catch::Contains("of which rank 0 has 1"));
  trace.ranks[0].nodes = {message(1, true, 1, 1 * MiB)};
  trace.ranks[1].nodes.clear();
  CHECK_THAT(refusal(trace), Catch::Contains("has no receive"));
  trace.ranks[0].nodes = {message(1, true, 5, 1 * MiB)};
  CHECK_THAT(refusal(trace), Catch::Contains("there are 2 ranks"));
  trace.ranks[0].nodes = {message(1, true, 1, 1 * MiB, {2}), message(2, false, 1, 1 * MiB)};
  trace.ranks[1].nodes = {message(1, true, 0, 1 * MiB, {2}), message(2, false, 0, 1 * MiB)};
  CHECK_THAT(refusal(trace), Catch::Contains("waits for it"));
}

TEST_CASE("Chakra: files that are none are refused by message", "[planner][chakra]") {
  if (!knows_chakra()) return;
  const auto message_of = [](const std::string& bytes) {
    std::vector<std::string> notes;
    try {
      (void)read_chakra(bytes, "x.et", notes);
    } catch (const ScenarioError& error) {
      return std::string(error.what());
    }
    return std::string("was read");
  };
  ExecutionTrace trace;
  trace.ranks.resize(1);
  trace.ranks[0].nodes = {compute(1, 5 * ms)};
  const std::string good = chakra_files(trace).front();
  CHECK(message_of(good) == "was read");
  CHECK_THAT(message_of(""),
             Catch::Contains("message 1: the first message is not a GlobalMetadata"));
  CHECK_THAT(message_of("hello"), Catch::Contains("message 1"));
  CHECK_THAT(message_of(good.substr(0, good.size() - 3)), Catch::Contains("cannot be decoded"));
  CHECK_THAT(message_of(good + "\xff\xff\xff\xff\x7f"), Catch::Contains("larger than 16 MiB"));
  CHECK_THAT(message_of(good + good.substr(good.size() - 0x40)), !Catch::Contains("was read"));
  trace.ranks[0].nodes[0].waits_for = {4};
  CHECK_THAT(message_of(chakra_files(trace).front()), Catch::Contains("waits for 4"));
}

TEST_CASE("NCCL tuner: rows cover every size once and say what the cost model chooses",
          "[planner][tuner]") {
  const Scenario scenario = scenario_of("{tensor: 4, pipeline: 2}");
  const auto ranges = tuner_ranges(scenario.job);
  REQUIRE(!ranges.empty());
  const CollectivePath path{scenario.job.cluster, scenario.job.device_profile, scenario.job.site};
  std::uint64_t next = 0;
  for (const TunerRange& range : ranges) {
    CHECK(range.first == next);
    CHECK(range.last >= range.first);
    for (const std::uint64_t bytes : {std::max<std::uint64_t>(1, range.first), range.last}) {
      const CollectiveChoice choice =
          collective_choice(range.op, range.group, Bytes{static_cast<double>(bytes)}, path);
      CHECK(choice.algorithm == range.algorithm);
      CHECK(choice.protocol == range.protocol);
    }
    next = range.last == 4294967295 ? 0 : range.last + 1;
  }
  CHECK(next == 0);
}

TEST_CASE("NCCL tuner: rows have the ten columns of the example plug-in", "[planner][tuner]") {
  const std::string csv = tuner_csv(scenario_of("{tensor: 8}").job);
  CHECK_THAT(csv, Catch::Contains("# collective,minBytes,maxBytes,algorithm,protocol,channels,"
                                  "nNodes,nRanks,numPipeOps,regBuff\n"));
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  int rows = 0;
  for (; std::getline(lines, line); ++rows) {
    CHECK(std::count(line.begin(), line.end(), ',') == 9);
    CHECK(line.find("-1,-1", line.size() - 5) != std::string::npos);
  }
  CHECK(rows >= 10);
}

}  // namespace foretrain
