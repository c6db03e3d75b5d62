// SPDX-License-Identifier: Apache-2.0

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

#include "models/memory/memory.hpp"
#include "models/run/cost_forecast.hpp"
#include "models/run/goodput.hpp"
#include "models/run/machine_power.hpp"
#include "models/run/run_model.hpp"
#include "models/step/data_loading.hpp"
#include "tests/models/example_job.hpp"

using namespace foretrain;

namespace {

StepForecast five_seconds() {
  StepForecast step;
  step.time = Seconds{5.0};
  step.breakdown.compute = Seconds{4.0};
  step.breakdown.data = Seconds{1.0};
  return step;
}

/// Everything that goodput needs.
Job operated_job() {
  Job job = test::llama2_70b_job();
  Operations& operations = job.operations;
  operations.mean_time_between_interruptions = 12.0 * hours;
  operations.restart = 10.0 * minutes;
  operations.checkpoint_every = 30.0 * minutes;
  operations.checkpoint_write_bandwidth = 200.0 * GBps;
  operations.checkpoint_mode = CheckpointMode::sync;
  return job;
}

bool warned(const std::vector<Warning>& warnings, const std::string& id) {
  return std::any_of(warnings.begin(), warnings.end(),
                     [&id](const Warning& warning) { return warning.id == id; });
}

}  // namespace

TEST_CASE("run: steps and days follow from tokens", "[models][run]") {
  const Job job = test::llama2_70b_job();
  std::vector<Warning> warnings;
  const RunForecast run = forecast_run(job, five_seconds(), warnings);
  CHECK(run.steps == std::optional<double>{476838.0});  // ceil(2e12 / (1024 * 4096))
  CHECK(run.ideal->in(days) == Approx(476838.0 * 5.0 / 86400.0));
  CHECK_FALSE(run.expected.has_value());
  CHECK_FALSE(run.goodput.has_value());
  CHECK(warnings.empty());
}

TEST_CASE("run: what is missing is named, and told how much it may cost", "[models][run]") {
  Job job = operated_job();
  job.operations.mean_time_between_interruptions = 3.0 * hours;
  job.operations.restart.reset();
  std::vector<Warning> warnings;
  CHECK_FALSE(forecast_run(job, five_seconds(), warnings).expected.has_value());
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[0].message == "the expected duration is unknown without operations.restart");
  CHECK(warnings[1].id == "goodput-break-even");
  CHECK(warnings[1].message.find("less than 18 min") != std::string::npos);
}

TEST_CASE("run: an unknown rate is told how rare interruptions have to be", "[models][run]") {
  Job job = operated_job();
  job.operations.mean_time_between_interruptions.reset();
  std::vector<Warning> warnings;
  (void)forecast_run(job, five_seconds(), warnings);
  REQUIRE(warnings.size() == 2);
  // (10 + 15) min per interruption are a tenth of 250 min
  CHECK(warnings[1].message.find("further apart than 4.2 h") != std::string::npos);
}

TEST_CASE("run: the split adds up to the expected duration", "[models][run]") {
  const Job job = operated_job();
  std::vector<Warning> warnings;
  const RunForecast run = forecast_run(job, five_seconds(), warnings);
  REQUIRE(run.split.has_value());
  CHECK(run.split->total().value() == Approx(run.expected->value()));
  CHECK(*run.goodput == Approx(*run.ideal / *run.expected));
  CHECK(*run.scheduling * *run.runtime == Approx(*run.goodput));
  CHECK(*run.checkpoint_stall == run.checkpoint / (200.0 * GBps));
  CHECK(*run.goodput ==
        Approx(ettr({12.0 * hours, 10.0 * minutes, 30.0 * minutes, *run.checkpoint_stall}))
            .epsilon(0.01));
}

