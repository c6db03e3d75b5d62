// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "models/base/names.hpp"
#include "models/base/require.hpp"
#include "models/inputs/job.hpp"
#include "models/inputs/layer_type.hpp"
#include "models/layers/layer_activations.hpp"

namespace foretrain {

[[nodiscard]] LayerCounts layer_counts(const LlmShape& model, int sequence);
/// @pre 0 <= layer < model.layers
[[nodiscard]] LayerType layer_type(const LlmShape& model, int layer, int sequence);

/// The ranks that a layer is cut over; all ones: the whole layer.
struct LayerCut {
  double tensor = 1.0;
  double expert = 1.0;         ///< ranks that the routed experts are spread over
  double expert_tensor = 1.0;  ///< ranks that each of them is cut over
  double context = 1.0;        ///< ranks that a sequence is cut over
  /// Tensor ranks that outnumber key-value heads hold copies of them, as engines of inference do;
  /// else each makes an equal part of all columns, and they gather what they need.
  bool copies_heads = false;
};
[[nodiscard]] LayerCut layer_cut(const Parallel& plan);

/// What an operator does, and so by what it is priced.
enum class LayerWork : std::uint8_t {
  product,
  router,          ///< a product, in fp32 on the vector units where the job asks for it
  expert_product,  ///< for each of the rank's routed experts
  attention,       ///< queries times keys, softmax, times values; with context ranks their exchange
  streaming,
  expert_streaming,  ///< around the experts, with a factor of its own
  plain,             ///< kernels of plain PyTorch that no fused kernel replaces
  expert_bias,       ///< such kernels, for the biases of the experts' results
  scan,              ///< a kernel of a chunked scan: products and traffic per row
  lookup,            ///< rows of a table; weights without a product
  loss,              ///< softmax and cross entropy of logits
  adapter,           ///< a small product beside a frozen one, in 16 bits; of experts one for each
  adapter_merge,     ///< products of experts' adapters, added to their weights before every pass
  column_gather,     ///< of columns that tensor ranks made in parts
  weight_streaming,  ///< goes through weights, whatever the rows: unpacking, norms
  tensor_gather,     ///< before what is cut over the tensor ranks
  tensor_scatter,    ///< after it
  context_swap,      ///< the sequence of all context ranks for a part of the columns, or back
  lookup_scatter,    ///< after a lookup; its way back runs beside later passes
  expert_gather,     ///< the same for experts that several ranks share
  expert_scatter,
  expert_exchange,  ///< rows to the ranks of their experts, or back
  unpriced          ///< weights whose work is lost in the gaps between kernels
};

/// What a count of parameters or FLOPs books an operator as.
enum class LayerPart : std::uint8_t { attention, mlp, router, experts, norm, ends };

/// The rows that an operator works on: tokens of one micro-batch on one rank.
enum class RowKind : std::uint8_t {
  tokens,    ///< N (models/memory/README.md, "Symbols")
  residual,  ///< U: of the residual stream
  keys,      ///< N times the sequence: pairs of a query and a key
  received,  ///< routed rows that the busiest rank of experts receives
  expert,    ///< the same, gathered over the ranks that share an expert
  permuted,  ///< routed rows that are copied; those that are sorted once more count half
  turned,    ///< N where a micro-batch has several sequences, else none
  once       ///< one, whatever the micro-batch: of weights
};
inline constexpr std::size_t row_kinds = 8;

/// How many of each a job has; the rows of experts where it has experts.
struct RowCounts {
  std::array<double, row_kinds> count{};
  double routed = 0.0;  ///< rows that a rank's tokens become: U top_k

