// SPDX-License-Identifier: Apache-2.0
// A deployment as short lists of kernels with everything that a step's rows multiply looked up.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/kernels/kernel_cost.hpp"
#include "models/layers/layer_description.hpp"
#include "models/serving/forward_step.hpp"
#include "models/serving/internal/step_exchange.hpp"

namespace foretrain::serving_detail {

/// Rows that a kernel works on.
enum class StepRows : std::uint8_t {
  tokens,    ///< of an attention group: prompts and decoded
  prompts,   ///< of prompts alone
  decoded,   ///< of decoded sequences alone
  expanded,  ///< tokens of prompts and of the cache before them: keys that latents are made into
  routed,    ///< tokens times top_k of the whole stage, over the ranks that they are spread over
  sampled    ///< sequences that get a token
};
inline constexpr std::size_t step_row_kinds = 6;
using RowsOfStep = std::array<double, step_row_kinds>;

/// A product with resident weights: Gemm{rows, out, in} `groups` times over.
struct ProductPrice {
  GemmRates rates{};
  Seconds StepTime::*part = nullptr;
  StepRows rows = StepRows::tokens;
  double out = 0.0;
  double in = 0.0;
  double groups = 1.0;       ///< heads of a batched product
  double weight_time = 0.0;  ///< seconds to read the weights
  double row_time = 0.0;     ///< seconds to read and write a row's operands
  double layers = 1.0;
};

/// The routed experts of a rank, both products.
struct ExpertPrice {
  GemmRates rates{};
  double up_out = 0.0;
  double down_in = 0.0;
  double hidden = 0.0;
  double experts = 0.0;  ///< of the layer
  double local = 0.0;    ///< of the rank
  double groups = 1.0;   ///< ranks that they are spread over
  double top_k = 0.0;
  double routing = 1.0;
  double weight_time = 0.0;  ///< seconds to read one expert
  double row_time = 0.0;
  double layers = 0.0;
};

/// Attention of layers that keep the same.
struct AttentionPrice {
  double pair_time = 0.0;    ///< prompts: seconds per pair of a query and a key, at full rate
  double length_half = 0.0;  ///< keys at which half of the rate is reached
  double tiles_half = 0.0;
  double heads = 0.0;
  double cached_time = 0.0;   ///< decode: seconds to read a token's keys and values
  double cached_flops = 0.0;  ///< decode: seconds to multiply with them, per sequence's token
  double window = 0.0;        ///< 0: all
  double layers = 0.0;
};

/// A kernel that streams rows through memory, or a state.
struct StreamPrice {
  Seconds StepTime::*part = nullptr;
  StepRows rows = StepRows::tokens;
  double row_time = 0.0;
  double kernels = 1.0;
  double layers = 0.0;
};

struct ExchangePrice {
  Seconds StepTime::*part = nullptr;
  StepRows rows = StepRows::tokens;
  ExchangeLine line;
  double row_bytes = 0.0;
  double count = 0.0;  ///< of them in the model
};

struct PriceList {
  std::vector<ProductPrice> products;
  std::vector<ExpertPrice> experts;
  std::vector<AttentionPrice> attention;
  std::vector<StreamPrice> streams;
  std::vector<ExchangePrice> exchanges;
  EngineTimes times;
  double kernels = 0.0;  ///< of a step
  double attention_groups = 1.0;
  double attention_tensor = 1.0;
  double stages = 1.0;
  double slowest_share = 1.0;  ///< of the layers that the longest stage has
  double top_k = 0.0;
  double drafted = 0.0;
  double draft_share = 0.0;
  bool graphs = true;
};

[[nodiscard]] PriceList price_list(const Deployment& deployment);

}  // namespace foretrain::serving_detail