TEST_CASE("run: rates per part scale with the machine, a rate of the job does not",
          "[models][run]") {
  Job job = test::llama2_70b_job();  // 128 hosts, 1024 GPUs
  std::vector<Warning> warnings;
  InterruptionFacts& facts = job.operations.interruptions;
  facts.per_gpu_hour = 1e-5;
  CHECK(time_between_interruptions(job, warnings)->in(hours) == Approx(1e5 / 1024.0));
  facts = {};
  facts.per_1000_node_days = 6.5;  // RSC-1: 28.8 h at 1024 GPUs, arXiv 2410.21680
  CHECK(time_between_interruptions(job, warnings)->in(hours) == Approx(28.8).epsilon(2e-3));
  facts = {};
  facts.components = {{"gpu", ComponentKind::gpu, 1024.0 * days},
                      {"host", ComponentKind::host, 128.0 * days},
                      {"software", ComponentKind::job, 1.0 * days}};
  CHECK(time_between_interruptions(job, warnings)->in(hours) == Approx(8.0));
  facts = {};
  facts.trace = {{2.0 * hours, std::nullopt}, {9.0 * hours, std::nullopt}};
  CHECK(time_between_interruptions(job, warnings)->in(hours) == Approx(4.5));
  CHECK(warnings.empty());
}

TEST_CASE("run: a measured curve is interpolated, and continued with a warning", "[models][run]") {
  Job job = test::llama2_70b_job();
  job.operations.interruptions.curve = {{8.0, 47.7 * days}, {1024.0, 7.9 * hours}};
  std::vector<Warning> warnings;
  CHECK(time_between_interruptions(job, warnings)->in(hours) == Approx(7.9));
  job.cluster.hosts = 16;
  const double half = std::sqrt(47.7 * 24.0 * 7.9);   // 128 GPUs, half way from 8 to 1024 ...
  job.operations.interruptions.curve[0].gpus = 16.0;  // ... once the curve starts at 16
  CHECK(time_between_interruptions(job, warnings)->in(hours) == Approx(half));
  CHECK(warnings.empty());
  job.cluster.hosts = 256;
  CHECK(time_between_interruptions(job, warnings)->in(hours) == Approx(3.95));
  CHECK(warned(warnings, "outside-measured-curve"));
}

TEST_CASE("run: a checkpoint is as fast as the least of its limits", "[models][run]") {
  Job job = operated_job();
  const double size = checkpoint_size(job).value();
  CHECK(checkpoint_times(job).write->value() == Approx(size / 200e9));
  job.operations.storage.write = 100.0 * GBps;
  CHECK(checkpoint_times(job).write->value() == Approx(size / 100e9));
  job.operations.storage.host_link = 0.5 * GBps;  // 128 hosts with a sharded optimizer: 64 GB/s
  CHECK(checkpoint_times(job).write->value() == Approx(size / 64e9));
  job.parallel.zero = 0;  // one replica: 64 GPUs on 8 hosts
  CHECK(checkpoint_times(job).write->value() == Approx(size / 4e9));
  CHECK(checkpoint_times(job).stall == checkpoint_times(job).write);
  job.operations.checkpoint_mode = CheckpointMode::async;
  job.parallel.zero = 1;
  job.cluster.host.pcie.bandwidth = 64.0 * GBps;
  job.cluster.host.pcie.achievable = 0.5;
  CHECK(checkpoint_times(job).stall->value() == Approx(size / 1024.0 / 32e9));
}

TEST_CASE("run: processes that write bound a checkpoint, and the hosts that they sit on",
          "[models][run]") {
  Job job = operated_job();
  const double size = checkpoint_size(job).value();
  job.operations.checkpoint.writer_rate = 0.1 * GBps;  // 1,024 GPUs
  CHECK(checkpoint_times(job).write->value() == Approx(size / 102.4e9));
  job.operations.checkpoint.writers = 16;
  CHECK(checkpoint_times(job).write->value() == Approx(size / 1.6e9));
  job.operations.storage.host_link = 0.05 * GBps;  // at most 16 hosts take part
  CHECK(checkpoint_times(job).write->value() == Approx(size / 0.8e9));
}

