// SPDX-License-Identifier: Apache-2.0
#include "calibration/records/run_job.hpp"

#include <catch2/catch.hpp>

#include "calibration/cases/step_case.hpp"
#include "calibration/records/run_source.hpp"
#include "tests/calibration/measured_records.hpp"

namespace foretrain {
namespace {

Job job_of(const RunRecord& record) {
  const RunJob mapped = run_job(record, shipped_catalog());
  INFO(record.id << ": " << mapped.why);
  REQUIRE(mapped.job.has_value());
  return *mapped.job;
}

Job job_of(const std::string& id) { return job_of(shipped_run(id)); }

bool assumes(const std::string& id, const std::string& what) {
  for (const std::string& assumption : run_job(shipped_run(id), shipped_catalog()).assumptions)
    if (assumption.find(what) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("records as jobs: SC21, DDP overlapped where the script says so", "[calibration][job]") {
  const Job small = job_of("sc21-t1-1.7b");
  CHECK(small.stack.name == "megatron-2021");
  CHECK(small.site.name == "selene");
  CHECK(small.cluster.hosts == 4);
  CHECK(small.training.precision == Precision::fp16);
  CHECK(small.communication.gradient_dtype == Precision::fp16);
  CHECK(small.communication.overlap.gradients);  // DDP=torch
  CHECK_FALSE(small.communication.overlap.parameters);
  CHECK(small.memory.recompute.kind == RecomputeKind::full);
  CHECK(small.memory.attention == AttentionKind::unfused);
  CHECK(small.microbatches() == 1);
  const Job large = job_of("sc21-t1-1008.0b");
  CHECK_FALSE(large.communication.overlap.gradients);  // DDP=local
  CHECK(large.cluster.hosts == 384);
  CHECK(large.parallel.schedule == ScheduleKind::one_f_one_b);
}

TEST_CASE("records as jobs: what a record says as scenarios do stands over its other fields",
          "[calibration][job]") {
  Diagnostics diagnostics;
  const auto record_of = [&](const std::string& more) {
    const auto document = parse_yaml(
        "- id: mine-1\n  gpu: RTX4090\n  gpus: 1\n  gpus_per_node: 1\n  stack: hf-trainer\n"
        "  task: finetune\n  model: {name: llama3-8b, seq: 4096}\n  precision: bf16\n"
        "  parallel: {tp: 1, pp: 1, dp: 1}\n  micro_batch: 1\n  global_batch: 1\n" +
            more,
        "mine.yaml", run_record_limits(), diagnostics);
    return read_run_record(document->items.front(), diagnostics).value();
  };
  const RunRecord paged = record_of(
      "  recompute: none\n  cpu_offload: its states page\n  plan:\n"
      "    training: {optimizer: adam8bit}\n"
      "    memory: {offload: paged, recompute: full, offloaded_layers: 32}\n");
  CHECK(beyond_jobs(paged).empty());
  const Job job = job_of(paged);
  CHECK(job.training.optimizer == OptimizerKind::adam8bit);
  CHECK(job.memory.offload == OffloadKind::paged);
  CHECK(job.memory.offloaded_layers == 32);
  CHECK(job.memory.recompute.kind == RecomputeKind::full);
  CHECK(beyond_jobs(record_of("  cpu_offload: weights, layer by layer\n"))
            .find("plan.memory.offload") != std::string::npos);
  CHECK(beyond_jobs(record_of("  activation_offload: layer inputs\n"))
            .find("plan.memory.offloaded_layers") != std::string::npos);
  CHECK(beyond_jobs(record_of("  tiled_mlp: true\n")).find("in pieces") != std::string::npos);
  CHECK(diagnostics.sorted().empty());
}

TEST_CASE("records as jobs: Megatron-Core recipes", "[calibration][job]") {
  const Job job = job_of("dgxc-v25.03-llama31-70b-bf16-64");
  CHECK(job.stack.name == "nemo");
  CHECK(job.site.name == "dgx-h100-ndr");
  CHECK(job.cluster.network.preset == "ib-ndr");
  CHECK(job.parallel.schedule == ScheduleKind::interleaved);
  CHECK(job.parallel.zero == 1);
  CHECK(job.parallel.sequence);
  CHECK(job.communication.overlap.gradients);
  CHECK(job.communication.overlap.parameters);
  CHECK(job.communication.overlap.tensor);
  CHECK(job.communication.gradient_dtype == Precision::bf16);
  // Nothing to overlap without tensor parallelism.
  CHECK_FALSE(job_of("dgxc-v25.03-llama31-8b-bf16-8").communication.overlap.tensor);
  CHECK(job_of("mlperf-v4.1-gpt3-eos-n64-ngc24.09-nemo").training.precision == Precision::fp8);
  CHECK(job_of("mlperf-v4.1-gpt3-eos-n64-ngc24.09-nemo").stack.name == "megatron-core");
  CHECK(job_of("mlperf-v3.0-gpt3-dgxh100-n64-nemo").stack.name == "megatron-core-2401");
}

TEST_CASE("records as jobs: FlagPerf's Megatron runs as their READMEs and scripts have them",
          "[calibration][job]") {
  const Job job = job_of("flagperf-llama3-8b-H100-16g-pp1dp8tp2-bf16");
  CHECK(job.stack.name == "megatron-core-flash2");
  CHECK(job.stack.times.flash2);
  CHECK_FALSE(job.communication.overlap.gradients);
  CHECK_FALSE(job.communication.overlap.parameters);
  // Attention apart it is Megatron-Core.
  const StackTimes& like = shipped_catalog().stacks.at("megatron-core").times;
  CHECK_FALSE(like.flash2);
  CHECK(job.stack.times.elementwise == like.elementwise);
  CHECK(job.stack.times.step_constant == like.step_constant);
  CHECK(job_of("flagperf-paddle-LLaMA-7B-80g-tp1pp1sh2-49").communication.overlap.gradients);
}

TEST_CASE("records as jobs: scales of fp8 operands", "[calibration][job]") {
  CHECK(job_of("tt-atp-70b-fp8-rowwise-async").training.fp8_scaling == Fp8Scaling::row);
  CHECK(job_of("tt-atp-70b-fp8-rowwise-async").communication.overlap.tensor);
  CHECK(job_of("tt-atp-70b-fp8-tensorwise-async").training.fp8_scaling == Fp8Scaling::tensor);
}

TEST_CASE("records as jobs: how tokens reach their experts", "[calibration][job]") {
  const auto dispatch = [](const char* id) { return job_of(id).communication.expert_dispatch; };
  CHECK(dispatch("mcorezoo-qwen3-235b-deepep-1") == ExpertDispatch::once_per_host);
  CHECK(dispatch("mcorezoo-qwen3-235b-a2a-pp32") == ExpertDispatch::every_copy);
  CHECK(dispatch("dgxc-v25.03-grok1-bf16-512") == ExpertDispatch::every_copy);
  CHECK(dispatch("mbridge-25.11-qwen3235ba22b-pretrain-256") == ExpertDispatch::every_copy);
  const auto beside = [](const char* id) { return job_of(id).communication.overlap.experts; };
  CHECK_FALSE(beside("mcorezoo-qwen3-235b-deepep-1"));
  CHECK(beside("mcorezoo-qwen3-235b-deepep-1f1b"));
  CHECK(beside("mcore-report-qwen3-235b-h100-256"));
  CHECK(beside("mbridge-25.11-qwen3235ba22b-pretrain-256"));
  CHECK_FALSE(beside("mbridge-26.04-qwen330ba3b-pretrain-16"));
  CHECK(job_of("dgxc-v25.03-grok1-bf16-512").training.moe_capacity == 1.0);
  CHECK(job_of("mbridge-26.04-qwen330ba3b-pretrain-16").training.moe_capacity == 0.0);
  CHECK(job_of("automodel-qwen3-30b").stack.name == "automodel");
  CHECK(job_of("automodel-llama3-70b").stack.name == "fsdp2");
}

TEST_CASE("records as jobs: sharding over all ranks, over a group, and what JAX keeps",
          "[calibration][job]") {
  CHECK(job_of("mosaic-084-30b-s512-8xA100").parallel.zero == 3);
  const Job group = job_of("internevo-tgs-tp2-z4-64g");
  CHECK(group.parallel.zero == 1);
  CHECK(group.parallel.zero_group == 4);
  CHECK(job_of("internevo-tgs-tp2-z-1-64g").parallel.zero_group == 0);  // -1: all ranks
  // The GPUs of a host hold half as many replicas of two context ranks.
  RunRecord hybrid = shipped_run("mosaic-084-30b-s512-8xA100");
  hybrid.zero = "hsdp";
  hybrid.gpus = 32;
  hybrid.gpus_per_node = 8;
  hybrid.data = 16;
  hybrid.context = 2;
  hybrid.global_batch.reset();
  CHECK(job_of(hybrid).parallel.zero_group == 4);
  const Job maxtext = job_of("dgxc-v25.03-maxtext-llama3-70b-bf16-2048");
  CHECK(maxtext.parallel.zero == 3);
  CHECK(maxtext.parallel.zero_group == 128);
  CHECK(maxtext.memory.recompute.kind == RecomputeKind::selective);
  CHECK(assumes("dgxc-v25.03-maxtext-llama3-70b-bf16-2048", "projections around attention"));
  CHECK(job_of("dgxc-v25.03-maxtext-llama3-70b-bf16-128").parallel.zero_group == 0);
  // SAVE_QKV_OUT_PROJ: the MLP is made again; SAVE_DOT_ONLY: no matrix multiplication is.
  const Job projections = job_of("dgxc-v24.11.1-paxml-gpt175b-fp8-128");
  CHECK(projections.memory.recompute.kind == RecomputeKind::selective);
  CHECK(projections.memory.recompute.modules.mlp);
  const Job products = job_of("dgxc-v24.11.1-paxml-gpt5b-bf16-16");
  CHECK(products.memory.recompute.kind == RecomputeKind::selective);
  CHECK_FALSE(products.memory.recompute.modules.mlp);
  CHECK(products.memory.recompute.modules.activation);
}

TEST_CASE("records as jobs: schedules and uneven stages", "[calibration][job]") {
  CHECK(job_of("zb-1.5b-zb-2p-m24").parallel.schedule == ScheduleKind::zb_2p);
  CHECK(job_of("zb-1.5b-zb-1p-m24").parallel.schedule == ScheduleKind::zb_h1);
  CHECK(job_of("zerobubble-t6-14.6B-zb-v-m72").parallel.schedule == ScheduleKind::zb_v);
  const Job balanced = job_of("vocabpar-redis_dp1_pp8_tp1_v256k_s2k");
  CHECK(balanced.parallel.stage_layers.size() == 8);
  CHECK(balanced.parallel.stage_layers.back() == 0);
  CHECK(job_of("vocabpar-interlaced_dp1_pp8_tp1_v256k_s2k").parallel.vocabulary ==
        VocabularyKind::interlaced);
}

TEST_CASE("records as jobs: mixtures of experts under both spellings of their keys",
          "[calibration][job]") {
  const Job bridge = job_of("mbridge-26.06-qwen330ba3b-pretrain-16");
  REQUIRE(bridge.model.moe.has_value());
  CHECK(bridge.model.moe->experts == 128);
  CHECK(bridge.model.moe->top_k == 8);
  CHECK(bridge.model.moe->expert_ffn_hidden == 768);
  CHECK(bridge.parallel.expert == 16);
  CHECK(bridge.parallel.expert_tensor_size() == 1);
  int with_shared = 0;
  for (const RunRecord& record : shipped_runs())
    if (record.moe && record.moe->shared && record.moe->expert_ffn && record.micro_batch) {
      const RunJob mapped = run_job(record, shipped_catalog());
      if (!mapped.job) continue;
      ++with_shared;
      CHECK(mapped.job->model.moe->shared_ffn_hidden ==
            *record.moe->shared * *record.moe->expert_ffn);
    }
  CHECK(with_shared > 0);
}

TEST_CASE("records as jobs: what a framework does by default, where a record is silent",
          "[calibration][job]") {
  // The launcher's table prints 20 virtual stages for the BF16 run and none for the FP8 run.
  CHECK(job_of("launcher2401-llama2-70b-bf16").parallel.virtual_stages == 20);
  CHECK(job_of("launcher2401-llama2-70b-fp8").parallel.virtual_stages == 20);
  CHECK(assumes("launcher2401-llama2-70b-fp8", "one layer per virtual chunk"));
  CHECK(job_of("mbridge-26.06-qwen330ba3b-pretrain-16").training.moe_imbalance == 1.0);
  CHECK(job_of("mcorezoo-qwen3-235b-deepep-1").training.moe_imbalance == 1.0);
  CHECK(assumes("mcorezoo-qwen3-235b-deepep-1", "forced balanced routing"));
  const RunRecord* simumax = nullptr;
  for (const RunRecord& record : shipped_runs())
    if (record.family() == "simumax") simumax = &record;
  REQUIRE(simumax != nullptr);
  CHECK_FALSE(job_of(*simumax).communication.overlap.gradients);
}

TEST_CASE("records as jobs: fewer GPUs than a node", "[calibration][job]") {
  const Job four = job_of("nemo2403-longctx-llama2-7b-4k");
  CHECK(four.cluster.hosts == 1);
  CHECK(four.cluster.host.gpus == 4);
  CHECK(four.cluster.gpus() == four.parallel.gpus());
  CHECK(assumes("nemo2403-longctx-llama2-7b-4k", "no recomputation"));
  // A figure on micro-batches, measured on one GPU.
  CHECK(job_of("sc21-f7-mbs4").cluster.host.gpus == 1);
}

TEST_CASE("records as jobs: every job has as many GPUs as its layout", "[calibration][job]") {
  int jobs = 0;
  for (const RunRecord& record : shipped_runs()) {
    const RunJob mapped = run_job(record, shipped_catalog());
    CHECK(mapped.job.has_value() == mapped.why.empty());
    if (!mapped.job) continue;
    ++jobs;
    CAPTURE(record.id);
    CHECK(mapped.job->cluster.gpus() == mapped.job->parallel.gpus());
    CHECK(mapped.job->communication.transport == mapped.job->cluster.network.transport);
  }
  CHECK(jobs > 1300);
}

TEST_CASE("records as jobs: a user's record names its own stack and site", "[calibration][job]") {
  RunRecord record = shipped_run("sc21-t1-1.7b");
  record.id = "own-1";
  CHECK(run_source(record).kin);
  CHECK(run_source(record).fitted == FitScope::none);
  CHECK(job_of(record).stack.name == "megatron-core");
  CHECK(job_of(record).stack.provenance.trust == Trust::datasheet);
  record.stack = "megatron-core";
  CHECK(job_of(record).stack.name == "megatron-core");
  CHECK(job_of(record).stack.provenance.trust == Trust::measured);
  CHECK(job_of(record).site.name == "default");
  record.site = "selene";
  CHECK(job_of(record).site.name == "selene");
  record.stack = "megatron-cor";
  CHECK(run_job(record, shipped_catalog()).why == "no stack profile megatron-cor");
}

TEST_CASE("measured step: seconds, tokens, samples, TFLOP/s and MFU in the source's convention",
          "[calibration][step]") {
  const auto seconds = [](const std::string& id) {
    const RunRecord& record = shipped_run(id);
    const auto step = measured_step(record, job_of(record));
    REQUIRE(step.has_value());
    return step->value();
  };
  CHECK(seconds("kort-t5-22b-full") == 1.42);
  // 512 sequences of 2048 tokens at 3650 tokens/s on each of 64 GPUs
  CHECK(seconds("internevo-tgs-tp2-z4-64g") == Approx(512.0 * 2048 / (3650.0 * 64)));
  // tokens/s is preferred to sequences/s, which the source rounds
  CHECK(seconds("mosaic-084-30b-s512-8xA100") == Approx(2016.0 * 512 / (967.0 * 8)));
  CHECK(seconds("zerobubble-t6-14.6B-zb-v-m72") == Approx(144.0 / (1.85 * 24)));
  // SC21 eq. 3: 96 s L h^2 (1 + s/6h + V/16Lh) per sequence, 137 TFLOP/s on 32 GPUs
  CHECK(seconds("sc21-t1-1.7b") == Approx(3.528017807));
  // nanotron: (6 N + 12 L h s) s per sequence at 30.65 % of 989 TFLOP/s
  const double h = 8192, layers = 80, s = 4096;
  const double parameters = layers * (4 * h * h + 3 * h * 28672 + 2 * h) + 2 * 131072 * h + h;
  CHECK(seconds("nanotron-80.0B-8n") ==
        Approx(256 * s * (6 * parameters + 12 * layers * h * s) / (0.3065 * 989e12 * 64))
            .epsilon(0.002));
}

TEST_CASE("measured step: a convention that nobody knows tells no time", "[calibration][step]") {
  RunRecord record = shipped_run("sc21-t1-1.7b");
  const Job job = job_of(record);
  record.flops_convention = "unspecified";
  CHECK_FALSE(measured_step(record, job).has_value());
}

}  // namespace foretrain
