// SPDX-License-Identifier: Apache-2.0
// Reads the descriptions of layers into prices of a step's kernels. Equations:
// models/serving/README.md, "Kernels of a step".
#include "models/serving/internal/price_list.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "models/base/require.hpp"
#include "models/collectives/collective_choice.hpp"
#include "models/layers/layer_ends.hpp"
#include "models/layers/layer_scan.hpp"
#include "models/serving/deployment.hpp"
#include "models/serving/forward_step.hpp"
#include "models/serving/internal/formats.hpp"

namespace foretrain::serving_detail {
namespace {

CommGroup dense_group(const Deployment& deployment, int ranks) {
  const Packing packing = deployment.cluster.packing();
  CommGroup group{.ranks = ranks, .ranks_per_domain = std::min(ranks, packing.domain)};
  group.domain_hosts = std::max(1, packing.domain / packing.host);
  const int hosts = (ranks + packing.host - 1) / packing.host;
  group.span_hosts = ranks <= packing.domain ? 1 : hosts;
  return group;
}

/// The library's own price as lines through it at two sizes: it falls with size per byte, so that
/// the lowest line at a size is the one of its range.
void add_library(const Deployment& deployment, int ranks, ExchangeLine& line) {
  const auto price = [&, group = dense_group(deployment, ranks)](Bytes payload) {
    return collective_time(CollectiveOp::all_reduce, group, payload,
                           {deployment.cluster, deployment.kernels, deployment.site})
        .value();
  };
  constexpr std::array<std::pair<Bytes, Bytes>, 3> ranges{
      {{4.0 * KiB, 64.0 * KiB}, {256.0 * KiB, 2.0 * MiB}, {8.0 * MiB, 64.0 * MiB}}};
  for (const auto& [less, more] : ranges) {
    const double per_byte = (price(more) - price(less)) / (more - less).value();
    line.add({.start = std::max(0.0, price(less) - per_byte * less.value()), .per_byte = per_byte});
  }
}

constexpr double half = 2.0;              // bytes of a 16-bit element
constexpr double quantised_bytes = 3.0;   // read in 16 bits, written in 8
constexpr double added_norm_bytes = 8.0;  // norm with the residual's sum in one kernel
constexpr double logit_bytes = 16.0;      // of a logit in fp32: penalties, softmax, choice
constexpr double sampling_kernels = 4.0;

/// Kernels of training that inference engines put into their neighbours.
bool merged(const LayerOperator& op) {
  return op.work == LayerWork::expert_bias || op.name == "clamp" || op.name == "scaled rotary" ||
         op.name == "MLP residual" || op.name == "attention residual" ||
         op.name == "mixer residual" || op.name == "unpermute";
}

class ListBuilder {
 public:
  explicit ListBuilder(const Deployment& deployment)
      : deployment_{deployment}, device_{deployment.cluster.host.device} {}

  PriceList build();

 private:
  void add_layers(const LayerType& type, double layers);
  void add_operator(const LayerOperator& op, const LayerType& type);
  void add_product(const LayerOperator& op, Seconds StepTime::*part, StepRows rows);
  void add_latent_decode(const LayerOperator& op);
  void add_experts(const LayerOperator& op);
  void add_attention(const HeadShape& heads);
  void add_stream(const LayerOperator& op, const LayerType& type);
  void add_scan(const LayerOperator& op);
  void add_index();
  void add_state(MixerKind mixer);
  void add_exchanges(const LayerType& type);
  void add_output();
  void add_dispatch(double layers);

  [[nodiscard]] GemmRates rates(WeightFormat format) const;
  [[nodiscard]] bool unpacks(WeightFormat format) const;
  [[nodiscard]] bool fuses_experts() const;
  [[nodiscard]] ProductPrice product(WeightFormat format, double out, double in) const;
  [[nodiscard]] Seconds StepTime::*part_of(const LayerOperator& op, const LayerType& type) const;

