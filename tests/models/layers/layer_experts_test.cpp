// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts in a layer's time.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>

#include "models/collectives/collective_cost.hpp"
#include "models/grid/process_grid.hpp"
#include "models/layers/flops.hpp"
#include "models/layers/layer_cost.hpp"
#include "models/step/step_time.hpp"
#include "tests/models/layers/layer_sums.hpp"
#include "tests/models/layers/moe_jobs.hpp"

using namespace foretrain;
using test::check_equal;
using test::sum_of;

namespace {

Seconds both_passes(const Operator& op) {
  return op.forward + op.input_gradient + op.weight_gradient;
}

Seconds time_of(const Job& job) { return LayerCost{job}.layer(LayerKind::moe).all().total(); }

}  // namespace

TEST_CASE("experts: operators add up to the passes of both kinds of layers",
          "[models][layer][property]") {
  Job job = GENERATE(test::mixtral_job(), test::deepseek_v3_job());
  job.memory.recompute.kind =
      GENERATE(RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full);
  job.parallel.schedule = GENERATE(ScheduleKind::one_f_one_b, ScheduleKind::dualpipe);
  job.model.mtp_layers = 2;
  const LayerCost cost{job};
  const bool full = job.memory.recompute.kind == RecomputeKind::full;
  for (const LayerKind kind : {LayerKind::dense, LayerKind::moe}) {
    if (kind == LayerKind::dense && job.model.moe_layers() == job.model.layers) continue;
    check_equal(sum_of(layer_operators(job, {kind})), cost.layer(kind));
    if (full) check_equal(sum_of(layer_operators(job, {kind, true})), cost.recomputed_layer(kind));
  }
  check_equal(sum_of(head_operators(job)), cost.head());
}

TEST_CASE("experts: a balanced rank does its tokens' share of the FLOPs", "[models][layer]") {
  const Job job = test::deepseek_v3_job();
  const ForwardFlops whole = layer_forward_flops(job.model, job.training.sequence, {LayerKind::moe},
                                                 AttentionFlops::causal);
  Flop products;
  for (const Operator& op : layer_operators(job, {LayerKind::moe}))
    if (op.kind == OperatorKind::product) products += op.flop;
  CHECK(products / (whole.total() - whole.attention_scores) == Approx(1.0));
}

TEST_CASE("experts: a prediction module is a layer, a projection and a head more",
          "[models][layer]") {
  Job job = test::deepseek_v3_job();
  const auto head_flop = [&] {
    Flop sum;
    for (const Operator& op : head_operators(job)) sum += op.flop;
    return sum;
  };
  const Flop alone = head_flop();
  job.model.mtp_layers = 1;
  Flop expected = 2.0 * alone + Flop{2.0 * 4096 * 2.0 * 7168 * 7168};
  for (const Operator& op : layer_operators(job, {LayerKind::moe})) expected += op.flop;
  CHECK(head_flop() / expected == Approx(1.0));
  check_equal(sum_of(head_operators(job)), LayerCost{job}.head());
}

TEST_CASE("experts: one expert for all tokens is the dense layer, but for routing",
          "[models][layer]") {
  Job dense = test::mixtral_job();
  dense.model.moe.reset();
  dense.parallel.expert = 1;
  Job single = dense;
  single.model.moe = MoeShape{1, 1, single.model.ffn_hidden};
  single.parallel.expert_tensor = single.parallel.tensor;
  single.stack.times.expert_elementwise = single.stack.times.elementwise;
  Seconds routing, rest;
  for (const Operator& op : layer_operators(single, {LayerKind::moe})) {
    constexpr std::array names{"router", "top-k", "permute", "unpermute"};
    const bool routes = std::find(names.begin(), names.end(), op.name) != names.end();
    (routes ? routing : rest) += both_passes(op);
  }
  Seconds expected;
  for (const Operator& op : layer_operators(dense, {})) {
    // the experts' exchange over tensor ranks is not hidden behind products
    const bool moved = op.kind == OperatorKind::tensor;
    expected += moved ? Seconds{} : both_passes(op);
  }
  for (const Operator& op : layer_operators(single, {LayerKind::moe}))
    if (op.kind == OperatorKind::tensor) rest -= both_passes(op);
  CHECK(rest.value() == Approx(expected.value()).epsilon(1e-9));
  CHECK(routing > Seconds{});
  CHECK(routing < 0.2 * expected);
}

