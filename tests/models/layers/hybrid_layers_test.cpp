// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <string>

#include "models/layers/activations.hpp"
#include "models/layers/flops.hpp"
#include "models/layers/layer_cost.hpp"
#include "models/layers/layer_scan.hpp"
#include "models/layers/parameters.hpp"
#include "models/memory/memory.hpp"
#include "models/rules/plan_rules.hpp"
#include "models/step/step_costs.hpp"
#include "models/step/step_time.hpp"
#include "tests/models/layers/moe_jobs.hpp"

using namespace foretrain;

namespace {

/// Nemotron-H 8B (arXiv 2504.03624; its published configuration).
LlmShape nemotron_h() {
  LlmShape model;
  model.name = "nemotron-h-8b";
  model.layers = 52;
  model.hidden = 4096;
  model.heads = 32;
  model.kv_heads = 8;
  model.head_dim = 128;
  model.ffn_hidden = 21504;
  model.vocabulary = 131072;
  model.position = PositionKind::none;
  model.layer_pattern = "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-";
  model.mamba = MambaShape{128, 64, 8, 128};
  return model;
}

/// Qwen3-Next 80B-A3B without its prediction module.
LlmShape qwen3_next() {
  LlmShape model;
  model.name = "qwen3-next-80b-a3b";
  model.layers = 48;
  model.hidden = 2048;
  model.heads = 16;
  model.kv_heads = 2;
  model.head_dim = 256;
  model.ffn_hidden = 5120;
  model.gated_mlp = model.qk_norm = model.attention_gate = true;
  model.vocabulary = 151936;
  model.mixer_pattern = "GGG*";
  model.delta = DeltaShape{16, 32, 128, 128};
  model.moe = MoeShape{512, 10, 512, 512, true};
  return model;
}

Job hybrid_job() {
  Job job = test::llama2_70b_job();
  job.model = nemotron_h();
  job.parallel.tensor = 8;
  return job;
}

}  // namespace