  const Deployment& deployment_;
  const Device& device_;
  double layers_ = 0.0;  ///< of the type at hand
  PriceList list_;
};

GemmRates ListBuilder::rates(WeightFormat format) const {
  const Precision precision = product_precision(format, deployment_);
  GemmRates found = gemm_rates({device_, deployment_.kernels, precision});
  found.splits = true;
  return found;
}

bool ListBuilder::unpacks(WeightFormat format) const {
  return format != WeightFormat::bf16 && product_precision(format, deployment_) == Precision::bf16;
}

/// Experts that multiply in 4 bits: their kernels gather the rows and apply the activation.
bool ListBuilder::fuses_experts() const {
  const WeightFormat format = deployment_.precision.experts;
  return weight_bytes(format) < 1.0 && !unpacks(format);
}

ProductPrice ListBuilder::product(WeightFormat format, double out, double in) const {
  ProductPrice price;
  price.rates = rates(format);
  price.unpacked = unpacks(format);
  price.out = out;
  price.in = in;
  price.weight_bytes = out * in * weight_bytes(format);
  price.row_bytes = half * (in + out);
  price.quantised = format != WeightFormat::bf16 && !price.unpacked;
  if (price.quantised) price.row_bytes += quantised_bytes * in;
  price.layers = layers_;
  return price;
}

Seconds StepTime::*ListBuilder::part_of(const LayerOperator& op, const LayerType& type) const {
  if (op.part == LayerPart::mlp) return &StepTime::mlp;
  if (op.part == LayerPart::router || op.part == LayerPart::experts) return &StepTime::experts;
  return type.mixer == MixerKind::attention ? &StepTime::attention_projections : &StepTime::state;
}

void ListBuilder::add_product(const LayerOperator& op, Seconds StepTime::*part, StepRows rows) {
  ProductPrice price = product(operator_format(op, deployment_.precision), op.out, op.in);
  price.part = part;
  price.rows = rows;
  list_.products.push_back(price);
  list_.kernels += layers_;
}

/// Latent attention over a cache keeps keys and values as latents: queries go up to the latent's
/// width and results come down from it, head by head (DeepSeek-V2, arXiv 2405.04434 section 2.1.2).
void ListBuilder::add_latent_decode(const LayerOperator& op) {
  const MlaShape& mla = *deployment_.model.mla;
  const double heads = op.out / (mla.qk_nope_head_dim + mla.v_head_dim);
  const WeightFormat format = WeightFormat::bf16;
  for (const double width : {mla.qk_nope_head_dim, mla.v_head_dim}) {
    ProductPrice price = product(format, mla.kv_lora_rank, width);
    price.part = &StepTime::attention_projections;
    price.rows = StepRows::decoded;
    price.groups = heads;
    price.weight_bytes *= heads;
    price.row_bytes *= heads;
    list_.products.push_back(price);
    list_.kernels += layers_;
  }
}

void ListBuilder::add_experts(const LayerOperator& op) {
  const MoeShape& moe = *deployment_.model.moe;
  const WeightFormat format = deployment_.precision.experts;
  const bool up = op.in == moe.expert_input(deployment_.model.hidden);
  if (up && (list_.experts.empty() || list_.experts.back().down_in > 0.0)) {
    ExpertPrice price;
    price.rates = rates(format);
    price.unpacked = unpacks(format);
    price.fused = fuses_experts();
    price.hopper = format != WeightFormat::bf16 && device_.architecture <= Architecture::hopper;
    if (pads_experts(deployment_)) price.least_rows = deployment_.engine.rules.padded_rows;
    price.up_out = op.out;
    price.hidden = op.in;
    price.experts = moe.experts;
    price.local = op.copies;
    price.groups = deployment_.layout.expert;
    price.top_k = moe.computing();
    price.layers = layers_;
    price.weight_bytes = op.out * op.in * weight_bytes(format);
    price.row_bytes =
        price.fused ? weight_bytes(format) * (op.in + op.out) : half * (op.in + op.out);
    list_.experts.push_back(price);
  } else {
    ExpertPrice& price = list_.experts.back();
    price.down_in = op.in;
    price.weight_bytes += op.out * op.in * weight_bytes(format);
    // Fused: written by each expert and read again where a row's experts are summed.
    price.row_bytes +=
        price.fused ? weight_bytes(format) * op.in + 2.0 * half * op.out : half * (op.in + op.out);
  }
  list_.kernels += layers_;
}

void ListBuilder::add_attention(const HeadShape& heads) {
  const LlmShape& model = deployment_.model;
  const AttentionKernels& alone = deployment_.kernels.alone.attention;
  const AttentionProfile& trained = deployment_.kernels.attention;
  const double newest = std::max(alone.flash3.value(), alone.vendor.value());
  AttentionPrice price;
  const double rate = newest > 0.0 ? newest : trained.rate.value();
  price.length_half = newest > 0.0 ? alone.length_half : AttentionKernels{}.length_half;
  price.tiles_half = newest > 0.0 ? alone.tiles_half : trained.tiles_half;
  price.pair_time = 2.0 * heads.heads * (heads.head_dim + heads.value_dim) / rate;
  price.heads = heads.heads;
  price.window = heads.window;
  price.layers = layers_;
  const double cached =
      model.mla ? model.mla->kv_lora_rank + model.mla->qk_rope_head_dim : heads.key + heads.value;
  const double keys = model.mla ? cached : heads.head_dim;
  const double values = model.mla ? model.mla->kv_lora_rank : heads.value_dim;
  price.cached_bytes = cached * cache_element_bytes(deployment_.precision.cache);
  price.cached_time = 2.0 * heads.heads * (keys + values) / rate;
  list_.attention.push_back(price);
  list_.kernels += 2.0 * layers_;
}

void ListBuilder::add_stream(const LayerOperator& op, const LayerType& type) {
  if (merged(op)) return;
  StreamPrice price;
  const bool norm = op.part == LayerPart::norm;
  price.part = op.part == LayerPart::experts || op.part == LayerPart::router ? &StepTime::experts
               : has_state(type.mixer) && !norm && op.part == LayerPart::attention
                   ? &StepTime::state
                   : &StepTime::elementwise;
  const bool routed = op.rows == RowKind::expert || op.rows == RowKind::permuted;
  if (routed && fuses_experts()) return;  // part of the products
  price.rows = routed ? StepRows::routed : StepRows::tokens;
  price.row_bytes = (norm ? added_norm_bytes : op.traffic.forward) * op.out;
  price.layers = layers_;
  if (routed) {
    price.groups = deployment_.layout.expert;
    price.local = deployment_.model.moe->experts / price.groups;
  }
  list_.streams.push_back(price);
  list_.kernels += layers_;
}

/// Scores of a sparse attention's indexer: every query against the small key of every token, in 8
/// bits.
void ListBuilder::add_index() {
  const IndexerShape& indexer = *deployment_.model.indexer;
  AttentionPrice price;
  const AttentionPrice& attended = list_.attention.back();
  price.length_half = attended.length_half;
  price.tiles_half = attended.tiles_half;
  price.heads = indexer.heads;
  const double rate = rates(WeightFormat::fp8).rate;
  price.pair_time = price.cached_time = 2.0 * indexer.heads * indexer.head_dim / rate;
  price.cached_bytes = index_key_bytes(deployment_.model);
  price.layers = layers_;
  list_.attention.push_back(price);
  list_.kernels += 2.0 * layers_;
}

/// Of prompts, chunk by chunk; decoding goes through states, see add_state().
void ListBuilder::add_scan(const LayerOperator& op) {
  const double rate = scan_rate(device_).value();
  StreamPrice price;
  price.part = &StepTime::state;
  price.rows = StepRows::prompts;
  price.row_time = op.scanned.forward / rate;
  price.row_bytes = op.traffic.forward;
  price.kernels = op.launches;
  price.layers = layers_;
  list_.streams.push_back(price);
}

void ListBuilder::add_state(MixerKind mixer) {
  StreamPrice price;
  price.part = &StepTime::state;
  price.rows = StepRows::decoded;
  price.row_bytes = 2.0 * state_bytes(deployment_.model, mixer, deployment_.layout.tensor);
  price.layers = layers_;
  list_.streams.push_back(price);
  list_.kernels += layers_;
}

void ListBuilder::add_operator(const LayerOperator& op, const LayerType& type) {
  switch (op.work) {
    case LayerWork::product:
      if (op.name == "key-value up projection") {
        add_product(op, &StepTime::attention_projections, StepRows::expanded);
        return add_latent_decode(op);
      }
      return add_product(op, part_of(op, type), StepRows::tokens);
    case LayerWork::router:
      return add_product(op, &StepTime::experts, StepRows::tokens);
    case LayerWork::expert_product:
      return add_experts(op);
    case LayerWork::streaming:
    case LayerWork::expert_streaming:
    case LayerWork::plain:
      return add_stream(op, type);
    case LayerWork::scan:
      if (op.rows == RowKind::keys) return;  // add_index()
      return add_scan(op);
    default:
      return;  // exchanges: add_exchanges(); ends: add_output()
  }
}

/// All-reduce among the tensor ranks: in one shot (every rank reads all others' parts), in two
/// (reduce-scatter and all-gather in one kernel), or the library's for large sizes.
ExchangeLine all_reduce_line(const Deployment& deployment, int ranks) {
  ExchangeLine line;
  if (ranks <= deployment.cluster.packing().domain) {
    const double link = deployment.cluster.host.gpu_link.bandwidth.value();
    const double others = ranks - 1.0;
    line.add({.starts = 1.0, .per_byte = others / link, .shared = true});
    line.add({.starts = 2.0, .per_byte = 2.0 * others / ranks / link, .shared = true});
  }
  add_library(deployment, ranks, line);
  return line;
}

/// One sum over the tensor ranks behind each half that is cut over them.
void ListBuilder::add_exchanges(const LayerType& type) {
  const int tensor = deployment_.layout.tensor;
  const bool spread = type.kind == LayerKind::moe && deployment_.layout.attention_data > 1;
  if (spread) add_dispatch(layers_);
  double sums = type.mixer == MixerKind::none ? 0.0 : 1.0;
  if (type.kind != LayerKind::none && !spread) sums += 1.0;
  if (tensor == 1 || sums == 0.0) return;
  list_.exchanges.push_back({&StepTime::tensor_exchange, StepRows::tokens,
                             all_reduce_line(deployment_, tensor), half * deployment_.model.hidden,
                             sums * layers_});
  list_.kernels += sums * layers_;
}

/// Rows of `row_bytes` to the ranks of their experts, or back; bytes are those that one rank sends.
ExchangeLine dispatch_line(const Deployment& deployment) {
  ExchangeLine line;
  const Host& host = deployment.cluster.host;
  const bool inside = deployment.layout.stage() <= deployment.cluster.packing().domain;
  const double rate = inside ? host.gpu_link.bandwidth.value()
                             : deployment.cluster.inter_host_bandwidth_per_gpu().value();
  const double latency = inside ? 0.0
                                : deployment.cluster.network.path_latency.value() +
                                      deployment.cluster.network.step_latency.value();
  line.add({.start = latency, .dispatches = 1.0, .per_byte = 1.0 / rate, .shared = true});
  return line;
}

DispatchCopies dispatch_copies(const Deployment& deployment) {
  const double ranks = deployment.layout.expert;
  const double chosen = deployment.model.moe->top_k;
  const auto reached = [&](double groups) { return 1.0 - std::pow(1.0 - 1.0 / groups, chosen); };
  const double domains = std::ceil(static_cast<double>(deployment.layout.stage()) /
                                   deployment.cluster.packing().domain);
  const double all = ranks * reached(ranks);
  if (domains <= 1.0) return {all, all};
  return {(domains - 1.0) * reached(domains), all * (1.0 - 1.0 / domains)};
}

/// Rows to the ranks of their experts and back, in 8 bits where experts compute in fewer than 16,
/// back in 16. Where the stage is wider than a scale-up domain, what leaves the domain decides:
/// prompts' rows go to each other domain once and are handed on there, decoded ones to each rank.
void ListBuilder::add_dispatch(double layers) {
  const LlmShape& model = deployment_.model;
  const ServingLayout& layout = deployment_.layout;
  const double out = deployment_.precision.experts == WeightFormat::bf16 ? half : 1.0;
  const ExchangeLine line = dispatch_line(deployment_);
  const DispatchCopies copies = dispatch_copies(deployment_);
  for (const double bytes : {out, half}) {
    const double row = bytes * model.hidden / layout.tensor;
    list_.exchanges.push_back({&StepTime::expert_exchange, StepRows::decoded, line,
                               copies.decoded * row, layers, StepRows::prompts,
                               copies.prompts * row});
  }
  list_.kernels += 2.0 * layers;
}

void ListBuilder::add_output() {
  const LlmShape& model = deployment_.model;
  const double tensor = deployment_.layout.tensor;
  const double columns = model.vocabulary / tensor;
  layers_ = 1.0;
  ProductPrice price = product(WeightFormat::bf16, columns, model.hidden);
  price.part = &StepTime::output;
  price.rows = StepRows::sampled;
  list_.products.push_back(price);
  list_.streams.push_back(
      {&StepTime::output, StepRows::sampled, logit_bytes * columns, 0.0, sampling_kernels, 1.0});
  list_.kernels += 1.0 + sampling_kernels;
  if (tensor == 1.0) return;
  const ExchangeLine line = all_reduce_line(deployment_, deployment_.layout.tensor);
  list_.exchanges.push_back({&StepTime::output, StepRows::tokens, line, half * model.hidden, 1.0});
  list_.exchanges.push_back({&StepTime::output, StepRows::sampled, line, half * columns, 1.0});
}

void ListBuilder::add_layers(const LayerType& type, double layers) {
  layers_ = layers;
  LayerDescription layer{false};
  describe_layer(deployment_.model, type, serving_cut(deployment_.layout), layer);
  for (const LayerOperator& op : layer.operators()) add_operator(op, type);
  if (layer.heads.heads > 0.0) add_attention(layer.heads);
  if (deployment_.model.sizes(type).index == IndexUse::own) add_index();
  if (has_state(type.mixer)) add_state(type.mixer);
  if (deployment_.model.mamba_beside && type.mixer == MixerKind::attention)
    add_state(MixerKind::mamba);
  add_exchanges(type);
}

/// Between neighbouring pipeline stages.
ExchangeLine stage_line(const Deployment& deployment) {
  ExchangeLine line;
  const CollectivePath path{deployment.cluster, deployment.kernels, deployment.site};
  const int gpus = deployment.layout.gpus();
  const int span = gpus <= deployment.cluster.packing().domain ? 1 : 2;
  const double less = send_time(64.0 * KiB, span, path).value();
  const double more = send_time(64.0 * MiB, span, path).value();
  const double per_byte = (more - less) / (64.0 * MiB - 64.0 * KiB).value();
  line.add({.start = std::max(0.0, less - per_byte * (64.0 * KiB).value()), .per_byte = per_byte});
  return line;
}

PriceList ListBuilder::build() {
  const LlmShape& model = deployment_.model;
  const ServingLayout& layout = deployment_.layout;
  list_.bandwidth = device_.memory_bandwidth.value();
  list_.attention_groups = layout.attention_data;
  list_.attention_tensor = layout.tensor;
  list_.stages = layout.pipeline;
  list_.slowest_share =
      static_cast<double>(longest_stage(model, layout.pipeline)) / std::max(1, model.layers);
  list_.top_k = model.moe ? model.moe->computing() : 0.0;
  list_.drafted = deployment_.speculation.drafted;
  list_.draft_share = deployment_.speculation.draft_share;
  list_.graphs = deployment_.cuda_graphs;
  const int beyond_windows = model.widest_window() + 1;
  const LayerCounts counts = layer_counts(model, beyond_windows);
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0) add_layers(layer_types[i], counts[i]);
  add_output();
  if (layout.pipeline > 1)
    list_.exchanges.push_back({&StepTime::stage_exchange, StepRows::tokens, stage_line(deployment_),
                               half * model.hidden, layout.pipeline - 1.0});
  return list_;
}

}  // namespace

Seconds ExchangeLine::time(double bytes, const ExchangeRates& rates) const {
  const auto taken = [&](const Line& line) {
    return line.start + line.starts * rates.start + line.dispatches * rates.dispatch +
           line.per_byte * bytes / (line.shared ? rates.share : 1.0);
  };
  double best = taken(lines[0]);
  for (std::size_t i = 1; i < count; ++i) best = std::min(best, taken(lines[i]));
  return Seconds{best};
}

PriceList price_list(const Deployment& deployment) { return ListBuilder{deployment}.build(); }

}  // namespace foretrain::serving_detail