  [[nodiscard]] double of(RowKind rows) const { return count[static_cast<std::size_t>(rows)]; }
  [[nodiscard]] double& of(RowKind rows) { return count[static_cast<std::size_t>(rows)]; }
};
/// Of full rows, as memory has to hold them: routed ones of the rank whose layers hold most.
[[nodiscard]] RowCounts row_counts(const Job& job);
/// Of the busiest rank of a layer. @param sequence tokens of a row, in place of the job's
[[nodiscard]] RowCounts row_counts(const Job& job, double sequence);

/// Bytes that an element of a saved tensor takes.
enum class Keep : std::uint8_t {
  element,             ///< of an activation
  product_input,       ///< kept for a weight gradient only, as it was multiplied
  activation_input,    ///< of the activation function
  unfused_activation,  ///< an element, where gate and product are two kernels
  statistics,          ///< fp32
  norm_copies,         ///< of RMSNorm in plain torch
  rotary_copies,
  unfused_attention,  ///< an element, where attention is not fused
  scores,             ///< what unfused attention keeps of every score
  softmax,            ///< statistics of fused attention
  flash_copy,         ///< FlashAttention 2's own layout of its output
  attention_output,
  router,       ///< logits, probabilities, map and their gradients
  router_fp32,  ///< the router's input, cast
  dropout_mask,
  expert_result,    ///< an element, where rows are put back by plain torch
  token,            ///< a 64-bit number of a token
  logit,            ///< what the loss keeps of a logit while it is computed
  logit_gradient,   ///< made of a logit by the loss's backward pass
  softmax_of_loss,  ///< what of a logit a loss keeps for its backward pass
  attention_input   ///< queries, keys and values as attention multiplies them
};
inline constexpr std::size_t keep_kinds = 21;

/// A switch of selective recomputation or offloading; null: none.
using LayerModule = bool LayerModules::*;

/// The linear layers that an operator or a saved tensor belongs to, each of which may have
/// adapters. A tensor that several of them start from is of the first one: `qkv` is what attention
/// starts from, its latents' projections included.
enum class LinearKind : std::uint8_t {
  none,
  qkv,
  query_down,
  query_up,  ///< of latent attention; the query itself where it has no latent vector
  key_value_down,
  key_value_up,
  projection,
  mixer_in,
  mixer_out,
  fc1,
  fc2,
  mixture,  ///< of tensors alone: the input of router and shared experts
  router,
  shared_gate,
  expert_fc1,
  expert_fc2
};

/// A tensor that waits from a layer's forward pass for its backward pass.
struct SavedTensor {
  double LayerActivations::*row = nullptr;  ///< that it is booked in
  Keep keep = Keep::element;
  RowKind rows = RowKind::tokens;
  double width = 0.0;  ///< elements per row
  /// Of those, kept when every second product's result is (Recompute::every_second_matmul).
  double every_second = 0.0;
  LayerModule remade = nullptr;  ///< selective recomputation of either drops it
  LayerModule remade_too = nullptr;
  LayerModule offloaded = nullptr;
  /// Kept for the gradient of these weights alone.
  LinearKind for_weights = LinearKind::none;
};

/// What of a linear layer the tensor ranks with sequence parallelism gather: its input, or the
/// gradient of its output. With fp8 operands it is cast before.
enum class Gathered : std::uint8_t { nothing, input, output_gradient };

/// Bytes per pass.
struct Traffic {
  double forward = 0.0;
  double backward = 0.0;

