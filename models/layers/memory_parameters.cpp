// SPDX-License-Identifier: Apache-2.0
#include "models/layers/memory_parameters.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace foretrain {
namespace {

/// Shapes of the linear weights of one layer on one rank, without allocation.
struct Matrices {
  struct Matrix {
    double out = 0.0;
    double in = 0.0;
    double copies = 1.0;  ///< experts of a rank share a shape
    bool expert = false;
  };
  std::array<Matrix, 12> items{};
  std::size_t count = 0;

  void add(double out, double in, double copies = 1.0, bool expert = false) {
    if (out > 0.0 && in > 0.0) items[count++] = {out, in, copies, expert};
  }
};

double tensor_of(const Job& job) { return job.parallel.tensor; }

double key_value_heads_per_rank(const Job& job) {
  return std::max(1.0, job.model.kv_heads / tensor_of(job));
}

void add_latent_attention(const Job& job, Matrices& matrices) {
  const LlmShape& model = job.model;
  const MlaShape& mla = *model.mla;
  const double heads = model.heads / tensor_of(job);
  const double query = heads * (mla.qk_nope_head_dim + mla.qk_rope_head_dim);
  if (mla.q_lora_rank > 0) {
    matrices.add(mla.q_lora_rank, model.hidden);
    matrices.add(query, mla.q_lora_rank);
  } else {
    matrices.add(query, model.hidden);
  }
  matrices.add(mla.kv_lora_rank + mla.qk_rope_head_dim, model.hidden);
  matrices.add(heads * (mla.qk_nope_head_dim + mla.v_head_dim), mla.kv_lora_rank);
  matrices.add(model.hidden, heads * mla.v_head_dim);
}

void add_attention(const Job& job, Matrices& matrices) {
  const LlmShape& model = job.model;
  if (model.mla) return add_latent_attention(job, matrices);
  const double heads = model.heads / tensor_of(job);
  matrices.add((heads + 2.0 * key_value_heads_per_rank(job)) * model.head_dim, model.hidden);
  matrices.add(model.hidden, heads * model.head_dim);
}

void add_dense_mlp(const Job& job, double width, Matrices& matrices) {
  const double split = width / tensor_of(job);
  matrices.add(split * (job.model.gated_mlp ? 2.0 : 1.0), job.model.hidden);
  matrices.add(job.model.hidden, split);
}

void add_experts(const Job& job, Matrices& matrices) {
  const MoeShape& moe = *job.model.moe;
  const double local = static_cast<double>(moe.experts) / job.parallel.expert;
  const double width =
      static_cast<double>(moe.expert_ffn_hidden) / job.parallel.expert_tensor_size();
  matrices.add(width * (job.model.gated_mlp ? 2.0 : 1.0), job.model.hidden, local, true);
  matrices.add(job.model.hidden, width, local, true);
}

Matrices layer_matrices(const Job& job, bool moe_layer) {
  Matrices matrices;
  add_attention(job, matrices);
  if (!moe_layer) {
    add_dense_mlp(job, job.model.ffn_hidden, matrices);
    return matrices;
  }
  add_dense_mlp(job, job.model.moe->shared_ffn_hidden, matrices);
  add_experts(job, matrices);
  return matrices;
}

/// Norms and biases of one layer.
double layer_vectors(const Job& job, bool moe_layer) {
  const LlmShape& model = job.model;
  const double norm = model.norm_bias ? 2.0 : 1.0;
  const double heads = model.heads / tensor_of(job);
  double count = model.norms_per_layer * norm * model.hidden;
  if (model.mla) count += norm * (model.mla->q_lora_rank + model.mla->kv_lora_rank);
  if (model.qkv_bias && !model.mla)
    count += (heads + 2.0 * key_value_heads_per_rank(job)) * model.head_dim;
  if (model.attention_output_bias) count += model.hidden;
  if (model.qk_norm && !model.mla) count += 2.0 * norm * model.head_dim;
  if (model.mlp_bias && !moe_layer)
    count += model.ffn_hidden * (model.gated_mlp ? 2.0 : 1.0) / tensor_of(job) + model.hidden;
  return count;
}

double expert_biases(const Job& job) {
  const LlmShape& model = job.model;
  if (!model.mlp_bias) return 0.0;
  const double local = static_cast<double>(model.moe->experts) / job.parallel.expert;
  const double width =
      static_cast<double>(model.moe->expert_ffn_hidden) / job.parallel.expert_tensor_size();
  return local * (width * (model.gated_mlp ? 2.0 : 1.0) + model.hidden);
}

void add_mtp(const Job& job, RankParameters& rank) {
  const LlmShape& model = job.model;
  if (model.mtp_layers == 0) return;
  const RankLayer layer = rank_layer(job, model.moe.has_value());
  const double hidden = model.hidden;
  const double projection = 2.0 * hidden * hidden / tensor_of(job);
  const double norms = 3.0 * hidden * (model.norm_bias ? 2.0 : 1.0);
  rank.layers += model.mtp_layers * (layer.dense + projection + norms);
  rank.layer_matrices += model.mtp_layers * (layer.dense_matrices + projection);
  rank.vectors += model.mtp_layers * (layer.vectors + norms);
  rank.experts += model.mtp_layers * layer.experts;
}

}  // namespace

