// SPDX-License-Identifier: Apache-2.0
#include "calibration/training_logs/read_training_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include "calibration/imports/log_text.hpp"
#include "calibration/training_logs/log_file_reader.hpp"
#include "calibration/training_logs/run_steps.hpp"
#include "models/base/contains.hpp"

namespace foretrain {
namespace {

/// What the files say together, and what is only there while they are put together.
class RunOfFiles {
 public:
  RunOfFiles(TrainingLog& log, std::vector<LogFile>& files) : log_{log}, files_{files} {}

  void read() {
    const auto grammar = grammar_of_run(files_);
    log_.format = grammar ? name_of_format(*grammar, files_) : name_of_signs(files_);
    find_plan();
    if (grammar) read_run_steps(log_, *grammar, files_);
    find_memory();
    complete_plan(log_.plan, log_.format);
    find_events();
    find_clues();
    for (const LogFile& file : files_) {
      if (log_.gpu.empty()) log_.gpu = file.gpu;
      for (const std::string& version : file.versions)
        if (!contains(log_.versions, version)) log_.versions.push_back(version);
      log_.remarks.insert(log_.remarks.end(), file.remarks.begin(), file.remarks.end());
      if (file.stream.cut > 0)
        log_.remarks.push_back(
            fmt::format("{} lines were longer than {} bytes: the rest of them was passed over",
                        file.stream.cut, most_line_bytes));
      if (file.stream.zeros > 0)
        log_.remarks.push_back(
            fmt::format("{} zero bytes from line {} on were passed over, as a crash leaves them",
                        file.stream.zeros, file.stream.zero_line));
    }
  }

  /// Sentences that speak of a run, and may quote a message of one.
  [[nodiscard]] bool is_prose() const {
    const bool silent = says_no_plan() && log_.format.empty();
    return log_.iterations == 0 && !log_.step &&
           std::ranges::all_of(files_, [&](const LogFile& file) {
             return file.prose.most_of_it() || (silent && file.prose.is_page());
           });
  }

  [[nodiscard]] bool says_nothing() const {
    return log_.format.empty() && log_.events.empty() && says_no_plan() && !log_.memory_max_bytes;
  }

 private:
  [[nodiscard]] bool says_no_plan() const {
    const LoggedPlan& plan = log_.plan;
    return !plan.gpus && !plan.global_batch && !plan.micro_batch && !plan.sequence && !plan.hidden;
  }

  void find_plan() {
    for (const LogFile& file : files_) {
      const LoggedPlan said = file.plan.plan(log_.format);
      if (&file == &files_.front()) {
        log_.plan = said;
      } else {
        fill_plan(log_.plan, said);
      }
    }
  }

  void find_memory() {
    double allocated = 0.0;
    double reserved = 0.0;
    for (const LogFile& file : files_) {
      allocated = std::max(allocated, file.allocated);
      reserved = std::max(reserved, file.reserved);
    }
    if (reserved > 0.0) log_.reserved_max_bytes = reserved;
    if (allocated <= 0.0 && reserved <= 0.0) return;
    log_.memory_max_bytes = allocated > 0.0 ? allocated : reserved;
    log_.memory_kind = allocated > 0.0 ? "allocated" : "reserved";
  }

  void find_events() {
    for (std::size_t place = 0; place < files_.size(); ++place) {
      for (std::size_t kind = 0; kind < log_event_kinds; ++kind)
        log_.event_counts[kind] += files_[place].event_counts[kind];
      for (LogEvent& event : files_[place].events) {
        event.file = static_cast<int>(place);
        if (log_.events.size() < most_events) log_.events.push_back(std::move(event));
      }
    }
  }

