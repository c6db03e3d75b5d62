// SPDX-License-Identifier: Apache-2.0
#include "calibration/training_logs/log_vocabulary.hpp"

#include <algorithm>
#include <array>

#include "calibration/training_logs/plan_words.hpp"
#include "calibration/training_logs/run_clues.hpp"

namespace foretrain {
namespace {

constexpr double mebi = 1048576.0;
constexpr double gibi = 1073741824.0;

/// PyTorch counts in powers of 1024 where its users print MB or GB, but for OLMo, Composer, LitGPT
/// and nanotron, which divide by powers of 1000.
constexpr std::array memory_table{
    MemoryWord{"max allocated:", mebi, false, ""},
    MemoryWord{"peak allocated", mebi, false, "MiB"},
    MemoryWord{"peak allocated:", mebi, false, "MiB"},
    MemoryWord{"peak reserved:", mebi, true, "MiB"},
    MemoryWord{"max allocated", mebi, false, "MB"},
    MemoryWord{"max reserved:", mebi, true, ""},
    MemoryWord{"max cached:", mebi, true, "MB"},
    MemoryWord{"maxmemallocated=", gibi, false, "GB"},
    MemoryWord{"max_ma", gibi, false, "GB"},
    MemoryWord{"max_ca", gibi, true, "GB"},
    MemoryWord{"memory:", gibi, true, "GiB"},
    MemoryWord{"| mem", gibi, false, "GiB"},
    MemoryWord{"peak mem.:", gibi, true, ""},
    MemoryWord{"max_memory:", gibi, false, "GB"},
    MemoryWord{"reserved_memory:", gibi, true, "GB"},
    MemoryWord{"cuda_max_memory_reserved:", 1.0, true, ""},
    MemoryWord{"peak gpu memory (mb)=", 1e6, false, ""},
    MemoryWord{"gpu reserved mem (gib)=", gibi, true, ""},
    MemoryWord{"memory/peak_reserved_mem:", 1e9, true, ""},
    MemoryWord{"memory/peak_allocated_mem:", 1e9, false, ""},
    MemoryWord{"memory/reserved_mem:", 1e9, true, ""},
    MemoryWord{"memory used:", 1e9, false, "GB"},
    MemoryWord{"peak memory consumption:", mebi, false, "MiB"},
    MemoryWord{"memory/max_mem_active(gib)'", gibi, false, ""},
    MemoryWord{"memory/max_mem_allocated(gib)'", gibi, false, ""},
    MemoryWord{"memory/device_mem_reserved(gib)'", gibi, true, ""},
    MemoryWord{"memory/max_active (gib)'", gibi, false, ""},
    MemoryWord{"memory/max_allocated (gib)'", gibi, false, ""},
    MemoryWord{"memory/device_reserved (gib)'", gibi, true, ""},
    MemoryWord{"gpu_resources:", 1.0, false, ""},
    MemoryWord{"peak_memory_active:", gibi, false, ""},
    MemoryWord{"peak_memory_alloc:", gibi, false, ""},
    MemoryWord{"peak_memory_reserved:", gibi, true, ""},
};

constexpr std::array event_table{
    EventWord{"saving checkpoint", LogEventKind::checkpoint, "a checkpoint was written"},
    EventWord{"saved checkpoint", LogEventKind::checkpoint, "a checkpoint was written"},
    EventWord{"saving the checkpoint", LogEventKind::checkpoint, "a checkpoint was written"},
    EventWord{"saving model checkpoint", LogEventKind::checkpoint, "a checkpoint was written"},
    EventWord{"checkpoint saved", LogEventKind::checkpoint, "a checkpoint was written"},
    EventWord{"loading checkpoint from", LogEventKind::restart, "a checkpoint was read"},
    EventWord{"loading the checkpoint", LogEventKind::restart, "a checkpoint was read"},
    EventWord{"resuming from", LogEventKind::restart, "a checkpoint was read"},
    EventWord{"resuming training from", LogEventKind::restart, "a checkpoint was read"},
    EventWord{"resume from checkpoint", LogEventKind::restart, "a checkpoint was read"},
    EventWord{"validation loss at", LogEventKind::validation, "validation"},
    EventWord{"val loss", LogEventKind::validation, "validation"},
    EventWord{"val_loss:", LogEventKind::validation, "validation"},
    EventWord{"'eval_loss':", LogEventKind::validation, "validation"},
    EventWord{" tel:", LogEventKind::validation, "validation"},
    EventWord{"\"key\": \"eval_start\"", LogEventKind::validation, "validation"},
    EventWord{"overflow!", LogEventKind::skipped, "an update was left out: overflow"},
    EventWord{"skipping step", LogEventKind::skipped, "an update was left out: overflow"},
    EventWord{"out of memory", LogEventKind::out_of_memory, "a GPU ran out of memory"},
    EventWord{"outofmemoryerror", LogEventKind::out_of_memory, "a GPU ran out of memory"},
    EventWord{"resource_exhausted", LogEventKind::out_of_memory, "a GPU ran out of memory"},
    EventWord{"watchdog caught collective", LogEventKind::failure, "a collective timed out"},
    EventWord{"due to time limit", LogEventKind::end, "ended by the time limit of its job"},
    EventWord{"keyboardinterrupt", LogEventKind::end, "ended by its user"},
    EventWord{"exiting program at", LogEventKind::end, "ended as planned"},
};

constexpr std::array version_table{
    VersionWord{"deepspeed info: version=", "DeepSpeed"},
    VersionWord{"transformers_version", "Transformers"},
    VersionWord{"torch version", "PyTorch"},
    VersionWord{"pytorch version", "PyTorch"},
};

bool of_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace

std::span<const MemoryWord> memory_words() { return memory_table; }
std::span<const EventWord> event_words() { return event_table; }
std::span<const VersionWord> version_words() { return version_table; }

const LogVocabulary& LogVocabulary::get() {
  static const LogVocabulary vocabulary;
  return vocabulary;
}

LogVocabulary::LogVocabulary() {
  using Table = WordUse::Table;
  const auto& grammars = log_grammars();
  for (std::size_t grammar = 0; grammar < grammars.size(); ++grammar)
    for (std::size_t place = 0; place < grammars[grammar].words.size(); ++place)
      add(grammars[grammar].words[place].word,
          {Table::grammar, static_cast<int>(place), static_cast<int>(grammar)});
  const auto add_all = [&](auto table, Table name) {
    for (std::size_t place = 0; place < table.size(); ++place)
      add(table[place].word, {name, static_cast<int>(place), 0});
  };
  add_all(grammar_variants(), Table::variant);
  add_all(grammar_signs(), Table::sign);
  add_all(plan_words(), Table::plan);
  add_all(memory_words(), Table::memory);
  add_all(event_words(), Table::event);
  add_all(version_words(), Table::version);
  add_all(clue_words(), Table::clue);
  add("nvidia ", {Table::product, 0, 0});
  add("value:", {Table::value, 0, 0});
  const std::vector<std::string_view> views(words_.begin(), words_.end());
  built_.emplace_back(views);
  scanner_ = &built_.front();
}

void LogVocabulary::add(std::string_view word, const WordUse& use) {
  std::string text;
  for (const char c : word) text += folded(c);
  const auto known = std::ranges::find(words_, text);
  const auto place = static_cast<std::size_t>(known - words_.begin());
  if (known == words_.end()) {
    words_.push_back(std::move(text));
    uses_.emplace_back();
  }
  uses_[place].push_back(use);
}

bool LogVocabulary::stands_alone(std::string_view line, const WordHit& hit) {
  if (of_word(line[hit.begin]) && hit.begin > 0) {
    const char before = line[hit.begin - 1];
    const bool digit = before >= '0' && before <= '9';
    if (of_word(before) && !digit) return false;
    if (before == '-' && hit.begin > 1 && of_word(line[hit.begin - 2])) return false;
  }
  return !(of_word(line[hit.end - 1]) && hit.end < line.size() && of_word(line[hit.end]));
}

}  // namespace foretrain