TEST_CASE("run: a checkpoint that hosts' own storage takes first stalls for that, and drains",
          "[models][run]") {
  Job job = operated_job();
  const double size = checkpoint_size(job).value();
  CheckpointFacts& facts = job.operations.checkpoint;
  facts.read_bandwidth = 400.0 * GBps;
  facts.local_write = 10.0 * GBps;  // 128 hosts
  facts.local_read = 20.0 * GBps;
  facts.local_share = 0.75;
  const CheckpointTimes sync = checkpoint_times(job);
  CHECK(sync.stall->value() == Approx(size / 1.28e12));
  CHECK(sync.behind.value() == Approx(size / 200e9));
  CHECK(sync.safe.value() == Approx(0.25 * size / 200e9));
  CHECK(sync.reload->value() == Approx(0.75 * size / 2.56e12 + 0.25 * size / 400e9));
  job.operations.checkpoint_mode = CheckpointMode::async;
  job.cluster.host.pcie.bandwidth = 64.0 * GBps;
  job.cluster.host.pcie.achievable = 0.5;
  const CheckpointTimes async = checkpoint_times(job);
  CHECK(async.stall->value() == Approx(size / 1024.0 / 32e9));
  CHECK(async.behind.value() == Approx(size / 1.28e12 + size / 200e9));
  // Without the tier nothing of this is new.
  facts = {};
  facts.read_bandwidth = 400.0 * GBps;
  CHECK(checkpoint_times(job).safe == checkpoint_times(job).write);
  CHECK(checkpoint_times(job).reload == checkpoint_times(job).read);
}

TEST_CASE("run: a checkpoint over the compute network slows steps by what it takes of the NICs",
          "[models][run]") {
  Job job = operated_job();
  job.operations.checkpoint_mode = CheckpointMode::async;
  job.operations.checkpoint_write_bandwidth = 10.0 * TBps;
  job.cluster.host.nics = 8;
  job.cluster.network.nic_link.bandwidth = 50.0 * GBps;
  job.cluster.network.nic_link.achievable = 1.0;
  CHECK(checkpoint_slowdown(job, checkpoint_times(job), five_seconds()) == 1.0);
  job.operations.storage.network = StorageNetwork::compute;
  // 10 of 51.2 TB/s; one of five seconds is an exchange of gradients that nothing hides.
  const double used = 10.0 / 51.2;
  const double slow = 1.0 + 0.2 * used / (1.0 - used);
  CHECK(checkpoint_slowdown(job, checkpoint_times(job), five_seconds()) == Approx(slow));
  std::vector<Warning> warnings;
  const RunForecast shared = forecast_run(job, five_seconds(), warnings);
  CHECK(warned(warnings, "checkpoint-shares-nics"));
  const CheckpointTimes times = checkpoint_times(job);
  CHECK(shared.checkpoint_stall->value() ==
        Approx(times.stall->value() + (1.0 - 1.0 / slow) * times.write->value()));
  CHECK(*shared.checkpoint_write == *times.write);
  job.operations.checkpoint.slowdown = 1.5;
  CHECK(checkpoint_slowdown(job, times, five_seconds()) == 1.5);
}

TEST_CASE("run: a checkpoint mode that is not stated is told with both costs", "[models][run]") {
  Job job = operated_job();
  std::vector<Warning> stated;
  CHECK(forecast_run(job, five_seconds(), stated).goodput.has_value());
  CHECK_FALSE(warned(stated, "checkpoint-mode-assumed"));
  job.operations.checkpoint_mode.reset();
  std::vector<Warning> warnings;
  const RunForecast assumed = forecast_run(job, five_seconds(), warnings);
  REQUIRE(warned(warnings, "checkpoint-mode-assumed"));
  job.operations.checkpoint_mode = CheckpointMode::async;
  CHECK(forecast_run(job, five_seconds(), stated).goodput == assumed.goodput);
  // Writing 70 B parameters at 14 bytes each at 200 GB/s is what sync would cost.
  const double write = checkpoint_times(job).write->value();
  CHECK(write == Approx(4.83).epsilon(0.02));
  for (const Warning& warning : warnings)
    if (warning.id == "checkpoint-mode-assumed")
      CHECK(warning.message.find("with sync it is 4.8") != std::string::npos);
}

TEST_CASE("run: a writer that cannot keep up stretches the interval, and says so",
          "[models][run]") {
  Job job = operated_job();
  job.operations.checkpoint_mode = CheckpointMode::async;
  job.operations.checkpoint_write_bandwidth = 0.1 * GBps;
  std::vector<Warning> warnings;
  const RunForecast run = forecast_run(job, five_seconds(), warnings);
  CHECK(run.checkpoint_every->value() == Approx(run.checkpoint.value() / 0.1e9));
  CHECK(warned(warnings, "checkpoint-too-slow"));
}

