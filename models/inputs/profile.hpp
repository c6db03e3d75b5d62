// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "models/base/names.hpp"
#include "models/base/provenance.hpp"
#include "models/base/quantity.hpp"
#include "models/inputs/band_table.hpp"
#include "models/inputs/cluster.hpp"
#include "models/inputs/device.hpp"

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
  /// Gradients of shards wait in host memory where the optimizer does (DeepSpeed)
  bool offloads_gradients = false;
  bool root_gathered = false;  ///< embedding and output stay gathered through both passes (FSDP1)
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

/// Measured over predicted time of isolated kernels: 10th and 90th percentile over the benchmarks
/// that the constants were fitted on. 1 and 1: not known.
struct ResidualBand {
  double low = 1.0;
  double high = 1.0;
};

/// Matrix multiplication on one device and precision; see models/kernels/README.md, "GEMM".
struct GemmProfile {
  double efficiency = 0.0;  ///< eta: share of the dense peak reached by a long full wave
  double ramp_k = 0.0;      ///< K0: depth whose cost a tile pays on top of K
  double tile_128 =
      1.0;  ///< rate of a 128x128 tile relative to 256x128; 64-wide tiles get 0.8, 0.6, 0.4 of it
  double sustained = 1.0;  ///< clock under training load over clock in the isolated benchmark
  Seconds launch;          ///< t0: floor of one kernel
};

/// Who wrote a fused attention kernel; `stack`: whose the software takes by itself.
enum class AttentionLibrary : std::uint8_t { stack, flash2, flash3, vendor };
FORETRAIN_ENUM_NAMES(AttentionLibrary, {AttentionLibrary::stack, "stack"},
                     {AttentionLibrary::flash2, "flash-2"}, {AttentionLibrary::flash3, "flash-3"},
                     {AttentionLibrary::vendor, "cudnn"});

/// Fused attention kernels run alone, forward pass, causal FLOP counted half; 0: not measured.
struct AttentionKernels {
  FlopPerSecond flash3;
  FlopPerSecond vendor;  ///< cuDNN, TensorRT-LLM
  FlopPerSecond flash2;
  double flash2_both = 1.0;    ///< FlashAttention-2: forward and backward together over forward
  double length_half = 512.0;  ///< keys at which half of the rate is reached
  double tiles_half = 0.0;
  double small_head = 1.0;
};

/// Fused (flash) attention; rate = peak * length/(length+512) * tiles/(tiles+tiles_half).
struct AttentionProfile {
  FlopPerSecond rate;         ///< forward plus backward, causal FLOP counted half; newest kernels
  FlopPerSecond flash2_rate;  ///< the same with FlashAttention-2; 0: as `rate`
  double tiles_half = 0.0;    ///< query tiles at which the device is half full
  double small_head = 1.0;    ///< factor for head dimensions up to 64
  /// Rate with 8-bit queries, keys and values over that in 16 bits, forward pass; GB200 and B300
  /// (kernels_2026.csv, 40 shapes each) say 1.16 and 1.19.
  double eight_bit = 1.17;
  /// Time of an unfused batched product whose head dimension is not a multiple of 8, over that of
  /// an aligned one: the tensor cores' wide loads do not apply.
  double misaligned = 1.0;
};

/// What kernels that run again and again by themselves show besides the constants of training.
struct KernelsAlone {
  /// tau: duration around which a matrix product loses the clock of short ones to the power limit;
  /// 0: long ones were not measured.
  Seconds boost;
  double long_clock = 1.0;  ///< clock of products much longer than that over that of short ones
  AttentionKernels attention;
  ResidualBand gemm_band;
  ResidualBand attention_band;
  ResidualBand memory_band;
};

/// Cost of one collective on one level of the network: launch + steps * per_step + ramp *
/// sqrt(bytes) + traffic / (share * link rate). The square root stands for the change of protocol
/// and channel count with size (fits 108 measured sweeps to 5.7 %; models/collectives/README.md,
/// "Collectives in training").
struct CollectiveCost {
  Seconds launch;      ///< fixed cost of one call
  Seconds per_step;    ///< per ring step between the members of this level
  Seconds ramp;        ///< times the square root of the payload in bytes
  double share = 1.0;  ///< measured share of the link rate that large messages reach
};

/// What one device really delivers. Data: calibration/profiles/device.
struct DeviceProfile {
  std::string name;
  std::map<Precision, GemmProfile> gemm;
  AttentionProfile attention;
  double memory_efficiency = 0.0;  ///< streaming kernels' share of the datasheet bandwidth
  KernelsAlone alone;
  CollectiveCost inside;          ///< collectives within one host, over its scale-up links
  CollectiveProtocols protocols;  ///< the same collectives alone, by protocol
  Provenance provenance;
  /// Of constants in proportion to datasheets: how far the rates that last may be off (of ln),
  /// since a datasheet does not say whether power limits them. models/forecast/README.md, "Band".
  double apart = 0.0;
  /// How far constants of devices with the same cores are apart in 16-bit training (of ln): what
  /// runs of one of them had, power or software, another one's need not.
  double kin_apart = 0.0;
};

