// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "models/layers/parameters.hpp"
#include "planner/forecast/fit_room.hpp"
#include "planner/solve/internal/solve_parts.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
namespace {

constexpr int most_layers = 4096;
constexpr int most_tokens = 1 << 24;
constexpr int most_heads = 1024;
/// Uneven stages can need less memory than even ones, so some values beyond the first that fails
/// are looked at, too.
constexpr int stragglers = 8;

/// A value that was tried, as a row of the answer.
struct Largest {
  std::int64_t value = 0;  ///< 0: none
  Job job;                 ///< with the lightest plan
  Bytes peak;
  std::vector<std::string> settings;  ///< of that plan
};

/// The largest of 1..most for which the lightest plan of `at(value)` keeps the memory limit.
Largest largest_with_any_plan(std::int64_t most, const std::function<Job(std::int64_t)>& at,
                              const SolveOptions& options) {
  const auto plan_at = [&](std::int64_t value) {
    return lightest_plan(at(value), options.threads);
  };
  const auto good = [&](std::int64_t value) {
    const auto plan = plan_at(value);
    return plan && !memory_excess(options.limits, plan->job.cluster.host.device, plan->need);
  };
  Largest largest;
  largest.value = largest_good(most, good);
  for (std::int64_t more = largest.value + 2;
       largest.value > 0 && more <= std::min(most, largest.value + stragglers); ++more)
    if (good(more)) largest.value = more;
  if (largest.value == 0) return largest;
  LightPlan plan = plan_at(largest.value).value();
  largest.job = std::move(plan.job);
  largest.peak = plan.need.peak;
  largest.settings = std::move(plan.settings);
  return largest;
}

std::vector<SolveValue> model_row(const std::string& way, const Job& job, Bytes peak) {
  const auto count = static_cast<double>(parameters(job.model));
  return {solve_word("way", "", way),
          solve_value("parameters", "", count, count_text(count)),
          solve_count("layers", "", job.model.layers),
          solve_count("hidden", "", job.model.hidden),
          solve_value("peak_bytes", "", peak.value(), bytes_text(peak)),
          solve_word("plan", "", plan_words(job))};
}

/// Width and depth times `heads` over the heads that the model has. Head size stays.
Job in_proportion(const Job& job, std::int64_t heads) {
  Job changed = job;
  LlmShape& model = changed.model;
  const double scale = static_cast<double>(heads) / model.heads;
  const auto rounded = [&](int value, int multiple) {
    return std::max(1, static_cast<int>(std::lround(value * scale / multiple))) * multiple;
  };
  const bool every_head = model.kv_heads == model.heads;
  model.hidden = rounded(model.hidden, 1);
  model.ffn_hidden = rounded(model.ffn_hidden, 256);
  model.layers = rounded(model.layers, 1);
  if (model.moe) {
    model.moe->expert_ffn_hidden = rounded(model.moe->expert_ffn_hidden, 128);
    if (model.moe->shared_ffn_hidden > 0)
      model.moe->shared_ffn_hidden = rounded(model.moe->shared_ffn_hidden, 128);
  }
  if (model.mamba) model.mamba->heads = rounded(model.mamba->heads, model.mamba->groups);
  if (model.delta) {
    const int shared = model.delta->value_heads / model.delta->key_heads;
    model.delta->key_heads = rounded(model.delta->key_heads, 1);
    model.delta->value_heads = shared * model.delta->key_heads;
  }
  model.heads = static_cast<int>(heads);
  if (every_head) model.kv_heads = model.heads;
  changed.parallel.stage_layers.clear();
  changed.parallel.prediction_stage.reset();
  return changed;
}

Job with_layers(const Job& job, std::int64_t layers) {
  Job changed = job;
  changed.model.layers = static_cast<int>(layers);
  changed.parallel.stage_layers.clear();
  changed.parallel.prediction_stage.reset();
  return changed;
}

Job with_sequence(const Job& job, std::int64_t tokens) {
  Job changed = job;
  changed.training.sequence = static_cast<int>(tokens);
  return changed;
}

}  // namespace

