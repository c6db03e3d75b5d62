// SPDX-License-Identifier: Apache-2.0
// Parameters of open models whose layers differ: by the sizes of their released configurations,
// against counts that were made by hand from their published implementations.
#include <catch2/catch.hpp>

#include <algorithm>
#include <string>

#include "models/forecast/closed_form.hpp"
#include "models/layers/activations.hpp"
#include "models/layers/flops.hpp"
#include "models/layers/layer_description.hpp"
#include "models/layers/parameters.hpp"
#include "models/memory/memory.hpp"
#include "models/rules/plan_rules.hpp"
#include "models/step/step_costs.hpp"
#include "models/step/step_time.hpp"
#include "tests/models/layers/moe_jobs.hpp"

using namespace foretrain;

namespace {

struct Widths {
  int layers;
  int hidden;
  int ffn;
  int vocabulary;
};

LlmShape open_model(const char* name, const Widths& widths, const LayerSizes& sizes) {
  LlmShape model;
  static_cast<LayerSizes&>(model) = sizes;
  model.name = model.title = name;
  model.layers = widths.layers;
  model.hidden = widths.hidden;
  model.ffn_hidden = widths.ffn;
  model.vocabulary = widths.vocabulary;
  model.gated_mlp = true;
  return model;
}

LayerSizes heads_of(int heads, int kv_heads, int head_dim) {
  LayerSizes sizes;
  sizes.heads = heads;
  sizes.kv_heads = kv_heads;
  sizes.head_dim = head_dim;
  return sizes;
}

LlmShape gemma4(const char* name, const Widths& widths, const LayerSizes& full) {
  LlmShape model = open_model(name, widths, full);
  model.norms_per_layer = 4;
  model.qk_norm = model.layer_scale = model.tied_embeddings = true;
  return model;
}

/// Gemma 4 31B: windowed layers have more key heads, narrower ones, and values of their own.
LlmShape gemma4_31b() {
  LayerSizes full = heads_of(32, 4, 512);
  full.keys_are_values = true;
  LlmShape model = gemma4("gemma-4-31b", {60, 5376, 21504, 262144}, full);
  LayerSizes windowed = heads_of(32, 16, 256);
  windowed.window = 1024;
  windowed.ffn_hidden = model.ffn_hidden;
  model.special_layers = {windowed};
  model.special_pattern = "aaaaa.";
  return model;
}

LlmShape gemma4_26b() {
  LayerSizes full = heads_of(16, 2, 512);
  full.keys_are_values = true;
  LlmShape model = gemma4("gemma-4-26b-a4b", {30, 2816, 2112, 262144}, full);
  LayerSizes windowed = heads_of(16, 8, 256);
  windowed.window = 1024;
  windowed.ffn_hidden = model.ffn_hidden;
  model.special_layers = {windowed};
  model.special_pattern = "aaaaa.";
  model.moe = MoeShape{128, 8, 704};
  model.moe->dense_beside = model.moe->router_scales = true;
  return model;
}

/// Gemma 4 E2B: the last 20 of 35 layers read keys and values of earlier ones and have MLPs twice
/// as wide; every layer reads an embedding of its own.
LlmShape gemma4_e2b() {
  LlmShape model = gemma4("gemma-4-e2b", {35, 1536, 6144, 262144}, heads_of(8, 1, 512));
  LayerSizes windowed = heads_of(8, 1, 256);
  windowed.window = 512;
  windowed.ffn_hidden = 6144;
  LayerSizes late = windowed;
  LayerSizes late_full = model;
  late.shared_keys = late_full.shared_keys = true;
  late.ffn_hidden = late_full.ffn_hidden = 12288;
  model.special_layers = {windowed, late, late_full};
  model.special_pattern = "aaaa.aaaa.aaaa.bbbbcbbbbcbbbbcbbbbc";
  model.per_layer_input = 256;
  return model;
}

/// MiMo-V2-Flash: narrow values, more key heads and sinks in windowed layers.
LlmShape mimo_v2_flash() {
  LayerSizes full = heads_of(64, 4, 192);
  full.value_dim = 128;
  LlmShape model = open_model("mimo-v2-flash", {48, 4096, 16384, 152576}, full);
  LayerSizes windowed = model;
  windowed.kv_heads = 8;
  windowed.window = 128;
  windowed.attention_sinks = true;
  model.special_layers = {windowed};
  model.special_pattern = ".aaaa.aaaaa.aaaaa.aaaaa.aaaaa.aaaaa.aaaaa.aaaaa.";
  model.moe = MoeShape{256, 8, 2048};
  model.moe->router_bias = true;
  model.moe->first_dense_layers = 1;
  return model;
}

/// Step 3.5 Flash: more query heads in windowed layers, a gate on each head.
LlmShape step_flash() {
  LlmShape model = open_model("step-3.5-flash", {45, 4096, 11264, 128896}, heads_of(64, 8, 128));
  LayerSizes windowed = model;
  windowed.heads = 96;
  windowed.window = 512;
  model.special_layers = {windowed};
  model.special_pattern = ".aaa";
  model.qk_norm = model.head_gate = true;
  model.moe = MoeShape{288, 8, 1280, 1280};
  model.moe->router_bias = true;
  model.moe->first_dense_layers = 3;
  return model;
}

LlmShape deepseek_v4_flash() {
  LayerSizes sizes = heads_of(64, 1, 512);
  sizes.window = 128;
  sizes.attention_sinks = true;
  sizes.compressed = 128;
  LlmShape model = open_model("deepseek-v4-flash", {43, 4096, 2048, 129280}, sizes);
  model.compression = CompressionShape{1024, 8, 1024};
  model.indexer = IndexerShape{64, 128, 512};
  model.hyper_connections = 4;
  model.moe = MoeShape{256, 6, 2048, 2048};
  model.moe->router_bias = true;
  LayerSizes near = model;  // sees the window alone
  near.compressed = 0;
  near.hash_routed = true;
  LayerSizes coarse = model;
  LayerSizes fine = model;
  fine.compressed = 4;
  fine.index = IndexUse::own;
  LayerSizes first_fine = fine;
  first_fine.hash_routed = true;
  model.special_layers = {near, first_fine, coarse, fine};
  model.special_pattern = "aab";
  for (int layer = 3; layer < 43; ++layer) model.special_pattern += layer % 2 == 1 ? 'c' : 'd';
  return model;
}

/// Kimi K3: Kimi delta attention, latent attention with a gate in every fourth layer, experts in a
/// latent space, attention over the residuals of blocks.
LlmShape kimi_k3() {
  LlmShape model = open_model("kimi-k3", {93, 7168, 33792, 163840}, heads_of(96, 96, 192));
  model.mla = MlaShape{1536, 512, 128, 64, 128};
  model.attention_gate = true;
  model.delta = DeltaShape{96, 96, 128, 128};
  model.delta->kind = DeltaKind::kimi_delta;
  model.delta->full_rank_gate = true;
  for (int layer = 1; layer <= 93; ++layer)
    model.mixer_pattern += layer % 4 == 0 || layer == 93 ? '*' : 'G';
  model.moe = MoeShape{896, 16, 3072, 6144};
  model.moe->router_bias = model.moe->latent_norm = true;
  model.moe->latent_hidden = 3584;
  model.moe->first_dense_layers = 1;
  model.residual_blocks = 12;
  return model;
}

LlmShape minimax_m1() {
  LlmShape model = open_model("minimax-m1", {80, 6144, 9216, 200064}, heads_of(64, 8, 128));
  model.delta = DeltaShape{64, 64, 128, 128};
  model.delta->kind = DeltaKind::lightning;
  model.mixer_pattern = "GGGGGGG*";
  model.moe = MoeShape{32, 2, 9216};
  return model;
}

LlmShape minimax_m3() {
  LlmShape model = open_model("minimax-m3", {60, 6144, 12288, 200064}, heads_of(64, 4, 128));
  model.qk_norm = true;
  model.indexer = IndexerShape{4, 128, 2048, false};
  LayerSizes whole = model;
  model.special_layers = {whole};
  model.special_pattern = "aaa" + std::string(57, '.');
  model.moe = MoeShape{128, 4, 3072, 3072};
  model.moe->router_bias = true;
  model.moe->first_dense_layers = 3;
  return model;
}

LlmShape falcon_h1() {
  LlmShape model = open_model("falcon-h1-3b", {32, 2560, 6144, 65536}, heads_of(10, 2, 128));
  model.mamba = MambaShape{32, 128, 1, 256};
  model.mamba->gated_norm = false;
  model.mamba_beside = true;
  return model;
}

/// LFM2 8B-A1B: short convolutions, attention in every fourth layer or so.
LlmShape lfm2_8b() {
  LlmShape model = open_model("lfm2-8b-a1b", {24, 2048, 7168, 65536}, heads_of(32, 8, 64));
  model.qk_norm = model.tied_embeddings = true;
  model.convolution.emplace();
  model.mixer_pattern = "CC*CCC*CCC*CCC*CCC*CC*CC";
  model.moe = MoeShape{32, 4, 1792};
  model.moe->router_bias = true;
  model.moe->first_dense_layers = 2;
  return model;
}

/// Jamba 1.5 Mini: Mamba-1, attention in one layer of eight, experts in every second.
LlmShape jamba_mini() {
  LlmShape model = open_model("jamba-1.5-mini", {32, 4096, 14336, 65536}, heads_of(32, 8, 128));
  model.position = PositionKind::none;
  model.mamba = MambaShape{8192, 1, 1, 16};
  model.mamba->step_rank = 256;
  model.mamba->inner_norms = true;
  model.mamba->gated_norm = false;
  model.mixer_pattern = "MMMM*MMM";
  model.moe = MoeShape{16, 2, 14336};
  model.moe->first_dense_layers = 1;
  model.moe->every = 2;
  return model;
}

/// LongCat-Flash: each of its layers is two here, of attention and a dense MLP each; experts, some
/// of which compute nothing, beside the first.
LlmShape longcat_flash() {
  LlmShape model = open_model("longcat-flash", {56, 6144, 12288, 131072}, heads_of(64, 64, 192));
  model.mla = MlaShape{1536, 512, 128, 64, 128};
  model.moe = MoeShape{512, 12, 2048};
  model.moe->router_bias = model.moe->dense_beside = true;
  model.moe->identity_experts = 256;
  model.moe->every = 2;
  return model;
}

/// GLM-5.2: three layers in four use the indexer of one before them.
LlmShape glm_5_2() {
  LlmShape model = open_model("glm-5.2", {78, 6144, 12288, 154880}, heads_of(64, 64, 256));
  model.mla = MlaShape{2048, 512, 192, 64, 256};
  model.indexer = IndexerShape{32, 128, 2048};
  LayerSizes shared = model;
  shared.index = IndexUse::shared;
  model.special_layers = {shared};
  model.special_pattern = "..";
  for (int layer = 2; layer < 78; ++layer) model.special_pattern += layer % 4 == 2 ? '.' : 'a';
  model.moe = MoeShape{256, 8, 2048, 2048};
  model.moe->router_bias = true;
  model.moe->first_dense_layers = 3;
  return model;
}

}  // namespace

