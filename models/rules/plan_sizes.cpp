// SPDX-License-Identifier: Apache-2.0
#include "models/rules/plan_sizes.hpp"

#include <algorithm>
#include <numeric>

namespace foretrain {
namespace {

constexpr int least_tokens_per_context_rank = 1024;
constexpr int most_context_ranks = 64;
constexpr int most_sequences_per_pass = 8;

/// What tensor ranks have to divide: heads and widths.
int common_width(const LlmShape& model) {
  const LayerSizes sizes = common_sizes(model);
  return std::gcd(sizes.heads, std::gcd(sizes.ffn_hidden, model.hidden));
}

/// Whether `fits(heads)` of the key-value heads of all layers with attention.
template <class Fits>
bool all_key_heads(const LlmShape& model, const Fits& fits) {
  if (model.mla || model.compression) return true;  // one latent or head, whole on every rank
  const auto fit = [&](const LayerSizes& sizes) {
    return sizes.heads == 0 || sizes.kv_heads == sizes.heads || fits(sizes.kv_heads);
  };
  return fit(model) && std::ranges::all_of(model.special_layers, fit);
}

}  // namespace

LayerSizes common_sizes(const LlmShape& model) {
  LayerSizes common = model;
  for (const LayerSizes& sizes : model.special_layers) {
    common.heads = std::gcd(common.heads, sizes.heads);
    common.kv_heads = std::gcd(common.kv_heads, sizes.heads > 0 ? sizes.kv_heads : 0);
    common.ffn_hidden = std::gcd(common.ffn_hidden, sizes.ffn_hidden);
  }
  return common;
}

bool cuts_key_heads(const LlmShape& model, int tensor) {
  return all_key_heads(model, [tensor](int heads) { return heads % tensor == 0; });
}

bool shares_key_heads(const LlmShape& model, int tensor) {
  return all_key_heads(model,
                       [tensor](int heads) { return heads % tensor == 0 || tensor % heads == 0; });
}

std::vector<int> divisors_of(int number, int most) {
  std::vector<int> found;
  for (int candidate = 1; candidate <= std::min(number, most); ++candidate)
    if (number % candidate == 0) found.push_back(candidate);
  return found;
}

PlanSizes plan_sizes(const Job& job) {
  const LlmShape& model = job.model;
  const int gpus = job.cluster.gpus();
  const int sequence = job.training.sequence;
  const int domain = std::gcd(job.cluster.packing().domain, gpus);
  PlanSizes sizes;
  sizes.tensor = divisors_of(std::gcd(common_width(model), domain), domain);
  std::erase_if(sizes.tensor, [&](int tensor) { return !shares_key_heads(model, tensor); });
  sizes.pipeline = divisors_of(gpus, model.layers);
  // Two chunks of a sequence per rank, a near and a far one.
  const int halves = sequence % 2 == 0 ? std::gcd(sequence / 2, gpus) : 1;
  sizes.context = divisors_of(
      halves, std::clamp(sequence / least_tokens_per_context_rank, 1, most_context_ranks));
  sizes.expert = divisors_of(model.moe ? std::gcd(model.moe->experts, gpus) : 1, gpus);
  sizes.micro_batch = divisors_of(job.training.global_batch, most_sequences_per_pass);
  return sizes;
}

}  // namespace foretrain
