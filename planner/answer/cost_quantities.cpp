// SPDX-License-Identifier: Apache-2.0
#include "planner/answer/internal/quantity_rows.hpp"

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

}  // namespace foretrain::internal
