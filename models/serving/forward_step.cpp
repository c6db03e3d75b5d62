// SPDX-License-Identifier: Apache-2.0
// Equations: models/serving/README.md, "Kernels of a step" and "Step".
#include "models/serving/forward_step.hpp"

#include <algorithm>
#include <cmath>

#include "models/base/require.hpp"
#include "models/serving/internal/price_list.hpp"

namespace foretrain {

using serving_detail::AttentionPrice;
using serving_detail::ExchangePrice;
using serving_detail::ExpertPrice;
using serving_detail::PriceList;
using serving_detail::ProductPrice;
using serving_detail::RowsOfStep;
using serving_detail::StepRows;
using serving_detail::StreamPrice;

struct ForwardPass::Priced {
  PriceList list;
};

namespace {

constexpr double query_tile = 128.0;

/// What a step holds on the busiest rank.
struct Load {
  RowsOfStep rows{};
  double pieces = 0.0;          ///< chunks of an attention group
  double finished = 0.0;        ///< prompts that end, of an attention group
  double decode_context = 0.0;  ///< mean cached tokens of a decoded sequence
  double sequences = 0.0;       ///< decoded, of an attention group

  [[nodiscard]] double of(StepRows kind) const { return rows[static_cast<std::size_t>(kind)]; }
  double& of(StepRows kind) { return rows[static_cast<std::size_t>(kind)]; }
};

Load load_of(const ServingBatch& batch, const PriceList& list) {
  Load load;
  const auto chunks = static_cast<double>(batch.prefill.size());
  // A prompt is computed by one group; the busiest has the most chunks.
  const double groups = list.attention_groups;
  load.pieces = chunks > 0.0 ? std::ceil(chunks / groups) : 0.0;
  const double share = chunks > 0.0 ? load.pieces / chunks : 0.0;
  double tokens = 0.0;
  double cached = 0.0;
  for (const PrefillChunk& chunk : batch.prefill) {
    tokens += chunk.tokens;
    cached += chunk.cached;
  }
  const double sequences = batch.decode_sequences;
  load.sequences = sequences > 0.0 ? std::max(1.0, sequences / groups) : 0.0;
  load.decode_context = sequences > 0.0 ? batch.cached_tokens / sequences : 0.0;
  const double decoded = load.sequences * (1.0 + list.drafted);
  load.of(StepRows::prompts) = share * tokens;
  load.of(StepRows::decoded) = decoded;
  load.of(StepRows::tokens) = share * tokens + decoded;
  load.of(StepRows::expanded) = share * (tokens + cached);
  load.of(StepRows::routed) = (tokens + sequences * (1.0 + list.drafted)) * list.top_k;
  load.finished = share * batch.finished_prompts;
  load.of(StepRows::sampled) = decoded + load.finished;
  return load;
}

/// The engine's constants on the device at hand.
struct StepRates {
  const EngineTimes& times;
  double kernel = 0.0;       ///< seconds
  double byte = 0.0;         ///< seconds per byte of weights and rows
  double expert_byte = 0.0;  ///< of the routed experts' weights
  double cached_byte = 0.0;
  serving_detail::ExchangeRates exchange{};
};

StepRates rates_of(const PriceList& list, const EngineTimes& times, bool prompts) {
  StepRates rates{times};
  rates.kernel = times.kernel.value();
  rates.byte = 1.0 / (list.bandwidth * times.memory);
  rates.expert_byte = 1.0 / (list.bandwidth * times.expert_memory);
  rates.cached_byte = 1.0 / (list.bandwidth * times.cache);
  rates.exchange = {(times.exchange + times.kernel).value(),
                    (prompts ? times.dispatch_prompts : times.dispatch).value(),
                    times.exchange_share};
  return rates;
}

GemmRates product_rates(const GemmRates& device, const StepRates& rates, double share) {
  GemmRates found = device;
  found.rate *= share;
  found.byte_time = rates.byte;
  return found;
}

/// Multiprocessors' time of a product. Fewer rows than the smallest tile of training's kernels has
/// are padded to eight: engines swap the operands, so that rows lie along the narrow side.
double multiply_time(const Gemm& gemm, const GemmRates& rates) {
  constexpr double smallest_tile = 32.0;
  constexpr double narrow = 8.0;
  const double padded = narrow * std::ceil(gemm.m / narrow);
  return std::min(1.0, padded / smallest_tile) * gemm_compute_time(gemm, rates).value();
}

double product_time(const ProductPrice& price, const Load& load, const StepRates& rates) {
  const double rows = load.of(price.rows);
  if (rows <= 0.0) return 0.0;
  const Gemm gemm{std::max(1.0, rows), price.out, price.in, price.groups};
  const double share = rates.times.compute * (price.unpacked ? rates.times.unpacked : 1.0);
  const double compute = multiply_time(gemm, product_rates(price.rates, rates, share));
  const double memory = (price.weight_bytes + rows * price.row_bytes) * rates.byte;
  const double start = rates.kernel + (price.quantised ? rates.times.quantise.value() : 0.0);
  return price.layers * (smooth_max(compute, memory) + start);
}

/// Rows of the busiest of so many groups of ranks, each with `local` experts among whose popularity
/// rows are spread at random: negative binomial, as each expert's, with the variance
/// mean + mean^2 / (a local).
double busiest_rows(double rows, double groups, double local, double routing) {
  const double mean = rows / groups;
  if (groups <= 1.0) return mean;
  const double variance = mean + mean * mean / (routing * local);
  return std::min(rows, mean + std::sqrt(2.0 * std::log(groups) * variance));
}

/// Experts that get a row at all: of rows that come at random to experts whose popularity is
/// distributed as a gamma of shape a, a share 1 - (1 + m/a)^-a with m rows per expert in the mean
/// (negative binomial). Rows of the busiest group of ranks beyond the mean as random choice has
/// them.
double expert_time(const ExpertPrice& price, const Load& load, const StepRates& rates) {
  const double routed = load.of(StepRows::routed);
  if (routed <= 0.0) return 0.0;
  const double tokens = routed / price.top_k;
  const double each_expert = tokens * price.top_k / price.experts;
  const double routing = rates.times.routing;
  const double reached = price.local * (1.0 - std::pow(1.0 + each_expert / routing, -routing));
  const double rows = std::max(busiest_rows(routed, price.groups, price.local, routing),
                               price.local * price.least_rows);
  const double active = price.least_rows > 0.0 ? price.local : std::max(1.0, reached);
  const double each = std::max(1.0, rows / active);
  const double against = price.fused    ? rates.times.fused_experts
                         : price.hopper ? rates.times.hopper_experts
                                        : rates.times.experts;
  const double share =
      rates.times.compute * against * (price.unpacked ? rates.times.unpacked : 1.0);
  const GemmRates grouped = product_rates(price.rates, rates, share);
  const double compute = multiply_time({each, price.up_out, price.hidden, active}, grouped) +
                         multiply_time({each, price.hidden, price.down_in, active}, grouped);
  const double memory =
      active * price.weight_bytes * rates.expert_byte + rows * price.row_bytes * rates.byte;
  const Seconds chain = price.fused ? rates.times.fused_expert_start : rates.times.expert_start;
  const double start = chain.value() + 2.0 * rates.kernel;
  return price.layers * (smooth_max(compute, memory) + start);
}

double prompt_attention(const AttentionPrice& price, const ServingBatch& batch, double share) {
  double time = 0.0;
  for (const PrefillChunk& chunk : batch.prefill) {
    if (chunk.tokens <= 0.0) continue;
    const double all = chunk.cached + chunk.tokens;
    const double seen = price.window > 0.0 ? std::min(all, price.window) : all;
    const double first = std::min(chunk.cached, seen);  // keys before the chunk, of its first token
    // Of the chunk's tokens, those whose view still grows.
    const double growing = std::min(chunk.tokens, seen - first);
    const double pairs = growing * (first + growing / 2.0) + (chunk.tokens - growing) * seen;
    const double tiles = price.heads * std::ceil(chunk.tokens / query_tile);
    const double rate = seen / (seen + price.length_half) * tiles / (tiles + price.tiles_half);
    time += pairs * price.pair_time / rate;
  }
  return share * time;
}

double attention_time(const AttentionPrice& price, const Load& load, const ServingBatch& batch,
                      const StepRates& rates) {
  double time = 0.0;
  if (load.pieces > 0.0) {
    const double share = load.pieces / static_cast<double>(batch.prefill.size());
    time += prompt_attention(price, batch, share) / rates.times.attention + rates.kernel;
  }
  if (load.sequences > 0.0) {
    const double context =
        price.window > 0.0 ? std::min(load.decode_context, price.window) : load.decode_context;
    const double tokens = load.sequences * context;
    const double queries = load.of(StepRows::decoded) / load.sequences;
    time += smooth_max(tokens * price.cached_bytes * rates.cached_byte,
                       tokens * queries * price.cached_time / rates.times.attention) +
            2.0 * rates.kernel;
  }
  return price.layers * time;
}

void add_kernels(const PriceList& list, const Load& load, const ServingBatch& batch,
                 const StepRates& rates, StepTime& sum) {
  for (const ProductPrice& price : list.products)
    sum.*price.part += Seconds{product_time(price, load, rates)};
  for (const ExpertPrice& price : list.experts)
    sum.experts += Seconds{expert_time(price, load, rates)};
  for (const AttentionPrice& price : list.attention)
    sum.attention += Seconds{attention_time(price, load, batch, rates)};
  for (const StreamPrice& price : list.streams) {
    const double rows =
        busiest_rows(load.of(price.rows), price.groups, price.local, rates.times.routing);
    if (rows <= 0.0) continue;
    const double each = price.row_time + price.row_bytes * rates.byte;
    sum.*price.part += Seconds{price.layers * (rows * each + price.kernels * rates.kernel)};
  }
}

}  // namespace

Seconds StepTime::total() const {
  return attention_projections + attention + mlp + experts + state + elementwise + tensor_exchange +
         expert_exchange + stage_exchange + output + launch + host + draft;
}

ForwardPass::ForwardPass(const Deployment& deployment)
    : priced_{std::make_shared<const Priced>(Priced{serving_detail::price_list(deployment)})},
      times_{deployment.engine.times} {}

ForwardPass ForwardPass::with(const EngineTimes& times) const {
  ForwardPass other = *this;
  other.times_ = times;
  return other;
}

StepTime ForwardPass::step(const ServingBatch& batch) const {
  const PriceList& list = priced_->list;
  const Load load = load_of(batch, list);
  FORETRAIN_REQUIRE(load.of(StepRows::tokens) > 0.0);
  const StepRates rates = rates_of(list, times_, !batch.prefill.empty());
  StepTime sum;
  add_kernels(list, load, batch, rates, sum);
  for (const ExchangePrice& price : list.exchanges) {
    const double bytes =
        load.of(price.rows) * price.row_bytes + load.of(price.more_rows) * price.more_bytes;
    sum.*price.part += price.count * price.line.time(bytes, rates.exchange);
  }
  const Seconds kernels = sum.total();
  const bool captured = list.graphs && batch.prefill.empty();
  if (!batch.prefill.empty()) sum.first = list.kernels * times_.first_kernel;
  if (!captured) sum.launch = max(Seconds{}, list.kernels * times_.launch - kernels);
  if (list.drafted > 0.0) sum.draft = list.drafted * list.draft_share * kernels;
  // Every attention group has a scheduler of its own.
  sum.host = times_.step + (load.sequences + load.finished) * times_.per_sequence;
  sum.interval = list.stages == 1.0 ? sum.total()
                                    : list.slowest_share * (sum.total() - sum.output - sum.host) +
                                          sum.output + sum.host;
  return sum;
}

StepTime step_time(const Deployment& deployment, const ServingBatch& batch) {
  return ForwardPass{deployment}.step(batch);
}

}  // namespace foretrain