TEST_CASE("open models: parameters are those of their configurations", "[models][layers]") {
  CHECK(parameters(gemma4_31b()) == 30'697'345'340);
  CHECK(parameters(gemma4_26b()) == 25'233'141'790);
  CHECK(parameters(gemma4_e2b()) == 4'628'569'379);
  CHECK(parameters(mimo_v2_flash()) == 308'778'780'864);
  CHECK(parameters(step_flash()) == 196'956'130'368);
  CHECK(parameters(deepseek_v4_flash()) == 284'332'240'471);
  CHECK(parameters(kimi_k3()) == 2'779'484'476'000);
  CHECK(parameters(minimax_m1()) == 456'089'655'296);
  CHECK(parameters(minimax_m3()) == 426'174'572'928);
  CHECK(parameters(falcon_h1()) == 3'149'256'192);
  CHECK(parameters(lfm2_8b()) == 8'339'930'560);
  CHECK(parameters(jamba_mini()) == 51'570'323'328);
  CHECK(parameters(longcat_flash()) == 560'664'980'480);
  CHECK(parameters(glm_5_2()) == 743'377'019'904);
}

TEST_CASE("open models: tokens see a window and compressed keys", "[models][layers]") {
  const LlmShape model = deepseek_v4_flash();
  const double sequence = 65536.0;
  const auto attended = [&](std::uint8_t special) {
    LayerDescription layer{false};
    describe_layer(model, {LayerKind::moe, false, MixerKind::attention, special}, {}, layer);
    return attended_keys(sequence, layer.heads);
  };
  const double near = 128.0 * (2.0 - 128.0 / sequence);
  CHECK(attended(1) == Approx(near));
  CHECK(attended(3) == Approx(near + sequence / 128.0));  // every key of 128 tokens
  CHECK(attended(4) == Approx(near + 512.0 * (2.0 - 512.0 * 4.0 / sequence)));  // the best 512
}

TEST_CASE("open models: layers of other sizes take and hold what their own operators say",
          "[models][layers]") {
  Job job = test::llama2_70b_job();
  job.model = gemma4_31b();
  job.parallel.tensor = 4;
  job.parallel.pipeline = 1;
  job.parallel.data = job.cluster.gpus() / 4;
  REQUIRE(broken_rules(job).empty());
  REQUIRE(not_modelled(job).empty());
  const StepCosts costs = step_costs(job, stage_layout(job.model, job.parallel));
  int windowed = 0, whole = 0;
  for (const PieceRun& run : costs.runs) {
    if (run.kind == layer_piece({.special = 1})) windowed += run.count;
    if (run.kind == PieceKind::layer) whole += run.count;
  }
  CHECK(windowed == 50);
  CHECK(whole == 10);
  // A rank holds a quarter of every projection, 4 of 16 key heads and 1 of 4.
  const RankLayers held = rank_layers(job);
  const double mlp = 3.0 * 5376 * 21504 / 4;
  const double full = 5376.0 * 512 * (8 + 1) + 8 * 512 * 5376.0;
  const double near = 5376.0 * 256 * (8 + 4 + 4) + 8 * 256 * 5376.0;
  CHECK(held.of({LayerKind::dense}).dense_matrices == Approx(mlp + full));
  CHECK(held.of({LayerKind::dense, false, MixerKind::attention, 1}).dense_matrices ==
        Approx(mlp + near));
  job.parallel.tensor = 8;  // shares 4 key heads of full layers
  job.parallel.data = job.cluster.gpus() / 8;
  CHECK(broken_rules(job).empty());
}

TEST_CASE("open models: layers that share keys lie on the stage of their source",
          "[models][layers]") {
  Job job = test::llama2_70b_job();
  job.model = gemma4_e2b();
  job.parallel.tensor = 1;
  job.parallel.sequence = false;
  job.parallel.pipeline = 5;
  job.parallel.data = job.cluster.gpus() / 8;
  job.cluster.hosts = 5 * job.parallel.data / 8;
  job.parallel.stage_layers = {7, 7, 7, 7, 7};
  // Layers 15 and on read what 13 (windowed) and 14 (full) make: stage 2 has layers 14 to 20.
  const std::vector<Infeasible> broken = broken_rules(job);
  REQUIRE(broken.size() == 1);
  CHECK(broken.front().rule == "source-on-stage");
  CHECK(broken.front().message ==
        "layer 15 on stage 2 reads keys and values of layer 13, which lies before that stage's "
        "layers 14 to 20");
  CHECK(broken.front().remedy == "parallel.stage_layers with layers 13 to 15 on one stage");
  job.parallel.stage_layers = {4, 4, 4, 1, 22};
  CHECK(refusals(job).empty());
  job.parallel.stage_layers = {4, 4, 4, 2, 21};
  CHECK(broken_rules(job).front().message.find("layer 15 on stage 4") != std::string::npos);
  // Left out, cuts at 7, 14, 21 and 28 become those at 7 and 13, behind which none is left.
  job.parallel.stage_layers.clear();
  CHECK(refusals(job).empty());
  const StageLayout layout = stage_layout(job.model, job.parallel);
  CHECK(layout.layers(0) == 7);
  CHECK(layout.layers(1) == 6);
  CHECK(layout.layers(4) == 22);
}

TEST_CASE("open models: rows of per-layer embeddings travel with the residual stream",
          "[models][layers]") {
  Job job = test::llama2_70b_job();
  job.model = gemma4_e2b();
  job.parallel.tensor = 1;
  job.parallel.sequence = false;
  job.parallel.pipeline = 2;
  job.parallel.stage_layers = {13, 22};
  // 16 bits, 4,096 tokens; the stream and 256 elements for each of 35 layers.
  CHECK(transfer_exchange(job, 0).payload == Bytes{2.0 * 4096 * (job.model.hidden + 35 * 256)});
  const RankLayers held = rank_layers(job);
  const StageLayout layout = stage_layout(job.model, job.parallel);
  CHECK(rank_parameters(job, held, layout, 0).embedding > 262144.0 * 35 * 256);
  CHECK(rank_parameters(job, held, layout, 1).embedding == 0.0);
}

TEST_CASE("open models: late layers of Gemma 4 keep no keys of their own", "[models][layers]") {
  const LlmShape model = gemma4_e2b();
  const auto saved = [&](std::uint8_t special) {
    LayerDescription layer;
    describe_layer(model, {LayerKind::dense, false, MixerKind::attention, special}, {}, layer);
    double width = 0.0;
    for (const SavedTensor& tensor : layer.saved())
      if (tensor.keep == Keep::attention_input) width += tensor.width;
    return width;
  };
  CHECK(saved(1) == 256.0 * (8 + 1 + 1));
  CHECK(saved(2) == 256.0 * 8);
}

TEST_CASE("open models: choices that compute nothing save FLOPs of experts", "[models][layers]") {
  LlmShape model = longcat_flash();
  const auto experts = [](const LlmShape& shape) {
    return layer_forward_flops(shape, 4096, {LayerKind::moe}, AttentionFlops::full).experts.value();
  };
  const double some = experts(model);
  model.moe->identity_experts = 0;
  CHECK(some == Approx(experts(model) * 512.0 / 768.0));
}

TEST_CASE("open models: experts in a latent space send narrow rows", "[models][layers]") {
  const LlmShape model = kimi_k3();
  LayerDescription layer{false};
  describe_layer(model, {LayerKind::moe, false, MixerKind::delta}, {}, layer);
  for (const LayerOperator& op : layer.operators())
    if (op.work == LayerWork::expert_exchange) CHECK(op.out == 3584.0);
}

TEST_CASE("open models: forecasts say what of them no run had", "[models][layers]") {
  Job job = test::llama2_70b_job();
  job.model = lfm2_8b();
  job.parallel.tensor = 8;
  job.parallel.pipeline = 1;
  job.parallel.data = job.cluster.gpus() / 8;
  const auto told = [&](const std::string& words) {
    const Prediction prediction = closed_form(job);
    REQUIRE(prediction.step);
    return std::any_of(
        prediction.warnings.begin(), prediction.warnings.end(),
        [&](const Warning& warning) { return warning.message.find(words) != std::string::npos; });
  };
  CHECK(told("short convolutions: priced from GEMMs and bytes"));
  CHECK_FALSE(told("mixers over context ranks"));
  job.parallel.context = 2;
  job.parallel.data /= 2;
  CHECK(told("short convolutions, mixers over context ranks"));
}

TEST_CASE("open models: mixers exchange heads over context ranks", "[models][layers]") {
  Job job = test::llama2_70b_job();
  job.model = minimax_m1();
  job.model.moe->router_bias = false;
  job.parallel.tensor = 8;
  job.parallel.pipeline = 1;
  job.parallel.context = 2;
  job.parallel.data = job.cluster.gpus() / 16;
  REQUIRE(broken_rules(job).empty());
  REQUIRE(not_modelled(job).empty());
  const LayerVariant mixer{.kind = LayerKind::moe, .mixer = MixerKind::delta};
  double sent = 0.0;
  for (const Operator& op : layer_operators(job, mixer))
    if (op.kind == OperatorKind::context) sent += op.bytes.value();
  // Queries, keys, values and a gate of 8 heads on a rank, and what they become, 2 bytes each.
  const double tokens = 1.0 * job.training.micro_batch * job.training.sequence / 2;
  CHECK(sent == Approx(tokens * 2.0 * (4 + 1) * 8 * 128));
  job.parallel.context = 16;
  job.parallel.data = job.cluster.gpus() / 128;
  REQUIRE_FALSE(broken_rules(job).empty());
  CHECK(broken_rules(job).front().rule == "mixers-divide-context");
}
