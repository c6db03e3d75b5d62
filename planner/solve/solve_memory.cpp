// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "models/forecast/closed_form.hpp"
#include "models/rules/plan_rules.hpp"
#include "planner/forecast/fit_room.hpp"
#include "planner/forecast/smallest_change.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/solve/internal/solve_parts.hpp"
#include "planner/text/format.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

/// Doublings of the batch that are looked at.
constexpr int most_doublings = 8;
constexpr int roomier_batch = 16;  ///< times the global batch, to see what a larger one allows
constexpr double settled = 0.01;   ///< of the throughput of the largest batch

std::vector<SolveValue> room_row(const Room& room) {
  return {
      solve_word("key", "", room.key), solve_count("now", "", room.now),
      room.largest ? solve_count("largest", "", *room.largest) : solve_word("largest", "", "none"),
      solve_word("bound", "", std::string(name_of(room.bound))), solve_word("why", "", room.why)};
}

/// What is left free by everything that is proposed.
std::string room_note(const SearchLimits& limits) {
  std::string text = limits.memory_share() < 1.0
                         ? percent_text(1.0 - limits.memory_share()) + " of the usable memory"
                         : std::string("no memory");
  if (limits.headroom) text = bytes_text(*limits.headroom) + " or more";
  return "what is proposed leaves " + text + " free" +
         (limits.default_room() ? ", and fits at the upper end of the memory band" : "");
}

void require_legal(const Job& job) {
  const auto broken = broken_rules(job);
  if (!broken.empty())
    throw UsageError(job.name + ": the plan is not legal: " + broken.front().message);
}

/// A global batch that was tried.
struct At {
  int batch = 0;
  std::optional<Bytes> peak;
  std::optional<TimedStep> runs;  ///< step and efficiency, where it runs and keeps the limits
  Infeasible against;             ///< else: why not
};

/// @param as_given the scenario's own batch, which may be beyond the limits
At tried_at(const Job& job, bool as_given, const SearchLimits& limits) {
  const Prediction forecast = closed_form(job);
  At at{job.training.global_batch, std::nullopt, std::nullopt, {}};
  if (forecast.memory) at.peak = forecast.memory->peak;
  if (!forecast.reasons.empty()) {
    at.against = forecast.reasons.front();
    return at;
  }
  const auto excess = as_given || !forecast.memory
                          ? std::nullopt
                          : memory_excess(limits, job.cluster.host.device, forecast.memory->need());
  if (excess)
    at.against = {excess->rule, "", excess->message, ""};
  else if (forecast.step && forecast.efficiency)
    at.runs = TimedStep{*forecast.step, *forecast.efficiency};
  return at;
}

double token_rate(const At& at) { return at.runs->efficiency.tokens_per_s; }

/// The global batch as it is, then twice as large each time, until one does not run.
std::vector<At> doublings(const Job& job, const SearchLimits& limits) {
  std::vector<At> tried;
  for (std::int64_t batch = job.training.global_batch;
       tried.empty() ||
       (tried.size() <= most_doublings && batch <= std::numeric_limits<int>::max() / 2);
       batch *= 2) {
    Job larger = job;
    larger.training.global_batch = static_cast<int>(batch);
    tried.push_back(tried_at(larger, tried.empty(), limits));
    if (!tried.back().runs) break;
  }
  return tried;
}

/// How far the micro-batch can grow, in a sentence; where the global batch stands in the way, what
/// a larger one would allow.
std::string micro_batch_sentence(const Job& job, const Room& room, const SearchLimits& limits) {
  const int now = job.training.micro_batch;
  const int most = room.largest.value_or(now);
  if (most > now) return fmt::format("Micro-batches can grow to {}.", most);
  if (room.bound == RoomBound::memory)
    return fmt::format("Micro-batches of {} are the largest that fit.", most);
  if (job.training.global_batch > std::numeric_limits<int>::max() / roomier_batch)
    return fmt::format("The plan allows no larger micro-batch than {}.", most);
  Job larger = job;
  larger.training.global_batch *= roomier_batch;
  const int then = room_of_micro_batch(larger, limits).largest.value_or(now);
  return fmt::format(
      "The global batch of {} allows no larger micro-batch than {}; with a global "
      "batch of {}: {}.",
      with_thousands(job.training.global_batch), most, with_thousands(larger.training.global_batch),
      then > most ? fmt::format("micro-batch {}", then) : "no larger one either");
}

