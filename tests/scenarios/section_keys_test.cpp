// SPDX-License-Identifier: Apache-2.0
#include "scenarios/fields/key_rows.hpp"

#include <memory>

#include <catch2/catch.hpp>

#include "scenarios/sections/sections.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

/// What the reader makes of a section's text, as the text of that.
template <class T>
std::string read_back(const BoundTable<T>& section, const std::string& text) {
  const FieldTable& table = section.fields();
  Diagnostics diagnostics;
  const auto root = parse_yaml(text, "section.yaml", YamlLimits{}, diagnostics);
  diagnostics.throw_if_any();
  const FieldValues values = read_fields(*root, table, diagnostics, Document::partial);
  diagnostics.throw_if_any();
  return section.text(section.read(values));
}

/// Every key of the section that is not a group stands in the text.
template <class T>
void check_says_all(const BoundTable<T>& section, const std::string& text, const std::string& but) {
  for (const Field& field : section.fields().fields()) {
    CAPTURE(field.path);
    if (field.path != but)
      CHECK(text.find(std::string(leaf_name(field.path)) + ":") != std::string::npos);
  }
}

}  // namespace

TEST_CASE("parallel: what is written is read back, every key of it", "[scenarios][fields]") {
  Parallel plan;
  CHECK(parallel_keys().text(plan).empty());
  plan.tensor = 8;
  plan.sequence = true;
  plan.context = 2;
  plan.pipeline = 4;
  plan.virtual_stages = 3;
  plan.schedule = ScheduleKind::interleaved;
  plan.vocabulary = VocabularyKind::split_two_syncs;
  plan.microbatch_group = 6;
  plan.expert = 5;
  plan.expert_tensor = 7;
  plan.data = 16;  // follows from the rest
  plan.order = stages_in_replica;
  plan.zero = 2;
  plan.zero_group = 9;
  plan.processes = ProcessKind::per_host;
  plan.gather = GatherKind::loss;
  plan.framework = PlanFramework::transformers;
  plan.stage_layers = {19, 20, 21, 20};
  plan.prediction_stage = 2;
  const std::string text = parallel_keys().text(plan);
  check_says_all(parallel_keys(), text, "parallel.data");
  CHECK(text.find("  order: tp-cp-ep-pp-dp\n") != std::string::npos);
  CHECK(text.find("  stage_layers: [19, 20, 21, 20]\n") != std::string::npos);
  CHECK(read_back(parallel_keys(), text) == text);
}

TEST_CASE("training: what is written is read back, every key of it", "[scenarios][fields]") {
  Training training;
  training.sequence = 4096;
  training.global_batch = 1024;
  CHECK(training_keys().text(training) ==
        "training:\n  sequence: 4096\n  micro_batch: 1\n  global_batch: 1024\n");
  training.micro_batch = 2;
  training.tokens = 2e12;
  training.precision = Precision::fp8;
  training.optimizer = OptimizerKind::muon;
  training.newton_schulz_steps = 8;
  training.optimizer_in_backward = true;
  training.projection = {ProjectionKind::apollo, 64, 50, {ModelPart::mlp}};
  training.master_weights = MasterWeights::none;
  training.master_bytes = 2.0;
  training.first_moment_bytes = 1.0;
  training.second_moment_bytes = 3.0;
  training.decoupled_gradients = true;
  training.moe_imbalance = 1.25;
  training.whole_tensor_shards = true;
  training.bf16_end_layers = 2;
  training.fp8_scaling = Fp8Scaling::row;
  training.router_fp32 = true;
  training.grouped_experts = false;
  training.cuda_graphs.add(GraphPart::attention);
  training.cuda_graphs.add(GraphPart::moe_router);
  training.fused_kernels = {FusedKernel::norm, FusedKernel::linear_loss};
  training.hidden_dropout = training.attention_dropout = 0.1;
  training.moe_routing = {ExpertSpread::dirichlet, 4.0, 0.3};
  training.moe_capacity = 1.25;
  training.fp8_attention = true;
  training.vocabulary_multiple = 64;
  training.samples = {SampleLayout::padded, 700.0, 300.0, {128, 4096}};
  training.images = {2.5, 256};
  const std::string text = training_keys().text(training);
  check_says_all(training_keys(), text, "");
  CHECK(text.find("  optimizer_state: {master: 2 B, first_moment: 1 B, second_moment: 3 B, "
                  "decoupled_gradients: true}\n") != std::string::npos);
  CHECK(text.find("  gradient_projection: {kind: apollo, rank: 64, gap: 50, parts: [mlp]}\n") !=
        std::string::npos);
  CHECK(text.find("  cuda_graphs: [attention, moe-router]\n") != std::string::npos);
  CHECK(text.find("  fused_kernels: [norm, linear-loss]\n") != std::string::npos);
  const std::string library =
      read_back(training_keys(),
                "training: {sequence: 4096, global_batch: 8, fused_kernels: [apex, lora]}\n");
  CHECK(library.find("  fused_kernels: [norm, lora, optimizer]\n") != std::string::npos);
  CHECK(read_back(training_keys(), text) == text);
}

