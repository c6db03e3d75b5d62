// SPDX-License-Identifier: Apache-2.0
#include "planner/answer/internal/quantity_rows.hpp"
#include "planner/answer/run_part.hpp"

namespace foretrain::internal {
namespace {

using enum ConstantSource;

auto of_run(const RunPart& part) {
  return read<Prediction>([time = part.time](const Prediction& p) {
    return p.run.split ? std::optional((*p.run.split).*time) : std::nullopt;
  });
}

}  // namespace

std::vector<ValueRow> run_quantities() {
  std::vector<ValueRow> rows{
      {"run.tokens", "tokens of the run", Measure::tokens,
       at<&Prediction::run, &RunForecast::tokens>, "Tokens of the whole run.", "training.tokens",
       "training.tokens"},
      {"run.steps", "steps of the run", Measure::count, at<&Prediction::run, &RunForecast::steps>,
       "Optimizer steps of the whole run.", "tokens / (global_batch x sequence), rounded up",
       "training.tokens training.global_batch training.sequence"},
      {"run.ideal_s", "time to train, uninterrupted", Measure::duration,
       at<&Prediction::run, &RunForecast::ideal>,
       "Duration of the run without interruptions, in seconds.", "run.steps x step.time_s",
       "@run.steps @step.time_s"},
      {"run.expected_s", "time to train", Measure::duration,
       at<&Prediction::run, &RunForecast::expected>,
       "Expected duration with interruptions and checkpoints, in seconds.", "sum of run.split",
       "@run.ideal_s @run.goodput"},
      {"run.goodput", "goodput", Measure::share, at<&Prediction::run, &RunForecast::goodput>,
       "Share of the run that is productive time, 0 to 1.",
       "run.ideal_s / run.expected_s; Daly's complete model (FGCS 2006) of exponential "
       "interruptions, to first order (1 - (restart + every / 2) / between) / (1 + stall / every) "
       "(arXiv 2410.21680)",
       "operations.mean_time_between_interruptions operations.interruptions operations.restart "
       "operations.recovery operations.warm_up operations.checkpoint operations.storage "
       "operations.spares operations.evaluation operations.fail_slow operations.preemption "
       "operations.queue",
       rests_on(), true},
      {"run.p10_s", "time to train, 10th percentile", Measure::duration,
       at<&Prediction::run, &RunForecast::p10>, "Tenth percentile of the duration, in seconds.",
       "of 200 simulated runs, each with a step time drawn from its band",
       "@run.expected_s @step.low_s @step.high_s"},
      {"run.p90_s", "time to train, 90th percentile", Measure::duration,
       at<&Prediction::run, &RunForecast::p90>, "Ninetieth percentile of the duration, in seconds.",
       "of 200 simulated runs, each with a step time drawn from its band",
       "@run.expected_s @step.low_s @step.high_s"},
      {"run.p50_s", "time to train, median", Measure::duration,
       at<&Prediction::run, &RunForecast::p50>, "Median of the duration, in seconds.",
       "of 200 simulated runs, each with a step time drawn from its band",
       "@run.expected_s @step.low_s @step.high_s"},
      {"run.scheduling_goodput", "scheduling goodput", Measure::share,
       at<&Prediction::run, &RunForecast::scheduling>,
       "Share of the run in which the job has its hosts, 0 to 1.",
       "1 - (run.split.planned_s + run.split.waiting_s) / run.expected_s",
       "@run.split.planned_s @run.split.waiting_s @run.expected_s", rests_on(), true},
      {"run.runtime_goodput", "runtime goodput", Measure::share,
       at<&Prediction::run, &RunForecast::runtime>,
       "Share of the time with hosts that is productive time, 0 to 1.",
       "run.split.steps_s / (run.expected_s - run.split.planned_s - run.split.waiting_s)",
       "@run.split.steps_s @run.expected_s", rests_on(), true},
      {"run.interruptions", "interruptions", Measure::count,
       at<&Prediction::run, &RunForecast::interruptions>,
       "Expected number of interruptions without warning.",
       "(run.expected_s - planned stops - waiting) / run.between_interruptions_s, and preemptions "
       "without enough notice",
       "@run.expected_s @run.between_interruptions_s operations.preemption"},
      {"run.between_interruptions_s", "time between interruptions", Measure::duration,
       at<&Prediction::run, &RunForecast::between>,
       "Mean time between interruptions of this job, in seconds.",
       "as given; or 1 / (rate per part x parts); or between the points of a measured curve",
       "operations.mean_time_between_interruptions operations.interruptions cluster.hosts"},
      {"run.checkpoint_bytes", "checkpoint", Measure::bytes,
       at<&Prediction::run, &RunForecast::checkpoint>, "Size of a checkpoint, in bytes.",
       "operations.checkpoint.size; else parameters x (2 bytes of weights + 12 of optimizer "
       "states)",
       "operations.checkpoint.size model training.precision"},
      {"run.checkpoint_write_s", "writing a checkpoint", Measure::duration,
       at<&Prediction::run, &RunForecast::checkpoint_write>,
       "Time that a checkpoint takes to storage, in seconds.",
       "size / least of the job's, the storage's, its processes' and its hosts' links' rates",
       "operations.checkpoint operations.storage cluster.host @run.checkpoint_bytes"},
      {"run.checkpoint_read_s", "reading a checkpoint", Measure::duration,
       at<&Prediction::run, &RunForecast::checkpoint_read>,
       "Time that a checkpoint takes from storage, in seconds.",
       "size / least of the job's, the storage's, its processes' and its hosts' links' rates",
       "operations.checkpoint operations.storage cluster.host @run.checkpoint_bytes"},
      {"run.checkpoint_every_s", "time between checkpoints", Measure::duration,
       at<&Prediction::run, &RunForecast::checkpoint_every>,
       "Training time between two checkpoints, in seconds.",
       "as given, in steps, or the interval that loses least; not below what writing one takes",
       "operations.checkpoint @run.checkpoint_bytes"},
      {"run.checkpoint_stall_s", "stall of a checkpoint", Measure::duration,
       at<&Prediction::run, &RunForecast::checkpoint_stall>,
       "Time that one checkpoint stops training, or takes of slower steps beside it, in seconds.",
       "as measured; else sync: size / least of the write rates, or of the hosts' own storage; "
       "async: a GPU's part / PCIe rate; and writing it x (1 - 1 / slowdown) beside steps",
       "operations.checkpoint operations.storage cluster.host @run.checkpoint_bytes"},
      {"run.meets_deadline", "chance to meet the deadline", Measure::share,
       at<&Prediction::run, &RunForecast::meets_deadline>,
       "Probability that the run is over by the deadline, 0 to 1.", "share of 200 simulated runs",
       "operations.deadline @run.p50_s @run.p90_s", rests_on(), true}};
  for (const RunPart& part : run_parts())
    rows.push_back({"run.split." + std::string(part.key), part.label, Measure::duration,
                    of_run(part), part.meaning, part.formula, std::string(part.inputs)});
  return rows;
}

}  // namespace foretrain::internal
