// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <algorithm>

#include "models/forecast/closed_form.hpp"
#include "models/layers/flops.hpp"
#include "models/layers/launch_graphs.hpp"
#include "models/layers/layer_cost.hpp"
#include "models/layers/parameters.hpp"
#include "models/memory/memory.hpp"
#include "models/rules/plan_rules.hpp"
#include "tests/models/example_job.hpp"

using namespace foretrain;

namespace {

using enum AdapterTarget;

/// One GPU of a host without any cut.
Job single(const LlmShape& model) {
  Job job = test::llama2_70b_job();
  job.model = model;
  job.cluster.hosts = 1;
  job.parallel = Parallel{};
  job.parallel.data = 8;
  job.training.global_batch = 8;
  job.training.micro_batch = 1;
  return job;
}

Job with_adapters(const LlmShape& model, int rank, EnumSet<AdapterTarget> targets) {
  Job job = single(model);
  job.fine_tuning.adapter = AdapterKind::lora;
  job.fine_tuning.rank = rank;
  job.fine_tuning.targets = targets;
  return job;
}

LlmShape gpt_oss_20b() {
  LlmShape model;
  model.name = "gpt-oss-20b";
  model.layers = 24;
  model.hidden = model.ffn_hidden = 2880;
  model.heads = 64;
  model.kv_heads = 8;
  model.head_dim = 64;
  model.vocabulary = 201088;
  model.gated_mlp = model.qkv_bias = model.attention_output_bias = model.mlp_bias = true;
  model.attention_sinks = model.rotary_scaled = true;
  model.mlp_clamp = 7.0;
  model.moe = MoeShape{.experts = 32, .top_k = 4, .expert_ffn_hidden = 2880, .linear_bias = true};
  return model;
}

LlmShape mixtral() {
  LlmShape model;
  model.name = "mixtral-8x7b";
  model.layers = 32;
  model.hidden = 4096;
  model.ffn_hidden = 14336;
  model.heads = 32;
  model.kv_heads = 8;
  model.head_dim = 128;
  model.vocabulary = 32000;
  model.gated_mlp = true;
  model.moe = MoeShape{.experts = 8, .top_k = 2, .expert_ffn_hidden = 14336};
  return model;
}

LlmShape qwen3_30b() {
  LlmShape model;
  model.name = "qwen3-30b-a3b";
  model.layers = 48;
  model.hidden = 2048;
  model.ffn_hidden = 6144;
  model.heads = 32;
  model.kv_heads = 4;
  model.head_dim = 128;
  model.vocabulary = 151936;
  model.gated_mlp = model.qk_norm = true;
  model.moe = MoeShape{.experts = 128, .top_k = 8, .expert_ffn_hidden = 768};
  return model;
}

/// Attention of DeepSeek-V2-Lite, or with a latent vector of queries as well.
LlmShape latent(int queries) {
  LlmShape model;
  model.name = "latent";
  model.layers = 27;
  model.hidden = 2048;
  model.ffn_hidden = 10944;
  model.heads = model.kv_heads = 16;
  model.head_dim = 192;
  model.vocabulary = 102400;
  model.gated_mlp = true;
  model.mla = MlaShape{queries, 512, 128, 64, 128};
  model.moe = MoeShape{.experts = 64,
                       .top_k = 6,
                       .expert_ffn_hidden = 1408,
                       .shared_ffn_hidden = 2816,
                       .first_dense_layers = 1};
  return model;
}

LlmShape qwen3_next() {
  LlmShape model;
  model.name = "qwen3-next-80b-a3b";
  model.layers = 48;
  model.hidden = 2048;
  model.ffn_hidden = 5120;
  model.heads = 16;
  model.kv_heads = 2;
  model.head_dim = 256;
  model.vocabulary = 151936;
  model.gated_mlp = model.qk_norm = model.attention_gate = true;
  model.mixer_pattern = "GGG*";
  model.delta = DeltaShape{16, 32, 128, 128};
  model.moe = MoeShape{.experts = 512,
                       .top_k = 10,
                       .expert_ffn_hidden = 512,
                       .shared_ffn_hidden = 512,
                       .shared_gate = true};
  return model;
}

std::int64_t adapters_of(const LlmShape& model, int rank, EnumSet<AdapterTarget> targets) {
  return job_parameters(with_adapters(model, rank, targets)).adapters;
}

MemoryBytes rows_at_peak(const Job& job) {
  const StageLayout layout = stage_layout(job.model, job.parallel);
  const StageAccount account = account_stage(job, layout, activation_model(job), 0);
  return account.at(MemoryPhase::backward_layer);
}

bool breaks_rule(const Job& job, const std::string& rule) {
  const auto reasons = broken_rules(job);
  return std::any_of(reasons.begin(), reasons.end(),
                     [&](const Infeasible& reason) { return reason.rule == rule; });
}

bool is_refused(const Job& job, const std::string& key) {
  const auto reasons = not_modelled(job);
  return std::any_of(reasons.begin(), reasons.end(),
                     [&](const Infeasible& reason) { return reason.key == key; });
}

constexpr EnumSet<AdapterTarget> mlp_parts{gate, up, fc2};
constexpr EnumSet<AdapterTarget> attention_parts{query, key, value, projection};

EnumSet<AdapterTarget> both(EnumSet<AdapterTarget> targets, const EnumSet<AdapterTarget>& more) {
  targets.add(more);
  return targets;
}

}  // namespace

