// SPDX-License-Identifier: Apache-2.0
#include <zlib.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "models/forecast/closed_form.hpp"
#include "planner/step/trace.hpp"
#include "planner/text/gzip.hpp"
#include "scenarios/resolve/scenario.hpp"
#include "tests/planner/step/graph_fixtures.hpp"

using namespace foretrain;

namespace {

std::vector<nlohmann::json> events(const nlohmann::json& trace, const std::string& phase) {
  std::vector<nlohmann::json> result;
  for (const nlohmann::json& event : trace["traceEvents"])
    if (event["ph"] == phase) result.push_back(event);
  return result;
}

std::string unzipped(const std::string& packed, std::size_t size) {
  std::string text(size, '\0');
  z_stream stream{};
  REQUIRE(inflateInit2(&stream, 15 + 16) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  CHECK(inflate(&stream, Z_FINISH) == Z_STREAM_END);
  CHECK(stream.avail_out == 0);
  inflateEnd(&stream);
  return text;
}

}  // namespace

TEST_CASE("a trace holds every task with its time", "[planner][trace][property]") {
  const int layers = GENERATE(1, 3);
  const TaskGraph graph = fixtures::step_graph({4, 8, layers > 1, true, layers});
  const Timeline timeline = longest_path(graph);
  const nlohmann::json trace = nlohmann::json::parse(trace_json(graph, timeline, {"a \"name\""}));
  CHECK(trace["otherData"]["scenario"] == "a \"name\"");

  const auto tasks = events(trace, "X");
  REQUIRE(tasks.size() == graph.tasks.size());
  std::map<std::string, double> traced;  // role -> microseconds
  for (const nlohmann::json& event : tasks) {
    const std::size_t id = event["args"]["task"];
    CHECK(event["pid"] == graph.tasks[id].rank);
    CHECK(event["tid"] == static_cast<int>(graph.tasks[id].stream));
    CHECK(event["ts"].get<double>() == Approx(timeline.start[id].in(us)).margin(1e-3));
    CHECK(event["name"] == graph.costs[graph.tasks[id].cost].name);
    if (graph.tasks[id].micro >= 0) CHECK(event["args"]["micro"] == graph.tasks[id].micro);
    if (graph.tasks[id].layer >= 0) CHECK(event["args"]["layer"] == graph.tasks[id].layer);
    traced[event["args"]["role"]] += event["dur"].get<double>();
  }
  std::map<std::string, double> wanted;
  for (std::uint32_t id = 0; id < graph.tasks.size(); ++id)
    wanted[std::string(name_of(graph.tasks[id].role))] += graph.cost_of(id).duration.in(us);
  REQUIRE(traced.size() == wanted.size());
  for (const auto& [role, time] : wanted) CHECK(traced[role] == Approx(time));
}

TEST_CASE("nothing overlaps on a track of a trace", "[planner][trace][property]") {
  const TaskGraph graph = fixtures::step_graph({8, 32, true, true, 7});
  const nlohmann::json trace = nlohmann::json::parse(trace_json(graph, longest_path(graph), {"x"}));
  std::map<std::pair<int, int>, std::vector<std::pair<std::int64_t, std::int64_t>>> tracks;
  for (const nlohmann::json& event : events(trace, "X")) {
    const auto start = std::llround(event["ts"].get<double>() * 1000.0);
    tracks[{event["pid"], event["tid"]}].emplace_back(
        start, start + std::llround(event["dur"].get<double>() * 1000.0));
  }
  CHECK(tracks.size() ==
        std::size_t{8} * 3);  // compute, send, data; the last stage sends gradients
  for (auto& [track, spans] : tracks) {
    std::sort(spans.begin(), spans.end());
    for (std::size_t i = 1; i < spans.size(); ++i) CHECK(spans[i - 1].second <= spans[i].first);
  }
}

TEST_CASE("every transfer of a trace points to the pass that waits for it", "[planner][trace]") {
  const TaskGraph graph = fixtures::step_graph({4, 8});
  const Timeline timeline = longest_path(graph);
  const nlohmann::json trace = nlohmann::json::parse(trace_json(graph, timeline, {"x"}));
  const auto starts = events(trace, "s");
  const auto ends = events(trace, "f");
  CHECK(starts.size() == std::size_t{2} * 3 * 8);  // 3 borders, 8 micro-batches, there and back
  REQUIRE(starts.size() == ends.size());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    CHECK(starts[i]["id"] == ends[i]["id"]);
    CHECK(std::abs(starts[i]["pid"].get<int>() - ends[i]["pid"].get<int>()) == 1);
    CHECK(starts[i]["ts"].get<double>() < ends[i]["ts"].get<double>());
  }
}

