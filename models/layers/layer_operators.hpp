// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/quantity.hpp"
#include "models/collectives/collective_choice.hpp"
#include "models/collectives/collective_cost.hpp"
#include "models/grid/process_grid.hpp"
#include "models/inputs/job.hpp"
#include "models/layers/layer_description.hpp"
#include "models/layers/pass_times.hpp"

namespace foretrain {

enum class OperatorKind : std::uint8_t {
  product,
  attention,
  scan,  ///< a kernel of a state-space or delta mixer
  streaming,
  tensor,
  context,
  expert
};
FORETRAIN_ENUM_NAMES(OperatorKind, {OperatorKind::product, "product"},
                     {OperatorKind::attention, "attention"}, {OperatorKind::scan, "scan"},
                     {OperatorKind::streaming, "streaming"}, {OperatorKind::tensor, "tensor"},
                     {OperatorKind::context, "context"}, {OperatorKind::expert, "expert"});

/// What an exchange among the operators moves, whether or not kernels cover it: in the forward
/// pass, and in the backward pass that gives the gradients of inputs. None where a pass has none.
struct OperatorExchange {
  GroupKind group = GroupKind::tensor;
  std::optional<CollectiveOp> forward{};
  std::optional<CollectiveOp> backward{};
  Bytes sent{};      ///< forward; as Exchange::payload
  Bytes returned{};  ///< backward
  Bytes across{};    ///< all-to-alls, either way; as Exchange::across
};

/// One kernel, or one exchange, of one micro-batch on one rank, with the time that it takes in each
/// pass. Exchanges carry their exposed time. Zero where a pass does not run it.
struct Operator {
  std::string_view name;  ///< static text, e.g. "QKV product"
  OperatorKind kind = OperatorKind::product;
  Seconds forward;
  Seconds input_gradient;
  Seconds weight_gradient;
  Seconds recompute;  ///< run again before the backward pass of this layer
  Flop flop;          ///< forward
  Bytes bytes;        ///< forward: least memory traffic of a kernel, payload of an exchange
  OperatorExchange exchange{};
  /// Of an exchange beside the kernel next to it, in the forward pass and in the backward pass: in
  /// forward order the one after it, of sums of outputs the one before. Of exchanges between
  /// experts: beside the kernels of another micro-batch.
  ExposedExchange beside{};
  ExposedExchange beside_backward{};

  /// Leaves the forward pass alone.
  void drop_backward() {
    input_gradient = weight_gradient = recompute = Seconds{};
    exchange.backward.reset();
    beside_backward = {};
  }
};

/// The operators of a piece of the model in forward order.
using Operators = std::vector<Operator>;

/// A transformer layer of the job; `recomputed` where the whole layer runs forward again (recompute
/// `full`), else with the stack's or the plan's selective recomputation.
struct LayerVariant {
  LayerKind kind = LayerKind::dense;
  bool recomputed = false;
  bool wide = false;      ///< quantised training: one of Training::bf16_end_layers
  bool windowed = false;  ///< attention with LlmShape::window
  MixerKind mixer = MixerKind::attention;
  std::uint8_t special = 0;  ///< LayerType::special
  bool frozen = false;       ///< one of FineTuning::frozen_layers, which run forward alone

  [[nodiscard]] LayerType type() const { return {kind, windowed, mixer, special}; }
};
[[nodiscard]] constexpr LayerVariant variant_of(const LayerType& type, bool recomputed = false,
                                                bool wide = false) {
  return {type.kind, recomputed, wide, type.windowed, type.mixer, type.special, false};
}

/// What the pieces of the job's model run on its device with its stack, in forward order. Their
/// times add up to LayerCost's PieceTimes, launch excess aside. Equations: models/layers/README.md,
/// "Time of a layer". @pre the plan is legal and modelled (plan_rules.hpp).
[[nodiscard]] Operators layer_operators(const Job& job, const LayerVariant& variant);
[[nodiscard]] Operators embedding_operators(const Job& job);
[[nodiscard]] Operators head_operators(const Job& job);
/// Prediction modules without their outputs. @pre predicts_apart(job)
[[nodiscard]] Operators prediction_operators(const Job& job);
/// Of the head, what softmax and cross entropy run.
[[nodiscard]] Operators loss_operators(const Job& job);
/// Of LayerCost::vocabulary_share.
[[nodiscard]] Operators vocabulary_share_operators(const Job& job);

}  // namespace foretrain
