// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "models/base/ranges.hpp"
#include "planner/cluster/internal/cluster_reading.hpp"
#include "planner/cluster/internal/trace_reading.hpp"
#include "planner/text/format.hpp"
#include "scenarios/yaml/sha256.hpp"
#include "scenarios/yaml/text_file.hpp"
#include "scenarios/yaml/units_text.hpp"
#include "sim/queue/queue_study.hpp"

namespace foretrain::internal {
namespace {

constexpr std::size_t trace_bytes = std::size_t{1} << 28;

/// Words between blanks, at most `most` of them.
std::vector<std::string_view> words_in(std::string_view line, std::size_t most) {
  std::vector<std::string_view> words;
  line = trimmed_cell(line);
  while (!line.empty() && words.size() < most) {
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    words.push_back(line.substr(0, end));
    line = trimmed_cell(line.substr(end));
  }
  return words;
}

/// Where the columns of a CSV trace stand.
struct TraceColumns {
  std::map<std::string, std::size_t, std::less<>> place;

  [[nodiscard]] bool has(std::string_view name) const { return place.find(name) != place.end(); }
  /// @pre has(name)
  [[nodiscard]] std::string_view of(const std::vector<std::string_view>& cells,
                                    std::string_view name) const {
    return cells[place.find(name)->second];
  }
};

/// Whether the header names what is needed, and nothing that is not known.
bool read_header(std::string_view line, const TraceReader& trace, TraceColumns& columns) {
  const std::vector<std::string> known{"submit_s",   "duration_s", "hosts", "limit_s",
                                       "wait_s",     "team",       "queue", "gpus",
                                       "eligible_s", "job",        "after"};
  bool good = true;
  for (const std::string_view cell : cells_of(line, ',')) {
    if (!contains(known, cell)) {
      trace.report(1, in_quotes(cell) + " is not one of the columns " + joined(known));
      good = false;
    }
    if (!columns.place.emplace(cell, columns.place.size()).second) {
      trace.report(1, "the column " + in_quotes(cell) + " stands there twice");
      good = false;
    }
  }
  for (std::size_t i = 0; i < 3; ++i)
    if (!columns.has(known[i])) {
      trace.report(1, "the column " + known[i] + " is missing");
      good = false;
    }
  return good;
}

void add_csv_job(const std::vector<std::string_view>& cells, int line, const TraceColumns& columns,
                 const TraceReader& trace, LoggedJobs& log, LogBook& book) {
  const auto submit = trace.number(columns.of(cells, "submit_s"), line, "submit_s", 0.0);
  const auto duration = trace.number(columns.of(cells, "duration_s"), line, "duration_s", 0.0);
  const auto written = trace.number(columns.of(cells, "hosts"), line, "hosts", 1.0);
  if (!submit || !duration || !written) return;
  const auto hosts = trace.hosts(*written, line, "hosts");
  if (!hosts) return;
  const auto optional_cell = [&](const char* name) -> std::optional<double> {
    if (!columns.has(name) || columns.of(cells, name).empty()) return std::nullopt;
    return trace.number(columns.of(cells, name), line, name, 0.0);
  };
  const double ready = std::max(*submit, optional_cell("eligible_s").value_or(0.0));
  if (ready > *submit) ++log.held;
  ListedJob job{Seconds{ready}, Seconds{*duration}, {}, *hosts};
  if (const auto limit = optional_cell("limit_s")) job.limit = Seconds{*limit};
  log.jobs.push_back(job);
  if (columns.has("wait_s"))
    log.waits.push_back(static_cast<float>(optional_cell("wait_s").value_or(-1.0)));
  if (columns.has("gpus"))
    log.gpus.push_back(static_cast<float>(optional_cell("gpus").value_or(INFINITY)));
  if (columns.has("after") && !columns.of(cells, "after").empty() &&
      !book.follow(log, columns.of(cells, "after"), {}))
    trace.report(line, fmt::format("after: there is no job {} above",
                                   in_quotes(columns.of(cells, "after"))));
  if (columns.has("job") && !book.name(log, columns.of(cells, "job")))
    trace.report(line,
                 fmt::format("job: {} stands there twice", in_quotes(columns.of(cells, "job"))));
  for (const auto& [name, names] : {std::pair{"team", &log.teams}, std::pair{"queue", &log.queues}})
    if (columns.has(name))
      names->of_jobs.push_back(trace.name(*names, columns.of(cells, name), line, name));
}

/// The job's group and its queue; -1 stands for unknown.
void name_swf_job(const std::vector<std::string_view>& words, int line, const TraceReader& trace,
                  LoggedJobs& log) {
  constexpr std::size_t group = 12;
  constexpr std::size_t queue = 14;
  const auto known = [&words](std::size_t column) {
    return words[column].front() == '-' ? std::string_view{} : words[column];
  };
  log.teams.of_jobs.push_back(trace.name(log.teams, known(group), line, "group"));
  log.queues.of_jobs.push_back(trace.name(log.queues, known(queue), line, "queue"));
}

/// Of a job that follows another one: the preceding job's number, and the user's think time. One
/// that never ran is not waited for.
void follow_swf_job(const std::vector<std::string_view>& words, int line, const TraceReader& trace,
                    LoggedJobs& log, LogBook& book) {
  constexpr std::size_t number = 0;
  constexpr std::size_t preceding = 16;
  constexpr std::size_t think_time = 17;
  const auto think = trace.number(words[think_time], line, "think time", -1.0);
  if (think && words[preceding].front() != '-')
    book.follow(log, words[preceding], Seconds{std::max(0.0, *think)});
  book.name(log, words[number]);
}

bool is_swf(const std::filesystem::path& file) { return file.extension() == ".swf"; }

/// @pre per_host where the file is_swf()
LoggedJobs read_log(const std::filesystem::path& file, const std::string& text,
                    std::optional<int> per_host, const TraceReader& trace, OpenJobs open) {
  LoggedJobs log;
  if (is_swf(file)) {
    log = read_swf(text, trace, *per_host);
  } else {
    const bool sacct = text.substr(0, text.find('\n')).find('|') != std::string::npos;
    log = sacct                       ? read_sacct(text, trace, open)
          : has_calendar_header(text) ? read_calendar_csv(text, trace, open)
                                      : read_csv(text, trace);
  }
  log.sha256 = sha256_hex(text);
  return log;
}

/// Jobs belong to the teams of the log where the class names none. Those that workload.teams does
/// not list have a share of 1.
void read_trace_teams(const ClusterReading& reading, const std::string& path,
                      const std::string& name, LoggedJobs& log) {
  if (!log.teams.told() || reading.written(path + ".team")) return;
  std::vector<QueueTeam>& teams = reading.file.queue.teams;
  std::vector<std::string> added;
  std::vector<int> index;
  for (const std::string& written : log.teams.names) {
    const std::string team = written.empty() ? "none" : written;
    const auto found =
        std::ranges::find_if(teams, [&](const QueueTeam& known) { return known.name == team; });
    index.push_back(static_cast<int>(found - teams.begin()));
    if (found != teams.end()) continue;
    teams.push_back({team});
    added.push_back(team);
  }
  for (std::size_t i = 0; i < log.jobs.size(); ++i) log.jobs[i].team = index[log.teams.of_jobs[i]];
  if (reading.values.list_size("workload.teams") > 0 && !added.empty())
    reading.file.notes.push_back(
        fmt::format("Teams of {} that workload.teams does not list have a share of 1: {}.",
                    in_quotes(name), joined(added)));
}

void note_log(const ClusterReading& reading, const std::string& name, const LoggedJobs& log) {
  for (std::string& note : log_notes(name, log, OpenJobs::until_now))
    reading.file.notes.push_back(std::move(note));
  std::vector<float> waits;
  for (const float wait : log.waits)
    if (wait >= 0.0F) waits.push_back(wait);
  if (waits.empty()) return;
  double sum = 0.0;
  for (const float wait : waits) sum += wait;
  const auto time = [](double seconds) { return duration_text(Seconds{seconds}); };
  reading.file.notes.push_back(
      fmt::format("In {} jobs waited {} on average, P50 {}, P90 {}, P99 {}.", in_quotes(name),
                  time(sum / static_cast<double>(waits.size())), time(share_below(waits, 0.5)),
                  time(share_below(waits, 0.9)), time(share_below(waits, 0.99))));
}

}  // namespace

TraceReader::TraceReader(Diagnostics& diagnostics, const std::string& name)
    : diagnostics_{diagnostics}, name_{std::make_shared<const std::string>(name)} {}

void TraceReader::report(int line, std::string message) const {
  diagnostics_.add({name_, line, 1}, {}, std::move(message));
}

std::optional<double> TraceReader::number(std::string_view cell, int line, const char* column,
                                          double least) const {
  const auto parsed = parse_number(cell);
  if (parsed.value && *parsed.value >= least) return parsed.value;
  report(line, parsed.value ? fmt::format("{}: {} is below {}", column, *parsed.value, least)
                            : std::string(column) + ": " + parsed.error);
  return std::nullopt;
}

std::optional<int> TraceReader::hosts(double value, int line, const char* column) const {
  constexpr double most = 1e6;
  if (value == std::floor(value) && value >= 1.0 && value <= most) return static_cast<int>(value);
  report(line, fmt::format("{}: {} is not a number of hosts", column, value));
  return std::nullopt;
}

std::uint32_t TraceReader::name(LoggedNames& names, std::string_view cell, int line,
                                const char* column) const {
  constexpr std::size_t longest = 100;
  if (const auto found = names.place.find(cell); found != names.place.end()) return found->second;
  Diagnostics encoding;
  if (cell.size() > longest)
    report(line, fmt::format("{}: a name of more than {} bytes", column, longest));
  else if (!check_encoding(cell, {}, encoding))
    report(line, fmt::format("{}: {} is not UTF-8", column, in_quotes(cell)));
  const auto index = static_cast<std::uint32_t>(names.names.size());
  names.names.emplace_back(cell);
  names.place.emplace(cell, index);
  return index;
}

std::string_view trimmed_cell(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> cells_of(std::string_view line, char separator) {
  std::vector<std::string_view> cells;
  while (true) {
    const std::size_t end = line.find(separator);
    cells.push_back(trimmed_cell(line.substr(0, end)));
    if (end == std::string_view::npos) return cells;
    line.remove_prefix(end + 1);
  }
}

LoggedJobs read_csv(std::string_view text, const TraceReader& trace) {
  LoggedJobs log;
  LogBook book;
  TraceColumns columns;
  bool readable = true;
  for_lines(text, [&](std::string_view line, int number) {
    if (!readable || line.empty() || line.front() == '#') return;
    if (columns.place.empty()) {
      readable = read_header(line, trace, columns);
      return;
    }
    const auto cells = cells_of(line, ',');
    if (cells.size() != columns.place.size()) {
      trace.report(number, fmt::format("has {} cells where the header has {}", cells.size(),
                                       columns.place.size()));
      return;
    }
    add_csv_job(cells, number, columns, trace, log, book);
  });
  return log;
}

using SwfNumbers = std::array<double, 6>;

constexpr std::array<const char*, 6> swf_names{"submit time",          "run time",
                                               "allocated processors", "requested processors",
                                               "requested time",       "wait time"};

std::optional<SwfNumbers> swf_numbers(const std::vector<std::string_view>& words,
                                      const TraceReader& trace, int line) {
  constexpr std::array<std::size_t, 6> columns{1, 3, 4, 7, 8, 2};
  SwfNumbers values{};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto value = trace.number(words[columns[i]], line, swf_names[i], -1.0);
    if (!value) return std::nullopt;
    values[i] = *value;
  }
  return values;
}

LoggedJobs read_swf(std::string_view text, const TraceReader& trace, int per_host) {
  constexpr std::size_t columns = 18;
  LoggedJobs log;
  LogBook book;
  log.from_monday = false;
  log.unit = "processor";
  for_lines(text, [&](std::string_view line, int number) {
    if (line.empty() || line.front() == ';') return;
    const auto words = words_in(line, columns);
    if (words.size() < columns) {
      trace.report(number, fmt::format("has {} numbers where Standard Workload Format has {}",
                                       words.size(), columns));
      return;
    }
    const auto values = swf_numbers(words, trace, number);
    if (!values) return;
    const auto [submit, duration, allocated, asked, limit, wait] = *values;
    const double processors = allocated > 0.0 ? allocated : asked;
    if (duration <= 0.0 || processors <= 0.0 || submit < 0.0) {
      ++log.left_out;
      return;
    }
    const auto hosts = trace.hosts(std::ceil(processors / per_host), number, swf_names[2]);
    if (!hosts) return;
    ListedJob job{Seconds{submit}, Seconds{duration}, {}, *hosts};
    if (limit > 0.0) job.limit = Seconds{limit};
    log.jobs.push_back(job);
    log.waits.push_back(static_cast<float>(wait));
    log.gpus.push_back(static_cast<float>(processors));
    name_swf_job(words, number, trace, log);
    follow_swf_job(words, number, trace, log, book);
  });
  return log;
}

void read_trace_class(const ClusterReading& reading, const std::string& path, QueueClass& jobs) {
  const std::string key = path + ".trace.file";
  if (!reading.has(key)) return;
  const std::string& name = reading.values.text(key);
  const auto file = named_file(reading, key);
  if (file.empty()) return;
  const std::string per_host = path + ".trace.processors_per_host";
  if (is_swf(file) != reading.has(per_host)) {
    reading.report(per_host, is_swf(file)
                                 ? "a .swf file needs it: how many processors count as one host"
                                 : "has no effect: the trace has hosts");
    return;
  }
  const auto text = read_text_file(file, name, trace_bytes, reading.diagnostics,
                                   {reading.values.where(key), key});
  if (!text) return;
  LoggedJobs log = read_log(
      file, *text,
      reading.has(per_host) ? std::optional<int>(reading.values.integer(per_host)) : std::nullopt,
      TraceReader(reading.diagnostics, name), OpenJobs::until_now);
  const int gpus = reading.file.host.gpus;
  count_partial(log, reading.has(per_host) ? std::optional<int>(reading.values.integer(per_host))
                                           : (gpus > 0 ? std::optional<int>(gpus) : std::nullopt));
  reading.file.files.push_back({name, log.sha256});
  if (log.jobs.empty() && reading.diagnostics.empty()) reading.report(key, "the trace has no jobs");
  note_log(reading, name, log);
  read_trace_teams(reading, path, name, log);
  jobs.arrivals.listed = by_submission(log.jobs);
  jobs.sizes = {{1, 1.0}};
}

}  // namespace foretrain::internal

namespace foretrain {

LoggedJobs read_job_log(const std::filesystem::path& file, const std::string& name,
                        std::optional<int> per_host, Diagnostics& diagnostics) {
  const auto text = read_text_file(file, name, internal::trace_bytes, diagnostics);
  if (!text) return {};
  const internal::TraceReader trace(diagnostics, name);
  if (internal::is_swf(file) && !per_host) {
    trace.report(1, "a .swf file needs --processors-per-host: how many count as one host");
    return {};
  }
  LoggedJobs log = internal::read_log(file, *text, per_host, trace, OpenJobs::left_out);
  internal::count_partial(log, internal::is_swf(file) ? per_host : std::nullopt);
  if (log.jobs.empty() && diagnostics.empty()) trace.report(1, "the log has no jobs");
  return log;
}

}  // namespace foretrain