TEST_CASE("hybrids: parameters are those of the released checkpoints", "[models][hybrid]") {
  CHECK(parameters(nemotron_h()) == 8'100'852'736);
  CHECK(parameters(qwen3_next()) == 79'674'391'296);
}

TEST_CASE("hybrids: a pattern says which halves a layer has", "[models][hybrid]") {
  const LlmShape nemotron = nemotron_h();
  CHECK(nemotron.layer_form(0) == LayerType{LayerKind::none, false, MixerKind::mamba});
  CHECK(nemotron.layer_form(1) == LayerType{LayerKind::dense, false, MixerKind::none});
  CHECK(nemotron.layer_form(7) == LayerType{LayerKind::none, false, MixerKind::attention});
  const FormCounts forms = nemotron.form_counts(0, nemotron.layers);
  CHECK(forms[form_index({LayerKind::none, false, MixerKind::mamba})] == 24);
  CHECK(forms[form_index({LayerKind::none})] == 4);
  CHECK(forms[form_index({LayerKind::dense, false, MixerKind::none})] == 24);
  CHECK(total_layers(forms) == 52);
  const LlmShape qwen = qwen3_next();
  CHECK(qwen.layer_form(2) == LayerType{LayerKind::moe, false, MixerKind::delta});
  CHECK(qwen.layer_form(47) == LayerType{LayerKind::moe, false, MixerKind::attention});
  CHECK_FALSE(qwen.has_mixer(MixerKind::mamba));
}

TEST_CASE("hybrids: the chunked scan has the products of its five kernels", "[models][hybrid]") {
  const LlmShape model = nemotron_h();
  const int tokens = 1024;
  const ForwardFlops layer = layer_forward_flops(
      model, tokens, {LayerKind::none, false, MixerKind::mamba}, AttentionFlops::full);
  const double inner = 8192.0, state = 128.0, chunk = 128.0, groups = 8.0;
  // States and their outputs, scores of a chunk in each group, and their causal half times x.
  const double scan = 4.0 * inner * state + 2.0 * chunk * groups * state + chunk * inner;
  CHECK(layer.scans.value() == Approx(tokens * scan));
  CHECK(layer.attention_scores.value() == 0.0);
  const double projections = 4096.0 * (2.0 * inner + 2.0 * groups * state + 128.0) + inner * 4096.0;
  CHECK(layer.attention_projections.value() == Approx(2.0 * tokens * projections));
}

TEST_CASE("hybrids: Megatron counts Mamba layers as wide as twice the residual stream",
          "[models][hybrid]") {
  LlmShape model;  // Nemotron 3 Nano, its published configuration
  model.layers = 52;
  model.hidden = 2688;
  model.heads = 32;
  model.kv_heads = 2;
  model.head_dim = 128;
  model.ffn_hidden = 1856;
  model.vocabulary = 131072;
  model.layer_pattern = "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME";
  model.mamba = MambaShape{64, 64, 8, 128};
  model.moe = MoeShape{128, 6, 1856, 3712};
  model.moe->router_bias = true;
  CHECK(parameters(model) == 31'577'940'288);
  // Megatron-Bridge 26.04 prints 849 TFLOP/s at 38,102 tokens/s per GPU, 729 at 32,727.
  const Flop sequence = convention_flops_per_sequence(model, 8192, model.vocabulary,
                                                      FlopsConvention::megatron_hybrid);
  CHECK(sequence.value() / 8192.0 * 38102.0 == Approx(849e12).epsilon(0.001));
  CHECK(sequence.value() / 8192.0 * 32727.0 == Approx(729e12).epsilon(0.001));
}

TEST_CASE("hybrids: tensor ranks hold equal parts of the mixers", "[models][hybrid]") {
  Job job = hybrid_job();
  const LayerType mamba{LayerKind::none, false, MixerKind::mamba};
  const RankLayer part = rank_layer(job, mamba);
  job.parallel.tensor = 1;
  const RankLayer whole = rank_layer(job, mamba);
  CHECK(8.0 * part.dense_matrices == whole.dense_matrices);
  // The norm of the residual stream is whole on every rank.
  CHECK(8.0 * (part.vectors - 4096.0) == whole.vectors - 4096.0);
  CHECK(whole.dense == static_cast<double>(layer_parameters(job.model, mamba).total()));
}

TEST_CASE("hybrids: mixers save projections and outputs of the scan, no states",
          "[models][hybrid]") {
  const Job job = hybrid_job();
  const ActivationModel model = activation_model(job);
  const LayerType mamba{LayerKind::none, false, MixerKind::mamba};
  const double tokens = model.tokens.all;
  const double inner = 8192.0 / 8, columns = 2.0 * inner + 2.0 * 8 * 128 / 8 + 128.0 / 8;
  CHECK(model.of(mamba).kept.mixer_input == Approx(2.0 * tokens * (columns + 3.0 * inner)));
  CHECK(model.of(mamba).kept.mlp_input == 0.0);
  CHECK(model.of({LayerKind::dense, false, MixerKind::none}).kept.qkv == 0.0);
}

TEST_CASE("hybrids: the pieces of a step are the layers of the pattern", "[models][hybrid]") {
  Job job = hybrid_job();
  job.parallel.pipeline = 4;
  job.parallel.data = 1;
  const StageLayout layout = stage_layout(job.model, job.parallel);
  const StepCosts costs = step_costs(job, layout);
  int layers = 0, mamba = 0;
  for (const PieceRun& run : costs.runs)
    if (const auto layer = layer_of(run.kind)) {
      CHECK(layer_piece(*layer) == run.kind);
      layers += run.count;
      if (layer->mixer == MixerKind::mamba) mamba += run.count;
    }
  CHECK(layers == 52);
  CHECK(mamba == 24);
  CHECK(piece_name(layer_piece({.kind = LayerKind::none, .mixer = MixerKind::mamba})) ==
        "Mamba layer");
  // Stages of four layers differ, and so do their parameters: M-M-, then M*-M.
  job.parallel.pipeline = 13;
  const StageLayout many = stage_layout(job.model, job.parallel);
  CHECK(many.forms(0) != many.forms(1));
  CHECK(rank_parameters(job, many, 0).layers != rank_parameters(job, many, 1).layers);
}

TEST_CASE("hybrids: operators add up to the layer's time", "[models][hybrid]") {
  const Job job = hybrid_job();
  const LayerCost cost{job};
  for (const LayerVariant& variant :
       {LayerVariant{.kind = LayerKind::none, .mixer = MixerKind::mamba},
        LayerVariant{.kind = LayerKind::none},
        LayerVariant{.kind = LayerKind::dense, .mixer = MixerKind::none}}) {
    Seconds sum;
    for (const Operator& op : layer_operators(job, variant))
      sum += op.forward + op.input_gradient + op.weight_gradient;
    const TimeParts all = cost.layer(variant).all();
    CHECK(sum / (all.total() - all.launch) == Approx(1.0));
  }
  CHECK(scan_time(job, {.kind = LayerKind::none, .mixer = MixerKind::mamba}) > Seconds{});
  CHECK(scan_time(job, {.kind = LayerKind::none}) == Seconds{});
}

TEST_CASE("hybrids: longer sequences cost Mamba layers in proportion, attention more",
          "[models][hybrid]") {
  Job job = hybrid_job();
  job.training.sequence = 8192;
  const auto time = [&](MixerKind mixer) {
    return LayerCost{job}.layer({.kind = LayerKind::none, .mixer = mixer}).forward.compute;
  };
  const Seconds mamba = time(MixerKind::mamba);
  const Seconds attention = time(MixerKind::attention);
  job.training.sequence = 65536;
  CHECK(time(MixerKind::mamba) / mamba < 8.5);
  CHECK(time(MixerKind::attention) / attention > 16.0);
}

TEST_CASE("hybrids: scans run no faster on a multiprocessor of Blackwell than on one of Hopper",
          "[models][hybrid]") {
  Device device;
  device.peak[Precision::bf16] = 989.4 * TFLOPS;
  device.multiprocessors = 132;
  CHECK(scan_rate(device).in(TFLOPS) == Approx(98.94));
  device.architecture = Architecture::blackwell;
  device.peak[Precision::bf16] = 2500.0 * TFLOPS;
  device.multiprocessors = 152;
  CHECK(scan_rate(device).in(TFLOPS) == Approx(98.94 * 152.0 / 132.0));
  device.peak[Precision::bf16] = 400.0 * TFLOPS;  // a card whose tensor cores are slower
  CHECK(scan_rate(device).in(TFLOPS) == Approx(40.0));
}

TEST_CASE("hybrids: cuts and context ranks that mixers do not allow are refused by name",
          "[models][hybrid]") {
  Job job = hybrid_job();
  job.model.mamba->groups = 4;
  const auto broken = broken_layout_rules(job);
  CHECK(std::any_of(broken.begin(), broken.end(), [](const Infeasible& reason) {
    return reason.rule == "mixers-divide-tensor";
  }));
  job = hybrid_job();
  CHECK(not_modelled(job).empty());
  job.parallel.context = 2;  // heads for the sequence: 16 of a tensor rank
  CHECK(not_modelled(job).empty());
  job.parallel.context = 32;
  const auto swapped = broken_layout_rules(job);
  CHECK(std::any_of(swapped.begin(), swapped.end(), [](const Infeasible& reason) {
    return reason.rule == "mixers-divide-context";
  }));
}

TEST_CASE("sparse attention: parameters of the indexer, and pairs of the chosen tokens",
          "[models][hybrid]") {
  Job job = test::deepseek_v3_job();
  const std::int64_t before = parameters(job.model);
  const LayerType moe{LayerKind::moe};
  const ForwardFlops dense = layer_forward_flops(job.model, 32768, moe, AttentionFlops::causal);
  job.model.indexer = IndexerShape{64, 128, 2048};
  CHECK(parameters(job.model) - before ==
        job.model.layers * (1536LL * 64 * 128 + 7168LL * 128 + 2LL * 128 + 7168LL * 64));
  const ForwardFlops sparse = layer_forward_flops(job.model, 32768, moe, AttentionFlops::causal);
  const double share = 2048.0 * (2.0 - 2048.0 / 32768.0) / 32768.0;
  CHECK(sparse.attention_scores / dense.attention_scores == Approx(share));
  CHECK(sparse.scans.value() == Approx(32768.0 * 32768.0 * 64 * 128));
}