/// @param first what gains are counted from; it runs
std::vector<SolveValue> batch_row(const At& at, const At& first) {
  const bool fits = at.runs.has_value();
  const auto unknown = [](const char* key) { return solve_word(key, "", "-"); };
  const double gain = fits ? token_rate(at) / token_rate(first) - 1.0 : 0.0;
  return {
      solve_count("global_batch", "", at.batch),
      fits ? solve_value("step_s", "", at.runs->step.time.value(), seconds_text(at.runs->step.time))
           : unknown("step_s"),
      fits ? solve_value("tokens_per_s", "", token_rate(at), count_text(token_rate(at)))
           : unknown("tokens_per_s"),
      fits ? solve_value("gain", "", gain, percent_text(gain)) : unknown("gain"),
      at.peak ? solve_value("peak_bytes", "", at.peak->value(), bytes_text(*at.peak))
              : unknown("peak_bytes"),
      solve_word("fits", "", fits ? "yes" : at.against.rule)};
}

}  // namespace

SolveAnswer memory_headroom(const Scenario& scenario, const SolveOptions& options) {
  require_legal(scenario.job);
  const FitReport fit = judge_fit(scenario, options.limits);
  const MemoryForecast& memory = fit.memory.value();
  SolveAnswer answer;
  answer.question = SolveFor::headroom;
  answer.name = scenario.job.name;
  answer.found = memory.fits();
  const Bytes free = memory.usable - memory.peak;
  const Bytes worst = memory.usable - fit.band.high;
  // The allocator keeps what it once got; what tensors can still grow by is more than what is free.
  const Bytes allocated = memory.stages.at(static_cast<std::size_t>(memory.peak_stage)).allocated;
  if (answer.found)
    answer.sentence = fmt::format(
        "{} at the peak (stage {}); at the upper end of the band {}.",
        free > Bytes{}
            ? fmt::format("{} of {} are free", bytes_text(free), bytes_text(memory.usable))
            : "The allocator's cache fills the " + bytes_text(memory.usable),
        memory.peak_stage,
        worst < Bytes{} ? bytes_text(-worst) + " are missing" : bytes_text(worst) + " are");
  else
    answer.sentence =
        fmt::format("None: {} are missing on stage {}.", bytes_text(-free), memory.peak_stage);
  answer.values = {
      solve_value("headroom_bytes", "free at the peak", free.value(),
                  bytes_text(max(free, Bytes{}))),
      solve_value("headroom_low_bytes", "band's upper end", worst.value(),
                  worst < Bytes{} ? "-" + bytes_text(-worst) : bytes_text(worst)),
      solve_value("peak_bytes", "peak", memory.peak.value(), bytes_text(memory.peak)),
      solve_value("allocated_bytes", "of it tensors", allocated.value(), bytes_text(allocated)),
      solve_value("usable_bytes", "usable", memory.usable.value(), bytes_text(memory.usable))};
  answer.heads = {"can grow", "now", "to", "limited by", "because"};
  for (const Room& room : fit.room) answer.rows.push_back(room_row(room));
  answer.notes = {"one at a time, everything else equal; the plan stays as it is",
                  room_note(options.limits)};
  for (const Infeasible& reason : fit.not_forecast)
    answer.notes.push_back("memory alone: simulate refuses this plan, " + reason.message);
  return answer;
}

