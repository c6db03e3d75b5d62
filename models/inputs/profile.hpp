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
#include "models/inputs/collective_protocols.hpp"
#include "models/inputs/device.hpp"
#include "models/inputs/memory_rules.hpp"

namespace foretrain {

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
  /// (exposed_exchange.hpp); 1: nothing is gained. Tensor ranks' beside the product that needs or
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
  Seconds step_constant;  ///< c0 per optimizer step
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
