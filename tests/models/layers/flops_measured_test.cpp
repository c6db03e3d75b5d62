// SPDX-License-Identifier: Apache-2.0
// The FLOPs that published runs state, recomputed from their shapes.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>

#include "models/layers/flops.hpp"

using namespace foretrain;

namespace {

const YAML::Node& runs() {
  static const YAML::Node file =
      YAML::LoadFile(FORETRAIN_SOURCE_DIR "/calibration/measured/runs.yaml");
  return file;
}

int integer_or(const YAML::Node& node, int fallback) {
  return node.IsDefined() && !node.IsNull() ? node.as<int>() : fallback;
}

LlmShape shape_of(const YAML::Node& model) {
  LlmShape shape;
  shape.layers = model["layers"].as<int>();
  shape.hidden = model["hidden"].as<int>();
  shape.heads = model["heads"].as<int>();
  shape.kv_heads = integer_or(model["kv_heads"], shape.heads);
  shape.head_dim = integer_or(model["head_dim"], shape.hidden / shape.heads);
  shape.ffn_hidden = integer_or(model["ffn_hidden"], 4 * shape.hidden);
  shape.vocabulary = model["vocab"].as<int>();
  shape.gated_mlp = model["gated_mlp"].as<bool>();
  shape.tied_embeddings = model["tied_embeddings"].as<bool>();
  const YAML::Node moe = model["moe"];
  if (moe.IsDefined() && !moe.IsNull()) {
    shape.moe = MoeShape{};
    shape.moe->experts = moe["experts"].as<int>();
    shape.moe->top_k = moe["topk"].as<int>();
    shape.moe->expert_ffn_hidden = moe["expert_ffn"].as<int>();
    shape.moe->shared_ffn_hidden = integer_or(moe["shared_expert_ffn"], 0);
  }
  return shape;
}

bool stated(const YAML::Node& run) {
  const YAML::Node value = run["model_flops_per_sequence_stated"];
  return value.IsDefined() && !value.IsNull();
}

}  // namespace

TEST_CASE("FLOPs per sequence equal every stated value within 1 %", "[models][flops][measured]") {
  int checked = 0;
  for (const YAML::Node& run : runs()["runs"]) {
    if (!stated(run)) continue;
    const auto convention = from_name<FlopsConvention>(run["flops_convention"].as<std::string>());
    CAPTURE(run["id"].as<std::string>());
    REQUIRE(convention.has_value());
    const LlmShape shape = shape_of(run["model"]);
    const Flop ours = convention_flops_per_sequence(shape, run["model"]["seq"].as<int>(),
                                                    shape.vocabulary, *convention);
    CHECK(ours.value() ==
          Approx(run["model_flops_per_sequence_stated"].as<double>()).epsilon(0.01));
    ++checked;
  }
  CHECK(checked >= 100);
}

TEST_CASE("our own count explains the stated values of the full-attention sources",
          "[models][flops][measured]") {
  int checked = 0;
  for (const YAML::Node& run : runs()["runs"]) {
    if (!stated(run) || run["flops_convention"].as<std::string>() != "dgxc_full_attention")
      continue;
    const LlmShape shape = shape_of(run["model"]);
    const FlopsPerSequence flops =
        flops_per_sequence(shape, run["model"]["seq"].as<int>(), shape.vocabulary,
                           RecomputeKind::none, AttentionFlops::full);
    CAPTURE(run["id"].as<std::string>());
    CHECK(flops.model.value() ==
          Approx(run["model_flops_per_sequence_stated"].as<double>()).epsilon(0.01));
    ++checked;
  }
  CHECK(checked > 0);
}

namespace {

/// Predicted over printed TFLOP/s per GPU of one run, minus 1; nothing where the record lacks its
/// speed or shape, or is of a kind whose shape the records do not give completely.
std::optional<double> tflops_error(const YAML::Node& run, FlopsConvention convention) {
  const YAML::Node model = run["model"];
  const YAML::Node measured = run["measured"];
  const auto given = [](const YAML::Node& node) { return node.IsDefined() && !node.IsNull(); };
  for (const char* key : {"layers", "hidden", "heads", "vocab", "seq", "gated_mlp"})
    if (!model.IsMap() || !given(model[key])) return std::nullopt;
  const bool experts = given(model["moe"]);
  if (experts && !given(model["moe"]["expert_ffn"])) return std::nullopt;
  if (!given(model["tied_embeddings"]) || !given(measured["tflops_per_gpu"])) return std::nullopt;
  const int sequence = model["seq"].as<int>();
  double tokens_per_second = 0.0;
  if (given(measured["tokens_per_s_per_gpu"]))
    tokens_per_second = measured["tokens_per_s_per_gpu"].as<double>();
  else if (given(measured["iteration_s"]) && given(run["global_batch"]) && given(run["gpus"]))
    tokens_per_second = run["global_batch"].as<double>() * sequence /
                        measured["iteration_s"].as<double>() / run["gpus"].as<double>();
  if (tokens_per_second <= 0.0) return std::nullopt;

  LlmShape shape = shape_of(model);
  if (model["arch"].as<std::string>() == "gpt") {
    shape.position = PositionKind::learned;
    shape.positions = sequence;
  }
  const Flop flops = convention_flops_per_sequence(shape, sequence, shape.vocabulary, convention);
  const double predicted = tokens_per_second * flops.value() / sequence / 1e12;
  return predicted / measured["tflops_per_gpu"].as<double>() - 1.0;
}

}  // namespace

TEST_CASE("each convention turns a source's printed speed into its printed TFLOP/s",
          "[models][flops][measured]") {
  std::map<FlopsConvention, std::vector<double>> errors;
  for (const YAML::Node& run : runs()["runs"]) {
    const YAML::Node name = run["flops_convention"];
    if (!name.IsDefined() || name.IsNull()) continue;
    const auto convention = from_name<FlopsConvention>(name.as<std::string>());
    if (!convention || *convention == FlopsConvention::six_n_label ||
        *convention == FlopsConvention::bigscience_old)
      continue;
    if (const auto error = tflops_error(run, *convention))
      errors[*convention].push_back(std::abs(*error));
  }
  std::size_t records = 0;
  for (auto& [convention, values] : errors) {
    std::sort(values.begin(), values.end());
    CAPTURE(name_of(convention), values.size());
    CHECK(values[values.size() / 2] < 0.01);
    records += values.size();
  }
  CHECK(errors.size() >= 9);
  CHECK(records >= 250);
}
