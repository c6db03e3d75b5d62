// SPDX-License-Identifier: Apache-2.0
#include "planner/answer/prediction_parts.hpp"
#include "planner/answer/value_csv.hpp"
#include "planner/answer/value_json.hpp"
#include "planner/forecast/plan_moves.hpp"
#include "planner/forecast/run_end.hpp"
#include "planner/search/plan_report.hpp"

namespace foretrain {
namespace {

const Job& job_of(const ForecastPlan& plan) { return plan.report.scenario.job; }

ValueTable<ForecastPlan> make_plan_values() {
  using R = const ForecastPlan&;
  const auto parallel = [](auto Parallel::*size) {
    return [size](R plan) { return job_of(plan).parallel.*size; };
  };
  ValueTable<ForecastPlan> table;
  table.add("gpus", [](R plan) { return job_of(plan).cluster.gpus(); })
      .add("global_batch", [](R plan) { return job_of(plan).training.global_batch; })
      .add("micro_batch", [](R plan) { return job_of(plan).training.micro_batch; })
      .add("tensor", parallel(&Parallel::tensor))
      .add("sequence", parallel(&Parallel::sequence), "Sequence parallelism.")
      .add("context", parallel(&Parallel::context))
      .add("pipeline", parallel(&Parallel::pipeline))
      .add("virtual_stages", parallel(&Parallel::virtual_stages))
      .add("schedule", parallel(&Parallel::schedule))
      .add("expert", parallel(&Parallel::expert))
      .add("expert_tensor", [](R plan) { return job_of(plan).parallel.expert_tensor_size(); })
      .add("data", parallel(&Parallel::data))
      .add("zero", parallel(&Parallel::zero), "ZeRO stage.")
      .add("recompute", &ForecastPlan::recompute)
      .add("offload", [](R plan) { return job_of(plan).memory.offload; })
      .add("set", &ForecastPlan::settings, "Settings of the plan, as for --set.")
      .add("engine", [](R plan) { return plan.report.prediction.engine; })
      .add("step_s",
           [](R plan) {
             const auto& step = plan.report.prediction.step;
             return step ? std::optional(step->time) : std::nullopt;
           })
      .add(
          "step_closed_form_s",
          [](R plan) {
            const Seconds step = plan.scored.step;
            return step > Seconds{} ? std::optional(step) : std::nullopt;
          },
          "Step time by closed form; null: too large to be timed.")
      .add("mfu",
           [](R plan) {
             const auto& efficiency = plan.report.prediction.efficiency;
             return efficiency ? std::optional(efficiency->mfu) : std::nullopt;
           })
      .as(Measure::share)
      .add("peak_bytes", [](R plan) { return plan.scored.peak; })
      .add("usable_bytes", [](R plan) { return job_of(plan).cluster.host.device.usable_memory; })
      .add("run_s", [](R plan) { return run_duration(plan.report.prediction); })
      .add("gpu_hours", [](R plan) { return plan.report.prediction.cost.gpu_hours; })
      .add("price_usd", [](R plan) { return plan.report.prediction.cost.price; })
      .group("breakdown", [](R plan) { return plan.report.prediction.step.has_value(); });
  for (const StepPart& part : step_parts())
    table.add(
        "breakdown." + std::string(part.key),
        [time = part.time](R plan) {
          const auto& step = plan.report.prediction.step;
          return step ? std::optional(step->breakdown.*time) : std::nullopt;
        },
        part.meaning);
  return table;
}

const ValueTable<ForecastPlan> plan_values = make_plan_values();

struct NearestShown {
  const ForecastPlan& plan;
  const Excess& excess;
};

const ValueTable<NearestShown> nearest_values =
    ValueTable<NearestShown>{}
        .add_from(plan_values.rows(), "",
                  [](const NearestShown& shown) -> const ForecastPlan& { return shown.plan; })
        .add(
            "limit", [](const NearestShown& shown) { return shown.excess.rule; },
            "The limit that is exceeded most.")
        .add(
            "over_limit",
            [](const NearestShown& shown) { return std::optional(shown.excess.ratio); },
            "Factor by which the limit is exceeded.")
        .add("missing", [](const NearestShown& shown) { return shown.excess.message; });

const ValueTable<SearchLimits> limit_values =
    ValueTable<SearchLimits>{}
        .add("memory_share", &SearchLimits::memory_share,
             "Share of usable memory that a plan may use.")
        .add("memory_band", &SearchLimits::default_room,
             "True: the upper end of the memory band must fit.")
        .add("headroom_bytes",
             [](const SearchLimits& limits) { return limits.headroom.value_or(Bytes{}); })
        .add("step_s", &SearchLimits::max_step)
        .add("run_s", &SearchLimits::max_run)
        .add("price_usd", &SearchLimits::max_price)
        .add("power_w", &SearchLimits::max_power);

bool compared(const PlanReport& report) {
  return report.standing->report.prediction.step && !report.plans.empty();
}

/// The plan that was asked about. @pre there is one
const ValueTable<PlanReport> standing_values =
    ValueTable<PlanReport>{}
        .add("set", [](const PlanReport& report) { return report.standing->settings; })
        .add("feasible",
             [](const PlanReport& report) { return report.standing->report.prediction.feasible(); })
        .add(
            "rank", [](const PlanReport& report) { return report.standing->rank; },
            "Rank among feasible plans by closed form; null: it cannot run, or exceeds a limit.")
        .add("step_s",
             [](const PlanReport& report) {
               const auto& step = report.standing->report.prediction.step;
               return step ? std::optional(step->time) : std::nullopt;
             })
        .add("step_closed_form_s",
             [](const PlanReport& report) {
               return report.standing->report.prediction.step
                          ? std::optional(report.standing->closed_form)
                          : std::nullopt;
             })
        .add(
            "gap",
            [](const PlanReport& report) {
              return compared(report) ? gap_of_standing(report) : std::nullopt;
            },
            "Step time relative to the best plan, minus 1.")
        .add(
            "conditions",
            [](const PlanReport& report) {
              return compared(report)
                         ? conditions_of_gain(report.plans.front().report, report.standing->report)
                         : std::vector<std::string>{};
            },
            "Assumptions that the gain depends on.");

std::vector<std::pair<std::string, std::int64_t>> rejected(const PlanReport& report) {
  std::vector<std::pair<std::string, std::int64_t>> counts;
  for (const auto& [rule, rejection] : report.result.rejected)
    counts.emplace_back(rule, rejection.count);
  return counts;
}

const ValueTable<PlanReport>& search_table() {
  using R = const PlanReport&;
  const auto result = [](auto SearchResult::*count) {
    return [count](R report) { return report.result.*count; };
  };
  static const auto table =
      ValueTable<PlanReport>{"plan/1", "foretrain plan --json, schema plan/1; null is unknown"}
          .add("name", [](R report) { return report.scenario.job.name; })
          .add(
              "by", [](R report) { return report.options.by; }, "Criterion that orders the plans.")
          .add(
              "axes", [](R report) { return axes_of(report.space); },
              "Values that were tried, by scenario key.")
          .add(
              "limits", [](R report) -> const SearchLimits& { return report.options.limits; },
              limit_values)
          .add("combinations", result(&SearchResult::combinations))
          .add(
              "complete", [](R report) { return report.result.complete(); },
              "False: interrupted before all was tried.")
          .add("evaluated", result(&SearchResult::evaluated))
          .add("feasible", result(&SearchResult::feasible))
          .add("left_out", &PlanReport::left_out,
               "Plans among the best by closed form that break a limit on the critical path.")
          .add("rejected", rejected, "Rejected combinations by the first rule that they break.")
          .add("plans", &PlanReport::plans, plan_values, "Plans, best first.")
          .add("pareto", &PlanReport::pareto, plan_values, "Pareto front of cost and time.")
          .add(
              "nearest",
              [](R report) {
                return report.nearest ? std::optional<NearestShown>(
                                            {*report.nearest, report.result.nearest->excess})
                                      : std::nullopt;
              },
              nearest_values, "Where nothing fits: the plan that exceeds its worst limit least.")
          .add(
              "standing", [](R report) { return report.standing ? &report : nullptr; },
              standing_values, "The plan that was asked about.");
  return table;
}

}  // namespace

std::string plan_json(const PlanReport& report) { return json_text(search_table(), report); }

const ValueRows& plan_document() { return search_table().rows(); }

std::string plan_csv(const PlanReport& report) {
  CsvText text;
  int rank = 0;
  for (const Finalist& plan : report.plans) {
    std::vector<ValueMember> fields{{"rank", value_of(++rank)}};
    for (const ValueRow& row : plan_values.rows().rows)
      if (!row.get.shape.list && row.path.find('.') == std::string::npos)
        fields.push_back({row.path, row.get(static_cast<const ForecastPlan*>(&plan))});
    text.add(fields);
  }
  return text.text();
}

}  // namespace foretrain
