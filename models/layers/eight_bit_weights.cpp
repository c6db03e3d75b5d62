// SPDX-License-Identifier: Apache-2.0
#include "models/layers/eight_bit_weights.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "models/inputs/recipe.hpp"

namespace foretrain {
namespace {

Infeasible refusal(std::string message, std::string remedy) {
  return {std::string(not_modelled_rule), "memory.fp8_parameters", std::move(message),
          std::move(remedy)};
}

}  // namespace

EightBitWeights eight_bit_weights(const Job& job, const RankParameters& parameters) {
  if (!job.memory.fp8_parameters || !recipe_of(job).keeps_weights) return {};
  const double wide = static_cast<double>(job.training.bf16_end_layers) / job.model.layers;
  const double share = std::max(0.0, 1.0 - wide);
  return {share * parameters.layer_matrices, share * parameters.experts};
}

WeightBytes gathered_weight_bytes(const Job& job, const RankParameters& parameters) {
  constexpr double sixteen_bits = 2.0;
  const Recipe recipe = recipe_of(job);
  const double less = recipe.weights_travel ? sixteen_bits - recipe.element : 0.0;
  const EightBitWeights eight = eight_bit_weights(job, parameters);
  return {Bytes{sixteen_bits * parameters.dense() - less * eight.dense},
          Bytes{sixteen_bits * parameters.experts - less * eight.experts}};
}

double narrower_shards(const Job& job) {
  constexpr double sixteen_bits = 2.0;
  if (!job.memory.fp8_parameters || job.parallel.zero < 3) return 0.0;
  const double wide = static_cast<double>(job.training.bf16_end_layers) / job.model.layers;
  return std::max(0.0, 1.0 - wide) * (1.0 - recipe_of(job).element / sixteen_bits);
}

namespace {

/// FSDP's shards rest in 32 bits, so that 8 bits are only what travels: with one scale for a whole
/// weight, which its ranks agree on.
std::optional<Infeasible> refuse_eight_bit_shards(const Job& job) {
  if (job.stack.memory.compute_weight_bytes <= 0.0)
    return refusal(fmt::format("shards that travel in 8 bits are modelled for FSDP2, not for stack "
                               "{}",
                               job.stack.name),
                   "memory.fp8_parameters: false");
  const bool whole =
      job.training.precision == Precision::fp8 && job.training.fp8_scaling != Fp8Scaling::row;
  if (!whole)
    return refusal(
        "shards travel in 8 bits with a scale for the whole weight alone (torchao's "
        "tensorwise recipe)",
        "training.fp8_scaling: current");
  return std::nullopt;
}

}  // namespace

std::optional<Infeasible> refuse_eight_bit_weights(const Job& job) {
  if (!job.memory.fp8_parameters) return std::nullopt;
  if (!recipe_of(job).keeps_weights)
    return refusal(fmt::format("weights kept in 8 bits are modelled in training in fp8, fp8-block "
                               "and mxfp8, not in {}",
                               name_of(job.training.precision)),
                   "memory.fp8_parameters: false");
  if (job.parallel.zero >= 3) return refuse_eight_bit_shards(job);
  if (job.stack.memory.fp8_copy_bytes <= 0.0)
    return refusal(fmt::format("weights kept in 8 bits are modelled for Megatron-Core "
                               "(--fp8-param-gather), not for stack {}",
                               job.stack.name),
                   "memory.fp8_parameters: false");
  if (job.parallel.zero != 1)
    return refusal(fmt::format("weights kept in 8 bits are modelled with the distributed optimizer "
                               "(parallel.zero 1), not with parallel.zero {}",
                               job.parallel.zero),
                   "parallel.zero: 1");
  return std::nullopt;
}

}  // namespace foretrain
