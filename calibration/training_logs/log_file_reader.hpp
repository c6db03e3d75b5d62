// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <istream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "calibration/training_logs/log_stream.hpp"
#include "calibration/training_logs/log_vocabulary.hpp"
#include "calibration/training_logs/micro_batches.hpp"
#include "calibration/training_logs/plan_words.hpp"
#include "calibration/training_logs/prose.hpp"
#include "calibration/training_logs/run_clues.hpp"
#include "calibration/training_logs/step_series.hpp"
#include "calibration/training_logs/training_log.hpp"

namespace foretrain {

/// What one file says, format by format.
struct LogFile {
  StreamFacts stream;
  std::map<int, StepSeries> series;  ///< by grammar
  std::set<int> variants;            ///< words of grammar_variants() that it holds
  std::set<int> signs;               ///< likewise of grammar_signs()
  PlanFinder plan;
  double allocated = 0.0;  ///< bytes, most of all ranks and times
  double reserved = 0.0;
  std::optional<double> total_seconds, total_steps;
  std::string gpu;
  std::string signed_name;  ///< of the format, where the kind of file tells it
  std::vector<std::string> versions;
  std::vector<LogEvent> events;
  std::array<long, log_event_kinds> event_counts{};
  std::vector<std::string> remarks;  ///< what was not taken as it stands
  ClueReader clues;
  ProseShare prose;
};

/// Reads a file's lines, in memory that does not grow with it.
class LogFileReader {
 public:
  explicit LogFileReader(LogFile& file) : file_{file} {}
  void take(const TextLine& line);

 private:
  using Table = WordUse::Table;
  void take_hits(const TextLine& line);
  [[nodiscard]] std::vector<int> marked(std::string_view line) const;
  bool accept_bar(int grammar, const StepRecord& record);
  void take_record(const TextLine& line, int grammar);
  void take_block(const TextLine& line);
  /// @return whether any word of the grammar had a value
  bool read_words(std::string_view line, int grammar, StepRecord& record);
  bool take_value(const GrammarWord& word, std::string_view line, const WordHit& hit,
                  StepRecord& record);
  bool take_special(const GrammarWord& word, std::string_view line, const WordHit& hit,
                    StepRecord& record);
  void take_other(const TextLine& line, const WordHit& hit, const WordUse& use, bool step_line);
  void take_memory(std::string_view line, const WordHit& hit, const MemoryWord& word);
  void take_product(std::string_view line, const WordHit& hit);
  void add_event(LogEventKind kind, std::string_view what, long line);

  LogFile& file_;
  std::vector<WordHit> hits_;
  std::vector<int> pending_settings_;  ///< plan words whose value stands on a line below
  long pending_line_ = 0;
  MicroBatches micro_batches_;
  bool source_text_ = false;  ///< this line is quoted from a program
  bool quotes_next_ = false;
  std::optional<long> last_step_;
  std::optional<double> bar_step_, bar_elapsed_;
  double bar_total_ = 0.0;       ///< steps of the longest bar so far, which is training's
  bool told_by_format_ = false;  ///< steps of a format that is no fallback were found
  int open_block_ = -1;
  int products_ = 0;
  std::array<std::optional<long>, log_event_kinds> last_event_step_{};
};

/// @param input a text; a file that is none has StreamFacts::binary set
/// @param front what was read of it before
[[nodiscard]] LogFile read_log_file(std::istream& input, std::string_view front = {});

}  // namespace foretrain
