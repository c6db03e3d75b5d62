// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibration/training_logs/training_log.hpp"

namespace foretrain {

/// What the words of a line tell of a run beside its steps.
enum class Clue {
  timers_line,   ///< Megatron's and DeepSpeed's `time (ms) | forward-compute: 176.39 | ...`
  timers_block,  ///< Megatron's `(min, max) time across ranks (ms):` with a line per timer below
  straggler,     ///< Megatron's --log-straggler: `MnRtt/Rnk: 3453.08ms/8 | MxRtt/Rnk: ...`
  nics,          ///< NCCL's `NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB`
  sockets,       ///< NCCL's `NET/Socket : Using`
  attention,     ///< Transformer Engine's `Selected backend = FlashAttention (2.4.2)`
  retry,         ///< the allocator gave its cache back and asked again
  collection,    ///< torchtitan's `[GC]`
  loading        ///< OLMo-core's `throughput/device/data loading (s)=`
};

struct ClueWord {
  std::string_view word;
  Clue clue;
};
[[nodiscard]] std::span<const ClueWord> clue_words();

/// Numbers of which the median is kept: of long series every second, then every fourth, ...
class Sampled {
 public:
  void add(double value);
  [[nodiscard]] long count() const { return count_; }
  /// Of all but the first, which warms up, where there are more. @pre count() > 0
  [[nodiscard]] double median() const;

 private:
  std::vector<float> kept_;
  long count_ = 0;
  long stride_ = 1;
};

/// Collects the clues of one file, in memory that does not grow with it.
class ClueReader {
 public:
  /// A line that holds a word of clue_words(). @param at behind the word
  void take(Clue clue, std::string_view line, std::size_t at);
  /// Every line: those below a timers_block belong to it. @return whether this one does
  bool take_line(std::string_view line);
  /// The sections of the last step are complete.
  void finish();

  [[nodiscard]] LogClues clues() const;

 private:
  struct Range {
    double least = 0.0;
    double most = 0.0;
  };
  void take_timers(std::string_view line);
  bool take_timer(std::string_view name, std::string_view value);
  bool take_rank(std::string_view text);
  void add(LogSection section, Range seconds);
  void take_nics(std::string_view list);
  void take_straggler(std::string_view line);

  bool open_ = false;                  ///< lines of a block are read
  std::optional<LogSection> by_rank_;  ///< the timer whose ranks stand on the lines below
  std::optional<Range> of_ranks_;      ///< of it, so far
  std::map<LogSection, Range> step_;   ///< of the step that is read
  std::array<std::pair<Sampled, Sampled>, log_sections> sections_;  ///< least and most of the ranks
  Sampled gap_, clock_low_, clock_high_, use_low_;
  std::optional<int> nics_;
  bool sockets_ = false;
  std::string attention_;
  long retries_ = 0;
  long collections_ = 0;
};

}  // namespace foretrain
