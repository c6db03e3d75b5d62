// SPDX-License-Identifier: Apache-2.0
#include "planner/step/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "models/base/require.hpp"
#include "models/forecast/memory_course.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

std::string json_string(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::int64_t nanoseconds(Seconds time) { return std::llround(time.value() * 1e9); }

/// 1234567 ns -> "1234.567".
std::string microseconds(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

class TraceWriter {
 public:
  TraceWriter(const TaskGraph& graph, const Timeline& timeline)
      : graph_{graph}, timeline_{timeline} {
    for (const TaskCost& cost : graph.costs) cost_names_.push_back(json_string(cost.name));
  }

  std::string write(const TraceTitle& title, const std::vector<TraceCounter>& counters) {
    text_ = fmt::format(
        R"({{"displayTimeUnit":"ms","otherData":{{"scenario":{},"engine":"{}","foretrain":{}}},)",
        json_string(title.scenario), name_of(title.engine), json_string(version));
    text_ += "\n\"traceEvents\":[\n";
    add_tracks();
    for (std::uint32_t id = 0; id < graph_.tasks.size(); ++id) {
      add_task(id);
      add_arrows(id);
    }
    add_counters(counters);
    text_.erase(text_.size() - 2);  // the last comma
    return text_ + "\n]}\n";
  }

 private:
  [[nodiscard]] std::int64_t start(std::uint32_t id) const {
    return nanoseconds(timeline_.start[id]);
  }
  [[nodiscard]] std::int64_t end(std::uint32_t id) const { return nanoseconds(timeline_.end[id]); }

  void add_tracks() {
    std::set<std::pair<int, StreamKind>> tracks;
    for (const Task& task : graph_.tasks) tracks.emplace(task.rank, task.stream);
    for (int rank = 0; rank < graph_.ranks; ++rank) {
      add(R"({{"ph":"M","name":"process_name","pid":{0},"args":{{"name":"stage {0}"}}}})", rank);
      add(R"({{"ph":"M","name":"process_sort_index","pid":{0},"args":{{"sort_index":{0}}}}})",
          rank);
    }
    for (const auto& [rank, stream] : tracks) {
      const int thread = static_cast<int>(stream);
      add(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"{}"}}}})", rank,
          thread, name_of(stream));
      add(R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})",
          rank, thread, thread);
    }
  }

  void add_counters(const std::vector<TraceCounter>& counters) {
    const int fabric = graph_.ranks;
    if (std::any_of(counters.begin(), counters.end(),
                    [](const TraceCounter& counter) { return !counter.stage; })) {
      add(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":"fabric"}}}})", fabric);
      add(R"({{"ph":"M","name":"process_sort_index","pid":{0},"args":{{"sort_index":{0}}}}})",
          fabric);
    }
    for (const TraceCounter& counter : counters)
      for (const TraceCounter::Point& point : counter.points)
        add(R"({{"ph":"C","pid":{},"ts":{},"name":{},"args":{{{}:{:.6g}}}}})",
            counter.stage.value_or(fabric), microseconds(nanoseconds(point.time)),
            json_string(counter.name), json_string(counter.unit), point.value);
  }

  void add_task(std::uint32_t id) {
    const Task& task = graph_.tasks[id];
    if (end(id) <= start(id)) return;
    std::string args = fmt::format(R"("task":{},"role":"{}","kind":"{}")", id, name_of(task.role),
                                   name_of(task.kind));
    if (task.micro >= 0) args += fmt::format(R"(,"micro":{},"chunk":{})", task.micro, task.chunk);
    if (task.layer >= 0) args += fmt::format(R"(,"layer":{})", task.layer);
    if (task.peer >= 0) args += fmt::format(R"(,"peer":{})", task.peer);
    if (const Bytes bytes = graph_.cost_of(id).bytes; bytes > Bytes{})
      args += fmt::format(R"(,"bytes":{:.0f})", bytes.value());
    add(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":{},"cat":"{}","args":{{{}}}}})",
        task.rank, static_cast<int>(task.stream), microseconds(start(id)),
        microseconds(end(id) - start(id)), cost_names_[task.cost], name_of(task.role), args);
  }

  /// From every transfer that this task waits for on the other stage.
  void add_arrows(std::uint32_t id) {
    const Task& task = graph_.tasks[id];
    if (end(id) <= start(id)) return;  // an arrow ends on something that is drawn
    for (const std::uint32_t before : graph_.before(id)) {
      const Task& flow = graph_.tasks[before];
      if (flow.kind != TaskKind::flow || flow.peer != task.rank || flow.rank == task.rank) continue;
      if (end(before) <= start(before)) continue;
      ++arrows_;
      add(R"({{"ph":"s","id":{0},"pid":{1},"tid":{2},"ts":{3},"name":"{4}","cat":"{4}"}})", arrows_,
          flow.rank, static_cast<int>(flow.stream), microseconds(start(before)),
          name_of(flow.role));
      add(R"({{"ph":"f","bp":"e","id":{0},"pid":{1},"tid":{2},"ts":{3},"name":"{4}","cat":"{4}"}})",
          arrows_, task.rank, static_cast<int>(task.stream), microseconds(start(id)),
          name_of(flow.role));
    }
  }

  /// One event and the comma after it.
  template <class... Values>
  void add(fmt::format_string<Values...> pattern, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), pattern, std::forward<Values>(values)...);
    text_ += ",\n";
  }

  const TaskGraph& graph_;
  const Timeline& timeline_;
  std::vector<std::string> cost_names_;
  std::string text_;
  int arrows_ = 0;
};

}  // namespace

std::vector<TraceCounter> memory_counters(const Job& job, const StepPath& path) {
  const StageLayout layout = stage_layout(job.model, job.parallel);
  std::vector<TraceCounter> counters;
  for (int stage = 0; stage < path.graph.ranks; ++stage) {
    TraceCounter counter{"device memory", "GiB", {}, stage};
    for (const MemoryPoint& point : memory_course(job, layout, path, stage).points)
      counter.points.push_back({point.time, point.total() / GiB});
    counters.push_back(std::move(counter));
  }
  return counters;
}

std::string trace_json(const TaskGraph& graph, const Timeline& timeline, const TraceTitle& title,
                       const std::vector<TraceCounter>& counters) {
  FORETRAIN_REQUIRE(graph.ranks >= 1 && timeline.end.size() == graph.tasks.size());
  return TraceWriter{graph, timeline}.write(title, counters);
}

}  // namespace foretrain
