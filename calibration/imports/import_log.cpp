// SPDX-License-Identifier: Apache-2.0
#include "calibration/imports/import_log.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "calibration/imports/imported_log.hpp"
#include "calibration/imports/record_text.hpp"
#include "calibration/records/run_record.hpp"
#include "scenarios/fields/field_table.hpp"

namespace foretrain {
namespace {

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::optional<LogFormat> json_format(std::string_view text) {
  struct Sign {
    std::string_view word;
    LogFormat format;
  };
  // From what only one of them has to what several may have.
  constexpr std::array<Sign, 7> signs{{{"\"traceEvents\"", LogFormat::kineto},
                                       {"\"coll_perf\"", LogFormat::nccl_inspector},
                                       {"\"nvbandwidth\"", LogFormat::nvbandwidth_json},
                                       {"\"record\"", LogFormat::harness},
                                       {"\"out_of_place\"", LogFormat::nccl_tests_json},
                                       {"\"average_bus_bandwidth\"", LogFormat::nccl_tests_json},
                                       {"\"nccl_version\"", LogFormat::nccl_tests_json}}};
  for (const Sign& sign : signs)
    if (holds(text, sign.word)) return sign.format;
  return std::nullopt;
}

/// The one device that all records are of; empty where they differ.
template <class Records>
std::string common_device(const Records& records) {
  std::set<std::string> devices;
  for (const auto& record : records) devices.insert(device_of_product(record.gpu));
  return devices.size() == 1 ? *devices.begin() : "";
}

/// Tables and records in the formats of calibration/measured, read back into a log.
ImportedLog import_records(const std::string& text, const std::string& file, LogFormat format,
                           Diagnostics& diagnostics) {
  ImportedLog log;
  log.file = file;
  log.format = format;
  log.facts.tool = "records";
  if (format == LogFormat::kernel_table) {
    log.kernels = read_kernel_records(text, file, diagnostics);
    log.facts.device = common_device(log.kernels);
  } else if (format == LogFormat::sweep_table) {
    log.sweeps = read_sweep_records(text, file, diagnostics);
    log.facts.device = common_device(log.sweeps);
  } else {
    const auto document = parse_yaml(text, file, run_record_limits(), diagnostics);
    if (document && !read_run_records(*document, file, diagnostics).empty()) log.run_records = text;
  }
  return log;
}

template <LogFormat format>
ImportedLog read_records(const std::string& text, const std::string& file,
                         const ImportOptions& /*options*/, Diagnostics& diagnostics) {
  return import_records(text, file, format, diagnostics);
}

LogReader& reader_of(LogFormat format) {
  struct Row {
    LogFormat format;
    LogReader* read;
  };
  static constexpr std::array rows{
      Row{LogFormat::nccl_tests, import_nccl_tests},
      Row{LogFormat::nccl_tests_json, import_nccl_tests_json},
      Row{LogFormat::perftest, import_perftest},
      Row{LogFormat::nccl_inspector, import_inspector},
      Row{LogFormat::nvbandwidth, import_nvbandwidth},
      Row{LogFormat::nvbandwidth_json, import_nvbandwidth_json},
      Row{LogFormat::kineto, import_kineto},
      Row{LogFormat::mlperf, import_mlperf},
      Row{LogFormat::harness, import_harness},
      Row{LogFormat::kernel_table, read_records<LogFormat::kernel_table>},
      Row{LogFormat::sweep_table, read_records<LogFormat::sweep_table>},
      Row{LogFormat::run_records, read_records<LogFormat::run_records>},
  };
  static_assert(rows.size() == EnumNames<LogFormat>::names.size());
  return *std::ranges::find_if(rows, [&](const Row& row) { return row.format == format; })->read;
}

/// A log of another GPU than the one it was announced as.
void check_device(const ImportOptions& options, const ImportedLog& log, Diagnostics& diagnostics) {
  if (options.gpu.empty() || log.facts.gpu.empty()) return;
  const std::string asked = device_of_product(options.gpu);
  const std::string found = device_of_product(log.facts.gpu);
  if (options.gpu == log.facts.gpu || (!asked.empty() && asked == found)) return;
  report(log.file, 0,
         "the log is of " + in_quotes(log.facts.gpu) + ", not of " + in_quotes(options.gpu),
         diagnostics);
}

}  // namespace

std::optional<LogFormat> detect_format(std::string_view text) {
  // Signs stand in the first lines, but for the events of a large trace.
  constexpr std::size_t head_bytes = std::size_t{1} << 20;
  const std::string_view head = text.substr(0, std::min(text.size(), head_bytes));
  const auto first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return std::nullopt;
  if (holds(head, ":::MLLOG ")) return LogFormat::mlperf;
  if (head[first] == '{' || head[first] == '[') return json_format(head);
  if (head.starts_with("id,source,collective,")) return LogFormat::sweep_table;
  if (head.starts_with("id,source,op,")) return LogFormat::kernel_table;
  if (holds(head, "\nruns:") || head.starts_with("runs:")) return LogFormat::run_records;
  if (holds(head, "_memcpy_") || holds(head, "nvbandwidth Version")) return LogFormat::nvbandwidth;
  if (holds(head, "#bytes")) return LogFormat::perftest;
  if (holds(head, "out-of-place") || holds(head, "busbw") || holds(head, "_perf"))
    return LogFormat::nccl_tests;
  return std::nullopt;
}

ImportedLog import_log(const std::string& text, const std::string& file,
                       std::optional<LogFormat> format, const ImportOptions& options,
                       Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.count();
  ImportedLog log;
  log.file = file;
  if (text.starts_with("\x1f\x8b")) {
    report(file, 0, "the file is compressed; unpack it first (gunzip)", diagnostics);
    return log;
  }
  if (!format) format = detect_format(text);
  if (!format) {
    report(file, 0,
           "this is none of the formats that can be read: " + joined(choices_of<LogFormat>()),
           diagnostics);
    return log;
  }
  log = reader_of(*format)(text, file, options, diagnostics);
  check_device(options, log, diagnostics);
  if (log.empty() && diagnostics.count() == before) {
    std::string why = "the log holds no measurement that can be used";
    if (!log.flagged.empty())
      why += "; the first row that was left out: " + log.flagged.front().what;
    report(file, log.flagged.empty() ? 0 : log.flagged.front().line, why, diagnostics);
  }
  return log;
}

}  // namespace foretrain