  /// Of several files, those of the first that has any; the slowest rank's of all.
  void find_clues() {
    for (const LogFile& file : files_) {
      const LogClues clues = file.clues.clues();
      for (const auto& [section, times] : clues.sections) {
        const auto [known, is_new] = log_.clues.sections.emplace(section, times);
        if (is_new) continue;
        known->second.least = std::min(known->second.least, times.least);
        known->second.most = std::max(known->second.most, times.most);
      }
      for (std::optional<double> LogClues::*const member :
           {&LogClues::rank_gap, &LogClues::clock_low_mhz, &LogClues::clock_high_mhz,
            &LogClues::use_low})
        if (!(log_.clues.*member)) log_.clues.*member = clues.*member;
      if (clues.nics)
        log_.clues.nics = std::min(log_.clues.nics.value_or(*clues.nics), *clues.nics);
      log_.clues.sockets = log_.clues.sockets || clues.sockets;
      if (log_.clues.attention.empty()) log_.clues.attention = clues.attention;
      log_.clues.allocator_retries += clues.allocator_retries;
      log_.clues.collections += clues.collections;
    }
  }

  TrainingLog& log_;
  std::vector<LogFile>& files_;
};

/// Reads on to the end of the first line, or to its most bytes.
void complete_line(std::string& front, std::istream& input) {
  char c = 0;
  while (front.find('\n') == std::string::npos && front.size() < most_line_bytes && input.get(c))
    front += c;
}

LogFile read_any(std::istream& input) {
  std::string front(64, '\0');
  input.read(front.data(), static_cast<std::streamsize>(front.size()));
  front.resize(static_cast<std::size_t>(input.gcount()));
  if (const auto decoded = decoded_stream(input, front)) return read_any(*decoded);
  if (is_event_file(front)) {
    input.clear();
    input.seekg(0);
    return read_event_file(input);
  }
  if (may_be_table(front)) complete_line(front, input);
  if (is_wandb_table(front)) return read_wandb_table(front, input);
  return read_log_file(input, front);
}

TrainingLog run_of(const std::vector<std::string>& names, std::vector<LogFile>& files,
                   Diagnostics& diagnostics) {
  TrainingLog log;
  log.files = names;
  for (std::size_t i = 0; i < files.size(); ++i)
    if (files[i].stream.binary)
      report(names[i], static_cast<int>(std::min(files[i].stream.zero_line, 1'000'000'000L)),
             "binary data; a log is a text file", diagnostics);
  if (!diagnostics.empty()) return log;
  RunOfFiles run(log, files);
  run.read();
  if (run.is_prose()) {
    report(names.front(), 0,
           "prose about a run, not its log: a log has lines of steps, a dump of arguments, or the "
           "trace of an error",
           diagnostics);
  } else if (run.says_nothing()) {
    std::string known;
    for (const TrainingLogFormat& format : training_log_formats())
      known += (known.empty() ? "" : ", ") + format.name;
    report(
        names.front(), 0,
        "no training log of a known format: it has neither steps nor arguments; known are " + known,
        diagnostics);
  }
  return log;
}

}  // namespace

std::vector<TrainingLogFormat> training_log_formats() {
  std::vector<TrainingLogFormat> formats;
  for (const LogGrammar& grammar : log_grammars()) {
    const auto known = std::ranges::find_if(
        formats, [&](const auto& format) { return format.name == grammar.name; });
    if (known == formats.end())
      formats.push_back({std::string(grammar.name), std::string(grammar.signature)});
  }
  for (const GrammarVariant& variant : grammar_variants()) {
    const auto known = std::ranges::find_if(
        formats, [&](const auto& format) { return format.name == variant.name; });
    if (known == formats.end())
      formats.push_back(
          {std::string(variant.name), fmt::format("{} with `{}`", variant.grammar, variant.word)});
  }
  return formats;
}

TrainingLog read_training_log(const std::vector<std::string>& files, Diagnostics& diagnostics) {
  std::vector<LogFile> read;
  for (const std::string& name : files) {
    std::ifstream input(name, std::ios::binary);
    if (input) read.push_back(read_any(input));
    if (!input.is_open() || input.bad()) report(name, 0, "it cannot be read", diagnostics);
  }
  if (!diagnostics.empty() || read.empty()) return {};
  return run_of(files, read, diagnostics);
}

TrainingLog read_training_log_text(const std::string& text, const std::string& name,
                                   Diagnostics& diagnostics) {
  std::istringstream input(text);
  std::vector<LogFile> read;
  read.push_back(read_any(input));
  return run_of({name}, read, diagnostics);
}

}  // namespace foretrain
