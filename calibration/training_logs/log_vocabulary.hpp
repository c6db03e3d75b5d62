// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/training_logs/line_values.hpp"
#include "calibration/training_logs/log_grammar.hpp"
#include "calibration/training_logs/training_log.hpp"

namespace foretrain {

/// Words of memory that a rank holds at most, whatever the framework.
struct MemoryWord {
  std::string_view word;
  double unit_bytes;
  bool reserved;          ///< by the allocator; false: allocated by tensors
  std::string_view unit;  ///< text that must stand behind the number; empty: anything
};
[[nodiscard]] std::span<const MemoryWord> memory_words();

struct EventWord {
  std::string_view word;
  LogEventKind kind;
  std::string_view what;  ///< as it is told
};
[[nodiscard]] std::span<const EventWord> event_words();

struct VersionWord {
  std::string_view word;
  std::string_view name;
};
[[nodiscard]] std::span<const VersionWord> version_words();

/// Which table a word belongs to, and its place there.
struct WordUse {
  enum class Table { grammar, variant, sign, plan, memory, event, version, product, value, clue };
  Table table = Table::grammar;
  int place = 0;    ///< in the table
  int grammar = 0;  ///< of log_grammars(), for words of grammars
};

/// All that readers look for in a line, found in one pass.
class LogVocabulary {
 public:
  [[nodiscard]] static const LogVocabulary& get();

  [[nodiscard]] const WordScanner& scanner() const { return *scanner_; }
  [[nodiscard]] const std::vector<WordUse>& uses(int word) const {
    return uses_[static_cast<std::size_t>(word)];
  }
  /// Whether a hit is a word of its own: no letter or '_' before it, and for one that ends with a
  /// letter neither them nor a digit behind it: "3.51s/it" is a number and a unit.
  [[nodiscard]] static bool stands_alone(std::string_view line, const WordHit& hit);

 private:
  LogVocabulary();
  void add(std::string_view word, const WordUse& use);

  std::vector<std::string> words_;
  std::vector<std::vector<WordUse>> uses_;
  std::vector<WordScanner> built_;
  const WordScanner* scanner_ = nullptr;
};

}  // namespace foretrain
