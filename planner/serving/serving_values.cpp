// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "planner/answer/value_json.hpp"
#include "planner/serving/serving_fit.hpp"
#include "planner/serving/serving_study.hpp"

namespace foretrain {

namespace serving_words {

const ValueTable<ServingLayout>& layout_values() {
  using R = ServingLayout;
  static const auto table =
      ValueTable<R>{}
          .add("replicas", &R::replicas)
          .add("gpus", [](const R& layout) { return layout.gpus() * layout.replicas; })
          .add("tensor", &R::tensor)
          .add("pipeline", &R::pipeline)
          .add("attention_data", &R::attention_data)
          .add("expert", &R::expert);
  return table;
}

const ValueTable<ServingCost>& cost_values() {
  using R = ServingCost;
  static const auto table = ValueTable<R>{}
                                .add("usd_per_hour", &R::dollars_per_hour)
                                .add("usd_per_million_output_tokens", &R::per_million_output)
                                .add("usd_per_million_tokens", &R::per_million_tokens);
  return table;
}

}  // namespace serving_words

namespace {

using serving_words::layout_values;

bool runs(const ServingReport& report) { return report.ready.reasons.empty(); }
bool counted(const ServingReport& report) { return runs(report) && report.summary.requests > 0; }

struct PoolShown {
  const ReadyPool& pool;
  bool runs;  ///< else it has a layout alone
};

const ValueTable<PoolShown> pool_values = [] {
  ValueTable<PoolShown> rows;
  rows.add_from(layout_values().rows(), "", [](const PoolShown& shown) -> const ServingLayout& {
    return shown.pool.deployment.layout;
  });
  const auto add = [&](const char* path, auto get, const char* meaning) {
    rows.add(
            path,
            [get](const PoolShown& shown) {
              return shown.runs ? std::optional(std::invoke(get, shown.pool)) : std::nullopt;
            },
            meaning)
        .left_out();
  };
  using R = const ReadyPool&;
  add(
      "sequences", [](R pool) { return pool.scheduler.sequences; }, "Most requests in one step.");
  add(
      "token_budget", [](R pool) { return pool.scheduler.token_budget; },
      "Most tokens in one step.");
  add(
      "mixed_steps", [](R pool) { return pool.scheduler.chunked_prefill; },
      "True: chunked prefill shares steps with decoding.");
  add(
      "cache.block_tokens", [](R pool) { return pool.scheduler.block_tokens; },
      "Tokens in a KV cache block.");
  add("cache.blocks", &ReadyPool::blocks, "KV cache blocks of a replica.");
  add(
      "cache.bytes_per_token_per_gpu", [](R pool) { return pool.cache.bytes_per_token(); },
      "KV cache of one token on one GPU.");
  add(
      "cache.available_bytes_per_gpu", [](R pool) { return pool.cache.available; },
      "Memory left for the KV cache.");
  add(
      "cache.weight_bytes_per_gpu", [](R pool) { return pool.cache.weights; },
      "Memory of the weights on one GPU.");
  return rows;
}();

struct GoalShown {
  const GoalVerdict& goal;
  double percentile;
};

const ValueTable<GoalShown> goal_values =
    ValueTable<GoalShown>{}
        .add("metric", [](const GoalShown& shown) { return shown.goal.name; })
        .add("percentile", &GoalShown::percentile)
        .add("limit_s", [](const GoalShown& shown) { return shown.goal.limit; })
        .add("reached_s", [](const GoalShown& shown) { return shown.goal.reached; })
        .add("low_s", [](const GoalShown& shown) { return shown.goal.band.low; })
        .add(
            "high_s", [](const GoalShown& shown) { return std::optional(shown.goal.band.high); },
            "90th percentile; null: no bound, the queue grows without end.")
        .add("kept", [](const GoalShown& shown) { return shown.goal.kept(); });

const ValueTable<StepTime> step_values =
    ValueTable<StepTime>{}
        .add("total", &StepTime::total, "Step time in seconds, the sum of the parts.")
        .add("attention_projections", &StepTime::attention_projections)
        .add("attention", &StepTime::attention)
        .add("mlp", &StepTime::mlp)
        .add("experts", &StepTime::experts)
        .add("state", &StepTime::state)
        .add("elementwise", &StepTime::elementwise)
        .add("tensor_exchange", &StepTime::tensor_exchange)
        .add("expert_exchange", &StepTime::expert_exchange)
        .add("stage_exchange", &StepTime::stage_exchange)
        .add("output", &StepTime::output)
        .add("launch", &StepTime::launch)
        .add("host", &StepTime::host)
        .add("draft", &StepTime::draft);

const ValueTable<ServingStepExample> example_values =
    ValueTable<ServingStepExample>{}
        .add("sequences", &ServingStepExample::sequences)
        .add("context", &ServingStepExample::context)
        .add("time_s", &ServingStepExample::time, step_values);

/// Requests and tokens over the counted time, in equal stretches.
const ValueTable<ServingSample> series_values = [] {
  const auto stretch = [](const ServingSample& sample) {
    return sample.counted_s / std::max<double>(1.0, static_cast<double>(sample.bins.size()));
  };
  const auto each = [](auto number) {
    return [number](const ServingSample& sample) {
      std::vector<double> numbers;
      for (const ServingBin& bin : sample.bins) numbers.push_back(bin.*number);
      return numbers;
    };
  };
  return ValueTable<ServingSample>{}
      .add("step_s", stretch)
      .add("waiting_requests", each(&ServingBin::waiting))
      .add("running_requests", each(&ServingBin::running))
      .add("output_tokens_per_s", [stretch](const ServingSample& sample) {
        std::vector<double> rates;
        const double step = stretch(sample);
        for (const ServingBin& bin : sample.bins)
          rates.push_back(step > 0.0 ? bin.tokens / step : 0.0);
        return rates;
      });
}();

const ValueTable<StudyFigure> range_values =
    ValueTable<StudyFigure>{}
        .add("path", &StudyFigure::path)
        .add("low", [](const StudyFigure& figure) { return std::optional(figure.band->low); })
        .add(
            "high", [](const StudyFigure& figure) { return std::optional(figure.band->high); },
            "90th percentile; null: no bound, the queue grows without end.");

std::vector<StudyFigure> banded_figures(const ServingReport& report) {
  if (!counted(report)) return {};
  std::vector<StudyFigure> figures = figures_of(serving_values(), report, true);
  std::erase_if(figures, [](const StudyFigure& figure) { return !figure.band; });
  return figures;
}

ServingBands bands_of(const ServingReport& report) {
  const EngineProfile& engine = report.ready.serve.deployment.engine;
  return runs(report) ? report.bands : ServingBands{engine.ttft, engine.tpot, engine.throughput};
}

const ValueTable<ServingBands>& band_values() {
  static const auto end = [](ResidualBand ServingBands::*of, double ResidualBand::*side) {
    return [of, side](const ServingBands& bands) { return bands.*of.*side; };
  };
  using R = ServingBands;
  using B = ResidualBand;
  static const auto table = ValueTable<R>{}
                                .add("ttft.low", end(&R::ttft, &B::low))
                                .add("ttft.high", end(&R::ttft, &B::high))
                                .add("tpot.low", end(&R::tpot, &B::low))
                                .add("tpot.high", end(&R::tpot, &B::high))
                                .add("throughput.low", end(&R::throughput, &B::low))
                                .add("throughput.high", end(&R::throughput, &B::high));
  return table;
}

const ValueTable<ServingReport>& serving_table() {
  using R = const ServingReport&;
  const auto if_counted = [](R report) { return counted(report) ? &report : nullptr; };
  const ValueRows& figures = serving_values().rows();
  static const auto table =
      ValueTable<ServingReport>{"serving/1",
                                "foretrain serve --json, schema serving/1; null is unknown"}
          .add("name", &ServingReport::name)
          .add("model", &ServingReport::model)
          .add("device", &ServingReport::device)
          .add("engine", [](R report) { return report.ready.serve.deployment.engine.name; })
          .add("seed", [](R report) { return report.ready.plan.seed; })
          .add("gpus", [](R report) { return report.ready.gpus(); })
          .add("verdict", &ServingReport::verdict)
          .add("stopped", &ServingReport::stopped, "Interrupted: what was counted until then.")
          .add(
              "reasons", [](R report) { return report.ready.reasons; }, reason_values())
          .add(
              "serve",
              [](R report) {
                return PoolShown{report.ready.serve, runs(report)};
              },
              pool_values,
              "Replicas that decode, or all; only the layout where the deployment cannot run.")
          .add(
              "prefill",
              [](R report) {
                return report.ready.prefill
                           ? std::optional<PoolShown>({*report.ready.prefill, runs(report)})
                           : std::nullopt;
              },
              pool_values, "Replicas for prompts alone; null: there are none.")
          .group("results", runs)
          .add_from(figures, "results", if_counted)
          .add("results.overloaded", [](R report) { return report.summary.overloaded; })
          .add("results.series", &ServingReport::sample, series_values)
          .add(
              "goals",
              [](R report) {
                std::vector<GoalShown> goals;
                for (const GoalVerdict& goal : report.goals)
                  goals.push_back({goal, report.ready.plan.goals.percentile});
                return goals;
              },
              goal_values)
          .group("cost", [](R report) { return runs(report) && report.cost; })
          .add_from(figures, "cost", if_counted)
          .add(
              "decode_step", [](R report) { return runs(report) ? &report.decode : nullptr; },
              example_values, "A step with the mean number of sequences.")
          .add_from(figures, "prompt_s", if_counted)
          .add("band", bands_of, band_values(), "Bands as measured over forecast.")
          .add("ranges", banded_figures, range_values,
               "10th to 90th percentile of every number that has them.")
          .add(
              "warnings",
              [](R report) {
                return runs(report) ? serving_warnings(report) : std::vector<Warning>{};
              },
              warning_values());
  return table;
}

}  // namespace

std::string serving_json(const ServingReport& report) { return json_text(serving_table(), report); }

const ValueRows& serving_document() { return serving_table().rows(); }

std::string serving_csv(const ServingReport& report) {
  std::string text = "submitted_s,started_s,first_token_s,ended_s,prompt,output,preempted\n";
  for (const ServedRequest& request : report.sample.requests)
    text += fmt::format("{},{},{},{},{},{},{}\n", request.submitted, request.started,
                        request.first_token, request.ended, request.prompt, request.output,
                        request.preempted);
  return text;
}

}  // namespace foretrain
