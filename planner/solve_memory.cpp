// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "models/closed_form.hpp"
#include "models/plan_rules.hpp"
#include "planner/fit.hpp"
#include "planner/format.hpp"
#include "planner/internal/solve_parts.hpp"
#include "planner/smallest_change.hpp"
#include "planner/summary.hpp"
#include "planner/usage_error.hpp"

namespace foretrain {
namespace {

/// Doublings of the batch that are looked at.
constexpr int most_doublings = 8;
constexpr double settled = 0.01;  ///< of the throughput of the largest batch

std::vector<SolveValue> room_row(const Room& room) {
  return {
      solve_word("key", "", room.key), solve_count("now", "", room.now),
      room.largest ? solve_count("largest", "", *room.largest) : solve_word("largest", "", "none"),
      solve_word("bound", "", std::string(name_of(room.bound))), solve_word("why", "", room.why)};
}

void require_legal(const Job& job) {
  const auto broken = broken_rules(job);
  if (!broken.empty())
    throw UsageError(job.name + ": the plan is not legal: " + broken.front().message);
}

}  // namespace

SolveAnswer memory_headroom(const Scenario& scenario, const SolveOptions&) {
  require_legal(scenario.job);
  const FitReport fit = judge_fit(scenario);
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
        "{} of {} are free at the peak (stage {}); at the upper end of the band {}.",
        bytes_text(free), bytes_text(memory.usable), memory.peak_stage,
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
  answer.notes = {"one at a time, everything else equal; the plan stays as it is"};
  return answer;
}

SolveAnswer fitting_change(const Scenario& scenario, const SolveOptions&) {
  require_legal(scenario.job);
  const FitReport fit = judge_fit(scenario);
  SolveAnswer answer;
  answer.question = SolveFor::change;
  answer.name = scenario.job.name;
  const MemoryForecast& memory = fit.memory.value();
  if (memory.fits()) {
    answer.found = true;
    answer.sentence = fmt::format("None is needed: the plan fits with {} to spare.",
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
    answer.sentence =
        "Nothing that was tried makes it fit: not recomputation, ZeRO, smaller micro-batches, "
        "sequence parallelism, more tensor, pipeline or context ranks, nor up to eight times the "
        "machine.";
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
  answer.notes = {"the fewest settings first tried alone, then by twos and threes; fastest first"};
  return answer;
}

SolveAnswer batch_growth(const Scenario& scenario, const SolveOptions&) {
  const Job& job = scenario.job;
  require_runs(scenario);
  SolveAnswer answer;
  answer.question = SolveFor::batch;
  answer.name = job.name;
  answer.found = true;
  answer.heads = {"global batch", "step", "tokens/s", "gain", "peak", "fits"};
  struct At {
    int batch;
    Prediction forecast;
  };
  std::vector<At> tried;
  for (std::int64_t batch = job.training.global_batch;
       tried.size() <= most_doublings && batch <= std::numeric_limits<int>::max() / 2; batch *= 2) {
    Job larger = job;
    larger.training.global_batch = static_cast<int>(batch);
    tried.push_back({larger.training.global_batch, closed_form(larger)});
    if (!tried.back().forecast.feasible()) break;
  }
  const auto rate = [](const At& at) { return at.forecast.efficiency->tokens_per_s; };
  const At* largest = &tried.front();
  for (const At& at : tried)
    if (at.forecast.feasible()) largest = &at;
  const At* enough = largest;
  for (auto at = tried.rbegin(); at != tried.rend(); ++at)
    if (at->forecast.feasible() && rate(*at) >= (1.0 - settled) * rate(*largest)) enough = &*at;
  for (const At& at : tried) {
    const bool fits = at.forecast.feasible();
    const auto unknown = [](const char* key) { return solve_word(key, "", "-"); };
    answer.rows.push_back(
        {solve_count("global_batch", "", at.batch),
         fits ? solve_value("step_s", "", at.forecast.step->time.value(),
                            seconds_text(at.forecast.step->time))
              : unknown("step_s"),
         fits ? solve_value("tokens_per_s", "", rate(at), count_text(rate(at)))
              : unknown("tokens_per_s"),
         fits ? solve_value("gain", "", rate(at) / rate(tried.front()) - 1.0,
                            percent_text(rate(at) / rate(tried.front()) - 1.0))
              : unknown("gain"),
         at.forecast.memory ? solve_value("peak_bytes", "", at.forecast.memory->peak.value(),
                                          bytes_text(at.forecast.memory->peak))
                            : unknown("peak_bytes"),
         solve_word("fits", "", fits ? "yes" : at.forecast.reasons.front().rule)});
  }
  const Room micro = room_of_micro_batch(job);
  const bool stopped = !tried.back().forecast.feasible();
  answer.sentence = fmt::format(
      "Micro-batches can grow to {}. {} From {} sequences on, larger batches gain less than {}.",
      micro.largest.value_or(job.training.micro_batch),
      stopped ? fmt::format("The global batch can grow to {}: beyond, {}.",
                            with_thousands(largest->batch),
                            tried.back().forecast.reasons.front().message)
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
                 stopped ? tried.back().forecast.reasons.front().message
                         : "nothing that was tried: more micro-batches need no more memory"),
      solve_count("global_batch_enough", "gains less beyond", enough->batch)};
  answer.notes = {
      "by doubling, with the plan as it is, closed form",
      "whether training still converges as well per token is not judged: that is the critical "
      "batch of the model, which is the user's to know"};
  return answer;
}

}  // namespace foretrain