/// Time constants of a training framework; equations in models/layers/README.md.
struct StackTimes {
  double elementwise = 1.0;          ///< em: bytes really moved over the minimum of fused kernels
  double fused_elementwise = 1.5;    ///< the same of kernels in training.fused_kernels
  double head = 1.0;                 ///< he: same for the loss, in units of 18 bytes per logit
  double score_forward_bytes = 0.0;  ///< unfused attention: bytes per score element, forward
  double score_backward_bytes = 0.0;
  double flash_factor = 1.0;      ///< fused attention against the device profile's rate
  bool flash2 = false;            ///< fused attention is FlashAttention-2, not the newest kernels
  bool flash2_to_hopper = false;  ///< with flash2: newer devices run the vendor's kernels
  Seconds launch_forward;         ///< CPU-side floor of one layer, forward
  Seconds launch_backward;
  Seconds launch_tensor;  ///< growth of both floors: times (tensor - 1)^1.23, up to 8 ranks
  Seconds layer_fixed;    ///< gaps between the kernels of one layer pass, on the device
  Seconds head_fixed;     ///< the same for the output layer and the loss, both passes together
  /// What kernels lose to an exchange beside them, as a share of the time in which both run
  /// (collective_cost.hpp); 1: nothing is gained. Tensor ranks' beside the product that needs or
  /// makes what is exchanged, with communication.overlap.tensor.
  double tensor_slowdown = 1.0;
  /// Sums of the gradients of inputs beside the product of the weights' gradients without it.
  double tensor_slowdown_backward = 1.0;
  double context_slowdown = 0.3;  ///< blocks of keys and values beside attention
  double expert_slowdown = 0.15;  ///< all-to-alls beside another micro-batch: 20 of 132
                                  ///< multiprocessors (arXiv 2412.19437 section 3.2.2)
  double shard_slowdown = 0.1;    ///< sharded gathers and reductions beside a layer's passes
  double data_slowdown = 0.05;    ///< gradients and weights once per step beside passes
  bool scatter_gather =
      true;  ///< stage boundaries carry 1/tensor of an activation, gathered inside the host
  /// Parameters of a bucket of gradients or gathered weights where the scenario gives none, at
  /// least, and per rank that holds the same weights; 0: communication.bucket.
  double bucket = 0.0;
  double bucket_per_rank = 0.0;
  /// Only the first chunk of the first stage goes in buckets, every other one whole.
  bool bucket_first_chunk = false;
  double shard_bus = 1.0;  ///< share of its bus bandwidth that a sharded (FSDP) gather reaches
  double vocabulary_split = 1.0;  ///< output layer split over the stages against one whole
  Seconds shard_update;  ///< per step and further rank of the shard group: updates sent one by one
  // Defaults of the next rows: megatron-core on H100, the only stack they were fitted on.
  double expert_elementwise = 3.6;     ///< as `elementwise`, for routing, permuting and experts
  double grouped_product = 1.0;        ///< experts' products against products on streams
  Seconds expert_latency = 0.24 * ms;  ///< per dispatch: counts to the host, waiting
  double fp8_cast_forward = 0.84;      ///< casts against what fused kernels would move at least
  double fp8_cast_backward = 1.25;
  double fp8_row_casts = 1.0;  ///< casts with a scale per row against those with one per tensor
  /// Summing up gradients in fp32 in kernels of its own, against 8 bytes per weight and
  /// micro-batch.
  double gradient_sums = 0.0;
  /// The same where the product that makes them writes the sums: of traffic that takes m beside a
  /// product of c, this times m / (m + c) does not hide.
  double gradient_sums_fused = 0.0;
  /// Bytes per element that are copied beside every tensor-parallel exchange, because the layout
  /// is not that of the exchange (batch before sequence).
  double exchange_copy = 0.0;
  /// Of an offloaded optimizer: a host's processors per parameter. PyTorch's AdamW takes 1.39
  /// to 1.49 ns, fused CPU Adam 0.22 to 0.30 (arXiv 2101.06840 table 4, 1 to 10 billion
  /// parameters).
  Seconds host_update = 0.00143 * us;
  bool updates_side_by_side = false;  ///< each process of a host at that rate, not all together
  Seconds step_constant;              ///< c0 per optimizer step
  /// The shortest step that the constant was fitted to; shorter ones have it in proportion, since
  /// what all of them share may be a share of theirs. 0: of steps as short as any.
  Seconds constant_from;
  double jitter = 0.0;   ///< per log2(hosts): the slowest of many ranks
  double release = 1.0;  ///< whole step, against the release that the other constants describe
};

/// A training framework release. Data: calibration/profiles/stack.
struct StackProfile {
  std::string name;
  std::string title;
  StackTimes times;
  MemoryRules memory;
  /// Measured over predicted step time: 10th and 90th percentile over the records of this stack.
  double band_low = 1.0;
  double band_high = 1.0;
  /// What bands are made of; nothing: the residuals above alone.
  std::shared_ptr<const BandTable> bands;
  /// Eager PyTorch modules in a training loop of one's own, which torch.nn.DataParallel can wrap.
  bool eager_torch = false;
  Provenance provenance;
};

/// What a cluster's links and hosts really deliver. Data: calibration/profiles/site.
/// Shares are of the fabric preset's achievable rate.
struct SiteProfile {
  std::string name;
  CollectiveCost across;    ///< collectives that cross hosts, where several ranks share a host
  double lone_share = 1.0;  ///< share of a group with one rank per host: its ring uses one NIC
  double send_share = 1.0;  ///< share of point-to-point traffic between pipeline stages
  Seconds wait;             ///< what the slowest rank adds to every collective inside a host
  double clock = 1.0;       ///< products and attention: clock under load over the device profile's
  Provenance provenance;
};

}  // namespace foretrain
