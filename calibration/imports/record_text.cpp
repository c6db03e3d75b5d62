// SPDX-License-Identifier: Apache-2.0

#include "calibration/imports/record_text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cmath>

#include "calibration/imports/sweep_row.hpp"
#include "scenarios/catalog/model_names.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

std::string cell(const std::string& text) {
  std::string plain = plain_text(text, 400);
  if (plain.find_first_of(",\"") == std::string::npos) return plain;
  std::string quoted = "\"";
  for (const char c : plain) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string cell(const std::optional<double>& value) {
  return value ? format_number(*value) : "null";
}

std::string yaml_text(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : plain_text(text, 400)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string or_null(const std::optional<int>& value) {
  return value ? std::to_string(*value) : "null";
}

}  // namespace

std::string kernel_table_text(const std::vector<ImportedLog>& logs) {
  std::string text = "id,source,op,gpu,dtype,m,n,k_or_shape,tflops,gbs,time_us,note\n";
  int id = 0;
  for (const ImportedLog& log : logs) {
    for (const KernelRecord& one : log.kernels)
      text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", ++id, cell(one.source),
                          cell(one.op), cell(one.gpu), cell(one.dtype), cell(one.m), cell(one.n),
                          cell(one.shape), cell(one.tflops), cell(one.gbs), cell(one.time_us),
                          cell(std::string(trimmed(one.note))));
    const std::string gpu = log.facts.device.empty() ? log.facts.gpu : log.facts.device;
    for (const LinkRate& link : log.links)
      text += fmt::format("{},{},link_{},{},-,null,null,{},null,{},{},bytes={:.0f}\n", ++id,
                          cell(source_of(log)), cell(link.kind), cell(gpu.empty() ? "-" : gpu),
                          cell(link.link), cell(link.gbs), cell(link.time_us), link.bytes);
  }
  return text;
}

std::string sweep_table_text(const std::vector<ImportedLog>& logs) {
  std::string text =
      "id,source,collective,gpu,nodes,gpus_per_node,network,size_bytes,time_us,algbw_gbs,busbw_gbs,"
      "inplace,host,fabric,note\n";
  for (const ImportedLog& log : logs)
    for (const SweepRecord& one : log.sweeps) {
      const double ranks = static_cast<double>(one.nodes) * one.gpus_per_node;
      const auto factor = nccl_bus_factor(one.collective, ranks);
      const std::optional<double> algbw = one.busbw_gbs && factor && *factor > 0.0
                                              ? std::optional(*one.busbw_gbs / *factor)
                                              : std::nullopt;
      text += fmt::format("{},{},{},{},{},{},{},{:.0f},{},{},{},{},{},{},{}\n", cell(one.sweep),
                          cell(one.source), cell(one.collective), cell(one.gpu), one.nodes,
                          one.gpus_per_node, cell(one.network), one.size_bytes, cell(one.time_us),
                          cell(algbw), cell(one.busbw_gbs), one.in_place ? 1 : 0, cell(one.host),
                          cell(one.fabric), cell(one.note));
    }
  return text;
}

std::string run_records_text(const std::vector<ImportedLog>& logs) {
  std::string text =
      "# Step times as their logs give them. What a log does not state (model, plan, machine) is "
      "null:\n"
      "# fill it in, and `foretrain calibrate check` compares forecasts with these runs.\n"
      "schema: 1\nruns:\n";
  for (const ImportedLog& log : logs)
    for (const LoggedRun& run : log.runs) {
      const std::string gpu = log.facts.device.empty() ? log.facts.gpu : log.facts.device;
      text += fmt::format(
          "- id: {}\n  source: {}\n  confidence: \"A\"\n  task: \"pretrain\"\n"
          "  model: {{name: {}, layers: null, hidden: null, heads: null, kv_heads: null, "
          "ffn_hidden: "
          "null, vocab: null, seq: {}}}\n"
          "  gpu: {}\n  gpus: null\n  gpus_per_node: null\n  network: null\n"
          "  parallel: {{tp: null, pp: null, dp: null}}\n  micro_batch: null\n  global_batch: {}\n"
          "  precision: null\n"
          "  measured: {{iteration_s: {}, iteration_s_p5: {}, iteration_s_p95: {}, run_minutes: "
          "{}}}\n"
          "  flops_convention: \"none_tokens_only\"\n  notes: {}\n",
          yaml_text(run.id), yaml_text(source_of(log)), yaml_text(run.benchmark),
          or_null(run.sequence), gpu.empty() ? "null" : yaml_text(gpu), or_null(run.global_batch),
          format_number(run.step_s), format_number(run.low_s), format_number(run.high_s),
          run.run_minutes ? format_number(*run.run_minutes) : "null",
          yaml_text(fmt::format("{}; median of {} ({})", run.platform, run.samples, run.how)));
    }
  return text;
}

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }

