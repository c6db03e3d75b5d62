// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/megatron/megatron_arguments.hpp"

#include <catch2/catch.hpp>

namespace foretrain {
namespace {

MegatronArguments small_gpt() {
  return {{"num-layers", "12"},
          {"hidden-size", "512"},
          {"num-attention-heads", "8"},
          {"seq-length", "1024"},
          {"micro-batch-size", "4"},
          {"global-batch-size", "32"},
          {"max-position-embeddings", "1024"},
          {"bf16", "true"}};
}

MegatronMapping mapped(const MegatronArguments& extra, int gpus = 8) {
  MegatronArguments arguments = small_gpt();
  for (const auto& [name, value] : extra) arguments[name] = value;
  MegatronEnvironment environment;
  environment.gpus = gpus;
  return map_megatron_arguments(arguments, environment);
}

}  // namespace

TEST_CASE("Megatron's defaults: biases, LayerNorm, learned positions, tied embeddings, dropout",
          "[scenarios][megatron]") {
  const MegatronMapping mapping = mapped({});
  REQUIRE(mapping.errors.empty());
  const Job& job = mapping.job;
  CHECK(job.model.ffn_hidden == 2048);
  CHECK(job.model.qkv_bias);
  CHECK(job.model.norm == NormKind::layernorm);
  CHECK(job.model.positions == 1024);
  CHECK(job.model.tied_embeddings);
  CHECK(job.training.hidden_dropout == 0.1);
  CHECK(job.parallel.data == 8);
  CHECK(job.microbatches() == 1);
  CHECK(job.memory.attention == AttentionKind::flash);
  CHECK(job.memory.attention_mask);
  CHECK(job.memory.fused_gradient_accumulation);
  CHECK(mapping.unknown.empty());
}

TEST_CASE("a gated MLP without a stated width keeps the parameters of a plain one",
          "[scenarios][megatron]") {
  CHECK(mapped({{"swiglu", "true"}}).job.model.ffn_hidden == 1344);  // 8/3 h, down to 64
}

TEST_CASE("layers in 16 bits at both ends: as many, and said where the ends are unequal",
          "[scenarios][megatron]") {
  const MegatronArguments fp4{{"fp4-format", "e2m1"}, {"first-last-layers-bf16", "true"}};
  const auto with = [&](const char* start, const char* end) {
    MegatronArguments arguments = fp4;
    arguments["num-layers-at-start-in-bf16"] = start;
    arguments["num-layers-at-end-in-bf16"] = end;
    return mapped(arguments);
  };
  CHECK(mapped(fp4).job.training.bf16_end_layers == 2);
  CHECK(mapped(fp4).approximated.empty());
  CHECK(with("1", "3").job.training.bf16_end_layers == 4);
  CHECK(with("1", "3").approximated == std::vector<std::string>{"num-layers-at-end-in-bf16"});
  CHECK(with("2", "1").approximated.empty());
}

TEST_CASE("sinks, clamps and YaRN come from Megatron's arguments of GPT-OSS", "[megatron]") {
  const LlmShape model = mapped({{"softmax-type", "learnable"},
                                 {"quick-geglu", "true"},
                                 {"glu-linear-offset", "1.0"},
                                 {"activation-func-clamp-value", "7.0"},
                                 {"enable-gpt-oss", "true"}})
                             .job.model;
  CHECK(model.attention_sinks);
  CHECK(model.gated_mlp);
  CHECK(model.mlp_clamp == 7.0);
  CHECK(model.rotary_scaled);
  CHECK_FALSE(mapped({{"softmax-type", "off-by-one"}}).errors.empty());
  const LlmShape plain = mapped({{"softmax-type", "vanilla"}}).job.model;
  CHECK_FALSE(plain.attention_sinks);
  CHECK(plain.mlp_clamp == 0.0);
}

TEST_CASE("a window and the layers without it come from Megatron's two arguments",
          "[scenarios][megatron]") {
  const LlmShape all = mapped({{"window-size", "127,0"}}).job.model;
  CHECK(all.window == 128);  // 127 tokens before a token, and itself
  CHECK(all.full_attention_every == 0);
  const LlmShape alternate =
      mapped({{"window-size", "(127, 0)"}, {"window-attn-skip-freq", "2"}}).job.model;
  CHECK(alternate.window == 128);
  CHECK(alternate.full_attention_every == 2);
  CHECK(alternate.is_windowed_layer(0, 1024));
  CHECK_FALSE(alternate.is_windowed_layer(1, 1024));
  const LlmShape listed =
      mapped({{"window-size", "127,0"}, {"window-attn-skip-freq", "([1]*3+[0])*3"}}).job.model;
  CHECK(listed.full_attention_every == 4);
  CHECK(mapped({{"window-size", "-1,-1"}}).job.model.window == 0);
  CHECK_FALSE(mapped({{"window-size", "127,127"}}).errors.empty());
  CHECK_FALSE(
      mapped({{"window-size", "127,0"}, {"window-attn-skip-freq", "[1]*6+[0]*6"}}).errors.empty());
}

TEST_CASE("virtual stages come from layers per chunk or from their number",
          "[scenarios][megatron]") {
  const auto by_layers = mapped(
      {{"pipeline-model-parallel-size", "4"}, {"num-layers-per-virtual-pipeline-stage", "1"}});
  CHECK(by_layers.job.parallel.virtual_stages == 3);
  CHECK(by_layers.job.parallel.schedule == ScheduleKind::interleaved);
  const auto by_count = mapped(
      {{"pipeline-model-parallel-size", "2"}, {"num-virtual-stages-per-pipeline-rank", "3"}});
  CHECK(by_count.job.parallel.virtual_stages == 3);
}

TEST_CASE("zero-bubble schedules are those of their authors' fork", "[scenarios][megatron]") {
  const auto schedule = [](MegatronArguments extra) {
    extra["pipeline-model-parallel-size"] = "2";
    const MegatronMapping mapping = mapped(extra);
    CHECK(mapping.errors.empty());
    CHECK(mapping.unknown.empty());
    return mapping.job.parallel;
  };
  const auto folded = [&](const std::string& setup) {
    return schedule({{"enable-zero-bubble", "true"},
                     {"zero-bubble-v-schedule", "true"},
                     {"zero-bubble-v-schedule-mem-setup", setup}});
  };
  CHECK(folded("zb").schedule == ScheduleKind::zb_v);
  CHECK(folded("half").schedule == ScheduleKind::v_half);
  CHECK(folded("min").schedule == ScheduleKind::v_min);
  CHECK(folded("min").virtual_stages == 2);
  const auto limited = [&](const std::string& pending) {
    return schedule(
        {{"enable-zero-bubble", "true"}, {"zero-bubble-max-pending-backward", pending}});
  };
  CHECK(limited("2").schedule == ScheduleKind::zb_h1);
  CHECK(limited("4").schedule == ScheduleKind::zb_2p);
  const auto wrong = [](MegatronArguments extra) {
    extra["pipeline-model-parallel-size"] = "2";
    return mapped(extra);
  };
  CHECK(wrong({{"enable-zero-bubble", "true"}}).unmodelled.size() == 1);  // adapts to memory
  CHECK(wrong({{"zero-bubble-v-schedule-mem-setup", "half"}}).errors.size() == 1);
  CHECK(wrong({{"zero-bubble-v-schedule", "true"}, {"zero-bubble-v-schedule-mem-setup", "third"}})
            .errors.size() == 1);
}

TEST_CASE("embedding and loss that count as layers shorten the ends", "[scenarios][megatron]") {
  const auto mapping = mapped({{"num-layers", "14"},
                               {"pipeline-model-parallel-size", "4"},
                               {"num-virtual-stages-per-pipeline-rank", "2"},
                               {"account-for-embedding-in-pipeline-split", "true"},
                               {"account-for-loss-in-pipeline-split", "true"}});
  REQUIRE(mapping.errors.empty());
  CHECK(mapping.job.parallel.stage_layers == std::vector<int>{1, 2, 2, 2, 2, 2, 2, 1});
}

TEST_CASE("a pipeline layout is expanded to layers per chunk", "[scenarios][megatron]") {
  CHECK(megatron_pipeline_layout("Et*2|(tt|)*5t|tmL") == std::vector<int>{2, 2, 2, 2, 2, 2, 1, 1});
  CHECK(megatron_pipeline_layout("Et*3|(tt|)*6mL").back() == 0);
  CHECK(megatron_prediction_chunk("Et*3|(tt|)*6mL") == 7);
  CHECK(megatron_prediction_chunk("Ettt|(tt|)*29,m*2|L") == 30);
  CHECK_FALSE(megatron_prediction_chunk("Et|tL").has_value());
  CHECK(megatron_pipeline_layout("E(t*2").empty());
  CHECK(megatron_pipeline_layout("Ex|L").empty());
}

TEST_CASE("an MoE frequency is a period or a pattern", "[scenarios][megatron]") {
  CHECK(megatron_layer_pattern("2", 4) == std::vector<int>{1, 0, 1, 0});
  CHECK(megatron_layer_pattern("([0]*1+[1]*3)", 4) == std::vector<int>{0, 1, 1, 1});
  CHECK(megatron_layer_pattern("([0]*1+[1]*3)", 5).empty());
  const auto mapping = mapped({{"num-experts", "8"},
                               {"moe-layer-freq", "([0]*3+[1]*9)"},
                               {"expert-model-parallel-size", "4"}});
  REQUIRE(mapping.errors.empty());
  CHECK(mapping.job.model.moe->first_dense_layers == 3);
  CHECK(mapping.job.model.moe->top_k == 2);
}

TEST_CASE("optimizer switches: sharding, instances, narrow states", "[scenarios][megatron]") {
  const auto mapping = mapped({{"use-distributed-optimizer", "true"},
                               {"num-distributed-optimizer-instances", "2"},
                               {"use-precision-aware-optimizer", "true"},
                               {"exp-avg-dtype", "bf16"},
                               {"exp-avg-sq-dtype", "fp8"}});
  CHECK(mapping.job.parallel.zero == 1);
  CHECK(mapping.job.parallel.zero_group == 4);
  CHECK(mapping.job.training.first_moment() == 2.0);
  CHECK(mapping.job.training.second_moment() == 1.0);
  CHECK(mapped({{"use-megatron-fsdp", "true"},
                {"data-parallel-sharding-strategy", "optim_grads_params"}})
            .job.parallel.zero == 3);
}

TEST_CASE("a precision-aware optimizer stores the bits of its masters that bf16 weights lack",
          "[scenarios][megatron]") {
  // Transformer Engine's FusedAdam, store_param_remainders; gradients are read as they are.
  const auto aware =
      mapped({{"use-precision-aware-optimizer", "true"}, {"use-distributed-optimizer", "true"}});
  CHECK(aware.job.training.master_bytes == 2.0);
  CHECK(aware.job.training.decoupled_gradients);
  CHECK(mapped({}).job.training.master_bytes == 4.0);
  const auto fp8 = mapped({{"use-precision-aware-optimizer", "true"},
                           {"fp8-format", "hybrid"},
                           {"fp8-param-gather", "true"}});
  CHECK(fp8.job.training.master_bytes == 4.0);
  const auto narrow =
      mapped({{"use-precision-aware-optimizer", "true"}, {"main-grads-dtype", "bf16"}});
  CHECK(narrow.job.communication.gradient_dtype == Precision::bf16);
}

TEST_CASE("offloading: a share of the optimizer, layers, deferred gradients",
          "[scenarios][megatron]") {
  const auto part =
      mapped({{"optimizer-cpu-offload", "true"}, {"optimizer-offload-fraction", "0.5"}});
  CHECK(part.job.memory.offload == OffloadKind::optimizer);
  CHECK(part.job.memory.offload_share == 0.5);
  CHECK(part.unmodelled.empty());
  CHECK(mapped({{"optimizer-cpu-offload", "true"}, {"optimizer-offload-fraction", "2"}})
            .errors.size() == 1);
  CHECK(mapped({{"cpu-offloading-num-layers", "3"}}).job.memory.offloaded_layers == 3);
  CHECK(mapped({{"defer-embedding-wgrad-compute", "true"}, {"wgrad-deferral-limit", "5"}})
            .job.memory.deferred_outputs == 5);
  CHECK(mapped({}).job.memory.deferred_outputs == 0);
}

TEST_CASE("the rank order that Megatron-LM is asked for", "[scenarios][megatron]") {
  CHECK(mapped({}).job.parallel.order == data_in_stage);
  const auto turned = mapped({{"use-tp-pp-dp-mapping", "true"}});
  CHECK(turned.job.parallel.order == stages_in_replica);
  CHECK(std::count(turned.read.begin(), turned.read.end(), "use-tp-pp-dp-mapping") == 1);
}

TEST_CASE("mixtures of experts: capacity, whole layers recomputed", "[scenarios][megatron]") {
  const MegatronArguments experts{{"num-experts", "8"}, {"moe-expert-capacity-factor", "1.5"}};
  CHECK(mapped(experts).job.training.moe_capacity == 1.5);
  CHECK(mapped(experts).job.training.moe_imbalance == 0.0);
  MegatronArguments padded = experts;
  padded["moe-pad-expert-input-to-capacity"] = "true";
  CHECK(mapped(padded).job.training.moe_imbalance == 1.5);
  CHECK(mapped(padded).job.training.moe_capacity == 0.0);
  const auto recomputed = mapped({{"num-experts", "8"}, {"moe-layer-recompute", "true"}});
  CHECK(recomputed.job.memory.recompute.kind == RecomputeKind::selective);
  CHECK(recomputed.job.memory.recompute.modules.moe);
  CHECK_FALSE(recomputed.job.memory.recompute.modules.core_attention);
}

TEST_CASE("vocabulary and positions: padded size, old rotary switch", "[scenarios][megatron]") {
  const auto padded = mapped({{"padded-vocab-size", "51200"}});
  CHECK(padded.job.model.vocabulary == 51200);
  CHECK(padded.job.vocabulary() == 51200);
  CHECK(mapped({{"use-rotary-position-embeddings", "true"}}).job.model.position ==
        PositionKind::rotary);
  CHECK(mapped({{"quick-geglu", "true"}}).job.model.gated_mlp);
}

TEST_CASE("recomputation: full with a method, or the modules that are named",
          "[scenarios][megatron]") {
  const auto full = mapped({{"recompute-granularity", "full"},
                            {"recompute-method", "block"},
                            {"recompute-num-layers", "2"}});
  CHECK(full.job.memory.recompute.kind == RecomputeKind::full);
  CHECK(full.job.memory.recompute.method == RecomputeMethod::block);
  CHECK(full.job.memory.recompute.layers == 2);
  const auto chosen = mapped(
      {{"recompute-granularity", "selective"}, {"recompute-modules", "[layernorm moe_act]"}});
  CHECK(chosen.job.memory.recompute.modules.attention_norm);
  CHECK(chosen.job.memory.recompute.modules.activation);
  CHECK_FALSE(chosen.job.memory.recompute.modules.core_attention);
}

TEST_CASE("captured parts of layers: named, whole layers, or whole steps",
          "[scenarios][megatron]") {
  const auto captured = [](const MegatronArguments& arguments) {
    std::string text;
    const CudaGraphs graphs = mapped(arguments).job.training.cuda_graphs;
    for (const std::string_view name : all_names<GraphPart>())
      if (graphs.has(*from_name<GraphPart>(name))) text += std::string(name) + " ";
    return text;
  };
  CHECK(captured({{"cuda-graph-scope", "attn"}}).empty());
  CHECK(captured({{"cuda-graph-impl", "none"}, {"cuda-graph-scope", "full_iteration"}}).empty());
  CHECK(captured({{"cuda-graph-impl", "transformer_engine"},
                  {"cuda-graph-scope", "[attn moe_router moe_preprocess]"}}) ==
        "attention moe-router moe-preprocess ");
  CHECK(captured({{"enable-cuda-graph", "true"}}) == "attention mlp ");
  CHECK(captured({{"external-cuda-graph", "true"}, {"cuda-graph-modules", "mlp"}}) == "mlp ");
  CHECK(captured({{"cuda-graph-impl", "local"}, {"cuda-graph-scope", "full_iteration"}}) ==
        "full-iteration ");
  CHECK(captured({{"cuda-graph-impl", "full_iteration"}}) == "full-iteration ");
}

TEST_CASE("hybrid models: patterns and mixers are read, what they leave open is told",
          "[scenarios][megatron]") {
  const auto hybrid = mapped({{"num-layers", "4"},
                              {"hybrid-override-pattern", "M-*E"},
                              {"is-hybrid-model", "true"},
                              {"mamba-num-heads", "32"},
                              {"mamba-head-dim", "80"},
                              {"mamba-state-dim", "256"},
                              {"num-experts", "8"},
                              {"cuda-graph-impl", "transformer_engine"},
                              {"cuda-graph-scope", "attn mamba"},
                              {"spec", "megatron.core.models.mamba.mamba_layer_specs"}});
  const LlmShape& model = hybrid.job.model;
  CHECK(hybrid.errors.empty());
  CHECK(model.layer_pattern == "M-*E");
  CHECK(model.moe_layers() == 1);
  REQUIRE(model.mamba.has_value());
  CHECK(model.mamba->inner() == 32 * 80);
  CHECK(model.mamba->groups == 8);
  CHECK(hybrid.job.training.cuda_graphs.has(GraphPart::mamba));
  CHECK(mapped({{"num-layers", "3"}, {"hybrid-layer-pattern", "M-*-"}}).errors.size() == 1);
  CHECK(mapped({{"num-layers", "4"}, {"hybrid-layer-pattern", "M-*Z"}}).errors.size() == 1);
  CHECK(mapped({{"num-layers", "4"}, {"hybrid-layer-pattern", "M-*E"}}).errors.size() == 1);
  CHECK(mapped({{"is-hybrid-model", "true"}}).unmodelled.size() == 1);
  CHECK(mapped({{"num-layers", "4"}, {"hybrid-layer-pattern", "M-*-/*-"}}).unmodelled.size() == 1);
}

TEST_CASE("delta nets and sparse attention are variants of attention", "[scenarios][megatron]") {
  const auto delta = mapped({{"num-layers", "8"},
                             {"experimental-attention-variant", "gated_delta_net"},
                             {"linear-attention-freq", "4"},
                             {"linear-num-value-heads", "32"},
                             {"attention-output-gate", "true"}});
  CHECK(delta.errors.empty());
  CHECK(delta.unmodelled.empty());
  CHECK(delta.job.model.mixer_pattern == "GGG*");
  CHECK(delta.job.model.attention_gate);
  REQUIRE(delta.job.model.delta.has_value());
  CHECK(delta.job.model.delta->value_heads == 32);
  const auto sparse = mapped({{"multi-latent-attention", "true"},
                              {"experimental-attention-variant", "dsa"},
                              {"dsa-indexer-topk", "1024"}});
  REQUIRE(sparse.job.model.indexer.has_value());
  CHECK(sparse.job.model.indexer->top_k == 1024);
  CHECK(mapped({{"experimental-attention-variant", "lightning"}}).unmodelled.size() == 1);
}

TEST_CASE("what changes memory and is not modelled is named, and so is the unknown",
          "[scenarios][megatron]") {
  const auto mapping = mapped({{"cuda-graph-impl", "transformer_engine"},
                               {"cuda-graph-scope", "attn warp"},
                               {"warp-drive", "9"}});
  CHECK(mapping.unmodelled == std::vector<std::string>{"cuda-graph-scope warp"});
  CHECK(mapping.unknown == std::vector<std::string>{"warp-drive"});
  CHECK(mapped({{"spec", "[megatron.core.models.mamba.mamba_layer_specs mamba_stack_spec]"}})
            .unmodelled.size() == 1);
  CHECK(mapped({{"spec", "[megatron.core.models.gpt.gpt_layer_specs spec]"}}).unmodelled.empty());
  CHECK(mapped({{"cross-entropy-loss-fusion", "true"}, {"cross-entropy-fusion-impl", "linear"}})
            .unmodelled.size() == 1);
  CHECK(mapped({{"memory-efficient-layer-norm", "true"}}).unmodelled.size() == 1);
}

TEST_CASE("values that cannot be right are errors", "[scenarios][megatron]") {
  CHECK_FALSE(mapped({{"num-layers", "twelve"}}).errors.empty());
  CHECK(mapped({{"tensor-model-parallel-size", "3"}}).errors.size() == 1);
  CHECK(mapped({{"global-batch-size", "30"}}).errors.size() == 1);
  CHECK(mapped({{"num-experts", "8"}, {"moe-layer-freq", "[1]*5"}}).errors.size() == 1);
}

}  // namespace foretrain
