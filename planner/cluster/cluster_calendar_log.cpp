// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "models/base/ranges.hpp"
#include "planner/cluster/internal/trace_reading.hpp"

namespace foretrain::internal {
namespace {

enum CalendarColumn : std::size_t { submit, start, end, nodes, gpus, vc, type, column_count };

constexpr std::array<const char*, column_count> calendar_names{
    "submit_time", "start_time", "end_time", "node_num", "gpu_num", "vc", "type"};

/// Places of the columns; `none` where one is missing.
struct CalendarColumns {
  static constexpr std::size_t none = ~std::size_t{0};
  std::array<std::size_t, column_count> place{};
  std::size_t count = 0;

  [[nodiscard]] bool has(CalendarColumn column) const { return place[column] != none; }
};

bool read_calendar_header(std::string_view line, const TraceReader& trace,
                          CalendarColumns& columns) {
  const auto cells = cells_of(line, ',');
  columns.count = cells.size();
  bool good = true;
  for (std::size_t i = 0; i < calendar_names.size(); ++i) {
    const auto found = std::ranges::find(cells, calendar_names[i]);
    columns.place[i] = found == cells.end() ? CalendarColumns::none
                                            : static_cast<std::size_t>(found - cells.begin());
    if (found != cells.end() || i > nodes) continue;
    trace.report(1, fmt::format("the column {} is missing", calendar_names[i]));
    good = false;
  }
  return good;
}

/// Reads one line after the other.
class CalendarLog {
 public:
  CalendarLog(const CalendarColumns& columns, const TraceReader& trace, OpenJobs open)
      : columns_{columns}, trace_{trace}, open_{open} {}

  void add(const std::vector<std::string_view>& cells, int line) {
    const auto submitted = time(cells[columns_.place[submit]], line);
    if (!submitted) {
      trace_.report(line, fmt::format("submit_time: {} is not a time such as 2026-01-05 09:30:00",
                                      in_quotes(cells[columns_.place[submit]])));
      return;
    }
    const auto started = time(cells[columns_.place[start]], line);
    const auto ended = time(cells[columns_.place[end]], line);
    const auto written = trace_.number(cells[columns_.place[nodes]], line, "node_num", 0.0);
    if (!written) return;
    const auto own_gpus = gpus_of(cells, line);
    for (const auto& instant : {submitted, started, ended})
      if (instant) book_.saw(*instant);
    const bool runs = started && cells[columns_.place[end]].empty();
    if (!own_gpus || !started || (!runs && (!ended || *ended <= *started)) || *written == 0.0 ||
        *own_gpus == 0.0) {
      ++log_.left_out;
      return;
    }
    const auto hosts = trace_.hosts(*written, line, "node_num");
    if (!hosts) return;
    log_.jobs.push_back(
        {Seconds{*submitted}, Seconds{ended.value_or(*started) - *started}, {}, *hosts});
    if (runs) book_.open(log_);
    log_.waits.push_back(static_cast<float>(std::max(0.0, *started - *submitted)));
    if (columns_.has(gpus)) log_.gpus.push_back(static_cast<float>(*own_gpus));
    for (const auto& [column, names] : {std::pair{vc, &log_.teams}, std::pair{type, &log_.queues}})
      if (columns_.has(column))
        names->of_jobs.push_back(
            trace_.name(*names, cells[columns_.place[column]], line, calendar_names[column]));
  }

  LoggedJobs finish() {
    book_.close(log_, open_);
    count_from_monday(log_);
    return std::move(log_);
  }

 private:
  /// In seconds since 1970 by the clock of the log; another offset from UTC is reported.
  std::optional<double> time(std::string_view cell, int line) {
    constexpr std::size_t length = 19;
    const auto instant = instant_of(cell.substr(0, length));
    if (!instant) return std::nullopt;
    const std::string offset(cell.substr(length));
    if (!offset_) offset_ = offset;
    if (*offset_ != offset)
      trace_.report(line, fmt::format("the offset from UTC is {} here and {} above: all times of a "
                                      "log must have the same",
                                      in_quotes(offset), in_quotes(*offset_)));
    return instant;
  }

  /// One of each host where the log does not say; nothing after reporting.
  std::optional<double> gpus_of(const std::vector<std::string_view>& cells, int line) const {
    if (!columns_.has(gpus)) return 1.0;
    return trace_.number(cells[columns_.place[gpus]], line, "gpu_num", 0.0);
  }

  CalendarColumns columns_;
  const TraceReader& trace_;
  LoggedJobs log_;
  LogBook book_;
  OpenJobs open_;
  std::optional<std::string> offset_;
};

}  // namespace

bool has_calendar_header(std::string_view text) {
  const auto cells = cells_of(text.substr(0, text.find('\n')), ',');
  return contains(cells, calendar_names[submit]);
}

LoggedJobs read_calendar_csv(std::string_view text, const TraceReader& trace, OpenJobs open) {
  CalendarColumns columns;
  bool readable = true;
  std::optional<CalendarLog> log;
  for_lines(text, [&](std::string_view line, int number) {
    if (!readable || line.empty()) return;
    if (!log) {
      readable = read_calendar_header(line, trace, columns);
      if (readable) log.emplace(columns, trace, open);
      return;
    }
    const auto cells = cells_of(line, ',');
    if (cells.size() != columns.count)
      trace.report(
          number, fmt::format("has {} cells where the header has {}", cells.size(), columns.count));
    else
      log->add(cells, number);
  });
  return log ? log->finish() : LoggedJobs{};
}

}  // namespace foretrain::internal
