// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/quantity.hpp"

namespace foretrain {

/// What a training framework keeps in device memory beyond the tensors that the mathematics asks
/// for. Every value belongs to a stack, none to a run. Data: calibration/profiles/stack;
/// sources of each row: models/memory/README.md.
struct MemoryRules {
  // Bytes per parameter.
  double weight_bytes = 2.0;          ///< resident, 16-bit training
  double compute_weight_bytes = 0.0;  ///< 16-bit copy gathered for use when weights rest in fp32
  double gradient_bytes = 4.0;        ///< resident, bf16 training
  double gradient_bytes_fp16 = 2.0;   ///< resident, fp16 training
  double step_gradient_bytes = 0.0;   ///< only from the optimizer step to zero_grad, bf16
  double step_gradient_bytes_fp16 = 4.0;  ///< the same in fp16: fp32 main gradients
  /// Cached copies of every linear weight where both layouts of fp8 are kept; other recipes keep
  /// theirs in proportion (recipe.hpp).
  double fp8_copy_bytes = 0.0;
  bool fp8_saves_inputs = false;  ///< inputs of linear layers wait as they were multiplied
  double optimizer_bytes = 12.0;  ///< AdamW before sharding (fp32 master, two moments)
  double reduce_bytes = 0.0;      ///< of one layer while its gradients are reduced (FSDP)
  Bytes reduce_bucket;            ///< flat copy of the gradients being reduced (DeepSpeed ZeRO)
  /// Copies of a moment of all trained parameters that a step makes (PyTorch's foreach AdamW).
  double step_copies = 0.0;
  double gathered_layers = 2.0;  ///< of ZeRO-3: in use, and fetched ahead
  bool root_gathered = false;    ///< embedding and output stay gathered through both passes (FSDP1)
  /// More copies of layers' inputs that the backward pass holds beside adapters, with recomputation
  /// and sharded weights.
  double adapter_input_copies = 0.0;
  bool gradients_resident = true;  ///< false: freed by zero_grad(set_to_none) after the step

  // The loss on the last stage, bytes per logit.
  double loss_bytes = 6.0;
  double loss_bytes_fused = 10.0;    ///< with a fused (compiled) cross-entropy
  double loss_bytes_engine = 2.0;    ///< with Transformer Engine's cross-entropy, in place
  double loss_backward_bytes = 2.0;  ///< gradient of the logits when the output layer goes back
  bool loss_split = true;            ///< logits stay split over tensor ranks

  // Activations.
  double score_bytes = 5.0;  ///< per attention score, unfused attention with dropout
  double score_bytes_no_dropout = 2.0;
  double score_bytes_unfused_softmax = 2.0;  ///< added when softmax is fp32 and not fused
  double norm_extra_bytes = 0.0;    ///< per hidden element and layer: RMSNorm in plain torch
  double rotary_extra_bytes = 0.0;  ///< per query/key element: rotary embedding in plain torch
  bool swiglu_fused = true;         ///< false keeps one more MLP activation
  bool flash_output_copy = false;  ///< flash attention keeps its output beside the projection input
  double expert_imbalance = 0.0;   ///< over sqrt(local experts * top_k): excess of the busiest rank
  double transient_share = 0.5;    ///< of one layer's MLP and residual gradients alive at once
  bool output_deallocation = true;  ///< a stage frees its output once it is sent

  // Buffers that outlive a step.
  bool dummy_gradients = false;   ///< Transformer Engine keeps one gradient per weight shape
  bool score_buffer = false;      ///< Megatron "local": one layer's scores in the global buffer
  bool gather_buffer = false;     ///< Megatron: gathered input of sequence parallelism is kept
  double boundary_tensors = 0.0;  ///< pipeline boundary tensors that linger
  double boundary_tensors_per_chunk = 0.0;  ///< and for every further virtual chunk
  double context_buffers = 0.0;             ///< key/value blocks in exchange between context ranks
  int cublas_handles = 2;                   ///< threads that multiply: forward and autograd
  Bytes cublas_workspace_ampere = 8.125 * MiB;        ///< PyTorch, per handle, up to Ampere
  Bytes cublas_workspace_hopper = 32.0 * MiB;         ///< PyTorch, per handle, Hopper and later
  Bytes cublas_workspace_deterministic = 32.0 * MiB;  ///< CUBLAS_WORKSPACE_CONFIG=:4096:8
  Bytes te_workspace_ampere;  ///< Transformer Engine cuBLAS workspace by architecture
  Bytes te_workspace_hopper;
  int grouped_gemm_streams = 0;  ///< further Transformer Engine workspaces with grouped GEMM

  // From torch's counters to the device counter.
  double reserved_over_allocated = 1.04;  ///< caching allocator: reserved over allocated
  /// What the cache shrinks to when the device is nearly full; "fits" is judged with it.
  double least_reserved = 1.02;
  /// Per attention score of one layer, unfused: freed score tensors whose blocks the allocator can
  /// neither split for larger tensors nor give back, as smaller tensors live inside them.
  double score_cache_bytes = 0.0;
  /// Per logit that is not made in chunks: freed copies of the logits that the allocator keeps
  /// while there is room.
  double loss_cache_bytes = 0.0;
  double band = 0.05;           ///< 90th percentile of the error of allocated, share
  double reserved_band = 0.05;  ///< the same of reserved over allocated, cache alone
  Bytes context;                ///< CUDA context and loaded kernels, outside the allocator
  Bytes communicator;           ///< NCCL buffers of one communicator
};

}  // namespace foretrain
