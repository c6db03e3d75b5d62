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
  enum Name : std::size_t {
    submit,
    start,
    end,
    nodes,
    limit,
    account,
    partition,
    eligible,
    resources,
    name_count
  };
  static constexpr std::size_t none = ~std::size_t{0};
  std::array<std::size_t, name_count> place{};
  std::size_t count = 0;

  [[nodiscard]] bool has(Name name) const { return place[name] != none; }
};

constexpr std::array<const char*, SacctColumns::name_count> sacct_names{
    "Submit",  "Start",     "End",      "NNodes",   "Timelimit",
    "Account", "Partition", "Eligible", "AllocTRES"};
constexpr const char* sacct_asks =
    "sacct -X -P -o submit,eligible,start,end,nnodes,timelimit,alloctres";

bool read_sacct_header(std::string_view line, const TraceReader& trace, SacctColumns& columns,
                       LoggedJobs& log) {
  const auto cells = cells_of(line, '|');
  columns.count = cells.size();
  columns.place.fill(SacctColumns::none);
  for (std::size_t i = 0; i < cells.size(); ++i)
    for (std::size_t j = 0; j < sacct_names.size(); ++j)
      if (cells[i] == sacct_names[j]) columns.place[j] = i;
  bool good = true;
  for (std::size_t j = 0; j <= SacctColumns::nodes; ++j)
    if (columns.place[j] == SacctColumns::none) {
      trace.report(
          1, fmt::format("the column {} is missing; {} prints it", sacct_names[j], sacct_asks));
      good = false;
    }
  if (!columns.has(SacctColumns::eligible))
    log.not_told.push_back(fmt::format(
        "has no column Eligible: jobs that waited for another job, or for a date, count as "
        "waiting for hosts; {} tells.",
        sacct_asks));
  if (!columns.has(SacctColumns::resources))
    log.not_told.push_back(fmt::format(
        "has no column AllocTRES: each job counts with whole hosts, however few of their GPUs "
        "it had; {} tells.",
        sacct_asks));
  return good;
}

/// A time, or a word such as "Unknown".
bool is_time_cell(std::string_view cell) {
  return instant_of(cell) || std::ranges::all_of(cell, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
         });
}

/// The cells of a line, of which a name holds `surplus` bars: put together so that times and hosts
/// read; nothing where they do not.
std::optional<std::vector<std::string_view>> cells_around_a_name(
    const std::vector<std::string_view>& cells, const SacctColumns& columns) {
  const std::size_t surplus = cells.size() - columns.count;
  for (std::size_t name = 0; name < columns.count; ++name) {
    std::vector<std::string_view> joint(cells.begin(),
                                        cells.begin() + static_cast<std::ptrdiff_t>(name));
    const std::string_view last = cells[name + surplus];
    joint.emplace_back(cells[name].data(),
                       static_cast<std::size_t>(last.data() + last.size() - cells[name].data()));
    joint.insert(joint.end(), cells.begin() + static_cast<std::ptrdiff_t>(name + surplus + 1),
                 cells.end());
    const auto cell = [&](std::size_t column) { return joint[columns.place[column]]; };
    if (instant_of(cell(SacctColumns::submit)) && is_time_cell(cell(SacctColumns::start)) &&
        is_time_cell(cell(SacctColumns::end)) && digits_in(cell(SacctColumns::nodes)))
      return joint;
  }
  return std::nullopt;
}

/// GPUs of "billing=8,cpu=64,gres/gpu=8,node=1", none where none are listed.
double gpus_in(std::string_view resources) {
  double typed = 0.0;
  for (const std::string_view part : cells_of(resources, ',')) {
    constexpr std::string_view gpu = "gres/gpu";
    const std::size_t equals = part.find('=');
    if (!part.starts_with(gpu) || equals == std::string_view::npos) continue;
    const double number = digits_in(part.substr(equals + 1)).value_or(0);
    if (equals == gpu.size()) return number;  // the sum of those by type
    typed += number;
  }
  return typed;
}

void add_sacct_job(const std::vector<std::string_view>& cells, int line,
                   const SacctColumns& columns, const TraceReader& trace, LoggedJobs& log,
                   LogBook& book) {
  using Column = SacctColumns::Name;
  const auto cell = [&](Column column) { return cells[columns.place[column]]; };
  const auto submit = instant_of(cell(Column::submit));
  if (!submit) {
    trace.report(line, fmt::format("Submit: {} is not a time such as 2026-01-05T09:30:00",
                                   in_quotes(cell(Column::submit))));
    return;
  }
  const auto start = instant_of(cell(Column::start));
  const auto end = instant_of(cell(Column::end));
  const auto hosts = digits_in(cell(Column::nodes));
  if (!hosts || *hosts > 1'000'000) {
    trace.report(
        line, fmt::format("NNodes: {} is not a number of hosts", in_quotes(cell(Column::nodes))));
    return;
  }
  for (const auto& instant : {submit, start, end})
    if (instant) book.saw(*instant);
  const bool runs = start && !end;
  const bool on_gpus = !columns.has(Column::resources) || gpus_in(cell(Column::resources)) > 0.0;
  if (!start || (end && *end <= *start) || *hosts == 0 || !on_gpus) {
    ++log.left_out;
    return;
  }
  double ready = *submit;  // dependencies and begin times are no waiting for hosts
  if (columns.has(Column::eligible))
    if (const auto eligible = instant_of(cell(Column::eligible)))
      ready = std::clamp(*eligible, *submit, std::max(*submit, *start));
  if (ready > *submit) ++log.held;
  const double lasts = end.value_or(*start) - *start;
  ListedJob job{Seconds{ready}, Seconds{lasts}, {}, *hosts};
  // Jobs run a little beyond their limit before Slurm ends them.
  if (columns.has(Column::limit))
    if (const auto limit = limit_of(cell(Column::limit)))
      job.limit = Seconds{std::max(*limit, lasts)};
  log.jobs.push_back(job);
  if (runs) book.open(log);
  log.waits.push_back(static_cast<float>(std::max(0.0, *start - ready)));
  if (columns.has(Column::resources))
    log.gpus.push_back(static_cast<float>(gpus_in(cell(Column::resources))));
  for (const auto& [column, names] :
       {std::pair{Column::account, &log.teams}, std::pair{Column::partition, &log.queues}})
    if (columns.has(column))
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

LoggedJobs read_sacct(std::string_view text, const TraceReader& trace, OpenJobs open) {
  LoggedJobs log;
  LogBook book;
  SacctColumns columns;
  bool readable = true;
  for_lines(text, [&](std::string_view line, int number) {
    if (!readable || line.empty()) return;
    if (columns.count == 0) {
      readable = read_sacct_header(line, trace, columns, log);
      return;
    }
    auto cells = cells_of(line, '|');
    if (cells.size() > columns.count)
      if (auto joint = cells_around_a_name(cells, columns)) cells = std::move(*joint);
    if (cells.size() != columns.count)
      trace.report(
          number, fmt::format("has {} cells where the header has {}", cells.size(), columns.count));
    else
      add_sacct_job(cells, number, columns, trace, log, book);
  });
  book.close(log, open);
  count_from_monday(log);
  return log;
}

}  // namespace foretrain::internal
