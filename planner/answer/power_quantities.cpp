// SPDX-License-Identifier: Apache-2.0
#include "planner/answer/internal/quantity_rows.hpp"

namespace foretrain::internal {
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

}  // namespace foretrain::internal
