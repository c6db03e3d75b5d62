// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <istream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/training_logs/log_stream.hpp"
#include "calibration/training_logs/log_vocabulary.hpp"
#include "calibration/training_logs/plan_words.hpp"
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

// Other files than text.

/// The text of a stream that is packed by gzip or written in UTF-16, as PowerShell's `>` does; null
/// where it is neither. Nothing is kept but a chunk.
/// @param front what was read of `input`, from its beginning; `input` stays alive
[[nodiscard]] std::unique_ptr<std::istream> decoded_stream(std::istream& input,
                                                           std::string_view front);

/// Whether a file begins as TensorBoard's event files do: a record that names its version.
[[nodiscard]] bool is_event_file(std::string_view front);

/// Reads scalars of an event file (TFRecord frames around tensorflow.Event): steps by the times at
/// which a training loss was written, or by a tag that tells step times; texts, such as the
/// Trainer's arguments, as lines of a log. A file that ends within a record is read up to there.
[[nodiscard]] LogFile read_event_file(std::istream& input);

/// Whether a text begins as a table of comma-separated values may; its first line may go on.
[[nodiscard]] bool may_be_table(std::string_view front);

/// A table that Weights & Biases exports: of a chart (`"Step","run - train/loss",...`), of a run's
/// history (`_step`, `_runtime`, ...) or of runs (`"Name","State","Notes",...`).
/// @param front its first line, and perhaps more
[[nodiscard]] bool is_wandb_table(std::string_view front);

/// Reads such a table row by row: steps of charts and histories; of tables of runs only what a
/// single row says of one run's plan. Of a chart of several runs the first is taken.
/// @param front what was read of it before
[[nodiscard]] LogFile read_wandb_table(std::string_view front, std::istream& input);

}  // namespace foretrain