TEST_CASE("run: a batch ramp costs more steps that are shorter", "[models][run]") {
  Job job = test::llama2_70b_job();
  std::vector<Warning> warnings;
  const RunForecast plain = forecast_run(job, five_seconds(), warnings);
  job.operations.batch_ramp = {{256, 20e9}, {512, 40e9}};
  const RunForecast ramped = forecast_run(job, five_seconds(), warnings);
  CHECK(*ramped.steps == Approx(std::ceil(20e9 / (256 * 4096)) + std::ceil(40e9 / (512 * 4096)) +
                                std::ceil(1940e9 / (1024 * 4096))));
  CHECK(*ramped.ideal > *plain.ideal);
  CHECK(*ramped.ideal < *ramped.steps * Seconds{5.0});
  CHECK(warnings.empty());
  job.operations.batch_ramp = {{100, 20e9}};
  CHECK_FALSE(forecast_run(job, five_seconds(), warnings).ideal.has_value());
  CHECK(warned(warnings, "batch-ramp"));
}

TEST_CASE("run: a straggler slows kernels, not communication", "[models][run]") {
  Job job = operated_job();
  job.operations.fail_slow = {1.0 * days, std::nullopt, 0.5, 1.0 * hours, false};
  std::vector<Warning> warnings;
  const RunInputs inputs = run_model(job, five_seconds(), 10.0 * days, warnings);
  REQUIRE(inputs.model.has_value());
  CHECK(inputs.model->slow_pace == Approx(5.0 / 9.0));  // 4 s of kernels become 8 s of 9 s
}

TEST_CASE("run: parts that the job runs on without do not interrupt it", "[models][run]") {
  Job job = operated_job();  // 128 hosts with 8 NICs
  job.operations.mean_time_between_interruptions.reset();
  auto& parts = job.operations.interruptions.components;
  parts = {{"software", ComponentKind::job, 2.0 * days},
           {"nic", ComponentKind::nic, 1024.0 * 8.0 * days, 4.0 * hours, 0.9}};
  std::vector<Warning> warnings;
  RunInputs inputs = run_model(job, five_seconds(), 10.0 * days, warnings);
  REQUIRE(inputs.model.has_value());
  CHECK(inputs.model->between == 2.0 * days);
  REQUIRE(inputs.model->degraded.size() == 1);
  CHECK(inputs.model->degraded[0].every.in(days) == Approx(8.0));
  CHECK(inputs.model->degraded[0].lasts == 4.0 * hours);
  CHECK(inputs.model->degraded[0].paces == std::vector{0.9});
  // At which pace is for the scenario to say, or for the event engine.
  parts[1].pace.reset();
  inputs = run_model(job, five_seconds(), 10.0 * days, warnings);
  CHECK(inputs.missing == std::vector<std::string>{"operations.interruptions.components[].pace"});
  parts[1].paces = {0.95, 0.92};
  CHECK(run_model(job, five_seconds(), 10.0 * days, warnings).model->degraded[0].paces ==
        parts[1].paces);
}

TEST_CASE("run: domains and switches fail as often as there are of them", "[models][run]") {
  Job job = test::llama2_70b_job();  // 128 hosts of 8 GPUs
  std::vector<Warning> warnings;
  auto& parts = job.operations.interruptions.components;
  parts = {{"rack", ComponentKind::domain, 128.0 * days}};
  CHECK(time_between_interruptions(job, warnings) == 1.0 * days);  // a host is a domain
  job.cluster.host.domain_hosts = 16;
  CHECK(time_between_interruptions(job, warnings) == 16.0 * days);
  parts = {{"spine", ComponentKind::network_switch, 32.0 * days}};
  parts[0].per_host = 0.25;
  CHECK(time_between_interruptions(job, warnings) == 1.0 * days);
}

