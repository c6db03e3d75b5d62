// SPDX-License-Identifier: Apache-2.0
#include "scenarios/sections/sections.hpp"

#include <utility>

#include "scenarios/sections/hybrid_keys.hpp"

namespace foretrain {

/// Parts of a layer by name.
template <>
struct KeyValue<LayerModules> {
  static constexpr FieldKind kind = FieldKind::choice_list;
  static std::vector<std::string> choices() { return layer_module_names(); }
  static LayerModules read(const FieldValue& value) { return layer_modules_of(value.texts); }
  static std::string text(const LayerModules& set, const Field&) {
    return flow_list(layer_module_names(set));
  }
};

namespace {

using keys::always;
using keys::bind;
using keys::group;
using keys::only_where;
using keys::with_default;

bool recomputes_layers(const MemoryOptions& memory) {
  return memory.recompute.kind == RecomputeKind::full;
}

bool recomputes_parts(const MemoryOptions& memory) {
  return memory.recompute.kind == RecomputeKind::selective;
}

bool is_flash(const MemoryOptions& memory) { return memory.attention == AttentionKind::flash; }
bool fuses_loss(const MemoryOptions& memory) { return memory.fused_loss; }

KeyRows recompute_keys() {
  return {
      {{.path = "memory.recompute",
        .kind = FieldKind::group,
        .help = "Activations that are computed again in the backward pass instead of kept; "
                "`recompute: selective` is short for its granularity.",
        .scalar_child = "granularity"}},
      with_default(
          {.path = "memory.recompute.granularity",
           .help =
               "none keeps all activations, selective recomputes attention scores, full recomputes "
               "whole layers; unknown forecasts the range of these.",
           .example = "selective"},
          &MemoryOptions::recompute, &Recompute::kind),
      only_where<MemoryOptions, recomputes_layers>(always(
          {.path = "memory.recompute.method",
           .help = "For full: uniform keeps the input of every group of `layers` layers, block "
                   "recomputes the first `layers` layers of a stage.",
           .example = "uniform"},
          &MemoryOptions::recompute, &Recompute::method)),
      only_where<MemoryOptions, recomputes_layers>(
          always({.path = "memory.recompute.layers",
                  .help = "For full: the number of layers that the method asks for.",
                  .example = "1",
                  .min = 1,
                  .max = 1000000},
                 &MemoryOptions::recompute, &Recompute::layers)),
      only_where<MemoryOptions, recomputes_parts>(
          bind({.path = "memory.recompute.modules",
                .help = "For selective: the parts of a layer that are recomputed; left out, "
                        "core-attention.",
                .example = "[core-attention, activation]"},
               &MemoryOptions::recompute, &Recompute::modules)),
      only_where<MemoryOptions, recomputes_parts>(with_default(
          {.path = "memory.recompute.every_second_matmul",
           .help = "For selective: keep attention and every second matrix multiplication, "
                   "compute the rest again (PyTorch's checkpointing by operator).",
           .example = "true"},
          &MemoryOptions::recompute, &Recompute::every_second_matmul)),
      only_where<MemoryOptions, recomputes_layers>(with_default(
          {.path = "memory.recompute.distribute_saved",
           .help = "For full: the kept layer inputs are split over the tensor-parallel GPUs.",
           .example = "true"},
          &MemoryOptions::recompute, &Recompute::distribute_saved)),
  };
}

KeyRows place_keys() {
  return {
      with_default({.path = "memory.attention",
                    .help = "flash never writes the attention scores to memory, unfused does.",
                    .example = "flash"},
                   &MemoryOptions::attention),
      only_where<MemoryOptions, is_flash>(
          with_default({.path = "memory.attention_library",
                        .help = "Whose flash attention runs; stack: what the software takes by "
                                "itself. flash-3 is for Hopper alone.",
                        .example = "flash-3"},
                       &MemoryOptions::attention_library)),
      with_default({.path = "memory.offload",
                    .help = "What lives in host memory instead of GPU memory. paged: states of "
                            "the optimizer as far as the GPU has no room (bitsandbytes' paged "
                            "optimizers).",
                    .example = "none"},
                   &MemoryOptions::offload),
      with_default({.path = "memory.offload_share",
                    .help = "With an offloaded optimizer: the share of its states that the host "
                            "keeps and updates.",
                    .example = "0.5",
                    .min = 0,
                    .max = 1,
                    .above_min = true},
                   &MemoryOptions::offload_share),
      bind({.path = "memory.activation_offload",
            .help = "Parts of a layer whose kept activations wait in host memory.",
            .example = "[core-attention]"},
           &MemoryOptions::activation_offload),
      with_default(
          {.path = "memory.offloaded_layers",
           .help = "The first layers of the model whose kept activations all wait in host memory "
                   "(Megatron-LM's --cpu-offloading-num-layers); not with a pipeline.",
           .example = "20",
           .min = 0,
           .max = 1000000},
          &MemoryOptions::offloaded_layers),
  };
}

KeyRows fusion_keys() {
  return {
      with_default({.path = "memory.fused_norm",
                    .help = "Use a norm kernel that keeps no intermediate result where the stack's "
                            "default is plain torch.",
                    .example = "true"},
                   &MemoryOptions::fused_norm),
      with_default({.path = "memory.fused_activation",
                    .help = "The activation and the gating of a gated MLP run as one kernel.",
                    .example = "true"},
                   &MemoryOptions::fused_activation),
      with_default({.path = "memory.fused_softmax",
                    .help = "Unfused attention scales, masks and normalises scores in one kernel.",
                    .example = "true"},
                   &MemoryOptions::fused_softmax),
      with_default({.path = "memory.fused_loss",
                    .help = "Use the stack's fused cross-entropy instead of its default.",
                    .example = "false"},
                   &MemoryOptions::fused_loss),
      only_where<MemoryOptions, fuses_loss>(with_default(
          {.path = "memory.fused_loss_engine",
           .help = "With fused_loss: the Transformer Engine kernel, which works in place.",
           .example = "false"},
          &MemoryOptions::fused_loss_engine)),
      with_default(
          {.path = "memory.fused_permutation",
           .help = "Routed rows are sorted by expert and put back by kernels of their own, which "
                   "keep a "
                   "map in place of the experts' results (Megatron-LM's --moe-permute-fusion).",
           .example = "true"},
          &MemoryOptions::fused_permutation),
      with_default({.path = "memory.fused_gradient_accumulation",
                    .help = "Weight gradients are added straight into the gradient buffer.",
                    .example = "true"},
                   &MemoryOptions::fused_gradient_accumulation),
  };
}

KeyRows rest_keys() {
  return {
      with_default(
          {.path = "memory.deterministic",
           .help = "Bitwise repeatable matrix multiplications, which take larger workspaces.",
           .example = "false"},
          &MemoryOptions::deterministic),
      with_default({.path = "memory.attention_mask",
                    .help = "The data loader makes a full attention mask, one byte per score.",
                    .example = "false"},
                   &MemoryOptions::attention_mask),
      with_default(
          {.path = "memory.fp8_parameters",
           .help =
               "fp8, fp8-block and mxfp8 training keeps the weights in 8 bits only, and "
               "gathers them so, mxfp8 in 16 bits (--fp8-param-gather of Megatron-LM): with "
               "parallel.zero 1 on Megatron-Core. With parallel.zero 3 on FSDP2, shards rest in "
               "32 bits and are cast before they are gathered (enable_fsdp_float8_all_gather of "
               "torchao).",
           .example = "false"},
          &MemoryOptions::fp8_parameters),
  };
}

}  // namespace

const BoundTable<MemoryOptions>& memory_keys() {
  static const BoundTable<MemoryOptions> table(
      "memory", joined_rows({{group("memory", "What is traded against GPU memory.")},
                             recompute_keys(),
                             place_keys(),
                             fusion_keys(),
                             rest_keys()}));
  return table;
}

}  // namespace foretrain