TEST_CASE("adapters of mixtures have the parameters that PEFT and others print", "[fine-tuning]") {
  // huggingface/peft issue 1594: Mixtral-8x7B, rank 16, every linear layer with the router.
  EnumSet<AdapterTarget> all = both(attention_parts, mlp_parts);
  all.add(router);
  CHECK(adapters_of(mixtral(), 16, all) == 242'225'152);
  // OpenAI's cookbook on GPT-OSS 20B, rank 8: 15,040,512 with the experts of three layers.
  const auto attention = adapters_of(gpt_oss_20b(), 8, attention_parts);
  Job merged = with_adapters(gpt_oss_20b(), 8, {fc1, fc2});
  merged.fine_tuning.expert_adapters = ExpertAdapters::merged;
  CHECK(attention + job_parameters(merged).adapters / 8 == 15'040'512);
  // ml-explore/mlx-lm issue 571: Qwen3-30B-A3B, rank 8, attention alone: 6.685 M.
  CHECK(adapters_of(qwen3_30b(), 8, attention_parts) == 6'684'672);
  CHECK(adapters_of(qwen3_30b(), 8, mlp_parts) == 48LL * 128 * 8 * 3 * (2048 + 768));
}

TEST_CASE("adapters of latent attention stand beside its projections", "[fine-tuning]") {
  // Hugging Face: q_proj 2048 x 3072, kv_a 2048 x 576, kv_b 512 x 4096, o_proj 2048 x 2048.
  CHECK(adapters_of(latent(0), 16, {query, key_value_down, key_value_up, projection}) ==
        27LL * 16 * (2048 + 3072 + 2048 + 576 + 512 + 4096 + 2048 + 2048));
  CHECK(adapters_of(latent(1536), 16, {query_down, query_up}) ==
        27LL * 16 * (2048 + 1536 + 1536 + 3072));
  // The dense layer, shared experts and 64 routed ones, by one name.
  CHECK(adapters_of(latent(0), 16, {fc2}) ==
        16LL * (10944 + 2048) + 26LL * 16 * ((2816 + 2048) + 64 * (1408 + 2048)));
  Job job = with_adapters(latent(0), 16, {fc2});
  job.fine_tuning.expert_adapters = ExpertAdapters::none;
  CHECK(job_parameters(job).adapters == 16LL * (10944 + 2048) + 26LL * 16 * (2816 + 2048));
  CHECK(breaks_rule(with_adapters(latent(0), 16, {query_up}), "adapter-targets"));
  CHECK(breaks_rule(with_adapters(latent(1536), 16, {query}), "adapter-targets"));
  CHECK(breaks_rule(with_adapters(latent(0), 16, {qkv}), "adapter-targets"));
  CHECK_FALSE(breaks_rule(with_adapters(latent(0), 16, {query}), "adapter-targets"));
}

TEST_CASE("adapters of hybrids stand beside the projections of mixers", "[fine-tuning]") {
  // 36 delta nets: qkvz 2048 x 12288, ba 2048 x 64, out 4096 x 2048; 12 layers of attention with a
  // gate beside the queries.
  CHECK(adapters_of(qwen3_next(), 8, {mixer_qkvz, mixer_ba, mixer_out}) ==
        36LL * 8 * (2048 + 12288 + 2048 + 64 + 4096 + 2048));
  CHECK(adapters_of(qwen3_next(), 8, {mixer_in}) == 36LL * 8 * (2048 + 12352));
  CHECK(adapters_of(qwen3_next(), 8, attention_parts) ==
        12LL * 8 * (2048 + 8192 + 2 * (2048 + 512) + 4096 + 2048));
  CHECK(adapters_of(qwen3_next(), 8, {router, shared_gate}) == 48LL * 8 * (2048 + 512 + 2048 + 1));
  CHECK(breaks_rule(with_adapters(qwen3_next(), 8, {mixer_in, mixer_ba}), "adapter-targets"));
  CHECK(breaks_rule(with_adapters(mixtral(), 8, {mixer_out}), "adapter-targets"));
  const Job job = with_adapters(qwen3_next(), 8, {mixer_qkvz, mixer_out, query});
  CHECK(not_modelled(job).empty());
  const LayerType delta{LayerKind::moe, false, MixerKind::delta};
  const double few = activation_model(job).of(delta).kept.attention_norm_output;
  CHECK(few > 0.0);  // what the adapter of mixer-qkvz starts from
  CHECK(activation_model(with_adapters(qwen3_next(), 8, {mixer_out}))
            .of(delta)
            .kept.attention_norm_output == 0.0);
}