TEST_CASE("memory: what is written is read back, every key of it", "[scenarios][fields]") {
  CHECK(memory_keys().text({}).empty());
  const std::string rest =
      "  attention: unfused\n  offload: optimizer\n  offload_share: 0.5\n  activation_offload: "
      "[core-attention, mlp]\n"
      "  offloaded_layers: 4\n  fused_norm: true\n  fused_activation: false\n  fused_softmax: "
      "false\n"
      "  fused_loss: true\n  fused_loss_engine: true\n  fused_permutation: true\n  "
      "fused_gradient_accumulation: false\n"
      "  deterministic: true\n  attention_mask: true\n  fp8_parameters: true\n";
  const std::string layers =
      "memory:\n  recompute: {granularity: full, method: block, layers: 3, distribute_saved: "
      "true}\n" +
      rest;
  CHECK(read_back(memory_keys(), layers) == layers);
  const std::string parts =
      "memory:\n  recompute: {granularity: selective, modules: [core-attention, mlp-norm], "
      "every_second_matmul: true}\n  attention_library: flash-3\n";
  CHECK(read_back(memory_keys(), parts) == parts);
  check_says_all(memory_keys(), layers + parts, "");
}

TEST_CASE("communication: what is written is read back, every key of it", "[scenarios][fields]") {
  CHECK(communication_keys().text({}).empty());
  const std::string text =
      "communication:\n  backend: mpi\n  transport: tcp\n"
      "  overlap: {gradients: false, parameters: false, tensor: true, pipeline: false, "
      "experts: true}\n"
      "  bucket: 32 MiB\n  expert_dispatch: fused\n  expert_multiprocessors: 32\n"
      "  context_exchange: all-gather\n  scatter_gather: false\n"
      "  gradient_dtype: bf16\n";
  check_says_all(communication_keys(), text, "");
  CHECK(read_back(communication_keys(), text) == text);
  Job job;
  job.communication.transport = job.cluster.network.transport = Transport::tcp;
  CHECK(communication_keys().text(job).empty());
}

TEST_CASE("operations: what is written is read back, every key of it", "[scenarios][fields]") {
  CHECK(operations_keys().text({}).empty());
  const std::string text =
      "operations:\n  mean_time_between_interruptions: 3.1 h\n"
      "  interruptions: {per_gpu_hour: 2e-05, per_1000_node_days: 6.5, "
      "components: [{name: \"hbm\", per: gpu, every: 50000 h}, {name: \"nic\", per: nic, every: "
      "60000 h, degraded_for: 4 h, pace: 0.97}, {name: \"rack\", per: domain, every: 50000 h}, "
      "{name: \"spine\", per: switch, every: 300000 h}], "
      "curve: [{gpus: 1024, every: 7.9 h}, {gpus: 16384, every: 1.8 h}], "
      "trace: [{at: 3 h, down: 40 min}, {at: 5 h}], planned_every: 26 h, planned_pause: 20 min}\n"
      "  restart: 10 min\n  recovery: {detection: 3 min, reschedule: 5 min, reload: 2 min}\n"
      "  warm_up: 1 min\n  spares: {hosts: 4, repair: 2 d, share: 0.78}\n"
      "  fail_slow: {every: 2 d, per_1000_node_days: 1.5, pace: 0.8, lasts: 1.2 h, restart: "
      "true}\n"
      "  preemption: {every: 8 h, notice: 2 min, wait: 30 min}\n  queue: 6 h\n  deadline: 60 d\n"
      "  checkpoint: {every: 30 min, every_steps: 100, optimal: true, size: 1 TB, "
      "write_bandwidth: 200 GB/s, read_bandwidth: 400 GB/s, stall: 5 s, mode: sync, writers: 64, "
      "writer_rate: 2 GB/s, slowdown: 1.05, local: {write: 20 GB/s, read: 40 GB/s, share: 0.8}}\n"
      "  storage: {read: 2 TB/s, write: 1 TB/s, host_link: 200 Gbit/s, network: compute}\n"
      "  evaluation: {every_steps: 1000, pause: 3 min}\n"
      "  batch_ramp: [{global_batch: 256, tokens: 10 B}, {global_batch: 512, tokens: 20 B}]\n"
      "  data_loading: {workers: 4, tokens_per_worker: 500 k, bytes_per_token: 4}\n"
      "  price: 2.5 USD/GPU-hour\n  prices_as_of: \"2026-11-01\"\n"
      "  owned: {gpu: 35 kUSD, network: 4 kUSD, storage: 1 kUSD, lifetime: 1460 d, "
      "utilisation: 0.85, staff: 3 MUSD/year, upkeep: 1 MUSD/year}\n"
      "  power: {electricity: 80 USD/MWh, pue: 1.2, host: 2.2 kW, host_idle: 1.9 kW, "
      "hosts_per_rack: 4, network: 400 W, "
      "gpu_busy: 650 W, gpu_waiting: 300 W, gpu_idle: 120 W, floor: 0.7, carbon: 350 g/kWh}\n";
  check_says_all(operations_keys(), text, "operations.interruptions.trace_file");
  const std::string again = read_back(operations_keys(), text);
  CHECK(again == text);
}

