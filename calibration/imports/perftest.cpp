// SPDX-License-Identifier: Apache-2.0
#include "calibration/imports/imported_log.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "calibration/imports/record_text.hpp"

namespace foretrain {
namespace {

constexpr double gbit = 0.125;            // GB/s
constexpr double mebibyte = 1.048576e-3;  // GB/s; perftest's MB is 2^20 bytes

/// What the columns of a table are.
struct Table {
  enum class Kind { none, bandwidth, latency };
  Kind kind = Kind::none;
  double unit = 0.0;  ///< GB/s of one
  std::size_t columns = 0;
};

class PerftestReader {
 public:
  PerftestReader(ImportedLog& log, Diagnostics& diagnostics)
      : log_{log}, diagnostics_{diagnostics} {}

  void read(const std::string& text) {
    for (const LogLine& line : log_lines(text)) {
      if (refused_) return;
      take(line.number, trimmed(line.text));
    }
    if (rows_ == 0 && table_.kind != Table::Kind::none)
      flag(header_, "the table of this test has no row: the log is cut");
  }

 private:
  void take(int line, std::string_view text) {
    take_program(text);
    const auto words = blank_words(text);
    if (words.empty()) return;
    if (text.starts_with("#bytes")) return take_header(line, text);
    if (const auto at = text.find("Device"); at != std::string_view::npos) {
      const auto rest = blank_words(text.substr(at));
      if (rest.size() >= 3 && rest[1] == ":") device_ = plain_text(rest[2], 40);
    }
    // A dashed line or words end a table; the clocks' warning may stand within one.
    if (table_.kind == Table::Kind::none) return;
    if (!whole_in(words.front())) {
      if (text.starts_with("---") && rows_ > 0) table_ = {};
      return;
    }
    if (table_.kind == Table::Kind::bandwidth)
      take_rate(line, words);
    else
      take_latency(line, words);
  }

  /// "RDMA_Write BW Test", "ib_write_bw -d mlx5_3 ...", "client 'ib_write_bw' for mlx5_0".
  void take_program(std::string_view text) {
    struct Name {
      std::string_view words;
      const char* kind;
    };
    static constexpr std::array<Name, 8> names{{{"RDMA_Write", "nic-write"},
                                                {"RDMA_Read", "nic-read"},
                                                {"Send BW", "nic-send"},
                                                {"Send Bidirectional", "nic-send"},
                                                {"Send Latency", "nic-send"},
                                                {"ib_write_", "nic-write"},
                                                {"ib_read_", "nic-read"},
                                                {"ib_send_", "nic-send"}}};
    for (const Name& name : names) {
      const auto at = text.find(name.words);
      if (at == std::string_view::npos) continue;
      kind_ = name.kind;
      both_ways_ = text.find("Bidirectional") != std::string_view::npos ||
                   text.find(" -b ") != std::string_view::npos;
      const auto rest = blank_words(text.substr(at));
      for (std::size_t i = 0; i + 1 < rest.size(); ++i)
        if (rest[i] == "-d" || rest[i] == "for") device_ = plain_text(rest[i + 1], 40);
      return;
    }
  }

  void take_header(int line, std::string_view text) {
    if (rows_ == 0 && table_.kind != Table::Kind::none)
      flag(header_, "the table of this test has no row: the log is cut");
    table_ = {};
    rows_ = 0;
    header_ = line;
    if (text.find("t_min[usec]") != std::string_view::npos) {
      table_ = {Table::Kind::latency, 0.0, 9};
      return;
    }
    const auto average = text.find("BW average[");
    const auto end = text.find(']', average == std::string_view::npos ? 0 : average);
    if (average == std::string_view::npos || end == std::string_view::npos)
      return refuse(line, text);
    const std::string_view unit = text.substr(average + 11, end - average - 11);
    const auto peak = text.find("BW peak[" + std::string(unit) + "]");
    const double scale = unit == "Gb/sec" ? gbit : unit == "MB/sec" ? mebibyte : 0.0;
    if (scale == 0.0 ||
        (text.find("BW peak[") != std::string_view::npos && peak == std::string_view::npos))
      return refuse(line, text);
    const bool counts = text.find("MsgRate[Mpps]") != std::string_view::npos;
    table_ = {Table::Kind::bandwidth, scale, counts ? std::size_t{5} : std::size_t{4}};
  }

  void refuse(int line, std::string_view text) {
    report(log_.file, line,
           in_quotes(plain_text(text)) +
               " is not a table of rates in one unit, [Gb/sec] or [MB/sec], or of times in [usec]",
           diagnostics_);
    refused_ = true;
  }

  [[nodiscard]] std::string link() const { return device_.empty() ? "NIC" : device_; }
  [[nodiscard]] std::string kind() const {
    return (kind_.empty() ? "nic-write" : kind_) + (both_ways_ ? "-both-ways" : "");
  }

  void take_rate(int line, const std::vector<std::string_view>& words) {
    ++rows_;
    if (words.size() != table_.columns && words.size() != 5)
      return flag(line, fmt::format("{} columns instead of {}: the line is cut or damaged",
                                    words.size(), table_.columns));
    const double bytes = *whole_in(words[0]);
    const auto average = number_in(words[3]);
    if (!average || *average <= 0.0 || bytes <= 0.0)
      return flag(line, in_quotes(words[3]) + " is not a rate above zero");
    const double gbs = *average * table_.unit;
    if (words.size() == 5) {
      const auto rate = number_in(words[4]);
      if (!rate || *rate <= 0.0) return flag(line, in_quotes(words[4]) + " is not a message rate");
      const double moved = bytes * *rate * 1e-3;
      // Rates of one digit after the point, as of the smallest messages, say little.
      constexpr double tolerance = 0.02;
      constexpr double digit = 0.0051;
      if (std::abs(gbs - moved) > tolerance * moved + digit * table_.unit)
        return flag(line, fmt::format("{:g} million messages of {:.0f} bytes a second are {:.4g} "
                                      "GB/s, but the row says {:.4g}: units are mixed or the row "
                                      "is damaged",
                                      *rate, bytes, moved, gbs));
    }
    log_.links.push_back({kind(), link(), bytes, gbs, std::nullopt, line});
  }

  void take_latency(int line, const std::vector<std::string_view>& words) {
    ++rows_;
    const auto typical = words.size() >= 5 ? number_in(words[4]) : std::nullopt;
    if (!typical || *typical <= 0.0)
      return flag(line, "the row has no typical time above zero: it is cut or damaged");
    log_.links.push_back(
        {kind() + "-latency", link(), *whole_in(words[0]), std::nullopt, *typical, line});
  }

  void flag(int line, std::string what) { log_.flagged.push_back({line, false, std::move(what)}); }

  ImportedLog& log_;
  Diagnostics& diagnostics_;
  Table table_;
  std::string kind_;
  std::string device_;
  bool both_ways_ = false;
  bool refused_ = false;
  int rows_ = 0;
  int header_ = 0;
};

}  // namespace

ImportedLog import_perftest(const std::string& text, const std::string& file,
                            const ImportOptions& options, Diagnostics& diagnostics) {
  ImportedLog log;
  log.file = file;
  log.format = LogFormat::perftest;
  log.facts.tool = "perftest";
  log.facts.gpu = options.gpu;
  log.facts.device = device_of_product(options.gpu);
  PerftestReader(log, diagnostics).read(text);
  return log;
}

}  // namespace foretrain
