// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "models/base/enum_set.hpp"
#include "models/base/names.hpp"

namespace foretrain {

/// What one kernel does in place of several of the framework's own. models/layers/README.md, "Fused
/// kernels".
enum class FusedKernel : std::uint8_t {
  norm,         ///< RMSNorm or LayerNorm, without its copies in 32 bits
  rope,         ///< rotary embedding of queries and keys, in place
  swiglu,       ///< activation function, gate and product of an MLP
  loss,         ///< cross entropy: softmax and gradient in place of the logits
  linear_loss,  ///< the output projection with the loss, in chunks: never all logits at once
  lora,         ///< adapters: their sums with the base's results, and dropout
  optimizer     ///< the update of a parameter in one kernel, without copies of states
};
FORETRAIN_ENUM_NAMES(FusedKernel, {FusedKernel::norm, "norm"}, {FusedKernel::rope, "rope"},
                     {FusedKernel::swiglu, "swiglu"}, {FusedKernel::loss, "loss"},
                     {FusedKernel::linear_loss, "linear-loss"}, {FusedKernel::lora, "lora"},
                     {FusedKernel::optimizer, "optimizer"});

using FusedKernels = EnumSet<FusedKernel>;

/// A library of such kernels, and which of them it puts in by default.
struct KernelLibrary {
  std::string_view name;
  FusedKernels kernels;
};
/// Liger (arXiv 2410.10989); Unsloth, whose loss never holds all logits (unsloth_zoo,
/// fused_losses/cross_entropy_loss.py; Cut Cross-Entropy, arXiv 2411.09009, before); the kernels of
/// fms-acceleration ("foak"), which are Unsloth's for LoRA; Apex.
inline constexpr std::array kernel_libraries{
    KernelLibrary{
        "liger",
        {FusedKernel::norm, FusedKernel::rope, FusedKernel::swiglu, FusedKernel::linear_loss}},
    KernelLibrary{"unsloth",
                  {FusedKernel::norm, FusedKernel::rope, FusedKernel::swiglu,
                   FusedKernel::linear_loss, FusedKernel::lora}},
    KernelLibrary{"fast-lora",
                  {FusedKernel::norm, FusedKernel::rope, FusedKernel::loss, FusedKernel::lora}},
    KernelLibrary{"apex", {FusedKernel::norm, FusedKernel::optimizer}}};

/// What the library `name` of those puts in; nothing for another name.
[[nodiscard]] constexpr FusedKernels kernels_of(std::string_view name) {
  for (const KernelLibrary& library : kernel_libraries)
    if (library.name == name) return library.kernels;
  return {};
}

}  // namespace foretrain