TEST_CASE("input: hidden while it is faster than the step, then the step", "[models][run]") {
  Job job = test::llama2_70b_job();  // 1024 x 4096 tokens a step, 16 loading ranks
  std::vector<Warning> warnings;
  StepForecast step = five_seconds();
  job.operations.loading = {4, 100e3, std::nullopt};  // 16 * 4 * 100 k tokens/s: 0.66 s
  add_input(job, step, warnings);
  CHECK(step.time == Seconds{5.0});
  CHECK(warnings.empty());
  job.operations.loading.tokens_per_worker = 10e3;  // 6.55 s
  add_input(job, step, warnings);
  CHECK(step.time.value() == Approx(1024.0 * 4096.0 / 640e3));
  CHECK(step.breakdown.total().value() == Approx(step.time.value()));
  CHECK(warned(warnings, "input-bound"));
}

TEST_CASE("input: processes beyond the cores of a host do not help", "[models][run]") {
  Job job = test::llama2_70b_job();
  job.cluster.host.cpu_cores = 8;
  job.operations.loading = {8, 10e3, std::nullopt};
  const Seconds enough = *input_times(job).workers;
  job.operations.loading.workers = 16;
  CHECK(input_times(job).workers->value() == Approx(enough.value()));
}

TEST_CASE("input: storage is shared by all hosts that load", "[models][run]") {
  Job job = test::llama2_70b_job();
  job.operations.loading.bytes_per_token = 4.0;
  std::vector<Warning> warnings;
  StepForecast step = five_seconds();
  add_input(job, step, warnings);
  CHECK(warned(warnings, "unknown-input"));
  job.operations.storage.read = 1.0 * GBps;
  CHECK(input_times(job).storage->value() == Approx(4.0 * 1024 * 4096 / 1e9));
  job.operations.storage.host_link = 0.01 * GBps;  // 16 hosts hold the 16 ranks that load
  CHECK(input_times(job).storage->value() == Approx(4.0 * 1024 * 4096 / 0.16e9));
}

TEST_CASE("cost: GPU-hours times the user's price, and absent without one", "[models][run]") {
  Job job = test::llama2_70b_job();
  std::vector<Warning> warnings;
  const RunForecast run = forecast_run(job, five_seconds(), warnings);
  CHECK_FALSE(forecast_cost(job, five_seconds(), run, warnings).price.has_value());
  job.operations.price_per_gpu = Dollars{2.5} / (1.0 * hours);
  const CostForecast cost = forecast_cost(job, five_seconds(), run, warnings);
  CHECK(*cost.gpu_hours == Approx(1024.0 * run.ideal->in(hours)));
  CHECK(cost.price->value() == Approx(2.5 * *cost.gpu_hours));
  CHECK(warned(warnings, "undated-price"));
}

TEST_CASE("cost: a purchase is written off, and electricity, staff and spares count",
          "[models][run]") {
  Job job = test::llama2_70b_job();
  job.cluster.host.device.power_limit = Watts{700.0};
  job.operations.owned = {Dollars{40e3}, Dollars{4e3}, std::nullopt,
                          1000.0 * days, 0.8,          Dollars{2e6} / (365.0 * days),
                          std::nullopt};
  job.operations.spares.hosts = 16;
  job.operations.power.electricity = Dollars{0.1} / kWh;
  std::vector<Warning> warnings;
  RunForecast run;
  run.ideal = 80.0 * days;
  const CostForecast cost = forecast_cost(job, five_seconds(), run, warnings);
  CHECK(cost.parts.machine->value() == Approx(40e3 * 1024 * 1.125 * 0.1));
  CHECK(cost.parts.network->value() == Approx(4e3 * 1024 * 1.125 * 0.1));
  CHECK_FALSE(cost.parts.storage.has_value());
  CHECK(cost.parts.staff->value() == Approx(2e6 * 80.0 / 365.0));
  // 4 s of 5 s at 0.98 of board power, 1 s at 0.49; hosts 0.39 of it under load.
  const double kilowatts = (*cost.power).value() / 1e3;
  CHECK(kilowatts > 1024 * 0.7 * (0.8 * 0.98 + 0.2 * 0.49 + 0.87 * 0.39));
  CHECK(kilowatts < 1024 * 0.7 * (0.8 * 0.98 + 0.2 * 0.49 + 0.39));
  CHECK(cost.parts.electricity->value() == Approx(0.1 * kilowatts * 80 * 24));
  CHECK(cost.price->value() == Approx(cost.parts.machine->value() + cost.parts.network->value() +
                                      cost.parts.staff->value() + cost.parts.electricity->value()));
}

