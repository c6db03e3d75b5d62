// SPDX-License-Identifier: Apache-2.0
// Words: verl trainer/ppo/ray_trainer.py, NeMo-RL algorithms/grpo.py, slime
// utils/train_metric_utils, SkyRL trainer.py, OpenRLHF trainer/ppo_trainer.py; read in November
// 2026.

#include "calibration/training_logs/read_training_log.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "calibration/imports/record_text.hpp"
#include "calibration/training_logs/log_file_reader.hpp"
#include "calibration/training_logs/run_steps.hpp"
#include "models/base/ranges.hpp"

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

namespace {

struct LogWord {
  std::string_view word;
  LoggedPart part;
};
constexpr auto log_words = std::to_array<LogWord>({
    {"timing_s/step", LoggedPart::step},
    {"timing_s/gen", LoggedPart::generation},
    {"timing_s/reward", LoggedPart::rewards},
    {"timing_s/old_log_prob", LoggedPart::log_probs},
    {"timing_s/ref", LoggedPart::reference},
    {"timing_s/ref_log_prob", LoggedPart::reference},
    {"timing_s/values", LoggedPart::values},
    {"timing_s/update_actor", LoggedPart::training},
    {"timing_s/update_critic", LoggedPart::critic},
    {"timing_s/update_weights", LoggedPart::sync},
    {"timing_s/adv", LoggedPart::loop},
    {"response_length/mean", LoggedPart::answer_tokens},
    {"Mean Generation Length", LoggedPart::answer_tokens},
    {"rollout/response_len/mean", LoggedPart::answer_tokens},
    {"rollout/response_lengths", LoggedPart::answer_tokens},
    {"Total step time", LoggedPart::step},
    {"timing/train/total_step_time", LoggedPart::step},
    {"timing/train/generation", LoggedPart::generation},
    {"generation", LoggedPart::generation},
    {"reward_calculation", LoggedPart::rewards},
    {"policy_and_reference_logprobs", LoggedPart::scoring},
    {"policy_training", LoggedPart::training},
    {"value_training", LoggedPart::critic},
    {"weight_sync", LoggedPart::sync},
    {"prepare_for_generation/total", LoggedPart::turn},
    {"data_processing", LoggedPart::loop},
    {"perf/step_time", LoggedPart::step},
    {"perf/rollout_time", LoggedPart::generation},
    {"perf/log_probs_time", LoggedPart::log_probs},
    {"perf/ref_log_probs_time", LoggedPart::reference},
    {"perf/actor_train_time", LoggedPart::training},
    {"perf/critic_train_time", LoggedPart::critic},
    {"perf/update_weights_time", LoggedPart::sync},
    {"timing/step", LoggedPart::step},
    {"timing/generate", LoggedPart::generation},
    {"timing/fwd_logprobs_values_reward", LoggedPart::scoring},
    {"timing/policy_train", LoggedPart::training},
    {"timing/critic_train", LoggedPart::critic},
    {"timing/sync_weights", LoggedPart::sync},
    {"timing/step_total", LoggedPart::step},
    {"timing/generation", LoggedPart::generation},
    {"timing/make_experience", LoggedPart::scoring},
    {"timing/ppo_train", LoggedPart::training},
    {"timing/broadcast", LoggedPart::sync},
});

bool in_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == '/';
}

/// The number behind a name, past quotes, colons, signs of equality and blanks.
std::optional<double> seconds_behind(std::string_view rest) {
  const std::size_t start = rest.find_first_not_of("'\": =\t");
  if (start == std::string_view::npos || start == 0) return std::nullopt;
  // numpy prints its numbers as np.float64(1.5).
  constexpr std::string_view wrapped = "np.float64(";
  rest.remove_prefix(start);
  if (rest.starts_with(wrapped)) rest.remove_prefix(wrapped.size());
  double value = 0.0;
  const auto [end, failure] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  const bool number = failure == std::errc() && value > 0.0;
  const bool of_word = number && end != rest.data() + rest.size() && *end == '%';
  return number && !of_word ? std::optional(value) : std::nullopt;
}

/// The value of a word in a line; nothing where it is part of another.
std::optional<double> value_in(std::string_view line, std::string_view word) {
  for (std::size_t at = line.find(word); at != std::string_view::npos;
       at = line.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at > 0 && in_word(line[at - 1])) || (end < line.size() && in_word(line[end]))) continue;
    if (const auto value = seconds_behind(line.substr(end))) return value;
  }
  return std::nullopt;
}

LoggedSeries& series_of(std::vector<LoggedSeries>& all, const LogWord& word) {
  for (LoggedSeries& series : all)
    if (series.word == word.word) return series;
  all.push_back({word.part, std::string(word.word), {}});
  return all.back();
}

}  // namespace

double LoggedSeries::median() const {
  std::vector<double> sorted = seconds;
  if (sorted.size() >= 3) sorted.erase(sorted.begin());
  if (sorted.empty()) return 0.0;
  std::ranges::sort(sorted);
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2.0;
}

std::vector<LoggedSeries> read_post_training_log(std::string_view text) {
  std::vector<LoggedSeries> all;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    for (const LogWord& word : log_words)
      if (const auto value = value_in(line, word.word))
        series_of(all, word).seconds.push_back(*value);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  // Of two words for one part the first in the log counts.
  std::vector<LoggedSeries> parts;
  for (LoggedSeries& series : all)
    if (std::ranges::none_of(parts,
                             [&](const LoggedSeries& other) { return other.part == series.part; }))
      parts.push_back(std::move(series));
  return parts;
}

}  // namespace foretrain