TEST_CASE("frozen experts have no gradients of weights, in FLOPs and in time", "[fine-tuning]") {
  const Job whole = single(mixtral());
  const Job few = with_adapters(mixtral(), 16, attention_parts);
  const LayerVariant experts{LayerKind::moe};
  const PieceTimes all = LayerCost{whole}.layer(experts);
  const PieceTimes frozen = LayerCost{few}.layer(experts);
  CHECK(frozen.weight_gradient.compute < 0.05 * all.weight_gradient.compute);
  const auto flops = [](const Job& job) {
    return job_flops(job, RecomputeKind::none, AttentionFlops::full).model;
  };
  CHECK(flops(few) / flops(whole) > 2.0 / 3.0);  // scores keep all of theirs
  CHECK(flops(few) / flops(whole) < 0.70);
}

TEST_CASE("a token passes the adapters of its own experts", "[fine-tuning]") {
  const auto flops = [](const Job& job) {
    return job_flops(job, RecomputeKind::none, AttentionFlops::full).model.value();
  };
  const Job without = with_adapters(qwen3_30b(), 16, attention_parts);
  const Job with = with_adapters(qwen3_30b(), 16, both(attention_parts, mlp_parts));
  const double tokens = 1.0 * with.training.global_batch * with.training.sequence;
  CHECK(flops(with) - flops(without) ==
        Approx(6.0 * tokens * 48 * 8 * 16 * 3 * (2048 + 768)).epsilon(1e-6));
}

TEST_CASE("adapters live with their experts", "[fine-tuning]") {
  Job job = with_adapters(qwen3_30b(), 16, mlp_parts);
  const LayerType type{LayerKind::moe};
  const RankLayer whole = rank_layer(job, type, Counted::trained);
  CHECK(whole.experts == Approx(128.0 * 16 * 3 * (2048 + 768)));
  CHECK(whole.dense == 0.0);
  job.parallel.expert = 8;
  CHECK(rank_layer(job, type, Counted::trained).experts == Approx(whole.experts / 8));
  const auto all = job_parameters(job).adapters;
  job.fine_tuning.targets = {fc1, fc2};
  job.fine_tuning.expert_adapters = ExpertAdapters::shared;
  // One pair of each kind on each of eight ranks: fc1 is 2048 x 1536.
  CHECK(rank_layer(job, type, Counted::trained).experts == Approx(16.0 * (2 * 2048 + 3 * 768)));
  CHECK(job_parameters(job).adapters == 48LL * 8 * 16 * (2 * 2048 + 3 * 768));
  CHECK(job_parameters(job).adapters < all);
}

TEST_CASE("loops over experts launch an adapter for each", "[fine-tuning]") {
  Job job = with_adapters(qwen3_30b(), 16, mlp_parts);
  const LayerType type{LayerKind::moe};
  const double grouped = relative_launches(job, type);
  job.training.grouped_experts = false;
  const double looped = relative_launches(job, type);
  // Of three adapters two products, two sums and an input gradient each, for 128 experts.
  CHECK(looped - grouped > 128.0 * 3 * (2 * 2.0 / 3.0 + 3 - 1) / 11.0);
  job.fine_tuning.targets = attention_parts;
  const double attention = weight_launches(job, type);
  CHECK(attention > 0.0);
  CHECK(attention < 0.05);  // experts have none
  CHECK(weight_launches(single(qwen3_30b()), type) == 1.0);
}

TEST_CASE("merged adapters hold the experts' weights once more and make their gradient",
          "[fine-tuning]") {
  Job job = with_adapters(gpt_oss_20b(), 8, {fc1, fc2});
  const double pairs = activation_model(job).of({LayerKind::moe}).kept.merged_weights;
  CHECK(pairs == 0.0);
  const PieceTimes beside = LayerCost{job}.layer({LayerKind::moe});
  job.fine_tuning.expert_adapters = ExpertAdapters::merged;
  CHECK(not_modelled(job).empty());
  const double weights = 32.0 * (2880 * 5760 + 2880 * 2880);
  const ActivationModel model = activation_model(job);
  CHECK(model.of({LayerKind::moe}).kept.merged_weights == Approx(2.0 * weights));
  CHECK(model.of({LayerKind::moe}).transient > 4.0 * 32 * 2880 * 5760);
  const PieceTimes merged = LayerCost{job}.layer({LayerKind::moe});
  CHECK(merged.weight_gradient.compute > 3.0 * beside.weight_gradient.compute);
  const MemoryBytes rows = rows_at_peak(job);
  CHECK(rows[MemoryItem::expert_gradients] ==
        Approx(4.0 * static_cast<double>(job_parameters(job).adapters)));
  job.fine_tuning.dropout = 0.1;
  CHECK(is_refused(job, "fine_tuning.dropout"));
  job.fine_tuning.dropout = 0.0;
  job.training.grouped_experts = false;
  CHECK(is_refused(job, "training.grouped_experts"));
  job.training.grouped_experts = true;
  job.fine_tuning.adapter = AdapterKind::dora;
  CHECK(is_refused(job, "fine_tuning.adapter"));
}

