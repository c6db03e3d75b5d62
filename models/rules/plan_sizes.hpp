// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "models/inputs/job.hpp"

namespace foretrain {

/// The sizes that a plan can have on a machine, ascending and with 1: divisors of what machine and
/// model are made of. The one table of searches, remedies and of the window's sliders.
struct PlanSizes {
  /// Of an NVLink domain, of heads and of every width; multiples of key-value heads as well.
  std::vector<int> tensor;
  std::vector<int> pipeline;     ///< of the GPUs, up to the layers: stages may be uneven
  std::vector<int> context;      ///< of GPUs and half a sequence, while a rank keeps 1,024 tokens
  std::vector<int> expert;       ///< of experts and GPUs
  std::vector<int> micro_batch;  ///< of the global batch, up to 8
};

/// Those of the job's model, machine, sequence and batch; its own plan does not matter.
[[nodiscard]] PlanSizes plan_sizes(const Job& job);

/// Heads and widths that tensor ranks have to divide, in layers of all kinds: the greatest common
/// divisors.
[[nodiscard]] LayerSizes common_sizes(const LlmShape& model);

/// Whether tensor ranks get whole key-value heads in all layers; always where one latent or one
/// head is whole on every rank.
[[nodiscard]] bool cuts_key_heads(const LlmShape& model, int tensor);
/// The same, or several ranks share each head.
[[nodiscard]] bool shares_key_heads(const LlmShape& model, int tensor);

/// The divisors of `number` up to `most`, ascending. @pre number >= 1
[[nodiscard]] std::vector<int> divisors_of(int number, int most);

}  // namespace foretrain
