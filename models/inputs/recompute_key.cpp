// SPDX-License-Identifier: Apache-2.0
#include "models/inputs/recompute_key.hpp"

namespace foretrain {

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
