// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/inputs/job.hpp"

namespace foretrain {

struct Dialect;

/// Megatron-LM arguments without the leading dashes; flags hold "true".
using MegatronArguments = std::map<std::string, std::string>;

/// What Megatron-LM arguments do not say.
struct MegatronEnvironment {
  int gpus = 8;
  int vocabulary = 50257;                        ///< of the tokenizer where no argument tells
  std::map<std::string, std::string> variables;  ///< NVTE_*, CUBLAS_WORKSPACE_CONFIG, ...
  /// Of a batch that grows, the last size is taken, not the first.
  bool final_batch = false;
};

/// Which implementation of fully sharded data parallelism the arguments choose.
enum class MegatronFsdp { none, megatron, torch };

/// A job and what could not be carried over into it.
struct MegatronMapping {
  Job job;  ///< shape, training, parallel, memory; no cluster
  bool transformer_engine = true;
  bool deepspeed = false;  ///< DeepSpeed keeps optimizer and data parallelism
  MegatronFsdp fsdp = MegatronFsdp::none;
  std::vector<std::string> unmodelled;    ///< arguments that change memory but are not modelled
  std::vector<std::string> approximated;  ///< the same, but so little that the forecast stands
  std::vector<std::string> unknown;       ///< arguments that this mapping has never heard of
  std::vector<std::string> read;          ///< arguments that decided something
  std::vector<std::string> ignored;       ///< arguments known to leave memory as it is
  std::vector<std::string> errors;        ///< missing or unreadable values; then `job` is void
};

/// Reads arguments with the meaning and defaults of Megatron-LM's training/arguments.py.
[[nodiscard]] MegatronMapping map_megatron_arguments(const MegatronArguments& arguments,
                                                     const MegatronEnvironment& environment);

/// What is known of Megatron-LM's arguments: scenarios/dialects/megatron.yaml.
[[nodiscard]] const Dialect& megatron_dialect();

/// The part that CUDA graphs capture under this name (--cuda-graph-scope); nothing where it is not
/// modelled.
[[nodiscard]] std::optional<GraphPart> megatron_graph_part(std::string_view name);

/// True when the argument is known to leave GPU memory as it is, or to have no effect worth a row.
[[nodiscard]] bool leaves_memory_alone(const std::string& name);

/// Arguments that the mapping asks for or passes over, sorted; for "did you mean".
[[nodiscard]] const std::vector<std::string>& known_megatron_arguments();

/// Layers of every virtual chunk in model order from `--pipeline-model-parallel-layout`, e.g.
/// "Et*3|(tt|)*29,m|L": E embedding, t layer, m prediction module, L loss, | end of a chunk.
/// Empty when the text is malformed.
[[nodiscard]] std::vector<int> megatron_pipeline_layout(const std::string& text);
/// The chunk of such a layout that holds prediction modules (m), from 0 on; nothing: none does.
[[nodiscard]] std::optional<int> megatron_prediction_chunk(const std::string& text);

/// One entry per layer from `--moe-layer-freq`: "2", "[0,1,1]" or "([0]*3+[1]*11)".
/// Empty when the text is malformed.
[[nodiscard]] std::vector<int> megatron_layer_pattern(const std::string& text, int layers);

}  // namespace foretrain
