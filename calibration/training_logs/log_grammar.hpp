// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace foretrain {

/// What the value beside a word says of a step.
enum class Take {
  nothing,
  step,
  step_before,  ///< the value stands before the word
  step_first,   ///< the first number of the line
  seconds,
  milliseconds,
  seconds_before,       ///< the value stands before the word
  milliseconds_before,  ///< likewise
  milliseconds_part,    ///< one of several that add up to a step
  steps_per_s,
  elapsed_seconds,  ///< since the run began
  elapsed_milliseconds,
  elapsed_hours,
  elapsed_clock,  ///< "0:00:19"
  progress_bar,   ///< tqdm's `12/100 [00:42<05:10, 3.5s/it]`
  progress_rate,  ///< Levanter's `1.4it/s`
  samples_per_s,
  tokens_per_s,
  tokens_per_s_before,
  tokens_per_s_per_gpu,
  tokens_per_s_per_gpu_before,
  tflops_per_gpu,
  gigaflops_before,  ///< of all GPUs, per second
  tokens_seen,       ///< since the run began
  samples_seen,
  tokens_per_step,
  global_batch,
  sequence,
  skipped,        ///< steps whose update was left out
  total_seconds,  ///< of the whole run; on any line
  total_steps     ///< of the whole run; on any line
};

/// A word of a framework's lines about steps, and what stands beside it.
struct GrammarWord {
  std::string_view word;
  Take take = Take::nothing;
  bool mark = false;  ///< a line with it is a record of a step
};

/// Where step times come from when no line says them.
enum class StepClock {
  none,
  stamps,   ///< the times at which lines were written
  elapsed,  ///< a clock of the run that lines print
};

/// How one framework logs its steps.
struct LogGrammar {
  std::string_view name;       ///< "megatron-lm"
  std::string_view signature;  ///< what tells it apart, in words
  std::string_view front;      ///< folded text that lines of steps begin with; empty: anything
  StepClock clock = StepClock::none;
  bool block = false;  ///< values of a step also stand on the lines after its mark
  std::span<const GrammarWord> words;
  bool counts = true;  ///< false: its records cover many steps, so that they tell rates alone
  std::string_view without = {};  ///< texts that lines of steps never hold, a bar between them
  bool fallback = false;          ///< believed only where no other format's steps are there
};

/// Another name for runs of a grammar whose files also hold a word.
struct GrammarVariant {
  std::string_view grammar;
  std::string_view word;
  std::string_view name;
};

/// What tells who wrote a file that holds no steps, or those of a fallback alone.
struct GrammarSign {
  std::string_view word;
  std::string_view name;
};
[[nodiscard]] std::span<const GrammarSign> grammar_signs();

/// All formats, in the order in which they are believed where a file holds lines of several.
[[nodiscard]] const std::vector<LogGrammar>& log_grammars();
[[nodiscard]] std::span<const GrammarVariant> grammar_variants();

/// Families of formats; each has a file of its own.
[[nodiscard]] std::span<const LogGrammar> megatron_grammars();
[[nodiscard]] std::span<const LogGrammar> torch_grammars();
[[nodiscard]] std::span<const LogGrammar> small_grammars();
[[nodiscard]] std::span<const LogGrammar> trainer_grammars();

}  // namespace foretrain
