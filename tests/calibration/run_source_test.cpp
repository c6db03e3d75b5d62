// SPDX-License-Identifier: Apache-2.0
#include "calibration/records/run_source.hpp"

#include <catch2/catch.hpp>

#include <set>

#include "tests/calibration/measured_records.hpp"

using namespace foretrain;

namespace {

RunRecord record_of(const std::string& id) {
  RunRecord record;
  record.id = id;
  return record;
}

}  // namespace

TEST_CASE("sources and variants of the shipped runs name profiles of the catalog",
          "[calibration][records]") {
  const RunCatalog& catalog = shipped_catalog();
  std::set<std::string> known;
  for (const RunRecord& record : shipped_runs()) {
    CAPTURE(record.id);
    const RunSource source = run_source(record);
    CHECK((source.stack.empty() || catalog.stacks.contains(source.stack)));
    CHECK(catalog.sites.contains(source.site));
    if (source.known) known.insert(record.family());
  }
  CHECK(known.size() > 30);
}

TEST_CASE("a source gives its records stack, site and the framework's defaults",
          "[calibration][records]") {
  const RunSource nemo = run_source(record_of("nemo2502-llama3-8b"));
  CHECK(nemo.stack == "nemo");
  CHECK(nemo.site == "dgx-h100-ndr");
  CHECK(nemo.overlap.tensor);
  CHECK(nemo.half_gradients);
  CHECK_FALSE(nemo.layer_chunks);
  CHECK(run_source(record_of("launcher2401-gpt3-175b")).layer_chunks);
  const RunSource unlisted = run_source(record_of("mine-70b"));
  CHECK_FALSE(unlisted.known);
  CHECK(unlisted.kin);
  CHECK(unlisted.stack == "megatron-core");
  CHECK(unlisted.fitted == FitScope::none);
  CHECK(unlisted.site == "default");
}

TEST_CASE("variants of a source: all that fit count, the later over the earlier",
          "[calibration][records]") {
  RunRecord aa = record_of("aa-13b-1");
  CHECK(run_source(aa).stack == "aleph-alpha-flash1");
  aa.attention_kernel = "FlashAttention2";
  CHECK(run_source(aa).stack == "aleph-alpha");
  aa.attention_kernel = "FlashAttention2 + RMS kernel";
  CHECK(run_source(aa).stack == "aleph-alpha-rms");
  aa.attention_kernel = "torch";
  CHECK(run_source(aa).stack == "aleph-alpha-torch");
  CHECK(run_source(record_of("sc21-gpt3-zero3-1")).stack == "deepspeed-zero3");
  CHECK(run_source(record_of("mlperf-v4.0-gpt3")).stack == "megatron-core-2401");
  CHECK(run_source(record_of("mlperf-v4.1-gpt3")).stack == "megatron-core");
  RunRecord rack = record_of("mbridge-25.11-deepseekv3-pretrain-256-gb300-mxfp8");
  rack.gpu = "GB300";
  CHECK(run_source(rack).eight_bit_weights);
  CHECK(run_source(rack).expert_dispatch != ExpertDispatch::fused);
  rack.moe = RunMoe{};
  CHECK(run_source(rack).expert_dispatch == ExpertDispatch::fused);
  CHECK_FALSE(run_source(rack).cuda_graphs.has_value());
  RunRecord padded = record_of("mbridge-25.09-qwen330ba3b-pretrain-8-b200-fp8");
  padded.moe = RunMoe{};
  REQUIRE(run_source(padded).cuda_graphs.has_value());
  CHECK(run_source(padded).cuda_graphs->has(GraphPart::full_iteration));
  CHECK_FALSE(run_source(padded).expert_dispatch.has_value());
  CHECK_FALSE(
      run_source(record_of("mbridge-26.04-llama38b-pretrain-8-h100-bf16")).eight_bit_weights);
  const RunSource maxtext = run_source(record_of("dgxc-8b-maxtext-1"));
  CHECK(maxtext.stack == "jax");
  CHECK_FALSE(maxtext.memory);
  RunRecord automodel = record_of("automodel-1");
  automodel.compiled = true;
  CHECK(run_source(automodel).stack == "fsdp2-compile");
  automodel.moe = RunMoe{};
  CHECK(run_source(automodel).stack == "automodel");
  RunRecord flagperf = record_of("flagperf-llama3-8b");
  flagperf.source = "FlagPerf/training/benchmarks/llama3_8B-megatron/";
  CHECK(run_source(flagperf).stack == "megatron-core-flash2");
  CHECK_FALSE(run_source(flagperf).overlap.gradients);
  CHECK(run_source(flagperf).memory);
}

