// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/collective_cost.hpp"
#include "models/job.hpp"
#include "models/kernel_cost.hpp"
#include "models/pass_times.hpp"

namespace foretrain {

/// Prices pieces of the job's model on its device with its stack. Equations: models/README.md,
/// "Layers". Holds what all pieces share, so that a forecast computes it once.
/// @pre the plan is legal and modelled (plan_rules.hpp).
class LayerCost {
 public:
  explicit LayerCost(const Job& job);

  /// One transformer layer that keeps its activations (recompute `none` or `selective`).
  [[nodiscard]] PieceTimes layer() const { return kept_; }
  /// One layer that runs its forward pass again (recompute `full`).
  [[nodiscard]] PieceTimes recomputed_layer() const { return recomputed_; }
  /// Word embedding on the first stage.
  [[nodiscard]] PieceTimes embedding() const;
  /// Final norm, output projection and loss on the last stage.
  [[nodiscard]] PieceTimes head() const;

 private:
  struct ElementwiseTraffic;
  struct Kernels {
    Seconds forward;
    Seconds input_gradient;
    Seconds weight_gradient;
    Seconds attention_forward;  ///< part of forward
  };

  [[nodiscard]] Kernels layer_kernels() const;
  void add_product(const Gemm& gemm, Kernels& kernels) const;
  [[nodiscard]] Bytes elementwise(const ElementwiseTraffic& traffic) const;
  [[nodiscard]] PassTimes attention() const;
  [[nodiscard]] Seconds tensor_exchange() const;
  [[nodiscard]] PieceTimes assemble(const Kernels& kernels, bool full_recompute) const;

  const Job& job_;
  KernelDevice device_;
  CollectivePath path_;
  double tokens_;  ///< of one micro-batch on one rank
  double tensor_;
  double residual_tokens_;  ///< tokens of the residual stream that a rank works on
  PieceTimes kept_;
  PieceTimes recomputed_;
};

}  // namespace foretrain
