// SPDX-License-Identifier: Apache-2.0
#include "calibration/imports/imported_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "calibration/imports/internal/nccl_test_reader.hpp"
#include "calibration/imports/record_text.hpp"
#include "calibration/imports/sweep_row.hpp"

namespace foretrain {
namespace {

/// Columns of one placement (out of place or in place) within a row.
struct Placement {
  std::size_t time = 0;
  std::size_t algbw = 0;
  std::size_t busbw = 0;
  std::size_t wrong = 0;
};

struct Layout {
  std::size_t columns = 0;
  std::size_t redop = 0;
  std::vector<Placement> placements;
};

/// Where no header line told.
Layout usual_layout() { return {13, 3, {{5, 6, 7, 8}, {9, 10, 11, 12}}}; }

/// Takes a word of a header line: what its column holds.
void place(std::string_view word, std::size_t column, Layout& layout) {
  if (word == "redop") layout.redop = column;
  if (word == "time" || word == "cputime") layout.placements.push_back({column, 0, 0, 0});
  if (layout.placements.empty()) return;
  Placement& last = layout.placements.back();
  if (word == "algbw") last.algbw = column;
  if (word == "busbw") last.busbw = column;
  if (word == "#wrong" || word == "error") last.wrong = column;
}

/// The columns that a header line names; nothing when it is not one.
std::optional<Layout> layout_of(const std::vector<std::string_view>& words) {
  // "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong"
  if (words.size() < 6 || words[0] != "#" || words[1] != "size") return std::nullopt;
  Layout layout;
  layout.columns = words.size() - 1;
  for (std::size_t i = 1; i < words.size(); ++i) place(words[i], i - 1, layout);
  for (const Placement& placement : layout.placements)
    if (placement.algbw == 0 || placement.busbw == 0) return std::nullopt;
  if (layout.placements.empty() || layout.placements.size() > 2) return std::nullopt;
  return layout;
}

/// The operation that a program's name tells: "all_reduce_perf", "alltoall_perf_mpi".
std::string operation_in(std::string_view line) {
  constexpr std::array<std::string_view, 9> names{"all_reduce", "all_gather", "reduce_scatter",
                                                  "alltoall",   "broadcast",  "sendrecv",
                                                  "scatter",    "gather",     "reduce"};
  for (const std::string_view name : names) {
    const auto at = line.find(std::string(name) + "_perf");
    if (at == std::string_view::npos) continue;
    // "gather_perf" also stands in "all_gather_perf".
    if (at == 0 ||
        (line[at - 1] != '_' && std::isalnum(static_cast<unsigned char>(line[at - 1])) == 0))
      return std::string(name);
  }
  return "";
}

class TextReader : private NcclTestReader {
 public:
  using NcclTestReader::NcclTestReader;

  void read(const std::string& text) {
    lines_ = log_lines(text);
    for (here_ = 0; here_ < lines_.size() && !refused_; ++here_) take(lines_[here_]);
    if (refused_) return;
    end_of_test(true);
  }

 private:
  void take(const LogLine& line) {
    const std::string_view text = trimmed(line.text);
    if (const std::string name = operation_in(text); !name.empty()) operation_ = name;
    const auto words = blank_words(text);
    if (words.empty()) return;
    if (const auto version = text.find("NCCL version "); version != std::string_view::npos)
      log_.facts.library =
          "NCCL " + plain_text(blank_words(text.substr(version + 13)).empty()
                                   ? std::string_view{}
                                   : blank_words(text.substr(version + 13)).front(),
                               24);
    if (text.starts_with('#')) return take_comment(line, text, words);
    if (whole_in(words.front()) && words.size() > 2) take_row(line.number, words);
  }

  void take_comment(const LogLine& line, std::string_view text,
                    const std::vector<std::string_view>& words) {
    if (ranks_.take(line.number, text)) return;
    if (text.find("nThread") != std::string_view::npos && rows_ > 0) end_of_test(true);
    if (const auto layout = layout_of(words)) {
      if (rows_ > 0) end_of_test(true);
      layout_ = *layout;
      header_ = line.number;
    } else if (text.find("(B)") != std::string_view::npos) {
      check_units(line.number, text);
    } else if (text.find("Avg bus bandwidth") != std::string_view::npos) {
      check_average(line.number, text);
    }
  }

  /// Another unit than the usual ones would make every figure wrong by a factor.
  void check_units(int line, std::string_view text) {
    for (const std::string_view word : blank_words(text)) {
      if (!word.starts_with('(') && !word.starts_with('#')) continue;
      if (word == "#" || word == "(B)" || word == "(elements)" || word == "(us)" ||
          word == "(GB/s)" || word == "(%)")
        continue;
      report(log_.file, line,
             "unit " + in_quotes(word) + " is not one of nccl-tests' (B), (us), (GB/s)",
             diagnostics_);
      refused_ = true;
    }
  }

  void start_sweep(int line, const std::vector<std::string_view>& words) {
    refused_ = !ranks_.close(line, options_);
    if (refused_) return;
    base_ = {};
    base_.source = source_of(log_);
    base_.collective = options_.collective.empty() ? operation_ : options_.collective;
    if (base_.collective.empty()) base_.collective = guessed(words);
    if (!complete_base(options_, log_, line, base_, diagnostics_)) refused_ = true;
    if (base_.collective.empty()) {
      report(log_.file, line,
             "the log does not say which collective it is of, and several fit; name it "
             "(--collective)",
             diagnostics_);
      refused_ = true;
    } else if (!nccl_bus_factor(base_.collective, 2.0)) {
      report(log_.file, line, "there is no collective " + in_quotes(base_.collective),
             diagnostics_);
      refused_ = true;
    }
    const int number = ++names_[base_.collective];
    base_.sweep = fmt::format("{}-{}x{}-{}{}", base_.collective, base_.nodes, base_.gpus_per_node,
                              stem_of(log_.file), number > 1 ? fmt::format("-{}", number) : "");
  }

