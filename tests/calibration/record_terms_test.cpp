// SPDX-License-Identifier: Apache-2.0
// What records say in words: what is not modelled is refused by name, what is not said is no
// "none".
#include "calibration/records/internal/record_terms.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "calibration/cases/step_case.hpp"
#include "calibration/records/run_options.hpp"
#include "calibration/records/run_source.hpp"
#include "calibration/validate/validations.hpp"
#include "tests/calibration/measured_records.hpp"

namespace foretrain {
namespace {

RecordCheck checked(RunRecord record) {
  auto made = check_run_steps({std::move(record)}, shipped_catalog());
  REQUIRE(made.size() == 1);
  return made.front();
}

bool remarks(const RecordCheck& check, const std::string& what) {
  return std::any_of(check.remarks.begin(), check.remarks.end(), [&](const std::string& remark) {
    return remark.find(what) != std::string::npos;
  });
}

RunRecord llama70b() { return shipped_run("dgxc-v25.03-llama31-70b-bf16-64"); }

}  // namespace

TEST_CASE("records: number formats that are not modelled are refused by name",
          "[calibration][record]") {
  for (const char* format : {"mxfp4", "mxfp6", "int8", "fp8-lm"}) {
    RunRecord record = llama70b();
    record.precision = format;
    const RecordCheck check = checked(record);
    CHECK(check.skipped);
    CHECK(check.why.find(std::string("precision '") + format + "' is not modelled") !=
          std::string::npos);
  }
}

TEST_CASE("records: control characters of a record are escaped in its reason",
          "[calibration][record]") {
  RunRecord record = llama70b();
  record.precision = "fp4\x1b]0;owned\a";
  CHECK(checked(record).why.find('\x1b') == std::string::npos);
  CHECK(checked(record).why.find("\\x1b") != std::string::npos);
}

TEST_CASE("records: formats that are modelled are read as before", "[calibration][record]") {
  const auto precision = [](const char* words) { return record_precision(words, true).precision; };
  CHECK(precision("bf16") == Precision::bf16);
  CHECK(precision("amp_bf16") == Precision::bf16);
  CHECK(precision("bf16 (pure, optimizer states bf16)") == Precision::bf16);
  CHECK(precision("bf16 + fp32 master") == Precision::bf16);
  CHECK(precision("fp16/bf16 (not stated)") == Precision::fp16);
  CHECK(precision("fp8 dynamic") == Precision::fp8);
  CHECK(precision("fp32") == Precision::fp32);
  CHECK(record_precision("fp8 rowwise", true).scaling == Fp8Scaling::row);
  CHECK(record_precision("fp8 tensorwise + fp8 all-gather", true).scaling == Fp8Scaling::tensor);
  // Which of two formats products ran in changes their time.
  CHECK_FALSE(record_precision("bf16/fp8", true).why.empty());
  CHECK_FALSE(record_precision("mxfp8/nvfp4", true).why.empty());
  CHECK(precision("mxfp8") == Precision::mxfp8);
  CHECK(precision("nvfp4") == Precision::nvfp4);
  CHECK(precision("fp8 blockwise") == Precision::fp8_block);
}

TEST_CASE("records: a field, else a recipe that notes name, says which scales fp8 has",
          "[calibration][record]") {
  const auto told = [](const char* notes, const char* field = "") {
    RunRecord record;
    record.notes = notes;
    record.fp8_scaling = field;
    RecordPrecision precision = record_precision("fp8", true);
    REQUIRE(add_scaling(run_options(record).fp8_scaling, precision));
    return precision;
  };
  CHECK(told("", "row").scaling == Fp8Scaling::row);
  CHECK(told("", "block").precision == Precision::fp8_block);
  CHECK(told("LLAMA3_70B_PRETRAIN_CONFIG_GB300_FP8_CS_V2", "tensor").scaling == Fp8Scaling::tensor);
  RecordPrecision wide = record_precision("bf16", true);
  CHECK(add_scaling("current", wide));  // of a run in 16 bits it says nothing
  CHECK(wide.precision == Precision::bf16);
  CHECK_FALSE(add_scaling("tilewise", wide));
  CHECK(told("LLAMA3_70B_PRETRAIN_CONFIG_GB300_FP8_CS_V2").scaling == Fp8Scaling::current);
  CHECK(told("LLAMA3_70B_PRETRAIN_CONFIG_H100_FP8_SC_V1").precision == Precision::fp8_block);
  CHECK(told("container 25.04").scaling == Fp8Scaling::tensor);
}

TEST_CASE("records: a precision that is not stated is 16 bits only where there is no fp8",
          "[calibration][record]") {
  CHECK(record_precision("", false).why.empty());
  CHECK(record_precision("", true).why == "the precision is not stated, and the device has fp8");
  RunRecord record = llama70b();
  record.precision.clear();
  CHECK(checked(record).why == "the precision is not stated, and the device has fp8");
}

TEST_CASE("records: hybrid models and unknown architectures are refused by name",
          "[calibration][record]") {
  RunRecord record = llama70b();  // its shape is complete
  record.architecture = "hybrid_mamba_moe";
  CHECK(checked(record).why.find("hybrid models ('hybrid_mamba_moe') need the pattern of their") ==
        0);
  record.catalog_model = "nemotron-h-8b";
  CHECK(checked(record).why == "");
  record.virtual_stages = record.context = 1;
  record.data = 4;
  CHECK(checked(record).why.empty());
  CHECK(checked(record).group == hybrid_group);
  record.catalog_model = "nemotron-h-9b";
  CHECK(checked(record).why == "there is no model 'nemotron-h-9b' in the catalog");
  record.catalog_model.clear();
  record.architecture = "rwkv";
  CHECK(checked(record).why == "models of architecture 'rwkv' are not modelled");
  record.architecture = "gpt";
  CHECK_FALSE(checked(record).skipped);
}

TEST_CASE("records: serving and reinforcement learning are no training runs",
          "[calibration][record]") {
  RunRecord record = llama70b();
  record.kind = "inference";
  CHECK(checked(record).why == "a record of kind 'inference' is no training run");
  record.iteration_s.reset();
  record.tokens_per_s_per_gpu.reset();
  CHECK(checked(record).skipped);  // and are counted as skipped whatever they measure
}

TEST_CASE("records: CUDA graphs are read from fields, else from notes", "[calibration][record]") {
  const auto graphs = [](const char* notes) {
    RunRecord record;
    record.notes = notes;
    return run_options(record);
  };
  const RunOptions parts =
      graphs("cuda graph transformer_engine ['attn', 'moe_router']; dispatcher hybridep");
  CHECK(parts.graphs.has(GraphPart::attention));
  CHECK(parts.graphs.has(GraphPart::moe_router));
  CHECK_FALSE(parts.graphs.has(GraphPart::moe));
  CHECK(graphs("TE CUDA graphs moe_router + moe_preprocess, EP overlap off")
            .graphs.has(GraphPart::moe_preprocess));
  CHECK(graphs("x. FULL_CUDA_GRAPH=True, y").graphs.has(GraphPart::full_iteration));
  CHECK_FALSE(graphs("cuda graph none full_iteration").graphs.any());
  CHECK_FALSE(graphs("CUDA graphs off, iterations 3-8").graphs.any());
  CHECK(graphs("CUDA graphs off, iterations 3-8").graphs_why.empty());
  RunRecord record = llama70b();
  record.notes = "PP6 vpp8, CUDA graphs.";
  CHECK(checked(record).why == "which parts were CUDA graphs is not stated");
  record.cuda_graphs = std::vector<std::string>{"warp"};
  CHECK(checked(record).why == "CUDA graphs of 'warp' are not modelled");
  record.cuda_graphs = std::vector<std::string>{};  // a field wins over notes
  CHECK_FALSE(checked(record).skipped);
}

TEST_CASE("records: what runs were told to do is read from fields, else from notes",
          "[calibration][record]") {
  RunRecord record;
  record.notes =
      "router force-balanced; dispatcher hybridep; EP all-to-all overlapped; pp_layout "
      "Et*2|(t|)*2L. cpu offloading 20 layers. TP_COMM_OVERLAP=True, FP8_PARAM_GATHER=True.";
  const RunOptions told = run_options(record);
  CHECK(told.balanced_experts == true);
  CHECK(told.overlap_experts == true);
  CHECK(told.overlap_tensor == true);
  CHECK(told.eight_bit_weights == true);
  CHECK(told.dispatch == ExpertDispatch::fused);
  CHECK(told.offloaded_layers == 20);
  CHECK(told.chunk_layers == std::vector<int>{2, 1, 1, 0});
  record.overlap_experts = false;
  record.offloaded_layers = 0;
  record.dispatcher = "alltoall";
  CHECK(run_options(record).overlap_experts == false);
  CHECK(run_options(record).offloaded_layers == 0);
  CHECK(run_options(record).dispatch == ExpertDispatch::every_copy);
  record.notes = "no grouped GEMM, etp follows tp; moe_permute_fusion off";
  CHECK(run_options(record).grouped_experts == false);
  CHECK(run_options(record).fused_permutation == false);
  CHECK(run_options(record).expert_tensor_follows);
  record.fused_permutation = true;
  CHECK(run_options(record).fused_permutation == true);
  const RunOptions silent = run_options(RunRecord{});
  CHECK_FALSE(silent.balanced_experts.has_value());
  CHECK_FALSE(silent.eight_bit_weights.has_value());
  record.notes = "EP overlap off";
  record.overlap_experts.reset();
  CHECK(run_options(record).overlap_experts == false);
}

TEST_CASE("records: windows of attention are read, one that is not stated is refused",
          "[calibration][record]") {
  RunRecord record = llama70b();
  record.sliding_window = true;
  CHECK(checked(record).why == "the window of its attention is not stated: model.swa.window");
  const double whole = checked(llama70b()).predicted;
  record.window = 128;
  record.full_every = 2;
  CHECK(checked(record).predicted < whole);
}

TEST_CASE("records: offloading that is not modelled is refused by name", "[calibration][record]") {
  RunRecord record = llama70b();
  record.notes = "cpu offloading 80 layers";  // under a pipeline
  CHECK(checked(record).why ==
        "offloading whole layers under a pipeline is not modelled: Megatron-Core refuses it");
  record = llama70b();
  record.zero = "fsdp2 + CPU offload";
  CHECK(checked(record).why == "sharding 'fsdp2 + CPU offload' is not modelled");
}

TEST_CASE("records: Ulysses is an exchange of heads, and constants are not fitted on it",
          "[calibration][record]") {
  RunRecord record = llama70b();
  record.context = 2;
  record.context_kind = "ulysses";
  CHECK(record.context_exchange() == ContextExchange::all_to_all);
  CHECK(run_source(record).fitted == FitScope::none);
  record.context_kind = "a2a";
  CHECK(record.context_exchange() == ContextExchange::all_to_all);
  record.context_kind = "p2p";
  CHECK(record.context_exchange() == ContextExchange::ring);
  record.context_kind = "zigzag";
  CHECK(checked(record).why ==
        "context parallelism by 'zigzag' is not modelled: ring and ulysses are");
}

TEST_CASE("records: an unknown recomputation widens the band up to a full one",
          "[calibration][record]") {
  RunRecord record = llama70b();
  record.recompute = "none";
  const RecordCheck none = checked(record);
  record.recompute = "full";
  const RecordCheck full = checked(record);
  for (const char* unknown : {"", "partial"}) {
    record.recompute = unknown;
    const RecordCheck check = checked(record);
    CHECK(remarks(check, "no recomputation"));
    CHECK(check.predicted == none.predicted);
    CHECK(check.low == none.low);
    CHECK(check.high == full.high);
    CHECK(check.high > 1.1 * none.high);
  }
  record.recompute = "every second layer";
  CHECK(checked(record).why == "recomputation 'every second layer' is not modelled");
}

TEST_CASE("records: an unknown recomputation widens the band of memory down to a full one",
          "[calibration][record]") {
  const auto figure = [](const char* recompute) {
    RunRecord record = llama70b();
    record.recompute = recompute;
    record.memory = 70.0;
    record.memory_unit = "GiB";
    record.memory_kind = "max_memory_allocated";
    for (const RecordCheck& check : check_run_memory({record}, shipped_catalog()))
      if (check.quantity == "mem_max") return check;
    FAIL("no figure");
    return RecordCheck{};
  };
  const RecordCheck none = figure("none");
  const RecordCheck unknown = figure("");
  CHECK(unknown.predicted == none.predicted);
  CHECK(unknown.high == none.high);
  CHECK(unknown.low == figure("full").low);
  CHECK(unknown.low < none.low);
}

TEST_CASE("records: modules of a selective recomputation are read by name",
          "[calibration][record]") {
  const RecordRecompute experts = record_recompute("selective: layernorm, moe_act");
  CHECK(experts.kind == RecomputeKind::selective);
  CHECK(experts.modules.activation);
  CHECK(experts.modules.attention_norm);
  CHECK_FALSE(experts.modules.core_attention);
  CHECK(record_recompute("selective: mla_up_proj").modules.mla_up_projection);
  CHECK(record_recompute("selective").modules.core_attention);
  CHECK(record_recompute("selective (op)").every_second_matmul);
  CHECK(record_recompute("partial (SAVE_DOT_ONLY)").modules.activation);
  CHECK(record_recompute("partial (SAVE_QKV_OUT_PROJ)").modules.mlp);
  CHECK_FALSE(record_recompute("selective: router").why.empty());
}

TEST_CASE("records: what an unknown framework does by default widens the band",
          "[calibration][record]") {
  RunRecord record = llama70b();
  const RecordCheck known = checked(record);
  record.id = "mine-70b";  // no family that is known
  record.stack = "nemo";
  record.site = "dgx-h100-ndr";
  record.sequence_parallel = true;
  record.overlap_gradients.reset();
  record.gated_mlp.reset();
  record.zero.clear();
  record.distributed_optimizer.reset();
  const RecordCheck check = checked(record);
  CHECK_FALSE(check.skipped);
  CHECK(remarks(check, "gradients and weights overlapped"));
  CHECK(remarks(check, "fused attention"));
  CHECK(remarks(check, "ZeRO stage 0"));
  CHECK(remarks(check, "an MLP without a gate"));
  CHECK(check.high / check.predicted > known.high / known.predicted);
}

}  // namespace foretrain