TEST_CASE("experts of one parameter stay in 16 bits", "[fine-tuning]") {
  Job job = with_adapters(mixtral(), 16, attention_parts);
  job.fine_tuning.frozen_format = FrozenFormat::nf4;
  const MemoryBytes packed = rows_at_peak(job);
  const PieceTimes unpacked = LayerCost{job}.layer({LayerKind::moe});
  job.fine_tuning.packed_experts = false;
  const MemoryBytes wide = rows_at_peak(job);
  const double experts = 32.0 * 8 * 3 * 4096 * 14336;
  CHECK(packed[MemoryItem::expert_weights] == Approx(0.5625 * experts));
  CHECK(wide[MemoryItem::expert_weights] == Approx(2.0 * experts));
  CHECK(wide[MemoryItem::dense_weights] == packed[MemoryItem::dense_weights]);
  CHECK(LayerCost{job}.layer({LayerKind::moe}).forward.compute < unpacked.forward.compute);
}

TEST_CASE("magnitudes over tensor ranks gather one matrix of an adapter", "[fine-tuning]") {
  Job job = with_adapters(mixtral(), 16, {query, projection});
  job.parallel.tensor = 4;
  job.parallel.sequence = true;
  job.parallel.data = 2;
  job.fine_tuning.adapter = AdapterKind::dora;
  CHECK(not_modelled(job).empty());
  const LayerDescription layer = [&] {
    LayerDescription described{job};
    describe_layer(job.model, {LayerKind::moe}, layer_cut(job.parallel), described);
    return described;
  }();
  double gathered = 0.0, magnitudes = 0.0;
  for (const LayerOperator& op : layer.operators()) {
    if (op.work == LayerWork::column_gather && op.rows == RowKind::once) gathered += op.out;
    if (op.name == adapter_magnitudes) magnitudes += op.vectors;
  }
  CHECK(gathered == 16.0 * (4096 + 4096));   // of the query's first, the projection's second
  CHECK(magnitudes == 4096.0 / 4 + 4096.0);  // columns of the query; the projection's on all
  CHECK(job_parameters(job).adapters == 32LL * (16 * 4 * 4096 + 2 * 4096));
}

TEST_CASE("prediction modules have frozen weights and adapters of their layer", "[fine-tuning]") {
  LlmShape model = latent(0);
  const Job plain = with_adapters(model, 16, {projection});
  const auto before = job_parameters(plain).adapters;
  model.mtp_layers = 1;
  const Job job = with_adapters(model, 16, {projection});
  CHECK(not_modelled(job).empty());
  CHECK(job_parameters(job).adapters == before / 27 * 28);
  CHECK(job_parameters(job).trained == job_parameters(job).adapters);
  const RankLayers trained = rank_layers(job, Counted::trained);
  CHECK(trained.ends.prediction.dense == 0.0);
  const auto flops = [](const Job& of) {
    return job_flops(of, RecomputeKind::none, AttentionFlops::full).model;
  };
  CHECK(flops(job) > flops(plain));
  Job all = single(model);
  all.fine_tuning.trained = {ModelPart::embedding, ModelPart::attention, ModelPart::mlp,
                             ModelPart::router,    ModelPart::experts,   ModelPart::norms,
                             ModelPart::output};
  CHECK(flops(all) / flops(single(model)) == Approx(1.0).epsilon(1e-9));
}

TEST_CASE("hybrids with frozen weights count their scans", "[fine-tuning]") {
  Job all = single(qwen3_next());
  all.fine_tuning.trained = {ModelPart::embedding, ModelPart::attention, ModelPart::mlp,
                             ModelPart::router,    ModelPart::experts,   ModelPart::norms,
                             ModelPart::output};
  const auto flops = [](const Job& of) {
    return job_flops(of, RecomputeKind::none, AttentionFlops::full).model;
  };
  CHECK(flops(all) / flops(single(qwen3_next())) == Approx(1.0).epsilon(1e-9));
}