  [[nodiscard]] constexpr double total() const { return forward + backward; }
  friend constexpr Traffic operator*(double factor, const Traffic& traffic) {
    return {factor * traffic.forward, factor * traffic.backward};
  }
};

/// One step of a layer's forward pass on one rank. Which fields matter, `work` says.
struct LayerOperator {
  std::string_view name{};  ///< static text
  LayerWork work = LayerWork::streaming;
  LayerPart part = LayerPart::attention;
  RowKind rows = RowKind::tokens;
  Gathered gathered = Gathered::nothing;
  double out = 0.0;     ///< columns of a result; elements per row of an exchange or a stream
  double in = 0.0;      ///< depth of a product
  double copies = 1.0;  ///< weights of this shape: routed experts of the rank
  bool waits = false;   ///< an exchange whose sizes the processor reads from the device first
  Traffic traffic{};  ///< of a memory-bound kernel, at least, bytes per element; of a scan per row
  /// What eager PyTorch's kernels for the same, one after another, read and write; nothing: as
  /// much.
  Traffic eager{};
  Traffic scanned{};                      ///< FLOPs per row of a scan's products
  double launches = 1.0;                  ///< kernels of a plain operator
  std::optional<FusedKernel> fused_by{};  ///< the kernel that does it in one go, where there is one
  bool tied = false;                      ///< weights that another operator of the model holds
  double vectors = 0.0;                   ///< parameters in norms and biases
  double buffers = 0.0;                   ///< model cards count them, nothing trains them
  /// Selective recomputation of either runs it again; of its forward pass every_second that share
  /// with Recompute::every_second_matmul.
  LayerModule again = nullptr;
  LayerModule again_too = nullptr;
  double every_second = 0.0;
  LinearKind linear = LinearKind::none;
  double fused = 1.0;   ///< projections of one input that this one is: a gate's two
  double apart = 0.0;   ///< of `out`: columns that frameworks may have as a projection of their own
  bool frozen = false;  ///< its weights, norms and biases are not trained
  /// Frozen weights with an adapter's product added to them: their gradient is made all the same.
  bool merged = false;

  [[nodiscard]] bool is_fused(const Training& training) const {
    return fused_by && training.fused_kernels.has(*fused_by);
  }
  [[nodiscard]] double weights() const { return out * in * copies; }
  [[nodiscard]] bool has_weights() const { return is_product() || work == LayerWork::lookup; }
  [[nodiscard]] bool is_product() const {
    return work == LayerWork::product || work == LayerWork::router ||
           work == LayerWork::expert_product || work == LayerWork::unpriced ||
           work == LayerWork::adapter;
  }
};

/// The heads of a layer on one rank; widths in elements per token.
struct HeadShape {
  double heads = 0.0;
  double query = 0.0;
  double key = 0.0;
  double value = 0.0;
  /// Of `key` and `value`, what the rank's own projection makes: less than all where tensor ranks
  /// outnumber key-value heads and gather what they made in equal parts.
  double made = 1.0;
  double output = 0.0;    ///< of the attention, into the output projection
  double head_dim = 0.0;  ///< of queries and keys
  double value_dim = 0.0;
  double window = 0.0;      ///< tokens that a token sees, itself included; 0: all before it
  bool chunked = false;     ///< of those in chunks of so many
  bool both_ways = false;   ///< a token sees those behind it as well
  double compressed = 0.0;  ///< beside the window: tokens that share a key; 0: none
  double chosen = 0.0;      ///< of those keys, that a query sees; 0: all
  /// Elements per token of the keys that context ranks gather before sparse attention, once for
  /// both passes; 0: the heads' own keys and values are exchanged.
  double gathered = 0.0;
  /// Tokens of the context rank before, whose residual stream a rank needs; 0: none. Ranks then
  /// hold consecutive parts of a sequence, not pairs from both its ends.
  double borrowed = 0.0;

  [[nodiscard]] double all() const { return query + key + value; }
};

/// Operators in forward order with what they save, as the one list that parameters, FLOPs, saved
/// tensors and times are read from. No heap; more than `Size` of either is a caller's mistake.
template <class Saved, std::size_t Size>
class OperatorList {
 public:
  /// @param with_saved false: for readers of operators only, which are called more often.
  explicit OperatorList(bool with_saved = true) : with_saved_{with_saved} {}