SolveAnswer largest_model(const Scenario& scenario, const SolveOptions& options) {
  const Job& job = scenario.job;
  SolveAnswer answer;
  answer.question = SolveFor::model;
  answer.name = job.name;
  answer.heads = {"way", "parameters", "layers", "hidden", "peak", "plan"};
  const Room room = room_of_layers(job, options.limits);
  if (room.largest && job.parallel.stage_layers.empty())
    answer.rows.push_back(
        model_row("deeper, plan as it is", with_layers(job, *room.largest), *room.peak));
  const Largest deeper = largest_with_any_plan(
      most_layers, [&](std::int64_t layers) { return with_layers(job, layers); }, options);
  if (deeper.value > 0)
    answer.rows.push_back(model_row("deeper, any plan", deeper.job, deeper.peak));
  Largest largest = deeper;
  if (!job.model.mla) {
    // Heads that eight tensor ranks and the key-value heads divide.
    const int unit = std::lcm(8, job.model.kv_heads == job.model.heads ? 1 : job.model.kv_heads);
    const Largest wider = largest_with_any_plan(
        most_heads / unit, [&](std::int64_t times) { return in_proportion(job, times * unit); },
        options);
    if (wider.value > 0) {
      answer.rows.push_back(model_row("in proportion, any plan", wider.job, wider.peak));
      largest = wider;
    }
  } else {
    answer.notes.emplace_back("latent attention is not widened: only depth was tried");
  }
  answer.found = largest.value > 0;
  answer.notes.emplace_back(
      "any plan: the one that needs least memory, however slow: 1F1B, one sequence per "
      "micro-batch; allocator's cache and context included");
  if (!answer.found) {
    answer.sentence = "No model of this shape fits, not even with one layer.";
    return answer;
  }
  const auto count = static_cast<double>(parameters(largest.job.model));
  answer.sentence =
      fmt::format("{} parameters: {} layers of width {} need {} with {}.", count_text(count),
                  largest.job.model.layers, with_thousands(largest.job.model.hidden),
                  bytes_text(largest.peak), plan_words(largest.job));
  answer.values = {
      solve_value("parameters", "parameters", count, count_text(count)),
      solve_count("layers", "layers", largest.job.model.layers),
      solve_count("hidden", "width", largest.job.model.hidden),
      solve_value("parameters_now", "parameters now", static_cast<double>(parameters(job.model)),
                  count_text(static_cast<double>(parameters(job.model))))};
  return answer;
}

SolveAnswer longest_sequence(const Scenario& scenario, const SolveOptions& options) {
  const Job& job = scenario.job;
  constexpr int unit = 1024;
  SolveAnswer answer;
  answer.question = SolveFor::sequence;
  answer.name = job.name;
  answer.heads = {"way", "tokens", "peak", "plan"};
  const auto row = [](const std::string& way, const Job& at, Bytes peak) {
    return std::vector<SolveValue>{solve_word("way", "", way),
                                   solve_count("sequence", "", at.training.sequence),
                                   solve_value("peak_bytes", "", peak.value(), bytes_text(peak)),
                                   solve_word("plan", "", plan_words(at))};
  };
  const Room room = room_of_sequence(job, options.limits);
  if (room.largest)
    answer.rows.push_back(row("plan as it is", with_sequence(job, *room.largest), *room.peak));
  const Largest longest = largest_with_any_plan(
      most_tokens / unit, [&](std::int64_t times) { return with_sequence(job, times * unit); },
      options);
  if (longest.value > 0) answer.rows.push_back(row("any plan", longest.job, longest.peak));
  answer.found = longest.value > 0 || room.largest;
  const int tokens = std::max(room.largest.value_or(0), static_cast<int>(longest.value) * unit);
  if (answer.found)
    answer.sentence =
        fmt::format("{} tokens{}; the plan as it is takes {}.", with_thousands(tokens),
                    tokens >= most_tokens ? " and more (longer ones were not tried)" : "",
                    room.largest ? with_thousands(*room.largest) : std::string("none"));
  else
    answer.sentence = "Sequences of 1,024 tokens do not fit either.";
  if (answer.found) {
    answer.settings = {fmt::format("training.sequence={}", tokens)};
    if (tokens > room.largest.value_or(0))
      answer.settings.insert(answer.settings.end(), longest.settings.begin(),
                             longest.settings.end());
  }
  answer.values = {solve_count("sequence", "longest sequence", tokens),
                   solve_count("sequence_now", "now", job.training.sequence)};
  if (room.largest)
    answer.values.push_back(solve_count("sequence_as_planned", "plan as it is", *room.largest));
  answer.values.push_back(solve_word("bound", "plan limited by", room.why));
  answer.notes = {
      "any plan: in steps of 1,024 tokens, the one that needs least memory: 1F1B, one sequence per "
      "micro-batch, up to 64 context ranks; a step keeps its number of sequences",
      "whether a model can use such a sequence is not judged"};
  return answer;
}

}  // namespace foretrain
