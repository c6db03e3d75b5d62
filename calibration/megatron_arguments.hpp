// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/job.hpp"

namespace foretrain {

/// Megatron-LM arguments without the leading dashes; flags hold "true".
using MegatronArguments = std::map<std::string, std::string>;

/// What Megatron-LM arguments do not say.
struct MegatronEnvironment {
  int gpus = 8;
  int vocabulary = 50257;                        ///< of the tokenizer where no argument tells
  std::map<std::string, std::string> variables;  ///< NVTE_*, CUBLAS_WORKSPACE_CONFIG, ...
};

/// Which implementation of fully sharded data parallelism the arguments choose.
enum class MegatronFsdp { none, megatron, torch };

/// A job and what could not be carried over into it.
struct MegatronMapping {
  Job job;  ///< shape, training, parallel, memory; no cluster
  bool transformer_engine = true;
  MegatronFsdp fsdp = MegatronFsdp::none;
  std::vector<std::string> unmodelled;    ///< arguments that change memory but are not modelled
  std::vector<std::string> approximated;  ///< the same, but so little that the forecast stands
  std::vector<std::string> unknown;       ///< arguments that this mapping has never heard of
  std::vector<std::string> errors;        ///< missing or unreadable values; then `job` is void
};

/// Reads arguments with the meaning and defaults of Megatron-LM's training/arguments.py.
[[nodiscard]] MegatronMapping map_megatron_arguments(const MegatronArguments& arguments,
                                                     const MegatronEnvironment& environment);

/// Layers of every virtual chunk in model order from `--pipeline-model-parallel-layout`, e.g.
/// "Et*3|(tt|)*29,m|L": E embedding, t layer, m prediction module, L loss, | end of a chunk.
/// Empty when the text is malformed.
[[nodiscard]] std::vector<int> megatron_pipeline_layout(const std::string& text);

/// One entry per layer from `--moe-layer-freq`: "2", "[0,1,1]" or "([0]*3+[1]*11)".
/// Empty when the text is malformed.
[[nodiscard]] std::vector<int> megatron_layer_pattern(const std::string& text, int layers);

}  // namespace foretrain