TEST_CASE("experts: a token crosses to a host once, however many of its experts are there",
          "[models][layer]") {
  // DeepEP on 8 x H100 hosts with one 400 Gbit/s NIC per GPU, 4096 tokens of 7168, 8 of 256
  // experts: combining over 4 hosts takes 3.64 ms (calibration/measured/kernels.csv, moe_combine).
  Job job = test::deepseek_v3_job();
  job.parallel.expert = 32;
  job.stack.times.expert_latency = Seconds{};
  const Operators operators = layer_operators(job, {LayerKind::moe});
  const auto combine = std::find_if(operators.begin(), operators.end(),
                                    [](const Operator& op) { return op.name == "combine"; });
  REQUIRE(combine != operators.end());
  CHECK(combine->forward.in(ms) == Approx(3.64).epsilon(0.1));
}

TEST_CASE("experts: exchanges within a host run at the speed of its links", "[models][layer]") {
  // 8 H100: 512 MiB take 1.461 ms, 64 MiB 0.217 ms (calibration/measured/nccl_sweeps.csv,
  // a2a_h100x8_simumax).
  const Job job = test::mixtral_job();
  const CollectivePath path{job.cluster, job.device_profile, job.site};
  const CommGroup host = spaced_group(8, 1).on_hosts({8, 8});
  const auto time = [&](Bytes payload) {
    return all_to_all_time(host, {7.0 / 8.0 * payload, Bytes{}}, path);
  };
  CHECK(time(512.0 * MiB).in(ms) == Approx(1.461).epsilon(0.06));
  CHECK(time(64.0 * MiB).in(ms) == Approx(0.217).epsilon(0.06));
}

TEST_CASE("experts: what concentrates or scatters the work costs time", "[models][layer]") {
  const Job job = test::mixtral_job();
  Job other = job;
  SECTION("imbalance") { other.training.moe_imbalance = 1.5; }
  SECTION("experts over two hosts") {
    other.parallel.tensor = 2;
    other.parallel.expert_tensor = 2;
  }
  SECTION("more experts per token") { other.model.moe->top_k = 4; }
  SECTION("shared experts") { other.model.moe->shared_ffn_hidden = 16384; }
  SECTION("slower exchanges") { other.stack.times.expert_latency *= 2.0; }
  CHECK(time_of(other) > 1.01 * time_of(job));
}

TEST_CASE("experts: rows that their tensor ranks gather are sorted once more", "[models][layer]") {
  Job job = test::mixtral_job();
  job.parallel.expert_tensor = 2;
  const auto permute = [&] {
    const Operators operators = layer_operators(job, {LayerKind::moe});
    const auto found = std::find_if(operators.begin(), operators.end(),
                                    [](const Operator& op) { return op.name == "permute"; });
    REQUIRE(found != operators.end());
    return found->forward;
  };
  const Seconds alone = permute();  // one expert per rank: nothing to sort
  job.parallel.expert = 4;
  CHECK(permute() / alone == Approx(1.5).epsilon(0.01));  // 8 + 4 bytes per element
}

TEST_CASE("experts: many small products gain from one call, few large ones do not",
          "[models][layer]") {
  Job many = test::deepseek_v3_job();
  many.parallel.expert = 8;  // 32 experts with 1024 rows each
  Job single = many;
  single.training.grouped_experts = false;
  CHECK(time_of(many) < 1.1 * time_of(single));
  Job few = test::mixtral_job();  // one expert per rank
  Job alone = few;
  alone.training.grouped_experts = false;
  CHECK(time_of(few) == time_of(alone));
}

TEST_CASE("experts: DualPipe hides exchanges behind kernels", "[models][layer]") {
  Job job = test::deepseek_v3_job();
  const TimeParts shown = LayerCost{job}.layer(LayerKind::moe).all();
  job.parallel.schedule = ScheduleKind::dualpipe;
  const TimeParts hidden = LayerCost{job}.layer(LayerKind::moe).all();
  CHECK(hidden.expert < 0.5 * shown.expert);
  CHECK(hidden.compute == shown.compute);
}

