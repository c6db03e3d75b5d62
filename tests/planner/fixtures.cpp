// SPDX-License-Identifier: Apache-2.0
#include "tests/planner/fixtures.hpp"

#include "tests/models/example_shapes.hpp"

namespace foretrain::fixtures {
namespace {

Host dgx_h100() {
  Host host;
  host.name = "dgx-h100";
  host.title = "NVIDIA DGX H100";
  host.device.name = "h100-sxm5-80gb";
  host.device.title = "H100 SXM5 80GB";
  host.device.architecture = Architecture::hopper;
  host.device.memory = 80.0 * GiB;
  host.device.usable_memory = 79.1 * GiB;
  host.device.peak = {{Precision::bf16, 989.5 * TFLOPS}, {Precision::fp8, 1979.0 * TFLOPS}};
  return host;
}

StageMemory stage(int number, double activations_gib) {
  StageMemory s;
  s.stage = number;
  s.layers = 10;
  s.weights = 2.1 * GiB;
  s.gradients = 4.2 * GiB;
  s.optimizer = 0.8 * GiB;
  s.activations = activations_gib * GiB;
  s.buffers = 1.5 * GiB;
  s.communication = 0.9 * GiB;
  s.context = 0.5 * GiB;
  s.fragmentation = 0.6 * GiB;
  s.allocated = s.weights + s.gradients + s.optimizer + s.activations + s.buffers;
  s.peak = s.allocated + s.communication + s.context + s.fragmentation;
  s.phase = "forward of the last warm-up micro-batch";
  s.rows = {{"weights of the layers, bf16", "weights", 1.9 * GiB},
            {"word embedding, bf16, with a name that is far too long for one line of a report",
             "weights", 0.2 * GiB},
            {"MLP", "activations", s.activations * 0.75},
            {"attention", "activations", s.activations * 0.25}};
  return s;
}

MemoryForecast memory(int stages, double first_gib, double step_gib) {
  MemoryForecast m;
  m.capacity = 80.0 * GiB;
  m.usable = 79.1 * GiB;
  for (int i = 0; i < stages; ++i) m.stages.push_back(stage(i, first_gib - step_gib * i));
  m.peak = m.stages.front().peak;
  return m;
}

std::vector<ResolvedValue> values() {
  return {{"name", "2024", "run.yaml:2"},
          {"model", "llama2-70b", "run.yaml:3"},
          {"cluster.host", "dgx-h100", "run.yaml:5"},
          {"cluster.host.gpus", "8", "topologies/catalog/hosts/dgx-h100.yaml:4"},
          {"cluster.hosts", "128", "run.yaml:6"},
          {"training.sequence", "4096", "run.yaml:8"},
          {"training.tokens", "2 T", "run.yaml:9"},
          {"parallel.tensor", "8", "--set"},
          {"parallel.sequence", "true", "default"},
          {"cluster.fabric.oversubscription", "1.5", "run.yaml:7"},
          {"communication.bucket", "25 MiB", "default"}};
}

void add_time(Report& report) {
  Prediction& p = report.prediction;
  StepForecast step;
  step.breakdown = {Seconds{3.2},  Seconds{0.31}, Seconds{0.42},  Seconds{0.01},
                    Seconds{0.02}, Seconds{0.03}, Seconds{0.55},  Seconds{0.12},
                    Seconds{0.04}, Seconds{0.0},  Seconds{0.015}, Seconds{0.06}};
  step.time = step.breakdown.total();
  step.low = step.time * 0.94;
  step.high = step.time * 1.08;
  p.step = step;
  const double tokens = 1024.0 * 4096.0;
  p.efficiency = Efficiency{0.42, 0.45, tokens / step.time.value(),
                            tokens / step.time.value() / 1024.0, 415.6};
  p.run.tokens = 2e12;
  p.run.steps = 476838.0;
  p.run.ideal = step.time * 476838.0;
  p.run.goodput = 0.93;
  p.run.expected = *p.run.ideal / 0.93;
  p.run.p10 = *p.run.expected * 0.94;
  p.run.p90 = *p.run.expected * 1.08;
  p.cost.gpu_hours = *p.run.expected * 1024.0 / hours;
  p.cost.price = Dollars{*p.cost.gpu_hours * 2.5};
  p.cost.energy = 1.0e6 * kWh;
  p.cost.co2_kg = 4.0e5;
  p.power = PowerForecast{};
  p.power->gpu = Watts{640.0};
  p.power->host = Watts{7.0e3};
  p.power->mean = Watts{9.0e5};
  p.power->low = Watts{8.5e5};
  p.power->high = Watts{9.6e5};
  p.power->peak = Watts{9.5e5};
  p.power->meter_peak = Watts{9.4e5};
  p.power->peak_over_mean = 9.5 / 9.0;
  p.power->ramp = Watts{1.2e5} / Seconds{1.0};
  p.power->waiting = Watts{5.5e5};
  p.power->swing = Watts{3.9e5};
  p.power->coherence = 0.8;
}

}  // namespace

Job job() {
  Job j;
  j.name = "llama2-70b-1024xh100";
  j.model = test::llama2_70b();
  j.model.title = "Llama 2 70B";
  j.cluster.host = dgx_h100();
  j.cluster.hosts = 128;
  j.cluster.network.preset = "ib-ndr";
  j.cluster.network.title = "InfiniBand NDR 400";
  j.training.sequence = 4096;
  j.training.global_batch = 1024;
  j.training.tokens = 2e12;
  j.parallel.tensor = 8;
  j.parallel.sequence = true;
  j.parallel.pipeline = 8;
  j.parallel.data = 16;
  j.parallel.zero = 1;
  j.memory.recompute.kind = RecomputeKind::selective;
  j.operations.price_per_gpu = Dollars{2.5} / hours;
  j.stack.name = "megatron-core";
  j.stack.title = "Megatron-Core 0.8";
  return j;
}

Report fitting() {
  Report report;
  report.scenario.job = job();
  report.scenario.path = "run.yaml";
  report.scenario.values = values();
  Prediction& p = report.prediction;
  p.memory = memory(8, 30.0, 3.0);
  p.flops = FlopsForecast{Flop{1.82e18}, Flop{1.95e18}, 989.5 * TFLOPS,
                          "full attention scores, dense bf16 peak"};
  add_time(report);
  p.links = {{"rail 0", 1.5 * GB, 0.4}};
  p.warnings = {
      {"outside-calibration", "kernel rates are extrapolated, \"quoted\" and, with comma"}};
  const Provenance known{Trust::measured, "GEMM sweep on an H100 SXM5", "2024-11-02", 0.031};
  p.device = p.kernels = p.collectives = known;
  p.stack = Provenance{Trust::interpolated, "published runs", "", -1.0};
  return report;
}

Report with_stages(int stages) {
  Report report = fitting();
  report.scenario.job.parallel.pipeline = stages;
  report.prediction.memory = memory(stages, 30.0, 28.0 / stages);
  return report;
}

Report out_of_memory() {
  Report report = fitting();
  Prediction& p = report.prediction;
  p.memory = memory(8, 80.0, 3.0);
  p.reasons = {{"out-of-memory", "", "stage 0 needs 90.6 GiB of 79.1 GiB: 11.5 GiB too much",
                "--set memory.recompute=full"}};
  p.step.reset();
  p.efficiency.reset();
  p.run = {};
  p.cost = {};
  p.power.reset();
  report.changes = {{{"parallel.tensor=16", "parallel.data=8"}, 60.0 * GiB, Seconds{5.0}},
                    {{"parallel.zero=3"}, 61.0 * GiB, std::nullopt}};
  return report;
}

Report illegal() {
  Report report;
  report.scenario.job = job();
  report.scenario.path = "run.yaml";
  report.scenario.values = values();
  report.prediction.reasons = {{"kv-heads-divide-tensor", "parallel.tensor",
                                "tensor 3 does not divide the 8 key/value heads", "tensor 2 or 4"},
                               {"gpus-match", "parallel.data", "3 x 8 x 16 is not 1024 GPUs", ""}};
  return report;
}

}  // namespace foretrain::fixtures