SolveAnswer fitting_change(const Scenario& scenario, const SolveOptions& options) {
  require_legal(scenario.job);
  const FitReport fit = judge_fit(scenario, options.limits);
  SolveAnswer answer;
  answer.question = SolveFor::change;
  answer.name = scenario.job.name;
  const MemoryForecast& memory = fit.memory.value();
  if (memory.fits()) {
    answer.found = true;
    answer.sentence = memory.fits_barely()
                          ? "None is needed: the plan fits, but barely; foretrain fit shows why."
                          : fmt::format("None is needed: the plan fits with {} to spare.",
                                        bytes_text(memory.usable - memory.peak));
    return answer;
  }
  answer.found = !fit.changes.empty();
  answer.heads = {"change", "peak", "step"};
  for (const Change& change : fit.changes)
    answer.rows.push_back(
        {solve_word("set", "", change.text()),
         solve_value("peak_bytes", "", change.peak.value(), bytes_text(change.peak)),
         change.step ? solve_value("step_s", "", change.step->value(), seconds_text(*change.step))
                     : solve_word("step_s", "", "not modelled")});
  if (!answer.found) {
    answer.sentence = "None: " + std::string(no_change_fits) + ".";
    return answer;
  }
  const Change& best = fit.changes.front();
  answer.settings = best.settings;
  answer.sentence = fmt::format("{}: peak {} of {}, step {}; {} are missing without it.",
                                best.text(), bytes_text(best.peak), bytes_text(memory.usable),
                                step_text(best), bytes_text(memory.peak - memory.usable));
  answer.values = {
      solve_value("peak_bytes", "peak", best.peak.value(), bytes_text(best.peak)),
      solve_value("missing_bytes", "missing now", (memory.peak - memory.usable).value(),
                  bytes_text(memory.peak - memory.usable))};
  answer.notes = {"the fewest settings first tried alone, then by twos and threes; fastest first",
                  room_note(options.limits)};
  return answer;
}

SolveAnswer batch_growth(const Scenario& scenario, const SolveOptions& options) {
  const Job& job = scenario.job;
  require_runs(scenario);
  SolveAnswer answer;
  answer.question = SolveFor::batch;
  answer.name = job.name;
  answer.found = true;
  answer.heads = {"global batch", "step", "tokens/s", "gain", "peak", "fits"};
  const std::vector<At> tried = doublings(job, options.limits);
  const At* largest = &tried.front();
  for (const At& at : tried)
    if (at.runs) largest = &at;
  const At* enough = largest;
  for (auto at = tried.rbegin(); at != tried.rend(); ++at)
    if (at->runs && token_rate(*at) >= (1.0 - settled) * token_rate(*largest)) enough = &*at;
  for (const At& at : tried) answer.rows.push_back(batch_row(at, tried.front()));
  const Room micro = room_of_micro_batch(job, options.limits);
  const bool stopped = !tried.back().runs;
  answer.sentence = fmt::format(
      "{} {} From {} sequences on, larger batches gain less than {}.",
      micro_batch_sentence(job, micro, options.limits),
      stopped ? fmt::format("The global batch can grow to {}: beyond, {}.",
                            with_thousands(largest->batch), tried.back().against.message)
              : fmt::format("Memory does not stop the global batch: {} sequences need as much as "
                            "{} or less than a GPU has.",
                            with_thousands(largest->batch), with_thousands(tried.front().batch)),
      with_thousands(enough->batch), percent_text(settled));
  answer.values = {
      solve_count("micro_batch", "micro-batch up to",
                  micro.largest.value_or(job.training.micro_batch)),
      solve_word("micro_batch_bound", "limited by", micro.why),
      solve_count("global_batch_tried", "global batch up to", largest->batch),
      solve_word("global_batch_bound", "limited by",
                 stopped ? tried.back().against.message
                         : "nothing that was tried: more micro-batches need no more memory"),
      solve_count("global_batch_enough", "gains less beyond", enough->batch)};
  answer.notes = {
      "by doubling, with the plan as it is, closed form",
      "whether training still converges as well per token is not judged: that is the critical "
      "batch of the model, which is the user's to know"};
  return answer;
}

}  // namespace foretrain
