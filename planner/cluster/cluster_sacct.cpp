// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>

#include "planner/cluster/internal/trace_reading.hpp"

namespace foretrain::internal {
namespace {

/// A whole number that fills the text; nothing else.
std::optional<int> digits_in(std::string_view text) {
  int value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || text.front() == '-' || code != std::errc{} ||
      end != text.data() + text.size())
    return std::nullopt;
  return value;
}

/// "1-12:00:00", "12:00:00", "30:00" in seconds; nothing for "UNLIMITED" and the like.
std::optional<double> limit_of(std::string_view text) {
  double days_s = 0.0;
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    const auto count = digits_in(text.substr(0, dash));
    if (!count) return std::nullopt;
    days_s = 86400.0 * *count;
    text.remove_prefix(dash + 1);
  }
  double clock_s = 0.0;
  for (const std::string_view part : cells_of(text, ':')) {
    const auto value = digits_in(part);
    if (!value) return std::nullopt;
    clock_s = 60.0 * clock_s + *value;
  }
  return days_s + clock_s;
}

/// Places of the columns; `none` where one is missing.
struct SacctColumns {
  static constexpr std::size_t none = ~std::size_t{0};
  std::array<std::size_t, 7> place{none, none, none, none, none, none, none};
  std::size_t count = 0;
};

constexpr std::array<const char*, 7> sacct_names{"Submit",    "Start",   "End",      "NNodes",
                                                 "Timelimit", "Account", "Partition"};

bool read_sacct_header(std::string_view line, const TraceReader& trace, SacctColumns& columns) {
  const auto cells = cells_of(line, '|');
  columns.count = cells.size();
  for (std::size_t i = 0; i < cells.size(); ++i)
    for (std::size_t j = 0; j < sacct_names.size(); ++j)
      if (cells[i] == sacct_names[j]) columns.place[j] = i;
  bool good = true;
  for (std::size_t j = 0; j < 4; ++j)
    if (columns.place[j] == SacctColumns::none) {
      trace.report(1, fmt::format("the column {} is missing; sacct -X -P -o "
                                  "submit,start,end,nnodes,timelimit prints it",
                                  sacct_names[j]));
      good = false;
    }
  return good;
}

void add_sacct_job(const std::vector<std::string_view>& cells, int line,
                   const SacctColumns& columns, const TraceReader& trace, LoggedJobs& log) {
  const auto cell = [&](std::size_t column) { return cells[columns.place[column]]; };
  const auto submit = instant_of(cell(0));
  if (!submit) {
    trace.report(line, fmt::format("Submit: {} is not a time such as 2026-01-05T09:30:00",
                                   in_quotes(cell(0))));
    return;
  }
  const auto start = instant_of(cell(1));
  const auto end = instant_of(cell(2));
  const auto hosts = digits_in(cell(3));
  if (!hosts || *hosts > 1'000'000) {
    trace.report(line, fmt::format("NNodes: {} is not a number of hosts", in_quotes(cell(3))));
    return;
  }
  if (!start || !end || *end <= *start || *hosts == 0) {
    ++log.left_out;
    return;
  }
  ListedJob job{Seconds{*submit}, Seconds{*end - *start}, {}, *hosts};
  // Jobs run a little beyond their limit before Slurm ends them.
  if (columns.place[4] != SacctColumns::none)
    if (const auto limit = limit_of(cell(4))) job.limit = Seconds{std::max(*limit, *end - *start)};
  log.jobs.push_back(job);
  log.waits.push_back(static_cast<float>(std::max(0.0, *start - *submit)));
  for (const auto& [column, names] :
       {std::pair{std::size_t{5}, &log.teams}, std::pair{std::size_t{6}, &log.queues}})
    if (columns.place[column] != SacctColumns::none)
      names->of_jobs.push_back(trace.name(*names, cell(column), line, sacct_names[column]));
}

}  // namespace

std::optional<double> instant_of(std::string_view text) {
  if (text.size() != 19 || (text[10] != 'T' && text[10] != ' ')) return std::nullopt;
  constexpr std::array<std::pair<std::size_t, std::size_t>, 6> parts{
      {{0, 4}, {5, 2}, {8, 2}, {11, 2}, {14, 2}, {17, 2}}};
  std::array<int, 6> values{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto value = digits_in(text.substr(parts[i].first, parts[i].second));
    if (!value) return std::nullopt;
    values[i] = *value;
  }
  const std::chrono::year_month_day day{std::chrono::year{values[0]},
                                        std::chrono::month{static_cast<unsigned>(values[1])},
                                        std::chrono::day{static_cast<unsigned>(values[2])}};
  if (!day.ok() || values[3] > 23 || values[4] > 59 || values[5] > 60) return std::nullopt;
  const auto days_since = std::chrono::sys_days{day}.time_since_epoch().count();
  return 86400.0 * static_cast<double>(days_since) + 3600.0 * values[3] + 60.0 * values[4] +
         values[5];
}

void count_from_monday(LoggedJobs& log) {
  constexpr double week_s = 7.0 * 86400.0;
  // 1970-01-01 was a Thursday.
  constexpr double first_monday = 4.0 * 86400.0;
  double first = INFINITY;
  for (const ListedJob& job : log.jobs) first = std::min(first, job.submit.value());
  const double monday = first_monday + std::floor((first - first_monday) / week_s) * week_s;
  for (ListedJob& job : log.jobs) job.submit -= Seconds{monday};
}

LoggedJobs read_sacct(std::string_view text, const TraceReader& trace) {
  LoggedJobs log;
  SacctColumns columns;
  bool readable = true;
  for_lines(text, [&](std::string_view line, int number) {
    if (!readable || line.empty()) return;
    if (columns.count == 0) {
      readable = read_sacct_header(line, trace, columns);
      return;
    }
    const auto cells = cells_of(line, '|');
    if (cells.size() != columns.count)
      trace.report(
          number, fmt::format("has {} cells where the header has {}", cells.size(), columns.count));
    else
      add_sacct_job(cells, number, columns, trace, log);
  });
  count_from_monday(log);
  return log;
}

}  // namespace foretrain::internal
