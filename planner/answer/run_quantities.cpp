// SPDX-License-Identifier: Apache-2.0

#include "planner/answer/internal/quantity_rows.hpp"
#include "planner/answer/prediction_parts.hpp"

namespace foretrain::internal {
namespace {

using enum ConstantSource;

template <auto... members>
ValueReader in_kwh() {
  ValueReader reader = at<members...>;
  static_cast<Reader<Value>&>(reader) =
      Reader<Value>::of<Prediction>([](const Prediction& p, std::size_t index) {
        const Value joules = at<members...>(p, index);
        const double* number = std::get_if<double>(&joules);
        return number == nullptr ? joules : Value{Joules{*number}.in(kWh)};
      });
  return reader;
}

}  // namespace

std::vector<ValueRow> cost_quantities() {
  return {
      {"cost.gpu_hours", "GPU-hours", Measure::count,
       at<&Prediction::cost, &CostForecast::gpu_hours>, "GPU-hours of the run.",
       "GPUs x (run.expected_s - queue - preempted time; run.ideal_s where that is unknown) / 3600",
       "@run.ideal_s @run.expected_s cluster.hosts operations.queue operations.preemption"},
      {"cost.usd", "cost", Measure::dollars, at<&Prediction::cost, &CostForecast::price>,
       "Price of the run in US dollars.", "sum of cost.parts; unknown without rent or purchase",
       "@cost.gpu_hours operations.price operations.prices_as_of operations.owned "
       "operations.power.electricity"},
      {"cost.energy_kwh", "energy", Measure::kwh,
       in_kwh<&Prediction::cost, &CostForecast::energy>(),
       "Energy of the run at the meter, in kWh.",
       "training time x cost.power_w, stalls of checkpoints at power.waiting_w, + downtime x (GPUs "
       "x "
       "idle power + hosts) x PUE",
       "@cost.power_w @run.expected_s operations.power cluster.host", rests_on(device)},
      {"cost.co2_kg", "CO2", Measure::kilograms, at<&Prediction::cost, &CostForecast::co2_kg>,
       "Carbon dioxide of the run in kg.", "cost.energy_kwh x operations.power.carbon",
       "@cost.energy_kwh operations.power.carbon"},
      {"cost.step_kwh", "energy of a step", Measure::kwh,
       in_kwh<&Prediction::cost, &CostForecast::step_energy>(),
       "Energy of one step at the meter, in kWh.", "cost.power_w x step.time_s",
       "@cost.power_w @step.time_s", rests_on(device)},
      {"cost.power_w", "power", Measure::watts, at<&Prediction::cost, &CostForecast::power>,
       "Mean power at the meter while training, in watts.",
       "power.mean_w: hosts x (GPUs x power.gpu_w + host + network) x PUE",
       "cluster.host operations.power @step.breakdown.compute_s @step.time_s", rests_on(device)},
      {"cost.gpu_hours_low", "GPU-hours, 10th percentile", Measure::count,
       at<&Prediction::cost, &CostForecast::low, &CostEnd::gpu_hours>,
       "GPU-hours of the run, 10th percentile.",
       "cost.gpu_hours x (1 + share of the run in which steps last x (step.low_s / step.time_s - "
       "1))",
       "@cost.gpu_hours @step.low_s @step.time_s"},
      {"cost.gpu_hours_high", "GPU-hours, 90th percentile", Measure::count,
       at<&Prediction::cost, &CostForecast::high, &CostEnd::gpu_hours>,
       "GPU-hours of the run, 90th percentile.",
       "cost.gpu_hours x (1 + share of the run in which steps last x (step.high_s / step.time_s - "
       "1))",
       "@cost.gpu_hours @step.high_s @step.time_s"},
      {"cost.price_low_usd", "cost, 10th percentile", Measure::dollars,
       at<&Prediction::cost, &CostForecast::low, &CostEnd::price>,
       "Price of the run in US dollars, 10th percentile.",
       "cost.usd with GPU-hours and energy of that percentile", "@cost.usd @cost.gpu_hours_low"},
      {"cost.price_high_usd", "cost, 90th percentile", Measure::dollars,
       at<&Prediction::cost, &CostForecast::high, &CostEnd::price>,
       "Price of the run in US dollars, 90th percentile.",
       "cost.usd with GPU-hours and energy of that percentile", "@cost.usd @cost.gpu_hours_high"},
      {"cost.energy_low_kwh", "energy, 10th percentile", Measure::kwh,
       in_kwh<&Prediction::cost, &CostForecast::low, &CostEnd::energy>(),
       "Energy of the run at the meter, in kWh, 10th percentile.",
       "cost.energy_kwh x what GPUs and hosts draw at least and at most where the "
       "scenario does not say it, with the band of the step as root of squares of logarithms",
       "@cost.energy_kwh @step.low_s operations.power cluster.host", rests_on(device)},
      {"cost.energy_high_kwh", "energy, 90th percentile", Measure::kwh,
       in_kwh<&Prediction::cost, &CostForecast::high, &CostEnd::energy>(),
       "Energy of the run at the meter, in kWh, 90th percentile.",
       "cost.energy_kwh x what GPUs and hosts draw at least and at most where the "
       "scenario does not say it, with the band of the step as root of squares of logarithms",
       "@cost.energy_kwh @step.high_s operations.power cluster.host", rests_on(device)},
      {"cost.co2_low_kg", "CO2, 10th percentile", Measure::kilograms,
       at<&Prediction::cost, &CostForecast::low, &CostEnd::co2_kg>,
       "Carbon dioxide of the run in kg, 10th percentile.",
       "cost.energy_low_kwh x operations.power.carbon",
       "@cost.energy_low_kwh operations.power.carbon"},
      {"cost.co2_high_kg", "CO2, 90th percentile", Measure::kilograms,
       at<&Prediction::cost, &CostForecast::high, &CostEnd::co2_kg>,
       "Carbon dioxide of the run in kg, 90th percentile.",
       "cost.energy_high_kwh x operations.power.carbon",
       "@cost.energy_high_kwh operations.power.carbon"},
      {"cost.parts.rent_usd", "rent of GPUs", Measure::dollars,
       at<&Prediction::cost, &CostForecast::parts, &CostParts::rent>,
       "Rent, spare hosts included, in US dollars.",
       "cost.gpu_hours x operations.price x (1 + spare hosts / hosts)",
       "@cost.gpu_hours operations.price operations.spares.hosts"},
      {"cost.parts.machine_usd", "GPUs and hosts, depreciated", Measure::dollars,
       at<&Prediction::cost, &CostForecast::parts, &CostParts::machine>,
       "Purchased GPUs and hosts, depreciated, in US dollars.",
       "GPUs, spares included, x operations.owned.gpu x run.expected_s / (lifetime x utilisation)",
       "operations.owned @run.expected_s"},
      {"cost.parts.network_usd", "network", Measure::dollars,
       at<&Prediction::cost, &CostForecast::parts, &CostParts::network>,
       "Purchased network, depreciated, in US dollars.",
       "as cost.parts.machine_usd with operations.owned.network", "operations.owned"},
      {"cost.parts.storage_usd", "storage", Measure::dollars,
       at<&Prediction::cost, &CostForecast::parts, &CostParts::storage>,
       "Purchased storage, depreciated, in US dollars.",
       "as cost.parts.machine_usd with operations.owned.storage", "operations.owned"},
      {"cost.parts.staff_usd", "staff and upkeep", Measure::dollars,
       at<&Prediction::cost, &CostForecast::parts, &CostParts::staff>,
       "Staff and upkeep, in US dollars.",
       "run.expected_s x (operations.owned.staff + operations.owned.upkeep)", "operations.owned"},
      {"cost.parts.electricity_usd", "electricity", Measure::dollars,
       at<&Prediction::cost, &CostForecast::parts, &CostParts::electricity>,
       "Electricity that rent does not include, in US dollars.",
       "cost.energy_kwh x operations.power.electricity",
       "@cost.energy_kwh operations.power.electricity"}};
}

namespace {

using enum ConstantSource;

template <auto... members>
constexpr auto of_power = at<&Prediction::power, members...>;

}  // namespace

std::vector<ValueRow> power_quantities() {
  const std::string table = "cluster.host operations.power";
  return {
      {"power.gpu_w", "power of a GPU", Measure::small_watts, of_power<&PowerForecast::gpu>,
       "Mean power of one GPU while training, in watts.",
       "waiting power + (busy - waiting power) x share of compute and recompute in the step + "
       "(memory-bound - waiting power) x share of the optimizer",
       table + " @step.breakdown.compute_s @step.time_s", rests_on(device)},
      {"power.host_w", "power of a host", Measure::watts, of_power<&PowerForecast::host>,
       "Mean power of one host with its GPUs while training, in watts.",
       "GPUs of a host x power.gpu_w + what the host itself draws then", table + " @power.gpu_w",
       rests_on(device)},
      {"power.mean_w", "mean power", Measure::watts, of_power<&PowerForecast::mean>,
       "Mean power at the meter while training, in watts: the step's energy over its time.",
       "hosts x (power.host_w + network) x PUE", table + " @power.host_w", rests_on(device)},
      {"power.mean_low_w", "mean power, 10th percentile", Measure::watts,
       of_power<&PowerForecast::low>, "Mean power at the meter, 10th percentile.",
       "power.mean_w x what GPUs, hosts and cooling draw at least where the scenario does not say "
       "it",
       table + " @power.mean_w", rests_on(device)},
      {"power.mean_high_w", "mean power, 90th percentile", Measure::watts,
       of_power<&PowerForecast::high>, "Mean power at the meter, 90th percentile.",
       "power.mean_w x what GPUs, hosts and cooling draw at most where the scenario does not say "
       "it",
       table + " @power.mean_w", rests_on(device)},
      {"power.peak_w", "peak power", Measure::watts, of_power<&PowerForecast::peak>,
       "Highest power at the meter within a step, mean of a millisecond, in watts.",
       "largest sum over all GPUs and hosts at a time; data replicas are in step",
       table + " @step.time_s", rests_on(device)},
      {"power.peak_1s_w", "peak power of a second", Measure::watts,
       of_power<&PowerForecast::meter_peak>,
       "The same as a meter sees it that averages over a second.",
       "largest mean of a second of the repeated step", table + " @step.time_s", rests_on(device)},
      {"power.peak_over_mean", "peak over mean power", Measure::count,
       of_power<&PowerForecast::peak_over_mean>, "Peak over mean power within a step.",
       "power.peak_w / power.mean_w", "@power.peak_w @power.mean_w", rests_on(device)},
      {"power.ramp_w_per_s", "power ramp", Measure::watts_per_second,
       of_power<&PowerForecast::ramp>,
       "Largest change of power from one second to the next within steps, in watts per second.",
       "largest difference of two adjacent means of a second", table + " @step.time_s",
       rests_on(device)},
      {"power.waiting_w", "power while waiting", Measure::watts, of_power<&PowerForecast::waiting>,
       "Power at the meter while every GPU waits for others, as when one host stalls.",
       "hosts x (GPUs x waiting power + host + network) x PUE", table, rests_on(device)},
      {"power.swing_w", "power swing", Measure::watts, of_power<&PowerForecast::swing>,
       "What power at the meter falls by when training stalls.",
       "power.peak_1s_w - power.waiting_w", "@power.peak_1s_w @power.waiting_w", rests_on(device)},
      {"power.coherence", "coherence of hosts", Measure::share, of_power<&PowerForecast::coherence>,
       "How far hosts move together, 1: all at once.",
       "standard deviation of the sum over the sum of the hosts' standard deviations", table,
       rests_on(device)}};
}

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