  void add(const LayerOperator& op) {
    FORETRAIN_REQUIRE(operator_count_ < operators_.items.size());
    std::construct_at(&operators_.items[operator_count_++], op);
  }
  void save(const Saved& tensor) {
    if (!with_saved_) return;
    FORETRAIN_REQUIRE(saved_count_ < saved_.items.size());
    std::construct_at(&saved_.items[saved_count_++], tensor);
  }
  [[nodiscard]] std::span<const LayerOperator> operators() const {
    return {operators_.items.data(), operator_count_};
  }
  [[nodiscard]] std::span<const Saved> saved() const { return {saved_.items.data(), saved_count_}; }

 private:
  /// Plans are searched by the hundred thousand per second: what is not used is not written.
  template <class T>
  union Room {
    Room() {}  // NOLINT(modernize-use-equals-default): would write the items
    std::array<T, Size> items;
  };

  Room<LayerOperator> operators_;
  Room<Saved> saved_;
  std::size_t operator_count_ = 0;
  std::size_t saved_count_ = 0;
  bool with_saved_;
};

/// Name of the operator that holds the magnitudes of DoRA.
inline constexpr std::string_view adapter_magnitudes = "magnitudes";

/// A layer, or one of its halves. The longest is DeepSeek's: 26 operators and 22 saved tensors; an
/// adapter adds up to 12 and 4, of up to 14 linear layers, and each of those may be unpacked.
class LayerDescription : public OperatorList<SavedTensor, 208> {
 public:
  explicit LayerDescription(bool with_saved = true) : OperatorList{with_saved} {}
  /// As the job trains it: frozen operators are marked, adapters follow what they stand beside, and
  /// what frozen weights need no more is not saved. models/layers/README.md, "Fine-tuning".
  explicit LayerDescription(const Job& job, bool with_saved = true)
      : LayerDescription{job.fine_tuning, layer_cut(job.parallel), with_saved} {}
  /// @param cut ranks that adapters are cut over
  LayerDescription(const FineTuning& tuning, const LayerCut& cut, bool with_saved);

  void add(const LayerOperator& base);
  void save(const SavedTensor& base);

  HeadShape heads;  ///< of its attention half

 private:
  void add_unpacking(const LayerOperator& op);
  void add_adapter(const LayerOperator& base, double out);
  void add_merge(const LayerOperator& base, double out);
  void add_magnitudes(const LayerOperator& base, const LayerOperator& around, double out);
  void add_gather(const LayerOperator& around, RowKind rows, double width);

  const FineTuning* tuning_ = nullptr;  ///< null: everything is trained
  LayerCut cut_;
};

/// Halves of a layer, with its norms and the sums at their ends. A kind of half is one function in
/// a file of its own. Equations: models/layers/README.md, "Operators".
void describe_attention(const LlmShape& model, const LayerType& type, const LayerCut& cut,
                        LayerDescription& layer);
/// @pre the model has such mixers, as all below.
void describe_mamba(const LlmShape& model, const LayerCut& cut, LayerDescription& layer);
/// Beside attention, of the same input into the same sum.
void describe_mamba_beside(const LlmShape& model, const LayerCut& cut, LayerDescription& layer);
void describe_delta(const LlmShape& model, const LayerCut& cut, LayerDescription& layer);
void describe_convolution_mixer(const LlmShape& model, const LayerCut& cut,
                                LayerDescription& layer);
void describe_dense(const LlmShape& model, const LayerSizes& sizes, const LayerCut& cut,
                    LayerDescription& layer);
/// @pre the model has experts.
void describe_experts(const LlmShape& model, const LayerSizes& sizes, const LayerCut& cut,
                      LayerDescription& layer);

/// The first half, whichever it is; the second one.
void describe_mixer(const LlmShape& model, const LayerType& type, const LayerCut& cut,
                    LayerDescription& layer);
void describe_second(const LlmShape& model, const LayerType& type, const LayerCut& cut,
                     LayerDescription& layer);
/// Both halves, into an empty description. @pre the model has such layers.
void describe_layer(const LlmShape& model, const LayerType& type, const LayerCut& cut,
                    LayerDescription& layer);

}  // namespace foretrain
