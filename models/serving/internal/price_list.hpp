// SPDX-License-Identifier: Apache-2.0
// A deployment as short lists of kernels with everything that a step's rows multiply looked up. The
// engine's constants are not in it: a step takes them beside it, so that a fit prices a deployment
// with others without making the list again.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/base/quantity.hpp"
#include "models/kernels/kernel_cost.hpp"
#include "models/layers/layer_description.hpp"
#include "models/serving/deployment.hpp"
#include "models/serving/forward_step.hpp"

namespace foretrain::serving_detail {

/// What the engine's constants make of exchanges.
struct ExchangeRates {
  double start = 0.0;     ///< seconds: of a kernel that exchanges
  double dispatch = 0.0;  ///< seconds: of a dispatch or a combine, by what the step holds
  double share = 1.0;     ///< of the link rate
};

/// Time of an exchange by its bytes: the smallest of up to five straight lines.
struct ExchangeLine {
  struct Line {
    double start = 0.0;       ///< seconds, whatever the engine
    double starts = 0.0;      ///< times ExchangeRates::start
    double dispatches = 0.0;  ///< times ExchangeRates::dispatch
    double per_byte = 0.0;    ///< seconds
    bool shared = false;      ///< per_byte is that of the link: over ExchangeRates::share
  };
  std::array<Line, 5> lines;
  std::size_t count = 0;

  void add(const Line& line) { lines[count++] = line; }
  [[nodiscard]] Seconds time(double bytes, const ExchangeRates& rates) const;
};

/// How often a row leaves its rank for the ranks of its experts, over the links of dispatch_line():
/// in expectation, experts chosen at random.
struct DispatchCopies {
  double prompts =
      0.0;  ///< once to each other scale-up domain, or to each rank inside the only one
  double decoded = 0.0;  ///< once to each rank; inside the row's own domain NVLink carries it
};

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
  GemmRates rates{};       ///< of the device
  bool unpacked = false;   ///< weights are unpacked to 16 bits on the way
  bool quantised = false;  ///< rows are brought to fewer bits before it
  Seconds StepTime::*part = nullptr;
  StepRows rows = StepRows::tokens;
  double out = 0.0;
  double in = 0.0;
  double groups = 1.0;  ///< heads of a batched product
  double weight_bytes = 0.0;
  double row_bytes = 0.0;  ///< of a row's operands, read and written
  double layers = 1.0;
};

/// The routed experts of a rank, both products.
struct ExpertPrice {
  GemmRates rates{};  ///< of the device
  bool unpacked = false;
  bool fused = false;       ///< choice, products and activation in few kernels: those of 4 bits
  bool hopper = false;      ///< in fewer than 16 bits on Hopper and before
  double least_rows = 0.0;  ///< of every expert of the rank, used or not
  double up_out = 0.0;
  double down_in = 0.0;
  double hidden = 0.0;
  double experts = 0.0;  ///< of the layer
  double local = 0.0;    ///< of the rank
  double groups = 1.0;   ///< ranks that they are spread over
  double top_k = 0.0;
  double weight_bytes = 0.0;  ///< of one expert
  double row_bytes = 0.0;
  double layers = 0.0;
};

/// Attention of layers that keep the same.
struct AttentionPrice {
  double pair_time = 0.0;  ///< prompts: seconds per pair of a query and a key at the device's rate
  double length_half = 0.0;  ///< keys at which half of the rate is reached
  double tiles_half = 0.0;
  double heads = 0.0;
  double cached_bytes = 0.0;  ///< decode: of a token's keys and values
  double cached_time = 0.0;   ///< decode: seconds to multiply with them, at the device's rate
  double window = 0.0;        ///< 0: all
  double layers = 0.0;
};

/// A kernel that streams rows through memory, or a state.
struct StreamPrice {
  Seconds StepTime::*part = nullptr;
  StepRows rows = StepRows::tokens;
  double row_bytes = 0.0;
  double row_time = 0.0;  ///< seconds beside those of the bytes
  double kernels = 1.0;
  double layers = 0.0;
  double groups = 1.0;  ///< that the rows are spread over; the busiest counts
  double local = 1.0;   ///< experts of a group
};

struct ExchangePrice {
  Seconds StepTime::*part = nullptr;
  StepRows rows = StepRows::tokens;
  ExchangeLine line;
  double row_bytes = 0.0;
  double count = 0.0;                      ///< of them in the model
  StepRows more_rows = StepRows::prompts;  ///< rows of another size in the same exchange
  double more_bytes = 0.0;
};

struct PriceList {
  std::vector<ProductPrice> products;
  std::vector<ExpertPrice> experts;
  std::vector<AttentionPrice> attention;
  std::vector<StreamPrice> streams;
  std::vector<ExchangePrice> exchanges;
  double bandwidth = 0.0;  ///< bytes/s of the device's memory
  double kernels = 0.0;    ///< of a step
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
