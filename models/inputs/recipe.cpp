// SPDX-License-Identifier: Apache-2.0

#include "models/inputs/recipe.hpp"

#include <algorithm>

namespace foretrain {
namespace {

constexpr double eight_bits = 1.0;
constexpr double four_bits = 0.5;
constexpr double sixteen_bits = 2.0;
constexpr double thirty_two_bits = 4.0;
constexpr double fp8_block_length = 128.0;   // a 32-bit scale each
constexpr double mxfp8_block_length = 32.0;  // an 8-bit power of two each
constexpr double nvfp4_block_length = 16.0;  // an 8-bit number each

/// With one scale for the whole operand, or for a row.
Recipe scaled_fp8(Fp8Scaling scaling, Architecture architecture) {
  Recipe recipe{.products = Precision::fp8, .quantised = true, .element = eight_bits};
  recipe.layouts = architecture >= Architecture::blackwell && scaling != Fp8Scaling::row ? 1 : 2;
  recipe.turns = scaling != Fp8Scaling::row;
  recipe.gathers = scaling != Fp8Scaling::row;
  recipe.scale_reads = scaling == Fp8Scaling::current ? sixteen_bits : 0.0;
  recipe.weights_travel = recipe.keeps_weights = true;
  return recipe;
}

/// With scales of blocks along the depth, so that a transposed operand has others.
Recipe scaled_blocks(Precision precision) {
  Recipe recipe{.products = precision, .quantised = true, .element = operand_bytes(precision)};
  recipe.layouts = 2;
  recipe.gathers = true;
  recipe.keeps_weights = precision != Precision::nvfp4;
  recipe.weights_travel = precision == Precision::fp8_block;  // square blocks of weights turn
  // A pass finds the scale of the whole tensor, which those of blocks are relative to.
  recipe.scale_reads = precision == Precision::nvfp4 ? sixteen_bits : 0.0;
  return recipe;
}

}  // namespace

double operand_bytes(Precision precision) {
  switch (precision) {
    case Precision::fp32:
    case Precision::tf32:
      return thirty_two_bits;
    case Precision::fp16:
    case Precision::bf16:
      return sixteen_bits;
    case Precision::fp8:
      return eight_bits;
    case Precision::fp8_block:
      return eight_bits + thirty_two_bits / fp8_block_length;
    case Precision::mxfp8:
      return eight_bits + eight_bits / mxfp8_block_length;
    case Precision::nvfp4:
      return four_bits + eight_bits / nvfp4_block_length;
  }
  return sixteen_bits;
}

double result_bytes(Precision precision) {
  return std::max(sixteen_bits, operand_bytes(precision));
}

bool quantised(Precision precision) { return operand_bytes(precision) < sixteen_bits; }

Recipe recipe_of(const Training& training, Architecture architecture) {
  if (training.precision == Precision::fp8) return scaled_fp8(training.fp8_scaling, architecture);
  if (quantised(training.precision)) return scaled_blocks(training.precision);
  return {.products = training.precision};
}

Recipe recipe_of(const Job& job) {
  return recipe_of(job.training, job.cluster.host.device.architecture);
}

int bf16_end_layers(const Training& training) {
  return quantised(training.precision) ? training.bf16_end_layers : 0;
}

RecomputeKey recompute_key(const Recompute& recompute) {
  const auto [core_attention, attention_norm, mlp_norm, qkv_linear, attention_projection,
              mla_up_projection, activation, expert_fc1, mlp, moe, shared_experts] =
      recompute.modules;
  RecomputeKey key{recompute.layers, 0};
  for (const bool part : {recompute.distribute_saved, recompute.every_second_matmul,
                          recompute.method == RecomputeMethod::block})
    key.way = 2 * key.way + (part ? 1 : 0);
  key.way = 4 * key.way + static_cast<int>(recompute.kind);
  for (const bool chosen :
       {core_attention, attention_norm, mlp_norm, qkv_linear, attention_projection,
        mla_up_projection, activation, expert_fc1, mlp, moe, shared_experts})
    key.modules = 2 * key.modules + (chosen ? 1 : 0);
  return key;
}

}  // namespace foretrain
