// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/prediction.hpp"
#include "models/inputs/cluster.hpp"
#include "models/inputs/engine_profile.hpp"
#include "models/inputs/llm.hpp"
#include "models/inputs/profile.hpp"

namespace foretrain {

/// How weights lie in memory. Scales are counted: fp8 one per tensor, fp8-block one per 128 x 128,
/// mxfp4 one byte per 32, nvfp4 one per 16, int4 16 bits per 128.
enum class WeightFormat : std::uint8_t { bf16, fp8, fp8_block, mxfp4, nvfp4, int4 };
FORETRAIN_ENUM_NAMES(WeightFormat, {WeightFormat::bf16, "bf16"}, {WeightFormat::fp8, "fp8"},
                     {WeightFormat::fp8_block, "fp8-block"}, {WeightFormat::mxfp4, "mxfp4"},
                     {WeightFormat::nvfp4, "nvfp4"}, {WeightFormat::int4, "int4"});

enum class CacheFormat : std::uint8_t { bf16, fp8 };
FORETRAIN_ENUM_NAMES(CacheFormat, {CacheFormat::bf16, "bf16"}, {CacheFormat::fp8, "fp8"});

/// What inference computes and keeps in how many bits. Norms, router, embedding and output layer
/// stay in 16 bits.
struct ServingPrecision {
  WeightFormat attention = WeightFormat::bf16;  ///< projections of attention
  WeightFormat linear = WeightFormat::bf16;     ///< dense MLPs and shared experts
  WeightFormat experts = WeightFormat::bf16;    ///< routed experts
  CacheFormat cache = CacheFormat::bf16;
};

/// Ranks of one replica. Attention is cut over `tensor` ranks and copied to `attention_data` groups
/// of them, each with requests of its own; experts are spread over `expert` groups of the
/// replica's ranks and cut over those of a group.
struct ServingLayout {
  int tensor = 1;
  int pipeline = 1;
  int attention_data = 1;
  int expert = 1;
  int replicas = 1;

  /// GPUs of a pipeline stage.
  [[nodiscard]] int stage() const { return tensor * attention_data; }
  [[nodiscard]] int expert_tensor() const { return stage() / expert; }
  /// GPUs of one replica.
  [[nodiscard]] int gpus() const { return stage() * pipeline; }
};

/// Drafts that one pass verifies: multi-token prediction, EAGLE, a draft model.
struct Speculation {
  int drafted = 0;           ///< tokens per step and sequence; 0: none
  double acceptance = 0.0;   ///< probability that a draft holds where those before it do
  double draft_share = 0.0;  ///< time of making one draft over that of a step

  /// Tokens that a step yields per sequence: 1 + a + a^2 + ... (Leviathan et al., arXiv 2211.17192
  /// equation 1).
  [[nodiscard]] double tokens_per_step() const;
};

/// A model on an engine on GPUs: everything that an inference step's time and memory follow from.
struct Deployment {
  LlmShape model;
  Cluster cluster;
  DeviceProfile kernels;
  SiteProfile site;
  EngineProfile engine;
  ServingLayout layout;
  ServingPrecision precision;
  Speculation speculation;
  bool cuda_graphs = true;  ///< decode steps are captured; prefill is launched kernel by kernel
};

/// Why the deployment cannot run, or what of it is not modelled, by name; empty: nothing.
[[nodiscard]] std::vector<Infeasible> deployment_reasons(const Deployment& deployment);

/// Bytes of a weight with its share of the scales.
[[nodiscard]] double weight_bytes(WeightFormat format);
[[nodiscard]] double cache_element_bytes(CacheFormat format);

/// Measured over forecast in 80 % of runs.
struct ServingBands {
  ResidualBand ttft;
  ResidualBand tpot;
  ResidualBand throughput;
};

/// Whether every expert of the deployment has EngineRules::padded_rows, used or not.
[[nodiscard]] bool pads_experts(const Deployment& deployment);
/// Whether it may: its experts are in blocks of 8 bits on such a device, but not those of the table
/// that the rule was learnt from.
[[nodiscard]] bool may_pad_experts(const Deployment& deployment);

/// The engine's; where its experts may be padded, that of a stranger, and as much slower as a step
/// of so many sequences is with padded ones.
/// @pre deployment_reasons(deployment) is empty; sequences >= 1
[[nodiscard]] ServingBands serving_bands(const Deployment& deployment, double sequences,
                                         double context);

}  // namespace foretrain
