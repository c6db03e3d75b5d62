// SPDX-License-Identifier: Apache-2.0
#include "scenarios/fields/scenario_fields_plan.hpp"

#include "models/inputs/job.hpp"
#include "scenarios/fields/layer_modules.hpp"
#include "scenarios/fields/parallel_keys.hpp"

namespace foretrain {
namespace {

std::vector<Field> memory_fields() {
  return {
      {.path = "memory", .kind = FieldKind::group, .help = "What is traded against GPU memory."},
      {.path = "memory.recompute",
       .kind = FieldKind::group,
       .help = "Activations that are computed again in the backward pass instead of kept; "
               "`recompute: selective` is short for its granularity.",
       .scalar_child = "granularity"},
      {.path = "memory.recompute.granularity",
       .kind = FieldKind::choice,
       .help = "none keeps all activations, selective recomputes attention scores, full recomputes "
               "whole layers.",
       .example = "selective",
       .default_text = "none",
       .choices = choices_of<RecomputeKind>()},
      {.path = "memory.recompute.method",
       .kind = FieldKind::choice,
       .help = "For full: uniform keeps the input of every group of `layers` layers, block "
               "recomputes the first `layers` layers of a stage.",
       .example = "uniform",
       .default_text = "uniform",
       .choices = choices_of<RecomputeMethod>()},
      {.path = "memory.recompute.layers",
       .kind = FieldKind::integer,
       .help = "For full: the number of layers that the method asks for.",
       .example = "1",
       .default_text = "1",
       .min = 1,
       .max = 1000000},
      {.path = "memory.recompute.modules",
       .kind = FieldKind::choice_list,
       .help = "For selective: the parts of a layer that are recomputed; left out, core-attention.",
       .example = "[core-attention, activation]",
       .choices = layer_module_names()},
      {.path = "memory.recompute.every_second_matmul",
       .kind = FieldKind::boolean,
       .help = "For selective: keep attention and every second matrix multiplication, compute the "
               "rest again (PyTorch's checkpointing by operator).",
       .example = "true",
       .default_text = "false"},
      {.path = "memory.recompute.distribute_saved",
       .kind = FieldKind::boolean,
       .help = "For full: the kept layer inputs are split over the tensor-parallel GPUs.",
       .example = "true",
       .default_text = "false"},
  };
}

std::vector<Field> memory_detail_fields() {
  return {
      {.path = "memory.attention",
       .kind = FieldKind::choice,
       .help = "flash never writes the attention scores to memory, unfused does.",
       .example = "flash",
       .default_text = "flash",
       .choices = choices_of<AttentionKind>()},
      {.path = "memory.offload",
       .kind = FieldKind::choice,
       .help = "What lives in host memory instead of GPU memory.",
       .example = "none",
       .default_text = "none",
       .choices = choices_of<OffloadKind>()},
      {.path = "memory.activation_offload",
       .kind = FieldKind::choice_list,
       .help = "Parts of a layer whose kept activations wait in host memory.",
       .example = "[core-attention]",
       .choices = layer_module_names()},
      {.path = "memory.fused_norm",
       .kind = FieldKind::boolean,
       .help = "Use a norm kernel that keeps no intermediate result where the stack's default is "
               "plain torch.",
       .example = "true",
       .default_text = "false"},
      {.path = "memory.fused_activation",
       .kind = FieldKind::boolean,
       .help = "The activation and the gating of a gated MLP run as one kernel.",
       .example = "true",
       .default_text = "true"},
      {.path = "memory.fused_softmax",
       .kind = FieldKind::boolean,
       .help = "Unfused attention scales, masks and normalises scores in one kernel.",
       .example = "true",
       .default_text = "true"},
      {.path = "memory.fused_loss",
       .kind = FieldKind::boolean,
       .help = "Use the stack's fused cross-entropy instead of its default.",
       .example = "false",
       .default_text = "false"},
      {.path = "memory.fused_loss_engine",
       .kind = FieldKind::boolean,
       .help = "With fused_loss: the Transformer Engine kernel, which works in place.",
       .example = "false",
       .default_text = "false"},
      {.path = "memory.fused_gradient_accumulation",
       .kind = FieldKind::boolean,
       .help = "Weight gradients are added straight into the gradient buffer.",
       .example = "true",
       .default_text = "true"},
  };
}

std::vector<Field> memory_rest_fields() {
  return {
      {.path = "memory.deterministic",
       .kind = FieldKind::boolean,
       .help = "Bitwise repeatable matrix multiplications, which take larger workspaces.",
       .example = "false",
       .default_text = "false"},
      {.path = "memory.attention_mask",
       .kind = FieldKind::boolean,
       .help = "The data loader makes a full attention mask, one byte per score.",
       .example = "false",
       .default_text = "false"},
      {.path = "memory.fp8_parameters",
       .kind = FieldKind::boolean,
       .help = "fp8, fp8-block and mxfp8 training keeps the weights in 8 bits only, and gathers "
               "them so, mxfp8 in 16 bits (--fp8-param-gather of Megatron-LM): with parallel.zero "
               "1 on Megatron-Core.",
       .example = "false",
       .default_text = "false"},
  };
}

std::vector<Field> profile_fields() {
  return {
      {.path = "stack",
       .help = "Training framework from the stack profiles: which kernels are fused, what "
               "overlaps, which buffers it keeps.",
       .example = "megatron-core",
       .default_text = "megatron-core"},
      {.path = "site",
       .help = "Measured profile of this cluster; `default` is a typical one, with a wider "
               "band. As "
               "the stack, a name or the path of a file.",
       .example = "default",
       .default_text = "default"},
      {.path = "device_profile",
       .help =
           "Measured profile of the hosts' device: a name or the path of a file; by default the "
           "catalog's own.",
       .example = "./my-h100.yaml"},
  };
}

}  // namespace

std::vector<Field> plan_fields() {
  std::vector<Field> all;
  for (const std::vector<Field>& part :
       {parallel_keys().fields(), memory_fields(), memory_detail_fields(), memory_rest_fields(),
        profile_fields()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace foretrain
