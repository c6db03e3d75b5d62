// SPDX-License-Identifier: Apache-2.0
#include "scenarios/resolve/resolve.hpp"

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "models/grid/process_grid.hpp"
#include "models/inputs/recipe.hpp"
#include "models/schedules/registry.hpp"
#include "scenarios/resolve/internal/resolve_steps.hpp"
#include "scenarios/resolve/resolve_operations.hpp"
#include "scenarios/resolve/resolve_serving.hpp"
#include "scenarios/sections/sections.hpp"

namespace foretrain {
namespace {

/// The divisor of `number` nearest to `wanted`.
int nearest_divisor(int number, int wanted) {
  int best = 1;
  for (int candidate = 1; candidate <= number; ++candidate)
    if (number % candidate == 0 && std::abs(candidate - wanted) < std::abs(best - wanted))
      best = candidate;
  return best;
}

/// Keys that nothing looks at while another key is, is not or lacks a value.
struct NoEffectRule {
  enum class While { is, is_not, absent };
  std::vector<const char*> keys;
  const char* other;
  While holds;
  const char* value;
  const char* words;  ///< behind "has no effect "; {}: what the other key says
};

const std::vector<NoEffectRule>& no_effect_rules() {
  using enum NoEffectRule::While;
  static const std::vector rules{
      NoEffectRule{{"memory.recompute.method", "memory.recompute.layers",
                    "memory.recompute.distribute_saved"},
                   "memory.recompute.granularity",
                   is_not,
                   "full",
                   "with granularity: {}; leave it out, or write granularity: full"},
      NoEffectRule{{"memory.recompute.modules", "memory.recompute.every_second_matmul"},
                   "memory.recompute.granularity",
                   is_not,
                   "selective",
                   "with granularity: {}; leave it out, or write granularity: selective"},
      NoEffectRule{{"parallel.gather"},
                   "parallel.processes",
                   absent,
                   "",
                   "without processes: per-host; leave it out, or write that"},
      NoEffectRule{
          {"communication.bucket"},
          "parallel.processes",
          is,
          "per-host",
          "with parallel.processes: per-host, whose buffers are of 10 MiB; leave it out, or write "
          "processes: per-gpu"},
      NoEffectRule{
          {"communication.overlap.gradients", "communication.overlap.parameters"},
          "parallel.processes",
          is,
          "per-host",
          "with parallel.processes: per-host, where nothing overlaps; leave it out, or write "
          "processes: per-gpu"},
      NoEffectRule{{"training.gradient_projection.rank", "training.gradient_projection.gap",
                    "training.gradient_projection.parts"},
                   "training.gradient_projection.kind",
                   is,
                   "none",
                   "without a projection; leave it out, or write kind: galore"},
      NoEffectRule{{"fine_tuning.rank", "fine_tuning.targets", "fine_tuning.expert_adapters",
                    "fine_tuning.dropout"},
                   "fine_tuning.adapter",
                   is,
                   "none",
                   "without adapters; leave it out, or write adapter: lora"},
      NoEffectRule{{"fine_tuning.packed_experts"},
                   "fine_tuning.frozen_format",
                   is,
                   "as-computed",
                   "without packed weights; leave it out, or write frozen_format: nf4"},
      NoEffectRule{{"fine_tuning.reference"},
                   "fine_tuning.objective",
                   is_not,
                   "preference",
                   "without objective: preference; leave it out, or write that"},
      NoEffectRule{{"training.samples.deviation"},
                   "training.samples.mean",
                   absent,
                   "",
                   "without mean; write mean"},
      NoEffectRule{{"training.images.tokens"},
                   "training.images.per_sequence",
                   absent,
                   "",
                   "without per_sequence; write that"},
      NoEffectRule{{"training.moe_routing.concentration"},
                   "training.moe_routing.spread",
                   is_not,
                   "dirichlet",
                   "without spread: dirichlet; leave it out, or write that"},
      NoEffectRule{{"training.moe_routing.exponent"},
                   "training.moe_routing.spread",
                   is_not,
                   "zipf",
                   "without spread: zipf; leave it out, or write that"},
      NoEffectRule{{"training.optimizer_state.master"},
                   "training.master_weights",
                   is,
                   "none",
                   "with master_weights: none; leave one of them out"},
      NoEffectRule{{"parallel.zero_group"},
                   "parallel.zero",
                   is,
                   "0",
                   "with zero: 0; leave it out, or write zero: 1, 2 or 3"},
      NoEffectRule{{"operations.data_loading.tokens_per_worker"},
                   "operations.data_loading.workers",
                   absent,
                   "",
                   "without operations.data_loading.workers; leave it out"},
      NoEffectRule{{"serving.speculation.acceptance", "serving.speculation.draft_share"},
                   "serving.speculation.drafted",
                   absent,
                   "",
                   "without drafted; leave it out"},
      NoEffectRule{{"serving.prefill.tensor", "serving.prefill.pipeline",
                    "serving.prefill.attention_data", "serving.prefill.expert"},
                   "serving.prefill.replicas",
                   absent,
                   "",
                   "without serving.prefill.replicas; leave it out"},
      NoEffectRule{{"serving.requests.swing"},
                   "serving.requests.arrivals",
                   is_not,
                   "poisson",
                   "without arrivals: poisson; leave it out"},
      NoEffectRule{{"serving.autoscaling.target", "serving.autoscaling.start",
                    "serving.autoscaling.interval"},
                   "serving.autoscaling.least",
                   absent,
                   "",
                   "without serving.autoscaling.least; leave it out"},
      NoEffectRule{{"post_training.tool_wait"},
                   "post_training.turns",
                   is,
                   "1",
                   "with turns: 1; leave it out"}};
  return rules;
}

void check_no_effect(const FieldValues& values, Diagnostics& diagnostics) {
  using enum NoEffectRule::While;
  for (const NoEffectRule& rule : no_effect_rules()) {
    const FieldValue* const other = values.find(rule.other);
    if (other == nullptr
            ? rule.holds != absent || values.was_refused(rule.other)
            : rule.holds == absent || (other->text == rule.value) != (rule.holds == is))
      continue;
    const std::string said = other == nullptr ? "" : other->text;
    for (const char* key : rule.keys)
      if (is_said(values, key))
        report(values, key, "has no effect " + fmt::format(fmt::runtime(rule.words), said),
               diagnostics);
  }
}

void check_schedule(const FieldValues& values, Diagnostics& diagnostics) {
  if (!values.has("parallel.schedule") || !values.has("parallel.virtual_stages")) return;
  const auto schedule = values.choice<ScheduleKind>("parallel.schedule");
  const int chunks = values.integer("parallel.virtual_stages");
  const ScheduleTraits& traits = traits_of(schedule);
  const bool chosen = traits.chunks == chunks_chosen;
  if (chosen && chunks < 2)
    report(values, "parallel.schedule",
           fmt::format("{} needs virtual_stages of 2 or more; with 1 it is {}", name_of(schedule),
                       name_of(traits.in_one_chunk.value_or(default_schedule))),
           diagnostics);
  if (!chosen)
    no_effect(values, {"parallel.microbatch_group"},
              fmt::format("with schedule: {}", name_of(schedule)), diagnostics);
  const bool own = traits.placement == Placement::folded && chunks == traits.chunks;
  if (!chosen && !own && chunks > 1)
    report(values, "parallel.virtual_stages",
           fmt::format("{} chunks per stage need schedule: {}, not {}", chunks,
                       name_of(schedule_in_chunks), name_of(schedule)),
           diagnostics);
}

void check_budget(const FieldValues& values, Diagnostics& diagnostics) {
  for (int i = 0; i < values.list_size("budget"); ++i) {
    const std::string line = fmt::format("budget[{}]", i);
    const auto max = values.optional_number(line + ".max");
    const auto min = values.optional_number(line + ".min");
    // A line or a limit that was refused is reported already, and leaves nothing to compare.
    if (values.has(line + ".metric") && !max && !min && !values.was_refused(line + ".max") &&
        !values.was_refused(line + ".min"))
      report(values, line, "has neither max nor min; write the limit that the metric must keep",
             diagnostics);
    if (max && *max < 0.0)
      report(values, line + ".max", "is below 0; no number of a forecast can pass", diagnostics);
    if (max && min && *max < *min)
      report(values, line + ".max",
             fmt::format("is smaller than min ({} < {}); nothing can pass", format_number(*max),
                         format_number(*min)),
             diagnostics);
  }
}

}  // namespace

Training training_of(const FieldValues& values) { return training_keys().read(values); }

Parallel parallel_of(const FieldValues& values) { return parallel_keys().read(values); }

FineTuning fine_tuning_of(const FieldValues& values) { return fine_tuning_keys().read(values); }

MemoryOptions memory_of(const FieldValues& values) { return memory_keys().read(values); }

Communication communication_of(const FieldValues& values) {
  return communication_keys().read(values).communication;
}

std::vector<BudgetLine> budget_of(const FieldValues& values) {
  return budget_keys().read(values).budget;
}

RunMeasurements measured_of(const FieldValues& values) {
  return measured_keys().read(values).measured;
}

void check_samples(const FieldValues& values, Diagnostics& diagnostics) {
  const bool mean = values.has("training.samples.mean");
  const bool listed = values.has("training.samples.lengths");
  if (mean && listed)
    report(values, "training.samples.lengths", "stands beside mean; write one of them",
           diagnostics);
  if (listed && values.find("training.samples.lengths")->integers.empty())
    report(values, "training.samples.lengths", "is empty; list lengths, or leave it out",
           diagnostics);
  const std::string layout = "training.samples.layout";
  if (!mean && !listed && !values.has_group("post_training") && is_said(values, layout))
    report(values, layout, "has no effect without lengths; write mean and deviation, or lengths",
           diagnostics);
}

void check_routing(const FieldValues& values, Diagnostics& diagnostics) {
  const std::string spread = "training.moe_routing.spread";
  const ExpertSpread said =
      values.has(spread) ? values.choice<ExpertSpread>(spread) : ExpertSpread::stack;
  if (said != ExpertSpread::stack && values.has("training.moe_imbalance"))
    report(values, "training.moe_imbalance",
           "stands beside moe_routing, which says the same; write one of them", diagnostics);
  const auto number = [&](const char* key, ExpertSpread of) {
    const std::string path = fmt::format("training.moe_routing.{}", key);
    if (said == of && !values.has(path))
      report(values, spread, fmt::format("needs {}; write it", path), diagnostics);
  };
  number("concentration", ExpertSpread::dirichlet);
  number("exponent", ExpertSpread::zipf);
}

void check_eight_bit_attention(const FieldValues& values, Diagnostics& diagnostics) {
  const std::string path = "training.fp8_attention";
  if (!values.has(path) || !values.boolean(path)) return;
  const auto precision = values.choice<Precision>("training.precision");
  if (!quantised(precision))
    report(values, path,
           fmt::format("has no effect with precision: {}; leave it out, or write fp8",
                       name_of(precision)),
           diagnostics);
  if (values.has("memory.attention") &&
      values.choice<AttentionKind>("memory.attention") == AttentionKind::unfused)
    report(values, path, "has no effect with attention: unfused; leave it out", diagnostics);
}

void check_across_keys(const FieldValues& values, Diagnostics& diagnostics) {
  check_no_effect(values, diagnostics);
  check_routing(values, diagnostics);
  check_eight_bit_attention(values, diagnostics);
  check_samples(values, diagnostics);
  check_schedule(values, diagnostics);
  check_budget(values, diagnostics);
  check_operations(values, diagnostics);
  if (values.has("memory.fused_loss") && !values.boolean("memory.fused_loss") &&
      values.has("memory.fused_loss_engine") && values.boolean("memory.fused_loss_engine"))
    report(values, "memory.fused_loss_engine", "has no effect without fused_loss: true",
           diagnostics);
}

void resolve_data_degree(const FieldValues& values, int gpus, Parallel& parallel,
                         Diagnostics& diagnostics) {
  for (const char* path : {"parallel.tensor", "parallel.context", "parallel.pipeline"})
    if (!values.has(path)) return;  // refused; nothing to compare with
  if (values.was_refused("parallel.data")) return;
  const auto model_gpus = static_cast<double>(replica_ranks(parallel));
  const std::string product =
      fmt::format("tensor * context * pipeline = {} * {} * {} = {}", parallel.tensor,
                  parallel.context, parallel.pipeline, format_number(model_gpus));
  const bool divides = model_gpus <= gpus && gpus % static_cast<int>(model_gpus) == 0;
  const int fitting = divides ? gpus / static_cast<int>(model_gpus) : 0;
  if (!values.has("parallel.data")) {
    if (!divides) {
      report(values, "parallel.data",
             fmt::format("the {} GPUs of the cluster do not divide by {}, so there is no data "
                         "degree; change a degree or cluster.hosts",
                         gpus, product),
             diagnostics);
      return;
    }
    parallel.data = fitting;
  } else if (model_gpus * parallel.data != gpus) {
    const std::string advice =
        divides
            ? fmt::format("write data: {} or leave it out", fitting)
            : fmt::format("and {} do not divide by that; change a degree or cluster.hosts", gpus);
    report(values, "parallel.data",
           fmt::format("{}, times data {} is {} GPUs, but the cluster has {}; {}", product,
                       parallel.data, format_number(model_gpus * parallel.data), gpus, advice),
           diagnostics);
    return;
  }
  if (parallel.zero_group > 0 && parallel.data % parallel.zero_group != 0)
    report(values, "parallel.zero_group",
           fmt::format("{} does not divide the data degree {}; the nearest that does is {}",
                       parallel.zero_group, parallel.data,
                       nearest_divisor(parallel.data, parallel.zero_group)),
           diagnostics);
}

std::vector<ResolvedValue> resolved_values(const FieldValues& values, const Scenario& scenario) {
  const Job& job = scenario.job;
  std::vector<ResolvedValue> result;
  const auto derive = [&](const char* path, std::string text, const char* rule) {
    if (!values.has(path)) result.push_back({path, std::move(text), rule});
  };
  for (const FieldValue& value : values.all()) {
    // Derived values go to their places in the table: before a key that always has a value.
    if (value.path == "parallel.zero")
      derive("parallel.data", std::to_string(job.parallel.data),
             "derived: gpus / (tensor * context * pipeline)");
    if (value.path == "training.optimizer_state.decoupled_gradients") {
      const char* const rule = "derived: the type of training.master_weights";
      derive("training.optimizer_state.first_moment",
             fmt::format("{} B", job.training.first_moment()), rule);
      derive("training.optimizer_state.second_moment",
             fmt::format("{} B", job.training.second_moment()), rule);
    }
    if (value.path == "communication.overlap.gradients")
      derive("communication.transport", std::string(name_of(job.communication.transport)),
             "derived: transport of cluster.fabric.preset");
    if (scenario.serving && scenario.engine) {
      const ServingPlan& plan = *scenario.serving;
      const EngineRules& rules = scenario.engine->rules;
      const char* const rule = "derived: serving.engine";
      if (value.path == "serving.routing" && replicas_on(scenario.generation, plan) > 0)
        derive("serving.replicas", std::to_string(replicas_on(scenario.generation, plan)),
               "derived: gpus / (tensor * pipeline * attention_data)");
      if (value.path == "serving.autoscaling.interval")
        derive("serving.memory_share", format_number(rules.memory_share), rule);
      if (value.path == "serving.requests.arrivals") {
        derive("serving.batching.token_budget", std::to_string(rules.token_budget), rule);
        if (plan.load.concurrency <= rules.sequences)
          derive("serving.batching.sequences", std::to_string(rules.sequences), rule);
        derive("serving.batching.mixed_steps", rules.mixed_steps ? "true" : "false", rule);
      }
    }
    result.push_back({value.path, value.text, value.origin()});
  }
  return result;
}

}  // namespace foretrain