TEST_CASE("the kernels of attention follow the date of the framework's release",
          "[calibration][records]") {
  RunRecord old = record_of("tt-c-compile-bf16");
  old.source = "pytorch/torchtitan git log: commit 069bae286";
  CHECK(run_source(old).attention_library == AttentionLibrary::stack);
  RunRecord late = record_of("tt-c-graph-8-full");
  late.source = "pytorch/torchtitan git log: commit 27aa49077";
  CHECK(run_source(late).attention_library == AttentionLibrary::vendor);
}

TEST_CASE("updates of a policy and supervised steps of one trainer", "[calibration][records]") {
  RunRecord policy = record_of("primebench-qwen3-4b-rl-full-8xh100-16384");
  policy.compiled = true;
  CHECK(run_source(policy).objective == Objective::policy);
  CHECK(run_source(policy).stack == "prime-rl");
  CHECK(run_source(policy).fitted == FitScope::all);
  CHECK(run_source(record_of("primebench-qwen3-4b-sft-full-8xh100")).objective ==
        Objective::next_token);
  CHECK(run_source(record_of("primebench-qwen3-4b-rl-lora-8xh100")).fitted == FitScope::none);
}

TEST_CASE("a record's own stack and site win over its source's", "[calibration][records]") {
  RunRecord record = record_of("nemo2502-llama3-8b");
  record.stack = "jax";
  record.site = "selene";
  CHECK(run_source(record).stack == "jax");
  CHECK(run_source(record).site == "selene");
}

TEST_CASE("what only some families of records mean is data", "[calibration][records]") {
  CHECK(run_source(record_of("bs-jz-476-200B")).heads == 64);
  CHECK_FALSE(run_source(record_of("sc21-1")).heads.has_value());
  CHECK(run_source(record_of("vtrain_multi-3")).gpu == "A100-SXM4-80GB");
  CHECK(run_source(record_of("nanotron-1")).layers_by_work);
  CHECK_FALSE(run_source(record_of("picotron-1")).layers_by_work);
  CHECK_FALSE(run_source(record_of("zb-1")).fused_gradients);
  CHECK(run_source(record_of("kort-1")).fused_gradients);
  CHECK_FALSE(run_source(record_of("mcorezoo-1")).balanced_experts.empty());
  CHECK(run_source(record_of("moefold-1")).balanced_experts.empty());
  RunRecord bridge = record_of("mbridge-26.04-qwen3235ba22b-pretrain-256");
  bridge.gpu = "H100-SXM5-80GB";
  CHECK(run_source(bridge).overlap.experts);
  CHECK(run_source(bridge).expert_dispatch == ExpertDispatch::every_copy);
  bridge.gpu = "GB200";
  CHECK_FALSE(run_source(bridge).overlap.experts);
  CHECK_FALSE(run_source(record_of("mbridge-26.04-qwen330ba3b-16")).overlap.experts);
}

TEST_CASE("recomputation of silent records is their framework's, where somebody knows it",
          "[calibration][records]") {
  RunRecord titan = record_of("tt-1");
  CHECK(run_source(titan).recompute.text == "selective op");
  titan.compiled = true;
  CHECK(run_source(titan).recompute.text.empty());
  CHECK(run_source(record_of("dgxc-8b-maxtext-1")).recompute.text == "partial (SAVE_QKV_OUT_PROJ)");
  CHECK(run_source(record_of("dgxc-8b-nemo-1")).recompute.text.empty());
}

TEST_CASE("memory of some of torchtitan's runs is not forecast, and why is data",
          "[calibration][records]") {
  RunRecord titan = record_of("tt-1");
  CHECK(run_source(titan).no_memory.empty());
  titan.moe = RunMoe{};
  CHECK(run_source(titan).no_memory == "recomputation is not stated");
  titan.recompute = "full";
  CHECK(run_source(titan).no_memory.empty());
  titan.precision = "FP8 rowwise";
  CHECK(run_source(titan).no_memory.empty());  // it does not say that it was not compiled
  titan.compiled = false;
  CHECK(run_source(titan).no_memory ==
        "FP8 without compilation keeps copies that are not modelled");
}