TEST_CASE("cost: nobody pays for a queue or for capacity that was taken away", "[models][run]") {
  Job job = operated_job();
  std::vector<Warning> warnings;
  const RunForecast plain = forecast_run(job, five_seconds(), warnings);
  const double hours_plain = *forecast_cost(job, five_seconds(), plain, warnings).gpu_hours;
  CHECK(hours_plain == Approx(1024.0 * plain.expected->in(hours)));
  job.operations.queue = 5.0 * days;
  const RunForecast queued = forecast_run(job, five_seconds(), warnings);
  CHECK(*queued.expected - *plain.expected == 5.0 * days);
  CHECK(*forecast_cost(job, five_seconds(), queued, warnings).gpu_hours == Approx(hours_plain));
  job.operations.queue.reset();
  job.operations.preemption = {10.0 * hours, 10.0 * minutes, 1.0 * hours};
  const RunForecast spot = forecast_run(job, five_seconds(), warnings);
  CHECK(*forecast_cost(job, five_seconds(), spot, warnings).gpu_hours ==
        Approx(0.9 * 1024.0 * spot.expected->in(hours)));
}

TEST_CASE("energy: Llama 2's model card counts GPU-hours at board power", "[models][run]") {
  // 70B: 1,720,320 GPU-hours at 400 W and 291.42 t CO2: 0.4235 kg/kWh (arXiv 2307.09288 Table 2)
  Job job = test::llama2_70b_job();
  job.operations.power.gpu_busy = Watts{400.0};
  job.operations.power.gpu_waiting = Watts{400.0};
  job.operations.power.host = Watts{0.0};
  job.operations.power.carbon_kg_per_joule = 0.4235 / 3.6e6;
  std::vector<Warning> warnings;
  RunForecast run;
  run.ideal = 1720320.0 / 1024.0 * hours;
  const CostForecast cost = forecast_cost(job, five_seconds(), run, warnings);
  CHECK(*cost.gpu_hours == Approx(1720320.0));
  CHECK(cost.energy->in(kWh) == Approx(688128.0));
  CHECK(*cost.co2_kg == Approx(291420.0).epsilon(1e-3));
}

TEST_CASE("cost: GPU-hours and price go with the band of the step for as long as steps last",
          "[models][run]") {
  Job job = test::llama2_70b_job();
  job.operations.price_per_gpu = Dollars{2.5} / (1.0 * hours);
  StepForecast step = five_seconds();
  step.low = Seconds{4.0};
  step.high = Seconds{7.0};
  std::vector<Warning> warnings;
  const RunForecast run = forecast_run(job, step, warnings);
  const CostForecast cost = forecast_cost(job, step, run, warnings);
  CHECK(*cost.low.gpu_hours == Approx(0.8 * *cost.gpu_hours));
  CHECK(*cost.high.gpu_hours == Approx(1.4 * *cost.gpu_hours));
  CHECK(cost.low.price->value() == Approx(0.8 * cost.price->value()));
  CHECK(cost.high.price->value() == Approx(1.4 * cost.price->value()));
  // Downtime does not depend on the step.
  Job operated = operated_job();
  const RunForecast interrupted = forecast_run(operated, step, warnings);
  const CostForecast paid = forecast_cost(operated, step, interrupted, warnings);
  CHECK(*paid.low.gpu_hours > 0.8 * *paid.gpu_hours);
  CHECK(*paid.high.gpu_hours < 1.4 * *paid.gpu_hours);
}

