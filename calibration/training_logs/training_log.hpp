// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/base/names.hpp"

namespace foretrain {

/// What happened beside steps.
enum class LogEventKind { restart, validation, checkpoint, skipped, out_of_memory, failure, end };
FORETRAIN_ENUM_NAMES(LogEventKind, {LogEventKind::restart, "restart"},
                     {LogEventKind::validation, "validation"},
                     {LogEventKind::checkpoint, "checkpoint"}, {LogEventKind::skipped, "skipped"},
                     {LogEventKind::out_of_memory, "out-of-memory"},
                     {LogEventKind::failure, "failure"}, {LogEventKind::end, "end"});
inline constexpr std::size_t log_event_kinds = 7;

struct LogEvent {
  LogEventKind kind = LogEventKind::end;
  std::optional<long> step;  ///< the last one recorded before it
  int file = 0;              ///< of TrainingLog::files
  long line = 0;
  std::string what;  ///< in our words: nothing of the log is quoted but numbers
};

/// How a run was set up, as far as its logs say; what they do not say is absent.
struct LoggedPlan {
  std::optional<int> gpus, tensor, pipeline, virtual_stages, data, context, expert;
  std::optional<int> micro_batch, accumulation, global_batch, sequence, zero;
  std::optional<int> layers, hidden, heads, kv_heads, ffn_hidden, vocabulary, experts, top_k;
  std::optional<bool> distributed_optimizer, sequence_parallel;
  std::optional<bool> overlap_gradients, overlap_parameters, overlap_tensor, gated, compiled;
  std::string precision;    ///< "bf16", "fp16", "fp32", "fp8"; empty: not said
  std::string recompute;    ///< "full", "selective", "none"; empty: not said
  std::string transformer;  ///< Megatron's transformer_impl: "transformer_engine", "local"
};

/// Seconds of a step over a run's records, warm-up left out.
struct LoggedSteps {
  double median = 0.0;
  double p10 = 0.0;
  double p90 = 0.0;
  long records = 0;  ///< that the percentiles are of
  std::string how;   ///< what of the log they come from
};

/// A stretch of a step that frameworks time by itself.
enum class LogSection {
  forward,
  backward,
  passes,      ///< all of them, with what stages wait for
  input,       ///< waiting for the data loader
  gradients,   ///< what their exchange lasts beyond the passes
  parameters,  ///< likewise
  waiting,     ///< for neighbouring stages
  optimizer,
  checkpoint  ///< writing one; of a whole checkpoint
};
FORETRAIN_ENUM_NAMES(LogSection, {LogSection::forward, "forward passes"},
                     {LogSection::backward, "backward passes"}, {LogSection::passes, "all passes"},
                     {LogSection::input, "data loading"},
                     {LogSection::gradients, "gradient exchange"},
                     {LogSection::parameters, "weight gathering"},
                     {LogSection::waiting, "waiting for other stages"},
                     {LogSection::optimizer, "optimizer"}, {LogSection::checkpoint, "checkpoint"});
inline constexpr std::size_t log_sections = 9;

/// Seconds of a section in a step: medians over the steps of the fastest and of the slowest rank.
struct LoggedSection {
  double least = 0.0;
  double most = 0.0;
  long records = 0;
};

/// What logs tell of a run beside its steps. Absent: not said.
struct LogClues {
  std::map<LogSection, LoggedSection> sections;
  std::optional<double> rank_gap;  ///< step of the slowest rank over that of the fastest
  std::optional<double> clock_low_mhz, clock_high_mhz;  ///< of the slowest and the fastest GPU
  std::optional<double> use_low;  ///< share of time the least used GPU is busy
  std::optional<int> nics;        ///< of a host, that NCCL uses
  bool sockets = false;           ///< NCCL uses TCP
  std::string
      attention;  ///< what Transformer Engine chose: "fused" (cuDNN), "flash", "flash3", "unfused"
  long allocator_retries = 0;  ///< the allocator gave its cache back and asked again
  long collections = 0;        ///< of garbage, that were announced
};

/// One record of a step. Not a number: not said.
struct LoggedStep {
  long step = 0;
  float seconds = 0.0F;  ///< of a step, as the run's median is taken
  double stamp = 0.0;    ///< when the line was written, in seconds since an arbitrary day
};

/// A training run as its logs tell it: one file, or several that were rotated or written by ranks.
struct TrainingLog {
  std::vector<std::string> files;  ///< as the user named them
  std::string format;              ///< of training_log_formats(); empty: no step was found
  long iterations = 0;             ///< records of steps; the same step of several ranks once
  std::optional<long> first_step, last_step;
  std::optional<LoggedSteps> step;
  std::optional<double> tokens_per_s_per_gpu, tflops_per_gpu;
  std::optional<double> memory_max_bytes;    ///< greatest of all ranks
  std::string memory_kind;                   ///< "allocated" or "reserved"
  std::optional<double> reserved_max_bytes;  ///< by the allocator, likewise
  LoggedPlan plan;
  std::string gpu;                                   ///< product name
  std::vector<std::string> versions;                 ///< "DeepSpeed 0.16.2", "torch 2.4.0"
  std::vector<LogEvent> events;                      ///< the first `most_events`
  std::array<long, log_event_kinds> event_counts{};  ///< all of them, by kind
  std::vector<std::string> remarks;                  ///< what was not taken as it stands
  LogClues clues;
  std::vector<LoggedStep> series;  ///< records in order; of long runs every second, fourth, ...
};

inline constexpr std::size_t most_events = 1000;

}  // namespace foretrain
