// SPDX-License-Identifier: Apache-2.0
// What fine-tuning makes of a layer: frozen operators, adapters beside linear layers, weights that
// rest packed, and tensors that nobody waits for; models/layers/README.md, "Fine-tuning".
#include "models/layers/adapter_layers.hpp"

namespace foretrain {

using layer_detail::for_adapters;
using layer_detail::has_adapter;
using layer_detail::input_row;
using layer_detail::merges_adapter;
using layer_detail::trains;

namespace {

// Traffic of PyTorch's kernels, bytes per element; PEFT's `lora/layer.py` and `lora/dora.py`.
constexpr Traffic dropout_traffic{5.0, 5.0};      // input, mask of a byte, result
constexpr Traffic sum_traffic{10.0, 4.0};         // times alpha / rank, added to the base's result
constexpr Traffic input_sum_traffic{0.0, 6.0};    // gradients of the input from both sides
constexpr Traffic magnitude_traffic{24.0, 24.0};  // three products, two sums, and back
// Of an element of a weight: identity, its products with both matrices, scaled, added, normed.
constexpr Traffic norm_of_weight_traffic{18.0, 0.0};
// Of an element of the experts' weights: the product's result, scaled, added to the weights;
// backward the gradient of the sum, scaled.
constexpr Traffic merge_traffic{12.0, 6.0};
constexpr double merge_launches = 4.0;
constexpr double unpacked_bytes = 2.0;
constexpr double dropout_copy = 1.5;  // elements: 16 bits and a mask of a byte

ModelPart part_of(LayerPart part) {
  switch (part) {
    case LayerPart::attention:
      return ModelPart::attention;
    case LayerPart::mlp:
      return ModelPart::mlp;
    case LayerPart::router:
      return ModelPart::router;
    case LayerPart::experts:
      return ModelPart::experts;
    case LayerPart::norm:
    case LayerPart::ends:
      break;
  }
  return ModelPart::norms;
}

/// How an adapter is cut: over these ranks, its first matrix along what the base is not cut along
/// (Megatron-Bridge, `peft/utils.py`: ParallelLinearAdapter). A base that every rank holds whole
/// has a whole adapter.
struct AdapterCut {
  double ranks = 1.0;
  bool row = false;  ///< the base is cut along its depth, and its result summed
};

AdapterCut adapter_cut(const LayerOperator& base, const LayerCut& cut) {
  if (base.part == LayerPart::experts)
    return {cut.expert_tensor, base.linear == LinearKind::expert_fc2};
  if (base.gathered == Gathered::nothing) return {};
  return {cut.tensor, base.gathered == Gathered::output_gradient};
}

}  // namespace

LayerDescription::LayerDescription(const FineTuning& tuning, const LayerCut& cut, bool with_saved)
    : OperatorList{with_saved}, tuning_{tuning.freezes() ? &tuning : nullptr}, cut_{cut} {}

void LayerDescription::add(const LayerOperator& base) {
  if (tuning_ == nullptr) return OperatorList::add(base);
  LayerOperator op = base;
  op.frozen = !tuning_->trains(part_of(op.part));
  add_unpacking(op);
  op.merged = merges_adapter(*tuning_, op.linear);
  if (op.merged) for_adapters(*tuning_, op, heads, [&](double out) { add_merge(op, out); });
  OperatorList::add(op);
  if (has_adapter(*tuning_, op.linear))
    for_adapters(*tuning_, op, heads, [&](double out) { add_adapter(op, out); });
}

void LayerDescription::add_unpacking(const LayerOperator& op) {
  const bool dense = op.work == LayerWork::product && tuning_->packs_frozen();
  const bool experts = op.work == LayerWork::expert_product && tuning_->packs_experts();
  if (!op.frozen || !(dense || experts)) return;
  const double bytes = packed_bytes(tuning_->frozen_format) + unpacked_bytes;
  OperatorList::add({.name = "unpack weights",
                     .work = LayerWork::weight_streaming,
                     .part = op.part,
                     .out = op.out,
                     .in = op.in,
                     .copies = op.copies,
                     .traffic = {bytes, bytes},
                     .again = op.again,
                     .again_too = op.again_too});
}

/// What tensor ranks made of an adapter in parts, or hold of it.
void LayerDescription::add_gather(const LayerOperator& around, RowKind rows, double width) {
  LayerOperator exchange = around;
  exchange.name = "adapter gather";
  exchange.work = LayerWork::column_gather;
  exchange.rows = rows;
  exchange.out = width;
  OperatorList::add(exchange);
}

/// Two small products behind what they stand beside, with the kernels around them. Experts have a
/// pair each, or share one.
void LayerDescription::add_adapter(const LayerOperator& base, double out) {
  const auto [ranks, row] = adapter_cut(base, cut_);
  const double rank = tuning_->rank;
  const bool shared = tuning_->expert_adapters == ExpertAdapters::shared;
  LayerOperator op{.name = "adapter down",
                   .work = LayerWork::adapter,
                   .part = base.part,
                   .rows = base.rows,
                   .out = row ? rank : rank / ranks,
                   .in = base.in,
                   .copies = shared ? 1.0 : base.copies,
                   .again = base.again,
                   .again_too = base.again_too};
  const auto plain = [&](std::string_view name, double width, const Traffic& traffic,
                         double launches) {
    LayerOperator kernel = op;
    kernel.name = name;
    kernel.work = LayerWork::plain;
    kernel.out = width;
    kernel.traffic = traffic;
    kernel.launches = launches;
    kernel.fused_by = FusedKernel::lora;
    OperatorList::add(kernel);
  };
  SavedTensor saved{.row = input_row(base.linear),
                    .rows = base.rows,
                    .remade = base.again,
                    .remade_too = base.again_too};
  if (tuning_->dropout > 0.0) {
    plain("adapter dropout", base.in, dropout_traffic, 1.0);
    saved.width = dropout_copy * base.in;
    OperatorList::save(saved);
  }
  OperatorList::add(op);
  saved.width = rank;
  OperatorList::save(saved);
  if (ranks > 1.0) add_gather(op, base.rows, rank);
  op.name = "adapter up";
  op.out = row ? out / ranks : out;
  op.in = rank;
  OperatorList::add(op);
  if (row && ranks > 1.0) add_gather(op, base.rows, out);
  plain("adapter sum", out, sum_traffic, 2.0);
  plain("adapter input gradient", base.in, input_sum_traffic, 1.0);
  if (tuning_->adapter == AdapterKind::dora) add_magnitudes(base, op, out);
}

/// The adapters' product for every expert, added to its weights (PEFT, `lora/layer.py`:
/// ParamWrapper): the sum is what is multiplied, is kept for the backward pass, and gets a gradient
/// of which those of the pair are made. out x in of every expert; the pair's parameters are its
/// `vectors`.
void LayerDescription::add_merge(const LayerOperator& base, double out) {
  LayerOperator op = base;
  op.name = "adapter merge";
  op.work = LayerWork::adapter_merge;
  op.out = out;
  op.traffic = merge_traffic;
  op.launches = merge_launches;
  op.linear = LinearKind::none;
  op.vectors = tuning_->rank * (out + base.in) * base.copies;
  op.every_second = 0.0;
  op.frozen = op.merged = false;
  OperatorList::add(op);
  OperatorList::save({.row = &LayerActivations::merged_weights,
                      .rows = RowKind::once,
                      .width = op.weights(),
                      .remade = base.again,
                      .remade_too = base.again_too});
}

/// The result's columns times trained magnitudes over the norms of the columns, which the weights'
/// values decide; the base's product once more where dropout made another input of it. A rank needs
/// the whole of the adapter's matrix that the base is not cut along, and takes the norm of its own
/// part (Megatron-Bridge, `peft/dora_layers.py`).
void LayerDescription::add_magnitudes(const LayerOperator& base, const LayerOperator& around,
                                      double out) {
  const auto [ranks, row] = adapter_cut(base, cut_);
  LayerOperator op = around;
  if (ranks > 1.0) add_gather(op, RowKind::once, tuning_->rank * (row ? out : base.in) * op.copies);
  op.name = "norms of weights";
  op.work = LayerWork::weight_streaming;
  op.out = out;
  op.in = base.in;
  op.traffic = norm_of_weight_traffic;
  op.launches = 8.0;
  OperatorList::add(op);
  if (tuning_->dropout > 0.0) {
    op = around;
    op.name = "product of the magnitudes";
    op.out = out;
    op.in = base.in;
    op.tied = op.frozen = true;
    OperatorList::add(op);
  }
  op = around;
  op.name = adapter_magnitudes;
  op.work = LayerWork::plain;
  op.out = out;
  op.in = 0.0;
  op.vectors = out * op.copies;
  op.traffic = magnitude_traffic;
  op.launches = 6.0;
  OperatorList::add(op);
  OperatorList::save({.row = input_row(base.linear),
                      .rows = base.rows,
                      .width = 2.0 * out,
                      .remade = base.again,
                      .remade_too = base.again_too});
}

void LayerDescription::save(const SavedTensor& base) {
  if (tuning_ == nullptr) return OperatorList::save(base);
  SavedTensor tensor = base;
  if (tensor.keep == Keep::attention_output && !trains(*tuning_, LinearKind::projection))
    tensor.keep = Keep::element;  // no copy of it as the projection multiplies it
  const bool merged = merges_adapter(*tuning_, tensor.for_weights);
  if (merged || trains(*tuning_, tensor.for_weights)) return OperatorList::save(tensor);
  // An adapter without dropout starts from the same tensor, in 16 bits.
  if (!has_adapter(*tuning_, tensor.for_weights) || tuning_->dropout > 0.0) return;
  tensor.keep = Keep::element;
  OperatorList::save(tensor);
}

}  // namespace foretrain