TEST_CASE(
    "energy: a range of what is not known of GPUs and hosts, the forecast inside, none where all "
    "is known",
    "[models][run]") {
  Job job = test::llama2_70b_job();
  Device& device = job.cluster.host.device;
  device.power_limit = Watts{700.0};
  job.cluster.host.power_limit = Watts{};
  const StepForecast step = five_seconds();
  // Nothing known: GPUs 0.76 to 1 of board power in 4 s of 5 s, 0.2 to 0.67 in the rest, estimated
  // 0.98 and 0.49; hosts 0.26 to 0.55 of it. Each side adds as squares.
  const double gpu = 0.8 * 0.98 + 0.2 * 0.49;
  const double host = one_host(job, Watts{8 * 700.0 * gpu}).value() / 5600.0 - gpu;
  const auto side = [&](double gpus, double hosts) {
    return std::hypot(std::log((gpus + host) / (gpu + host)),
                      std::log((gpu + hosts) / (gpu + host)));
  };
  const RatioRange unknown = machine_range(job, step);
  CHECK(unknown.low < 1.0);
  CHECK(unknown.high > 1.0);
  CHECK(std::log(unknown.low) == Approx(-side(0.8 * 0.76 + 0.2 * 0.2, 0.26)));
  CHECK(std::log(unknown.high) == Approx(side(0.8 * 1.0 + 0.2 * 0.67, 0.55)));
  // Every fact narrows it.
  double width = unknown.high / unknown.low;
  const auto narrower = [&] {
    const RatioRange range = machine_range(job, step);
    const bool less = range.high / range.low < width;
    width = range.high / range.low;
    return less;
  };
  job.operations.power.host = Watts{2000.0};
  CHECK(narrower());
  job.operations.power.gpu_busy = Watts{600.0};
  CHECK(narrower());
  job.operations.power.gpu_waiting = Watts{200.0};
  CHECK(narrower());
  CHECK(width == Approx(1.0));
  StepForecast apart = step;
  apart.low = Seconds{4.0};
  apart.high = Seconds{7.0};
  std::vector<Warning> warnings;
  RunForecast run;
  run.ideal = 80.0 * days;
  const CostForecast cost = forecast_cost(job, apart, run, warnings);
  CHECK(cost.low.energy->value() == Approx(0.8 * cost.energy->value()));
  CHECK(cost.high.energy->value() == Approx(1.4 * cost.energy->value()));
}

TEST_CASE("energy: hosts draw no more than their published maximum", "[models][run]") {
  Job job = test::llama2_70b_job();
  job.cluster.host.device.power_limit = Watts{1200.0};
  job.cluster.host.gpus = 4;
  job.cluster.host.power_limit = Watts{7330.0};
  const RatioRange rack = machine_range(job, five_seconds());
  job.cluster.host.power_limit = Watts{};
  const RatioRange unknown = machine_range(job, five_seconds());
  CHECK(rack.high < unknown.high);
  CHECK(rack.high / rack.low < unknown.high / unknown.low);
}

TEST_CASE("energy: kernels, waiting and standing still draw their own power", "[models][run]") {
  Job job = operated_job();
  Device& device = job.cluster.host.device;
  device.power_busy = Watts{600.0};
  device.power_waiting = Watts{300.0};
  device.power_idle = Watts{100.0};
  job.operations.power.host = Watts{2000.0};
  job.operations.power.network = Watts{400.0};
  job.operations.power.pue = 1.25;
  job.operations.power.host_idle = Watts{2000.0};
  const double gpu = 0.8 * 600.0 + 0.2 * 300.0;  // 4 s of 5 s are kernels
  CHECK(training_power(job, five_seconds()).value() == Approx(1.25 * (1024 * gpu + 128 * 2400.0)));
  CHECK(idle_power(job).value() == Approx(1.25 * (1024 * 100.0 + 128 * 2400.0)));
  std::vector<Warning> warnings;
  const RunForecast run = forecast_run(job, five_seconds(), warnings);
  const CostForecast cost = forecast_cost(job, five_seconds(), run, warnings);
  CHECK(*cost.step_energy == *cost.power * Seconds{5.0});
  CHECK(*cost.energy < *run.expected * *cost.power);
  // Stalls of checkpoints wait, restarts and repairs stand still.
  const RunSplit& split = *run.split;
  REQUIRE(split.checkpoints > Seconds{});
  const Seconds still = split.detection + split.restart + split.planned + split.waiting;
  const Watts waiting = at_the_meter(job, Watts{300.0});
  CHECK(cost.energy->value() == Approx(((split.total() - still - split.checkpoints) * *cost.power +
                                        split.checkpoints * waiting + still * idle_power(job))
                                           .value()));
  CHECK(*cost.energy > *run.ideal * *cost.power);
  CHECK_FALSE(warned(warnings, "energy-estimated"));
  CHECK_FALSE(warned(warnings, "energy-incomplete"));
}
