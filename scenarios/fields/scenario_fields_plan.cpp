// SPDX-License-Identifier: Apache-2.0
#include "scenarios/fields/scenario_fields_plan.hpp"

#include "models/inputs/job.hpp"
#include "scenarios/fields/layer_modules.hpp"

namespace foretrain {
namespace {

std::vector<Field> parallel_fields() {
  return {
      {.path = "parallel",
       .kind = FieldKind::group,
       .help = "How the work is split over the GPUs."},
      {.path = "parallel.tensor",
       .kind = FieldKind::integer,
       .help = "GPUs that every weight matrix of a layer is sharded across (tensor parallelism).",
       .example = "8",
       .default_text = "1",
       .min = 1,
       .max = 1000000},
      {.path = "parallel.sequence",
       .kind = FieldKind::boolean,
       .help = "Split norms and dropout along the sequence over the tensor-parallel GPUs (Megatron "
               "sequence parallelism).",
       .example = "true",
       .default_text = "false"},
      {.path = "parallel.context",
       .kind = FieldKind::integer,
       .help =
           "GPUs that share one sequence, each with a part of its tokens (context parallelism).",
       .example = "1",
       .default_text = "1",
       .min = 1,
       .max = 1000000},
      {.path = "parallel.pipeline",
       .kind = FieldKind::integer,
       .help = "Stages that the layers are split into (pipeline parallelism).",
       .example = "8",
       .default_text = "1",
       .min = 1,
       .max = 1000000},
      {.path = "parallel.virtual_stages",
       .kind = FieldKind::integer,
       .help = "Chunks of layers per stage; above 1 only with schedule: interleaved.",
       .example = "1",
       .default_text = "1",
       .min = 1,
       .max = 1000000},
      {.path = "parallel.schedule",
       .kind = FieldKind::choice,
       .help = "Order of forward and backward passes on a stage.",
       .example = "1f1b",
       .default_text = "1f1b",
       .choices = choices_of<ScheduleKind>()},
      {.path = "parallel.microbatch_group",
       .kind = FieldKind::integer,
       .help = "With schedule: interleaved, micro-batches that a chunk takes in a row; left out, "
               "as many as stages.",
       .example = "8",
       .min = 1,
       .max = 1000000},
  };
}

std::vector<Field> replica_fields() {
  return {
      {.path = "parallel.expert",
       .kind = FieldKind::integer,
       .help = "GPUs that the experts of a mixture-of-experts layer are sharded across.",
       .example = "1",
       .default_text = "1",
       .min = 1,
       .max = 1000000},
      {.path = "parallel.expert_tensor",
       .kind = FieldKind::integer,
       .help = "GPUs that every weight matrix of an expert is sharded across; left out, as many as "
               "parallel.tensor.",
       .example = "1",
       .min = 1,
       .max = 1000000},
      {.path = "parallel.data",
       .kind = FieldKind::integer,
       .help = "Replicas that see different sequences; left out, all GPUs / (tensor * context * "
               "pipeline).",
       .example = "16",
       .min = 1,
       .max = 1000000000},
      {.path = "parallel.processes",
       .kind = FieldKind::choice,
       .help = "How processes drive GPUs: per-gpu (DistributedDataParallel, FSDP; what a file "
               "without this key means), or per-host, one process with a thread for each GPU of "
               "the one host (torch.nn.DataParallel).",
       .example = "per-gpu",
       .choices = choices_of<ProcessKind>()},
      {.path = "parallel.gather",
       .kind = FieldKind::choice,
       .help = "What torch.nn.DataParallel brings to GPU 0: outputs (logits of all replicas, the "
               "loss is computed there; what a file without this key means), or loss (computed "
               "inside the module, one number per replica).",
       .example = "outputs",
       .choices = choices_of<GatherKind>()},
      {.path = "parallel.zero",
       .kind = FieldKind::integer,
       .help = "What replicas shard instead of copy: 0 nothing (DDP), 1 optimizer states, 2 also "
               "gradients, 3 also weights (fully sharded). Under a pipeline 2 and 3 are FSDP2's "
               "(torchtitan, NeMo AutoModel).",
       .example = "1",
       .default_text = "0",
       .min = 0,
       .max = 3},
      {.path = "parallel.zero_group",
       .kind = FieldKind::integer,
       .help =
           "Replicas that one shard set is spread over (hybrid sharding); left out, all of them.",
       .example = "8",
       .min = 1,
       .max = 1000000000},
      {.path = "parallel.stage_layers",
       .kind = FieldKind::integer_list,
       .help = "Layers of each pipeline stage, first stage first; left out, split evenly.",
       .example = "[19, 20, 20, 21]",
       .min = 0,
       .max = 1000000},
  };
}

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
       .help = "fp8 training keeps the weights in fp8 only, and gathers them so "
               "(--fp8-param-gather of Megatron-LM): with parallel.zero 1 on Megatron-Core.",
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
       {parallel_fields(), replica_fields(), memory_fields(), memory_detail_fields(),
        memory_rest_fields(), profile_fields()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace foretrain