TEST_CASE("every track of a trace has a name", "[planner][trace]") {
  const TaskGraph graph = fixtures::step_graph({2, 2});
  const nlohmann::json trace = nlohmann::json::parse(trace_json(graph, longest_path(graph), {"x"}));
  std::vector<std::string> names;
  for (const nlohmann::json& event : events(trace, "M"))
    if (event["args"].contains("name")) names.push_back(event["args"]["name"]);
  for (const char* name : {"stage 0", "stage 1", "compute", "data", "send"})
    CHECK(std::find(names.begin(), names.end(), name) != names.end());
}

TEST_CASE("gzip gives back what it was given, and the same bytes each time", "[planner][trace]") {
  for (const std::size_t size : {0UL, 1UL, 70000UL, 3000000UL}) {
    std::string text(size, 'x');
    for (std::size_t i = 0; i < size; i += 3) text[i] = static_cast<char>('a' + i * i % 23);
    const std::string packed = gzip(text);
    CHECK(packed == gzip(text));
    CHECK(unzipped(packed, size) == text);
    CHECK(static_cast<unsigned char>(packed[0]) == 0x1f);
    CHECK(static_cast<unsigned char>(packed[1]) == 0x8b);
  }
}

TEST_CASE("trace: counters are tracks of a process behind the stages", "[planner][trace]") {
  const TaskGraph graph = fixtures::step_graph({4, 8, false, true, 1});
  const TraceCounter counter{"leaf0>spine1", "percent", {{Seconds{}, 50.0}, {3.0 * ms, 0.0}}};
  const nlohmann::json trace = nlohmann::json::parse(
      trace_json(graph, longest_path(graph), {"x", EngineKind::event}, {counter}));
  REQUIRE(trace["otherData"]["engine"] == "event");
  std::vector<nlohmann::json> points;
  for (const nlohmann::json& event : trace["traceEvents"])
    if (event["ph"] == "C") points.push_back(event);
  REQUIRE(points.size() == 2);
  CHECK(points[0]["name"] == "leaf0>spine1");
  CHECK(points[0]["pid"] == graph.ranks);
  CHECK(points[0]["args"]["percent"] == 50.0);
  CHECK(points[1]["ts"] == 3000.0);
  CHECK(points[1]["args"]["percent"] == 0.0);
}

TEST_CASE("trace: the memory of every stage is a counter of its process", "[planner][trace]") {
  const Job job =
      load_scenario_text(
          "{schema: 1, name: small, model: llama3-8b, stack: megatron-core,\n"
          " cluster: {host: dgx-h100, hosts: 4, fabric: {kind: single-switch, preset: ib-ndr}},\n"
          " training: {sequence: 4096, micro_batch: 1, global_batch: 64},\n"
          " parallel: {tensor: 2, sequence: true, pipeline: 4}}\n",
          "small.yaml", std::filesystem::current_path())
          .job;
  const StageLayout layout = stage_layout(job.model, job.parallel);
  const StepPath path = step_path(job, layout);
  const std::vector<TraceCounter> counters = memory_counters(job, path);
  REQUIRE(counters.size() == 4);
  const nlohmann::json trace = nlohmann::json::parse(
      trace_json(path.graph, path.timeline, {"x", EngineKind::path}, counters));
  std::vector<double> peaks(4, 0.0);
  for (const nlohmann::json& event : trace["traceEvents"]) {
    CHECK((event["ph"] != "M" || event["args"].value("name", "") != "fabric"));
    if (event["ph"] != "C") continue;
    double& peak = peaks.at(event["pid"].get<std::size_t>());
    peak = std::max(peak, event["args"]["GiB"].get<double>());
  }
  const MemoryForecast memory = *closed_form(job).memory;
  for (std::size_t stage = 0; stage < 4; ++stage)
    CHECK(peaks[stage] == Approx(memory.stages[stage].peak / GiB).epsilon(1e-5));
}