RankLayer rank_layer(const Job& job, bool moe_layer) {
  RankLayer layer;
  const Matrices matrices = layer_matrices(job, moe_layer);
  for (std::size_t i = 0; i < matrices.count; ++i) {
    const Matrices::Matrix& matrix = matrices.items[i];
    const double elements = matrix.out * matrix.in * matrix.copies;
    (matrix.expert ? layer.experts : layer.dense_matrices) += elements;
  }
  layer.vectors = layer_vectors(job, moe_layer);
  layer.dense = layer.dense_matrices + layer.vectors;
  if (moe_layer) {
    layer.experts += expert_biases(job);
    layer.dense += static_cast<double>(job.model.hidden) * job.model.moe->experts;
    if (job.model.moe->shared_gate) layer.dense += job.model.hidden;
  }
  return layer;
}

StageEnds stage_ends(const Job& job, int stage) {
  const int last = job.parallel.pipeline - 1;
  const bool folded = job.parallel.schedule == ScheduleKind::zb_v;  // both ends on device 0
  const bool both = job.parallel.schedule == ScheduleKind::dualpipe;
  StageEnds ends;
  ends.embedding = stage == 0 || (both && stage == last);
  ends.output = folded ? stage == 0 : (stage == last || (both && stage == 0));
  return ends;
}

RankParameters rank_parameters(const Job& job, const StageLayout& layout, int stage) {
  const LlmShape& model = job.model;
  const bool both = job.parallel.schedule == ScheduleKind::dualpipe;
  const int mirror = job.parallel.pipeline - 1 - stage;
  const int moe_layers = layout.moe_layers(stage) + (both ? layout.moe_layers(mirror) : 0);
  const int layers = layout.layers(stage) + (both ? layout.layers(mirror) : 0);
  RankParameters rank;
  const auto add = [&](const RankLayer& layer, int times) {
    rank.layers += times * layer.dense;
    rank.layer_matrices += times * layer.dense_matrices;
    rank.vectors += times * layer.vectors;
    rank.experts += times * layer.experts;
  };
  if (layers > moe_layers) add(rank_layer(job, false), layers - moe_layers);
  if (moe_layers > 0) add(rank_layer(job, true), moe_layers);

  const StageEnds ends = stage_ends(job, stage);
  const bool split = job.parallel.vocabulary != VocabularyKind::ends && job.parallel.pipeline > 1;
  const double table = static_cast<double>(job.vocabulary()) / tensor_of(job) * model.hidden /
                       (split ? job.parallel.pipeline : 1);
  const double norm = model.hidden * (model.norm_bias ? 2.0 : 1.0);
  const bool own_copy = model.mtp_layers > 0 && ends.output && !ends.embedding;
  if (ends.embedding || own_copy || split) rank.embedding += table;
  if (split && !ends.output && !model.tied_embeddings) rank.output += table;
  if (ends.embedding) {
    if (model.position == PositionKind::learned)
      rank.embedding += static_cast<double>(model.positions) * model.hidden;
    if (model.embedding_norm) rank.embedding += norm;
  }
  if (ends.output) {
    const bool shared_here = model.tied_embeddings && (ends.embedding || own_copy);
    rank.output += norm + (shared_here ? 0.0 : table);
    add_mtp(job, rank);
  }
  return rank;
}

double distinct_weight_elements(const Job& job, bool dense_layers, bool moe_layers) {
  Matrices distinct;
  const auto add = [&](const Matrices& matrices) {
    for (std::size_t i = 0; i < matrices.count; ++i) {
      const Matrices::Matrix& matrix = matrices.items[i];
      const auto begin = distinct.items.begin();
      const auto end = begin + static_cast<std::ptrdiff_t>(distinct.count);
      const bool known = std::any_of(begin, end, [&](const auto& other) {
        return other.out == matrix.out && other.in == matrix.in;
      });
      if (!known) distinct.add(matrix.out, matrix.in);
    }
  };
  if (dense_layers) add(layer_matrices(job, false));
  if (moe_layers) add(layer_matrices(job, true));
  double elements = 0.0;
  for (std::size_t i = 0; i < distinct.count; ++i)
    elements += distinct.items[i].out * distinct.items[i].in;
  return elements;
}

bool full_precision(Precision precision) {
  return precision == Precision::fp32 || precision == Precision::tf32;
}

ParameterBytes parameter_bytes(const Job& job) {
  const MemoryRules& rules = job.stack.memory;
  ParameterBytes per;
  if (full_precision(job.training.precision)) return {4.0, 4.0, 4.0, 0.0};
  per.weight = rules.weight_bytes;
  per.gathered = rules.compute_weight_bytes > 0.0 ? rules.compute_weight_bytes : per.weight;
  if (job.training.precision == Precision::fp16) {
    per.gradient = rules.gradient_bytes_fp16;
    per.step_gradient = rules.step_gradient_bytes_fp16;
  } else {
    per.gradient = rules.gradient_bytes;
    per.step_gradient = rules.step_gradient_bytes;
    const bool half_reduce = !full_precision(job.communication.gradient_dtype);
    if (half_reduce && per.gradient == 4.0) {
      per.gradient = 2.0;
      per.step_gradient = 4.0;
    }
  }
  if (job.training.decoupled_gradients) per.step_gradient = 0.0;
  return per;
}

}  // namespace foretrain