/// srun --label writes the task's number, a colon and a blank before every line.
std::string_view without_label(std::string_view line) {
  std::size_t at = 0;
  while (at < line.size() && is_blank(line[at])) ++at;
  const std::size_t digits = at;
  while (at < line.size() && is_digit(line[at])) ++at;
  if (at == digits || at + 1 >= line.size() || line[at] != ':' || line[at + 1] != ' ') return line;
  return line.substr(at + 2);
}

}  // namespace

std::vector<LogLine> log_lines(std::string_view text) {
  std::vector<LogLine> lines;
  for (const std::string_view line : text_lines(text))
    lines.push_back({static_cast<int>(lines.size()) + 1, without_label(line)});
  return lines;
}

std::optional<double> number_in(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  // from_chars also takes "nan" and "infinity".
  if (text.empty() || !(is_digit(text.back()) || text.back() == '.')) return std::nullopt;
  double number = 0.0;
  const char* const end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc() || rest != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

std::optional<double> whole_in(std::string_view text) {
  constexpr double most = 9007199254740992.0;
  if (text.empty() || !std::ranges::all_of(text, is_digit)) return std::nullopt;
  const auto number = number_in(text);
  return number && *number <= most ? number : std::nullopt;
}

std::string date_in(std::string_view text) {
  constexpr std::string_view form = "dddd-dd-dd";
  if (text.size() < form.size()) return "";
  for (std::size_t i = 0; i < form.size(); ++i)
    if (form[i] == 'd' ? !is_digit(text[i]) : text[i] != form[i]) return "";
  return std::string(text.substr(0, form.size()));
}

std::string date_of_seconds(double seconds) {
  constexpr double day = 86400.0;
  const std::chrono::sys_days date{std::chrono::days{static_cast<int>(seconds / day)}};
  const std::chrono::year_month_day parts{date};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(parts.year()),
                     static_cast<unsigned>(parts.month()), static_cast<unsigned>(parts.day()));
}

std::string nccl_version_text(int version) {
  // Since 2.9 the minor release has two digits (nccl.h, NCCL_VERSION).
  constexpr int wide = 10000;
  constexpr int narrow = 1000;
  constexpr int part = 100;
  const int major = version >= wide ? version / wide : version / narrow;
  const int minor = version >= wide ? version % wide / part : version % narrow / part;
  return fmt::format("{}.{}.{}", major, minor, version % part);
}

std::string stem_of(const std::string& file) {
  std::string name = file.substr(file.find_last_of('/') + 1);
  name = name.substr(0, name.find_last_of('.'));
  std::string stem;
  for (const char c : name)
    stem += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' ? c : '-';
  return stem.empty() ? "log" : stem;
}

void report(const std::string& file, int line, std::string what, Diagnostics& diagnostics) {
  diagnostics.add(Diagnostic{file, line, line > 0 ? 1 : 0, "", std::move(what)});
}

std::string plain_text(std::string_view text, std::size_t most) {
  std::string plain;
  for (const char c : text.substr(0, std::min(text.size(), most))) {
    const auto byte = static_cast<unsigned char>(c);
    plain += byte < 0x20 || byte > 0x7E ? '?' : c;
  }
  return plain;
}

std::string source_of(const ImportedLog& log) {
  std::string source = log.facts.tool;
  if (!log.facts.date.empty()) source += "@" + log.facts.date;
  if (!log.facts.driver.empty()) source += " driver " + plain_text(log.facts.driver, 40);
  if (!log.facts.library.empty()) source += " " + plain_text(log.facts.library, 40);
  const std::string file = log.file.substr(log.file.find_last_of('/') + 1);
  return source + " (" + plain_text(file, 80) + ")";
}

std::optional<std::string> note_text(const std::string& note, std::string_view key) {
  for (const std::string_view word : blank_words(note))
    if (word.size() > key.size() && word.starts_with(key) && word[key.size()] == '=')
      return std::string(word.substr(key.size() + 1));
  return std::nullopt;
}

std::optional<double> note_number(const std::string& note, std::string_view key) {
  const auto text = note_text(note, key);
  return text ? number_in(*text) : std::nullopt;
}

std::string device_of_product(const std::string& product) {
  return device_called(product, DeviceNaming::product);
}

}  // namespace foretrain
