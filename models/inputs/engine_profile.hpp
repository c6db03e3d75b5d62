// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "models/base/provenance.hpp"
#include "models/base/quantity.hpp"
#include "models/inputs/profile.hpp"

namespace foretrain {

/// Time and memory constants of an inference engine (vLLM, SGLang, TensorRT-LLM, or `generic`,
/// which is their mean with a wider band); equations in models/serving/README.md.
struct EngineTimes {
  Seconds step;          ///< between two steps, whatever they hold: what the host does not hide
  Seconds per_sequence;  ///< the same for each sequence of a step: sampling, detokenising
  Seconds per_request;   ///< arrival to first schedule: tokenising, HTTP, queues between processes
  /// Until a prompt's token is out, for each kernel of the model: work of the host that holds up
  /// the prompt and not those who decode.
  Seconds first_kernel;
  Seconds kernel;          ///< start and end of one kernel inside a CUDA graph
  Seconds launch;          ///< of one kernel without: what the host takes to launch it
  double memory = 0.8;     ///< share of the datasheet bandwidth that weights reach at small batch
  double cache = 0.7;      ///< the same for keys and values in blocks
  double unpacked = 0.8;   ///< rate of GEMMs whose weights are unpacked to 16 bits on the way
  double compute = 1.0;    ///< GEMMs of prefill against the device's sustained rate
  double attention = 1.0;  ///< attention of prefill against the device's rate
  double experts = 1.0;    ///< grouped experts against GEMMs of as many rows
  double fused_experts = 1.0;  ///< the same of experts that multiply in 4 bits, in fused kernels
  /// The same on Hopper, of experts in fewer than 16 bits, whose kernels scale or unpack on the
  /// way.
  double hopper_experts = 1.0;
  double expert_memory = 0.7;  ///< as `memory`, of the routed experts' weights
  /// Of a layer with routed experts, whatever its rows: choosing, sorting and bringing rows to
  /// experts and back, beyond the kernels of the two products.
  Seconds expert_start;
  Seconds fused_expert_start;  ///< the same of experts that multiply in 4 bits, in fused kernels
  Seconds quantise;            ///< bringing a product's rows to fewer bits, whatever their number
  /// How evenly experts are chosen: shape of the gamma distribution of their popularity; the larger
  /// the more evenly.
  double routing = 4.0;
  Seconds exchange;             ///< start of an all-reduce of one shot, beyond a kernel
  Seconds dispatch;             ///< start of a dispatch of decoded rows to experts, or of a combine
  Seconds dispatch_prompts;     ///< the same of a step with prompts (DeepEP's normal mode)
  double exchange_share = 0.5;  ///< of the link rate that exchanges of steps reach
  /// How much clients that started together stay together: 0, each asks at a time of its own; 1,
  /// all prompts come at once and all answers decode in step.
  double burst = 0.5;
};

/// How the engine uses memory and batches.
struct EngineRules {
  double memory_share = 0.9;  ///< of the device that the engine takes (gpu_memory_utilization)
  /// memory_share is of what is free once weights are there, for the cache alone
  /// (free_gpu_memory_fraction); else of the whole device, for everything.
  bool share_of_free = false;
  Bytes runtime;            ///< CUDA context, NCCL, workspaces
  Bytes graphs;             ///< captured CUDA graphs
  int block_tokens = 16;    ///< of a page of the cache
  int token_budget = 8192;  ///< tokens of a step at most (chunked prefill)
  int sequences = 1024;     ///< of a step at most
  /// A request starts only where the cache of its whole answer fits (TensorRT-LLM's
  /// GUARANTEED_NO_EVICT); else the cache grows, and the last to start make room where it is full.
  bool reserves_output = false;
  bool mixed_steps = true;  ///< prefill chunks beside decode sequences in one step
  /// Rows that every expert of a rank has at least in blocks of 8 bits on Hopper, used or not, with
  /// its weights read (DeepGEMM's contiguous layout); 0: experts have the rows that reach them.
  int padded_rows = 0;
  /// Of the one table that this was learnt from: experts of a layer, the width of each, the device.
  /// Elsewhere experts have the rows that reach them, and the band holds both.
  int padded_experts = 0;  ///< 0: of any model and device
  int padded_width = 0;
  std::string padded_device{};
};

/// An engine release. Data: calibration/profiles/engine.
struct EngineProfile {
  std::string name;
  std::string title;
  EngineTimes times;
  EngineRules rules;
  /// Measured over predicted, 10th and 90th percentile over groups of records that were left out.
  ResidualBand ttft;
  ResidualBand tpot;
  ResidualBand throughput;
  ResidualBand stranger;  ///< as `tpot`, of kinds of models on devices that no record has
  Provenance provenance;
};

}  // namespace foretrain
