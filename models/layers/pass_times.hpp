// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/quantity.hpp"

namespace foretrain {

/// What a stretch of one rank's time is spent on; communication is the exposed part only. The parts
/// add up to the stretch.
struct TimeParts {
  Seconds compute;    ///< kernels
  Seconds recompute;  ///< kernels run again for the backward pass
  Seconds tensor;     ///< tensor-parallel exchanges, recomputed ones included
  Seconds context;    ///< key-value exchanges of context parallelism
  Seconds expert;     ///< token exchanges of expert parallelism
  Seconds data;       ///< gathering of sharded weights and scattering of their gradients
  Seconds launch;     ///< the processor launches kernels more slowly than the device runs them

  [[nodiscard]] constexpr Seconds total() const {
    return compute + recompute + tensor + context + expert + data + launch;
  }

  constexpr TimeParts& operator+=(const TimeParts& other) {
    compute += other.compute;
    recompute += other.recompute;
    tensor += other.tensor;
    context += other.context;
    expert += other.expert;
    data += other.data;
    launch += other.launch;
    return *this;
  }
  constexpr TimeParts& operator*=(double factor) {
    compute *= factor;
    recompute *= factor;
    tensor *= factor;
    context *= factor;
    expert *= factor;
    data *= factor;
    launch *= factor;
    return *this;
  }
  friend constexpr TimeParts operator+(TimeParts a, const TimeParts& b) { return a += b; }
  friend constexpr TimeParts operator*(double factor, TimeParts parts) { return parts *= factor; }
};

/// One micro-batch's passes through a piece of the model (a layer, the head, a whole chunk) on one
/// rank. The backward pass is the sum of its two halves, which zero-bubble schedules run apart:
/// gradients of the inputs (with recomputation; the stage before waits for them) and of the weights
/// (nobody waits).
struct PieceTimes {
  TimeParts forward;
  TimeParts input_gradient;
  TimeParts weight_gradient;

  [[nodiscard]] constexpr TimeParts backward() const { return input_gradient + weight_gradient; }
  [[nodiscard]] constexpr TimeParts all() const { return forward + backward(); }

  constexpr PieceTimes& operator+=(const PieceTimes& other) {
    forward += other.forward;
    input_gradient += other.input_gradient;
    weight_gradient += other.weight_gradient;
    return *this;
  }
  friend constexpr PieceTimes operator*(double factor, PieceTimes piece) {
    piece.forward *= factor;
    piece.input_gradient *= factor;
    piece.weight_gradient *= factor;
    return piece;
  }
};

/// What kernels do not cover of copies over the link between a GPU and host memory.
struct OffloadShown {
  Seconds forward;
  Seconds backward;

  constexpr OffloadShown& operator+=(const OffloadShown& other) {
    forward += other.forward;
    backward += other.backward;
    return *this;
  }
};

}  // namespace foretrain
