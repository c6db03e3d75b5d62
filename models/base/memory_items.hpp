// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace foretrain {

/// Categories of device memory, in the order of the forecast.
enum class MemoryCategory {
  weights,
  gradients,
  optimizer,
  activations,
  buffers,
  communication,
  context,
  fragmentation,
};
inline constexpr std::size_t memory_categories = 8;

/// Everything that occupies device memory, one enumerator per named row. Arithmetic runs on these;
/// names, categories and reasons are looked up only when somebody wants to read rows.
enum class MemoryItem {
  dense_weights,
  expert_weights,
  embedding_weights,
  output_weights,
  fp8_weight_copies,
  reference_weights,
  unpacked_weights,
  gathered_weights,
  dense_gradients,
  expert_gradients,
  main_gradients,
  unsharded_gradients,
  output_weight_gradient,
  replica_gradients,
  dense_optimizer,
  expert_optimizer,
  step_copies,
  norms,
  qkv,
  attention_scores,
  attention_output,
  dropout_masks,
  mlp,
  mixer,
  moe_dispatch,
  experts,
  layer_inputs,
  recomputed_layer,
  mtp_layers,
  vision_tower,
  model_ends,
  loss,
  loss_gradient,
  layer_transient,
  offload_window,
  postponed_gradients,
  cublas_workspaces,
  te_workspaces,
  dummy_gradients,
  score_buffer,
  gather_buffer,
  boundary_tensors,
  attention_mask,
  context_buffers,
  reduce_buffers,
  graph_buffers,
  communicators,
  context,
  graph_pools,
  fragmentation,
  count,
};
inline constexpr std::size_t memory_items = static_cast<std::size_t>(MemoryItem::count);

struct MemoryItemInfo {
  MemoryItem item;
  MemoryCategory category;
  std::string_view name;
  std::string_view reason;  ///< why these bytes exist
};

[[nodiscard]] const MemoryItemInfo& memory_item_info(MemoryItem item);
[[nodiscard]] std::string_view memory_category_name(MemoryCategory category);

/// Bytes by item; a plain array, so that a plan search can fill millions of them.
struct MemoryBytes {
  std::array<double, memory_items> of{};

  [[nodiscard]] double& operator[](MemoryItem item) { return of[static_cast<std::size_t>(item)]; }
  [[nodiscard]] double operator[](MemoryItem item) const {
    return of[static_cast<std::size_t>(item)];
  }
  [[nodiscard]] double total() const {
    double sum = 0.0;
    for (const double row : of) sum += row;
    return sum;
  }
};

/// The sum of rows that are only added to: what MemoryBytes is where nobody reads rows.
struct MemorySum {
  double sum = 0.0;

  [[nodiscard]] double& operator[](MemoryItem /*item*/) { return sum; }
};

}  // namespace foretrain
