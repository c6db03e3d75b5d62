// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

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
  [[nodiscard]] std::string_view of(const std::vector<std::string_view>& cells,
                                    std::string_view name) const {
    return cells[place.find(name)->second];
  }
};

/// Whether the header names what is needed, and nothing that is not known.
bool read_header(std::string_view line, const TraceReader& trace, TraceColumns& columns) {
  const std::vector<std::string> known{"submit_s", "duration_s", "hosts", "limit_s"};
  bool good = true;
  for (const std::string_view cell : cells_of(line, ',')) {
    if (std::find(known.begin(), known.end(), cell) == known.end()) {
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

std::optional<ListedJob> csv_job(const std::vector<std::string_view>& cells, int line,
                                 const TraceColumns& columns, const TraceReader& trace) {
  const auto submit = trace.number(columns.of(cells, "submit_s"), line, "submit_s", 0.0);
  const auto duration = trace.number(columns.of(cells, "duration_s"), line, "duration_s", 0.0);
  const auto written = trace.number(columns.of(cells, "hosts"), line, "hosts", 1.0);
  if (!submit || !duration || !written) return std::nullopt;
  const auto hosts = trace.hosts(*written, line, "hosts");
  if (!hosts) return std::nullopt;
  ListedJob job{Seconds{*submit}, Seconds{*duration}, {}, *hosts};
  if (columns.has("limit_s") && !columns.of(cells, "limit_s").empty()) {
    const auto limit = trace.number(columns.of(cells, "limit_s"), line, "limit_s", 0.0);
    if (limit) job.limit = Seconds{*limit};
  }
  return job;
}

LoggedJobs read_log(const ClusterReading& reading, const std::string& path,
                    const std::filesystem::path& file, const std::string& text) {
  const TraceReader trace(reading.diagnostics, reading.values.text(path + ".trace.file"));
  const bool swf = file.extension() == ".swf";
  const std::string per_host = path + ".trace.processors_per_host";
  if (swf != reading.has(per_host)) {
    reading.report(per_host, swf ? "a .swf file needs it: how many processors count as one host"
                                 : "has no effect: the trace has hosts");
    return {};
  }
  if (swf) return read_swf(text, trace, reading.values.integer(per_host));
  const bool sacct = text.substr(0, text.find('\n')).find('|') != std::string::npos;
  return sacct ? read_sacct(text, trace) : read_csv(text, trace);
}

void note_log(const ClusterReading& reading, const std::string& name, LoggedJobs& log) {
  if (log.left_out > 0)
    reading.file.notes.push_back(
        fmt::format("{} jobs of {} never ran, and are left out.", log.left_out, in_quotes(name)));
  if (log.waits.empty()) return;
  double sum = 0.0;
  for (const float wait : log.waits) sum += wait;
  const auto time = [](double seconds) { return duration_text(Seconds{seconds}); };
  reading.file.notes.push_back(fmt::format(
      "In {} jobs waited {} on average, P50 {}, P90 {}, P99 {}.", in_quotes(name),
      time(sum / static_cast<double>(log.waits.size())), time(share_below(log.waits, 0.5)),
      time(share_below(log.waits, 0.9)), time(share_below(log.waits, 0.99))));
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
    if (const auto job = csv_job(cells, number, columns, trace)) log.jobs.push_back(*job);
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
    if (wait >= 0.0) log.waits.push_back(static_cast<float>(wait));
  });
  return log;
}

void read_trace_class(const ClusterReading& reading, const std::string& path, QueueClass& jobs) {
  const std::string key = path + ".trace.file";
  if (!reading.has(key)) return;
  const std::string& name = reading.values.text(key);
  const auto file = named_file(reading, key);
  if (file.empty()) return;
  const auto text = read_text_file(file, name, trace_bytes, reading.diagnostics,
                                   {reading.values.where(key), key});
  if (!text) return;
  reading.file.files.push_back({name, sha256_hex(*text)});
  LoggedJobs log = read_log(reading, path, file, *text);
  if (log.jobs.empty() && reading.diagnostics.empty()) reading.report(key, "the trace has no jobs");
  note_log(reading, name, log);
  std::stable_sort(log.jobs.begin(), log.jobs.end(),
                   [](const ListedJob& a, const ListedJob& b) { return a.submit < b.submit; });
  jobs.arrivals.listed = std::move(log.jobs);
  jobs.sizes = {{1, 1.0}};
}

}  // namespace foretrain::internal