TEST_CASE("simulation: what is written is read back, every key of it", "[scenarios][fields]") {
  CHECK(simulation_keys().text({}).empty());
  const std::string text =
      "simulation:\n  seed: 7\n  routing: ecmp\n  connections: 4\n  placement: scrambled\n"
      "  collectives: expanded\n  unfold: true\n  occupied: [0, 9]\n"
      "  rerouting: 2 s\n"
      "  disturbances: [{kind: link-down, target: \"leaf0-spine0\", from: 1 ms, lasts: 2 ms}, "
      "{kind: nic-flap, target: \"nic3.2\", lasts: 1 ms, period: 100 ms}, "
      "{kind: straggler, target: \"3\", factor: 0.8, jitter: 0.05}, "
      "{kind: background, target: \"0\", to: \"9\", rate: 100 Gbit/s}, "
      "{kind: checkpoint, target: \"30\", to: \"31\"}, "
      "{kind: input, target: \"30\", to: \"31\"}]\n";
  check_says_all(simulation_keys(), text, "");
  CHECK(read_back(simulation_keys(), text) == text);
}

TEST_CASE("an element of a list without what it needs is none", "[scenarios][fields]") {
  const std::string text =
      "simulation:\n  disturbances: [{kind: node-down}, {kind: node-down, target: \"spine1\"}]\n";
  CHECK(read_back(simulation_keys(), text) ==
        "simulation:\n  disturbances: [{kind: node-down, target: \"spine1\"}]\n");
}

TEST_CASE("budget: what is written is read back", "[scenarios][fields]") {
  CHECK(budget_keys().text({}).empty());
  const std::string text =
      "budget: [{metric: \"step.time_s\", max: 4.2}, {metric: \"step.mfu\", min: 0.4}]\n";
  CHECK(read_back(budget_keys(), text) == text);
}

TEST_CASE("measured: what is written is read back, every key of it", "[scenarios][fields]") {
  Job job;
  CHECK(measured_keys().text(job).empty());
  job.measured = {Seconds{7.1}, 58e3, Bytes{60e9}, Bytes{70e9}, Bytes{75e9}};
  const std::string text = measured_keys().text(job);
  check_says_all(measured_keys(), text, "");
  CHECK(read_back(measured_keys(), text) == text);
}

TEST_CASE("cluster: what is written is read back, every key of it", "[scenarios][fields]") {
  Cluster cluster;
  cluster.host.name = "dgx-h100";
  cluster.host.domain_hosts = 4;
  cluster.host.whole_gpus = 16;
  cluster.hosts = 32;
  cluster.segment = 2;
  Network& network = cluster.network;
  network.preset = "ib-ndr";
  network.oversubscription = 2.0;
  network.spine_oversubscription = 1.5;
  network.connected = 40;
  network.nic_ports = 2;
  network.nics_per_host = 4;
  network.nic_rate = BytesPerSecond{25e9};
  network.planes = PortPlanes::joined;
  network.dragonfly = {9, 8, 4, 2, true};
  network.torus = {{8, 4}, BytesPerSecond{50e9}};
  network.irregular =
      std::make_shared<IrregularShape>(IrregularShape{{0, 0, 1}, {{0, 1, 1}, {1, 2, 4}}});
  const std::string text = cluster_keys().text(cluster);
  check_says_all(cluster_keys(), text, "cluster.fabric.switch_radix");
  CHECK(text.find("  host: dgx-h100\n  hosts: 32\n  gpus_per_host: 8\n  domain: 16\n") !=
        std::string::npos);
  CHECK(text.find("irregular: {nics: [0, 0, 1], cables: [0-1x1, 1-2x4]}") != std::string::npos);
  // What the catalog knows of its names comes with the catalog.
  std::string known = text;
  for (const char* const name :
       {"  host: dgx-h100\n", "  gpus_per_host: 8\n", "  domain: 16\n", ", preset: ib-ndr"})
    known.erase(known.find(name), std::string(name).size());
  CHECK(read_back(cluster_keys(), text) == known);
}

TEST_CASE("a documented default of a section is that of its struct", "[scenarios][fields]") {
  const auto documented = [](const FieldTable& table, const std::string& path) {
    const Field* const field = table.find(path);
    return field == nullptr ? std::string("no such key") : field->default_text;
  };
  CHECK(documented(parallel_keys().fields(), "parallel.schedule") == name_of(default_schedule));
  CHECK(documented(parallel_keys().fields(), "parallel.microbatch_group").empty());
  CHECK(documented(training_keys().fields(), "training.optimizer_state.master") == "4 B");
  CHECK(documented(training_keys().fields(), "training.sequence").empty());
}

}  // namespace foretrain