TEST_CASE("experts: exchanges hide behind another micro-batch where they are asked to",
          "[models][layer]") {
  Job job = test::deepseek_v3_job();
  const TimeParts shown = LayerCost{job}.layer(LayerKind::moe).all();
  job.communication.overlap.experts = true;
  const TimeParts hidden = LayerCost{job}.layer(LayerKind::moe).all();
  CHECK(hidden.expert < 0.5 * shown.expert);
  job.training.global_batch = job.training.micro_batch * job.parallel.data;  // one alone
  CHECK(LayerCost{job}.layer(LayerKind::moe).all().expert == shown.expert);
}

TEST_CASE("experts: a plain all-to-all sends every copy of a token to other hosts",
          "[models][layer]") {
  // 8 of 256 experts over 4 hosts: 6 copies leave the host, of which 2.7 are to different hosts.
  Job job = test::deepseek_v3_job();
  job.parallel.expert = 32;
  const Seconds once = LayerCost{job}.layer(LayerKind::moe).all().expert;
  job.communication.expert_dispatch = ExpertDispatch::every_copy;
  const Seconds copies = LayerCost{job}.layer(LayerKind::moe).all().expert;
  CHECK(copies / once == Approx(6.0 / 2.7).epsilon(0.15));
}

TEST_CASE("experts: a dispatch waits for the processor once, unless rows are padded to a capacity",
          "[models][layer]") {
  Job job = test::deepseek_v3_job();
  const auto exposed = [&](Seconds latency) {
    job.stack.times.expert_latency = latency;
    return LayerCost{job}.layer(LayerKind::moe);
  };
  const PieceTimes without = exposed(Seconds{});
  const PieceTimes with = exposed(10.0 * ms);
  CHECK((with.forward.expert - without.forward.expert).in(ms) == Approx(10.0));
  CHECK(with.backward().expert == without.backward().expert);
  job.training.moe_capacity = 1.0;
  CHECK(exposed(10.0 * ms).forward.expert == exposed(Seconds{}).forward.expert);
}

TEST_CASE("experts: a fused dispatch sends a token to a rank once and sorts in one kernel",
          "[models][layer]") {
  Job job = test::deepseek_v3_job();
  job.parallel.expert = 8;  // of one host: 8 experts on 8 ranks, 5.25 of them different
  job.stack.times.expert_latency = Seconds{};
  const auto find = [&](std::string_view name) {
    for (const Operator& op : layer_operators(job, {LayerKind::moe}))
      if (op.name == name) return op;
    return Operator{};
  };
  const Operator plain = find("dispatch");
  const Seconds sorted = find("permute").forward;
  job.communication.expert_dispatch = ExpertDispatch::fused;
  const Operator fused = find("dispatch");
  CHECK(fused.exchange.sent / plain.exchange.sent == Approx(5.25 / 8.0).epsilon(0.01));
  CHECK(fused.forward < plain.forward);
  // It reads 5.25 and writes 8 of the rows that are read and written twice elsewhere.
  const double passes = (1.0 + 5.25 / 8.0) / 4.0;
  const StackTimes& times = job.stack.times;
  CHECK(find("permute").forward / sorted ==
        Approx(passes * times.elementwise / times.expert_elementwise).epsilon(0.01));
  CHECK(find("unpermute").input_gradient == find("permute").forward);
  const LayerCost cost{job};
  check_equal(sum_of(layer_operators(job, {LayerKind::moe})), cost.layer(LayerKind::moe));
}

TEST_CASE("experts: faster machines are never slower", "[models][layer][property]") {
  const Job job = GENERATE(test::mixtral_job(), test::deepseek_v3_job());
  Job faster = job;
  SECTION("peak") { faster.cluster.host.device.peak[Precision::bf16] *= 1.3; }
  SECTION("memory bandwidth") { faster.cluster.host.device.memory_bandwidth *= 1.3; }
  SECTION("scale-up link") { faster.cluster.host.gpu_link.bandwidth *= 1.3; }
  SECTION("NIC") { faster.cluster.network.nic_link.bandwidth *= 1.3; }
  CHECK(time_of(faster) <= time_of(job));
  const auto step = [](const Job& of) {
    return step_time(of, stage_layout(of.model, of.parallel)).time;
  };
  CHECK(step(faster) <= step(job));
}
