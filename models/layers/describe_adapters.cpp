// SPDX-License-Identifier: Apache-2.0
// What fine-tuning makes of a layer: frozen operators, adapters beside linear layers, weights that
// rest packed, and tensors that nobody waits for; models/layers/README.md, "Fine-tuning".
#include "models/layers/layer_description.hpp"

namespace foretrain {
namespace {

// Traffic of PyTorch's kernels, bytes per element; PEFT's `lora/layer.py` and `lora/dora.py`.
constexpr Traffic dropout_traffic{5.0, 5.0};      // input, mask of a byte, result
constexpr Traffic sum_traffic{10.0, 4.0};         // times alpha / rank, added to the base's result
constexpr Traffic input_sum_traffic{0.0, 6.0};    // gradients of the input from both sides
constexpr Traffic magnitude_traffic{24.0, 24.0};  // three products, two sums, and back
// Of an element of a weight: identity, its products with both matrices, scaled, added, normed.
constexpr Traffic norm_of_weight_traffic{18.0, 0.0};
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

/// Of an attention or MLP, the rows that hold what its linear layer starts from.
double LayerActivations::*input_row(LinearKind linear) {
  switch (linear) {
    case LinearKind::qkv:
      return &LayerActivations::qkv;
    case LinearKind::projection:
      return &LayerActivations::attention_output;
    case LinearKind::fc2:
      return &LayerActivations::mlp_output;
    default:
      return &LayerActivations::mlp_input;
  }
}

bool has_adapter(const FineTuning& tuning, LinearKind linear) {
  const auto any = [&](std::initializer_list<AdapterTarget> targets) {
    bool found = false;
    for (const AdapterTarget target : targets) found = found || tuning.targets.has(target);
    return tuning.adapts() && found;
  };
  switch (linear) {
    case LinearKind::qkv:
      return any(
          {AdapterTarget::qkv, AdapterTarget::query, AdapterTarget::key, AdapterTarget::value});
    case LinearKind::projection:
      return any({AdapterTarget::projection});
    case LinearKind::fc1:
      return any({AdapterTarget::fc1, AdapterTarget::gate, AdapterTarget::up});
    case LinearKind::fc2:
      return any({AdapterTarget::fc2});
    case LinearKind::none:
    case LinearKind::experts:
      break;
  }
  return false;
}

/// Weights of the layer that need this input for their gradients. What a norm makes for an MLP is a
/// router's and experts' input as well.
bool trains(const FineTuning& tuning, LinearKind linear) {
  switch (linear) {
    case LinearKind::qkv:
    case LinearKind::projection:
      return tuning.trains(ModelPart::attention);
    case LinearKind::fc1:
    case LinearKind::fc2:
      return tuning.trains(ModelPart::mlp) || tuning.trains(ModelPart::router) ||
             tuning.trains(ModelPart::experts);
    case LinearKind::experts:
      return tuning.trains(ModelPart::experts);
    case LinearKind::none:
      break;
  }
  return true;
}

}  // namespace

LayerDescription::LayerDescription(const FineTuning& tuning, double tensor, bool with_saved)
    : OperatorList{with_saved}, tuning_{tuning.freezes() ? &tuning : nullptr}, tensor_{tensor} {}

void LayerDescription::add(const LayerOperator& base) {
  if (tuning_ == nullptr) return OperatorList::add(base);
  LayerOperator op = base;
  op.frozen = !tuning_->trains(part_of(op.part));
  const bool packed = op.work == LayerWork::product || op.work == LayerWork::expert_product;
  if (tuning_->packs_frozen() && op.frozen && packed) {
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
  OperatorList::add(op);
  if (has_adapter(*tuning_, op.linear)) add_adapters(op);
}

void LayerDescription::add_adapters(const LayerOperator& base) {
  const EnumSet<AdapterTarget>& targets = tuning_->targets;
  const auto part = [&](AdapterTarget target, double out) {
    if (targets.has(target)) add_adapter(base, out);
  };
  switch (base.linear) {
    case LinearKind::qkv:
      part(AdapterTarget::qkv, base.out);
      part(AdapterTarget::query, heads.query);
      part(AdapterTarget::key, heads.key);
      part(AdapterTarget::value, heads.value);
      return;
    case LinearKind::fc1:
      part(AdapterTarget::fc1, base.out);
      part(AdapterTarget::gate, base.out / base.fused);
      part(AdapterTarget::up, base.out / base.fused);
      return;
    default:
      return add_adapter(base, base.out);
  }
}

/// Both matrices are cut over the tensor ranks, the first along what the base is not cut along
/// (Megatron-Bridge, `peft/utils.py`: ParallelLinearAdapter): what it makes is gathered, and so is
/// the result where the base's is summed.
void LayerDescription::add_adapter(const LayerOperator& base, double out) {
  const bool row = base.gathered == Gathered::output_gradient;
  const double rank = tuning_->rank;
  LayerOperator op{.name = "adapter down",
                   .work = LayerWork::adapter,
                   .part = base.part,
                   .rows = base.rows,
                   .out = row ? rank : rank / tensor_,
                   .in = base.in,
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
  const auto gather = [&](double width) {
    LayerOperator exchange = op;
    exchange.name = "adapter gather";
    exchange.work = LayerWork::adapter_gather;
    exchange.out = width;
    OperatorList::add(exchange);
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
  gather(rank);
  op.name = "adapter up";
  op.out = row ? out / tensor_ : out;
  op.in = rank;
  OperatorList::add(op);
  if (row) gather(out);
  plain("adapter sum", out, sum_traffic, 2.0);
  plain("adapter input gradient", base.in, input_sum_traffic, 1.0);
  if (tuning_->adapter == AdapterKind::dora) add_magnitudes(base, op, out);
}

/// The result's columns times trained magnitudes over the norms of the columns, which the weights'
/// values decide; the base's product once more where dropout made another input of it.
void LayerDescription::add_magnitudes(const LayerOperator& base, const LayerOperator& around,
                                      double out) {
  LayerOperator op = around;
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
  op.vectors = out;
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
  if (trains(*tuning_, tensor.for_weights)) return OperatorList::save(tensor);
  // An adapter without dropout starts from the same tensor, in 16 bits.
  if (!has_adapter(*tuning_, tensor.for_weights) || tuning_->dropout > 0.0) return;
  tensor.keep = Keep::element;
  OperatorList::save(tensor);
}

}  // namespace foretrain