  /// What redop, root and the ratio of the bandwidths leave: sums are an all-reduce or a
  /// reduce-scatter; of what moves data alone all-gather and all-to-all look the same.
  [[nodiscard]] std::string guessed(const std::vector<std::string_view>& words) const {
    if (layout_.redop == 0 || layout_.redop + 1 >= words.size()) return "";
    const bool sums = words[layout_.redop] != "none";
    if (words[layout_.redop + 1] != "-1") return sums ? "reduce" : "broadcast";
    const double ranks = log_.facts.gpus > 0
                             ? log_.facts.gpus
                             : static_cast<double>(options_.nodes) * options_.gpus_per_node;
    const double ratio = ratio_ahead();
    if (ranks < 2.0 || ratio <= 0.0) return "";
    const double others = (ranks - 1.0) / ranks;
    constexpr double same = 0.02;
    if (sums && std::abs(ratio / (2.0 * others) - 1.0) < same) return "all_reduce";
    if (sums && std::abs(ratio / others - 1.0) < same) return "reduce_scatter";
    return !sums && std::abs(ratio - 1.0) < same && others < 1.0 - 2.0 * same ? "sendrecv" : "";
  }

  /// Bus over algorithm bandwidth of the first row from here on that prints enough digits.
  [[nodiscard]] double ratio_ahead() const {
    const Placement& at = layout_.placements.front();
    for (std::size_t i = here_; i < lines_.size(); ++i) {
      const auto words = blank_words(lines_[i].text);
      if (words.size() != layout_.columns || !whole_in(words.front())) continue;
      const auto algbw = number_in(words[at.algbw]);
      const auto busbw = number_in(words[at.busbw]);
      if (algbw && busbw && *algbw >= 1.0) return *busbw / *algbw;
    }
    return 0.0;
  }

  void take_row(int line, const std::vector<std::string_view>& words) {
    if (rows_ == 0) start_sweep(line, words);
    if (refused_) return;
    ++rows_;
    last_line_ = line;
    const double size = *whole_in(words.front());
    // Columns that a test leaves blank (in place of send and receive) end the row early.
    const bool half = layout_.placements.size() == 2 && words.size() == layout_.placements[1].time;
    if (words.size() != layout_.columns && !half) {
      flag(line, fmt::format("{} columns instead of {}: the line is cut or damaged", words.size(),
                             layout_.columns));
      return;
    }
    if (size == 0.0) return;  // too small to share evenly: nothing was sent
    take_size(line, size);
    for (std::size_t i = 0; i < (half ? 1 : layout_.placements.size()); ++i)
      take_result(line, words, size, i);
  }

  void take_result(int line, const std::vector<std::string_view>& words, double size,
                   std::size_t place) {
    const Placement& at = layout_.placements[place];
    const char* const where = place == 0 ? "out of place" : "in place";
    const auto time = number_in(words[at.time]);
    const auto algbw = number_in(words[at.algbw]);
    const auto busbw = number_in(words[at.busbw]);
    if (words[at.time] == "N/A") return;  // not measured
    if (!time || !algbw || !busbw || *time <= 0.0)
      return flag(line, fmt::format("{}: {}, {}, {} are not a time and two bandwidths", where,
                                    in_quotes(words[at.time]), in_quotes(words[at.algbw]),
                                    in_quotes(words[at.busbw])));
    average_.add(*busbw);
    if (at.wrong != 0 && words[at.wrong] != "N/A") {
      const auto wrong = number_in(words[at.wrong]);
      if (!wrong || *wrong != 0.0)
        return flag(
            line, fmt::format("{}: {} elements came out wrong", where, in_quotes(words[at.wrong])));
    }
    const SweepLine row{
        size, *time, algbw, busbw, last_digit(words[at.algbw]), last_digit(words[at.busbw])};
    keep(line, where, row, place == 1);
  }

  /// The average closes a test; where it is not that of the rows, some are missing or changed.
  void check_average(int line, std::string_view text) {
    const auto colon = text.find(':');
    const auto words = blank_words(colon == std::string_view::npos ? "" : text.substr(colon + 1));
    const auto average = words.empty() ? std::nullopt : number_in(words.front());
    const std::string wrong =
        average ? average_.contradiction(*average) : "the average bus bandwidth is not a number";
    if (!wrong.empty()) flag(line, wrong);
    end_of_test(false);
  }

  void end_of_test(bool cut) {
    if (cut && rows_ > 0 && header_ > 0)
      flag(last_line_,
           "the log ends here without the average that closes a test: larger sizes may be missing",
           true);
    rows_ = 0;
    header_ = 0;
    last_size_ = 0.0;
    average_ = {};
    layout_ = {};
  }

  Layout layout_ = usual_layout();
  std::vector<LogLine> lines_;
  std::size_t here_ = 0;
  std::string operation_;
  std::map<std::string, int> names_;
  bool refused_ = false;
  int header_ = 0;
  int rows_ = 0;
  int last_line_ = 0;
};

}  // namespace

ImportedLog import_nccl_tests(const std::string& text, const std::string& file,
                              const ImportOptions& options, Diagnostics& diagnostics) {
  ImportedLog log;
  log.file = file;
  log.format = LogFormat::nccl_tests;
  log.facts.tool = "nccl-tests";
  TextReader(log, options, diagnostics).read(text);
  return log;
}

}  // namespace foretrain
