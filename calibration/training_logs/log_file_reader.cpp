// SPDX-License-Identifier: Apache-2.0
#include "calibration/training_logs/log_file_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "calibration/imports/imported_log.hpp"
#include "calibration/training_logs/line_values.hpp"
#include "calibration/training_logs/step_series.hpp"
#include "models/base/ranges.hpp"

namespace foretrain {
namespace {

const LogGrammar& grammar_at(int place) { return log_grammars()[static_cast<std::size_t>(place)]; }

bool begins_with(std::string_view line, std::string_view front) {
  while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
  if (line.size() < front.size()) return false;
  for (std::size_t i = 0; i < front.size(); ++i)
    if (folded(line[i]) != front[i]) return false;
  return true;
}

/// A line of a Python program, which some runs print whole.
bool is_source(std::string_view line) {
  while (line.starts_with(' ')) line.remove_prefix(1);
  for (const std::string_view word : {"assert ", "def ", "class ", "import ", "from ", "return ",
                                      "if ", "elif ", "for ", "while ", "with ", "print(", "self."})
    if (line.starts_with(word)) return true;
  // A call: torch.distributed.init_process_group(...), or model = FSDP(...); not a dump of
  // settings, args = Namespace(...).
  const std::size_t open = line.find('(');
  std::string_view name = line.substr(0, open);
  for (const std::string_view dump : {"Namespace", "Args", "Arguments", "Config", "Params", "dict"})
    if (name.ends_with(dump)) return false;
  if (const std::size_t equals = name.find(" = "); equals != std::string_view::npos)
    return name.substr(0, equals).find(' ') == std::string_view::npos && line.ends_with(')');
  return open != std::string_view::npos && line.find(')', open) != std::string_view::npos &&
         name.find('.') != std::string_view::npos && name.find(": ") == std::string_view::npos &&
         name.find(' ') == std::string_view::npos;
}

/// Words that lines of steps never hold, with a bar between them.
bool holds_any(std::string_view line, std::string_view words) {
  while (!words.empty()) {
    const std::size_t bar = std::min(words.find('|'), words.size());
    if (line.find(words.substr(0, bar)) != std::string_view::npos) return true;
    words.remove_prefix(std::min(bar + 1, words.size()));
  }
  return false;
}

/// A setting of that name is no event: `resume_from_checkpoint: null`, `monitor: val_loss`.
bool is_setting(std::string_view line, const WordHit& hit, LogEventKind kind) {
  const std::string_view rest = line.substr(hit.end);
  if (kind == LogEventKind::restart) {
    const std::string value = std::string(word_behind(line, hit.end));
    return (rest.starts_with(':') || rest.starts_with('=') || rest.starts_with("\":")) &&
           (value.empty() || value.starts_with("null") || value.starts_with("None") ||
            value.starts_with("False") || value.starts_with("false"));
  }
  const bool loss = kind == LogEventKind::validation && line[hit.begin] != '"';
  return loss && rest.find_first_of("0123456789") == std::string_view::npos;
}

void put_once(std::optional<double>& slot, const std::optional<double>& value) {
  if (!slot && value) slot = value;
}

}  // namespace

void LogFileReader::take(const TextLine& line) {
  file_.prose.take(line.text);
  // The line below `File "train.py", line 12, in main` is what stands there.
  source_text_ = quotes_next_ || is_source(line.text);
  quotes_next_ = line.text.find("File \"") != std::string_view::npos &&
                 line.text.find(", line ") != std::string_view::npos;
  if (file_.clues.take_line(line.text)) return;
  hits_.clear();
  LogVocabulary::get().scanner().scan(line.text, hits_);
  if (!hits_.empty()) take_hits(line);
}

void LogFileReader::take_hits(const TextLine& line) {
  const auto grammars = marked(line.text);
  bool step_line = false;
  for (const int grammar : grammars) {
    take_record(line, grammar);
    step_line = step_line || grammar_at(grammar).clock != StepClock::elapsed ||
                grammar_at(grammar).name == "modded-nanogpt";
  }
  if (grammars.empty() && open_block_ >= 0) take_block(line);
  for (const WordHit& hit : hits_)
    for (const WordUse& use : LogVocabulary::get().uses(hit.word))
      if (use.table != Table::grammar) take_other(line, hit, use, step_line);
}

std::vector<int> LogFileReader::marked(std::string_view line) const {
  std::vector<int> grammars;
  std::vector<int> looked_at;
  for (const WordHit& hit : hits_)
    for (const WordUse& use : LogVocabulary::get().uses(hit.word)) {
      if (use.table != Table::grammar) continue;
      const LogGrammar& grammar = grammar_at(use.grammar);
      if (!grammar.words[static_cast<std::size_t>(use.place)].mark ||
          !LogVocabulary::stands_alone(line, hit) || contains(looked_at, use.grammar))
        continue;
      looked_at.push_back(use.grammar);
      const bool other = holds_any(line, grammar.without);
      if (!other && begins_with(line, grammar.front)) grammars.push_back(use.grammar);
    }
  return grammars;
}

bool LogFileReader::read_words(std::string_view line, int grammar, StepRecord& record) {
  bool any = false;
  for (const WordHit& hit : hits_)
    for (const WordUse& use : LogVocabulary::get().uses(hit.word))
      if (use.table == Table::grammar && use.grammar == grammar &&
          LogVocabulary::stands_alone(line, hit))
        any |= take_value(grammar_at(grammar).words[static_cast<std::size_t>(use.place)], line, hit,
                          record);
  return any;
}

/// Bars also show what is loaded or checked: those of training are the longest, or as long as the
/// run is said to be.
bool LogFileReader::accept_bar(int grammar, const StepRecord& record) {
  if (!record.step || !record.bar_total) return false;
  const double total = *record.bar_total;
  if (file_.total_steps && total != *file_.total_steps) return false;
  if (total < bar_total_) return false;
  if (total > bar_total_) file_.series.erase(grammar);
  // Other ranks' bars of the same steps; a run that begins again has a clock that does, too.
  const bool again = total == bar_total_ && bar_step_ && *record.step <= *bar_step_;
  const bool anew = record.elapsed && bar_elapsed_ && 2.0 * *record.elapsed < *bar_elapsed_;
  if (again && !anew) return false;
  bar_total_ = total;
  bar_step_ = record.step;
  bar_elapsed_ = record.elapsed;
  return true;
}

void LogFileReader::take_record(const TextLine& line, int grammar) {
  const LogGrammar& rules = grammar_at(grammar);
  StepRecord record;
  const bool valued = read_words(line.text, grammar, record);
  const bool bar = rules.name == "progress-bar";
  const bool by_name_alone = rules.name == "hf-trainer";
  if (!valued && !by_name_alone) return;
  // "global_step=2e+3" is a thousand steps; the bar before it counts them.
  if (record.step && rules.name == "nemo" && line.text.find("e+") != std::string_view::npos)
    read_bar(line.text, line.text.find('<'), record);
  if (bar && !accept_bar(grammar, record)) return;
  if (rules.name == "litgpt") {
    const auto whole = micro_batches_.take(line.text, record);
    if (!whole) return;
    record = *whole;
  }
  if (by_name_alone && !record.step) record.step = bar_step_;
  bool coarse = false;
  record.stamp = stamp_in(line.text, coarse);
  StepSeries& series = file_.series.try_emplace(grammar, rules.clock).first->second;
  if (by_name_alone && record.step && series.last() &&
      *record.step <= static_cast<double>(*series.last()))
    record.step = static_cast<double>(*series.last() + 1);
  if (!series.add(record)) return;
  open_block_ = rules.block ? grammar : -1;
  told_by_format_ = told_by_format_ || !rules.fallback;
  if (!bar && !(rules.fallback && told_by_format_) && series.last()) last_step_ = series.last();
  if (const auto back = series.went_back(); back && !bar && rules.counts)
    add_event(LogEventKind::restart,
              fmt::format("went back from step {} to {}", (*back)[0], (*back)[1]), line.number);
}

void LogFileReader::take_block(const TextLine& line) {
  StepRecord record;
  if (read_words(line.text, open_block_, record)) file_.series.at(open_block_).amend(record);
}

bool LogFileReader::take_value(const GrammarWord& word, std::string_view line, const WordHit& hit,
                               StepRecord& record) {
  const auto plain = [&] { return number_behind(line, hit.end, true); };
  const auto put = [](std::optional<double>& slot, const std::optional<double>& value,
                      double unit = 1.0) {
    if (!slot && value) slot = *value * unit;
    return value.has_value();
  };
  switch (word.take) {
    case Take::step:
      return put(record.step, number_behind(line, hit.end, false));
    case Take::step_before:
      return put(record.step, number_before(line, hit.begin));
    case Take::seconds:
      return put(record.seconds, plain());
    case Take::milliseconds:
      return put(record.seconds, plain(), 1e-3);
    case Take::seconds_before:
      return put(record.seconds, number_before(line, hit.begin));
    case Take::milliseconds_before:
      return put(record.seconds, number_before(line, hit.begin), 1e-3);
    case Take::elapsed_seconds:
      return put(record.elapsed, plain());
    case Take::elapsed_milliseconds:
      return put(record.elapsed, plain(), 1e-3);
    case Take::elapsed_hours:
      return put(record.elapsed, plain(), 3600.0);
    case Take::samples_per_s:
      return put(record.samples_per_s, plain());
    case Take::tokens_per_s:
      return put(record.tokens_per_s, plain());
    case Take::tokens_per_s_before:
      return put(record.tokens_per_s, number_before(line, hit.begin));
    case Take::tokens_per_s_per_gpu:
      return put(record.tokens_per_s_per_gpu, plain());
    case Take::tokens_per_s_per_gpu_before:
      return put(record.tokens_per_s_per_gpu, number_before(line, hit.begin));
    case Take::tflops_per_gpu:
      return put(record.tflops_per_gpu, number_behind(line, hit.end, false));
    case Take::gigaflops_before:
      return put(record.gigaflops, number_before(line, hit.begin));
    case Take::tokens_seen:
      return put(record.tokens_seen, plain());
    case Take::samples_seen:
      return put(record.samples_seen, plain());
    case Take::global_batch:
      return put(record.global_batch, plain());
    case Take::sequence:
      return put(record.sequence, plain());
    default:
      return take_special(word, line, hit, record);
  }
}

bool LogFileReader::take_special(const GrammarWord& word, std::string_view line, const WordHit& hit,
                                 StepRecord& record) {
  switch (word.take) {
    case Take::milliseconds_part: {
      const auto part = number_behind(line, hit.end, false);
      if (part) record.seconds = record.seconds.value_or(0.0) + *part * 1e-3;
      return part.has_value();
    }
    case Take::steps_per_s: {
      const auto rate = number_behind(line, hit.end, false);
      if (rate && *rate > 0.0) put_once(record.seconds_by_rate, 1.0 / *rate);
      return rate.has_value();
    }
    case Take::elapsed_clock: {
      std::string_view rest = line.substr(hit.end);
      while (!rest.empty() && (rest.front() == ' ' || rest.front() == '"')) rest.remove_prefix(1);
      put_once(record.elapsed, clock_length(rest));
      return record.elapsed.has_value();
    }
    case Take::step_first: {
      const std::size_t at = line.find_first_not_of(" \t");
      const auto step = leading_number(line.substr(std::min(at, line.size())), false);
      if (step) record.step = step->value;
      return step.has_value();
    }
    case Take::progress_bar:
      read_bar(line, hit.begin, record);
      return record.step.has_value();
    case Take::progress_rate:
      put_once(record.step, number_behind(line, hit.end, true));
      put_once(record.seconds, bar_rate(line, hit.end));
      return record.step.has_value();
    case Take::skipped: {
      const auto skipped = number_behind(line, hit.end, false);
      if (skipped) record.skipped = record.skipped.value_or(0.0) + *skipped;
      return skipped.has_value();
    }
    case Take::total_seconds:
      file_.total_seconds = number_behind(line, hit.end, false);
      return false;
    case Take::total_steps:
      file_.total_steps = number_behind(line, hit.end, false);
      return false;
    default:
      return word.mark;
  }
}

void LogFileReader::take_other(const TextLine& line, const WordHit& hit, const WordUse& use,
                               bool step_line) {
  const bool alone = LogVocabulary::stands_alone(line.text, hit);
  const auto place = static_cast<std::size_t>(use.place);
  switch (use.table) {
    case Table::variant:
      file_.variants.insert(use.place);
      return;
    case Table::sign:
      file_.signs.insert(use.place);
      return;
    case Table::memory:
      if (alone) take_memory(line.text, hit, memory_words()[place]);
      return;
    case Table::plan:
      if (!alone || step_line || source_text_) return;
      // A rank's place among others, `[INFO|DP=0|PP=0|TP=0]`, is no size.
      if (hit.begin > 0 && line.text[hit.begin - 1] == '|' && hit.end - hit.begin == 2) return;
      if (!file_.plan.take(use.place, line.text, hit.end)) {
        if (pending_line_ != line.number) pending_settings_.clear();
        pending_line_ = line.number;
        pending_settings_.push_back(use.place);
      }
      return;
    case Table::value:
      if (!alone) return;
      for (const int setting : std::exchange(pending_settings_, {}))
        file_.plan.take(setting, line.text, hit.end);
      return;
    case Table::event: {
      const EventWord& event = event_words()[place];
      if (is_setting(line.text, hit, event.kind)) return;
      if (!step_line) add_event(event.kind, event.what, line.number);
      return;
    }
    case Table::version: {
      constexpr std::size_t most = 8;
      const std::string text = fmt::format("{} {}", version_words()[place].name,
                                           word_behind(line.text, hit.end).substr(0, 40));
      if (file_.versions.size() < most && !contains(file_.versions, text))
        file_.versions.push_back(text);
      return;
    }
    case Table::product:
      take_product(line.text, hit);
      return;
    case Table::clue:
      file_.clues.take(clue_words()[place].clue, line.text, hit.end);
      return;
    case Table::grammar:
      return;
  }
}

void LogFileReader::take_memory(std::string_view line, const WordHit& hit, const MemoryWord& word) {
  const auto amount = number_behind(line, hit.end, word.unit_bytes == 1.0);
  if (!amount || *amount <= 0.0 || *amount * word.unit_bytes > 1e15) return;
  if (!word.unit.empty() && line.substr(hit.end, 28).find(word.unit) == std::string_view::npos)
    return;
  double& most = word.reserved ? file_.reserved : file_.allocated;
  most = std::max(most, *amount * word.unit_bytes);
}

void LogFileReader::take_product(std::string_view line, const WordHit& hit) {
  constexpr int most_looks = 100;
  if (!file_.gpu.empty() || ++products_ > most_looks) return;
  std::size_t end = hit.end;
  const auto inside = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == ' ';
  };
  while (end < line.size() && end - hit.begin < 48 && inside(line[end]) &&
         !line.substr(end).starts_with("  ") && !line.substr(end).starts_with(" with "))
    ++end;
  std::string product(line.substr(hit.begin, end - hit.begin));
  while (!product.empty() && product.back() == ' ') product.pop_back();
  if (!device_of_product(product).empty()) file_.gpu = product;
}

void LogFileReader::add_event(LogEventKind kind, std::string_view what, long line) {
  const auto place = static_cast<std::size_t>(kind);
  if (kind == LogEventKind::restart)
    for (auto& [grammar, series] : file_.series) series.resumed();
  // One event has several lines: its beginning and its end, and those of other ranks.
  const long step = last_step_.value_or(-1);
  const bool again = last_event_step_[place] == step && file_.event_counts[place] > 0;
  last_event_step_[place] = step;
  const bool counted =
      kind == LogEventKind::skipped ||
      (!last_step_ && (kind == LogEventKind::validation || kind == LogEventKind::checkpoint));
  if (again && !counted) return;
  ++file_.event_counts[place];
  if (file_.events.size() < most_events)
    file_.events.push_back({kind, last_step_, 0, line, std::string(what)});
}

LogFile read_log_file(std::istream& input, std::string_view front) {
  LogFile file;
  LogFileReader reader(file);
  file.stream = read_lines(
      input, [&](const TextLine& line) { reader.take(line); }, front);
  file.clues.finish();
  return file;
}

}  // namespace foretrain
