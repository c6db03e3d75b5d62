// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/base/quantity.hpp"
#include "models/inputs/fine_tuning.hpp"
#include "models/inputs/fused_kernels.hpp"
#include "scenarios/sections/plan_keys.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain {

/// Mixture of experts as a measured record describes it.
struct RunMoe {
  std::optional<int> experts, top_k, shared, expert_ffn, shared_ffn, first_dense_layers;
  bool mla = false;
};

/// One training run somebody measured and published: calibration/measured/README.md explains the
/// fields. Absent means that the source does not say.
struct RunRecord {
  std::string id, source, confidence, gpu, precision, recompute, schedule, attention_kernel, notes;
  std::string network, optimizer, flops_convention;
  std::string architecture, model_name;
  std::string catalog_model;  ///< whose shape it has, in place of one of its own
  std::string task;           ///< pretrain, finetune, ...
  std::string kind;           ///< inference, rl, ...; empty: a training run
  std::string stack;          ///< stack profile of the framework; empty: that of the source family
  std::string site;           ///< site profile; likewise
  std::string host, fabric;   ///< catalog names; empty: by gpu and network
  std::optional<int> layers, hidden, heads, kv_heads, head_dim, ffn_hidden, vocabulary, sequence;
  std::optional<bool> gated_mlp, tied_embeddings;
  std::optional<RunMoe> moe;
  std::optional<int> gpus, gpus_per_node;
  std::optional<int> tensor, pipeline, virtual_stages, data, context, expert, expert_tensor;
  std::optional<int> layers_last_stage;
  std::optional<int> zero_group;  ///< replicas that share a set of shards; absent: all
  std::optional<bool> sequence_parallel, distributed_optimizer, compiled;
  std::optional<bool> overlap_gradients, overlap_tensor, overlap_pipeline;
  bool sliding_window = false;
  std::optional<int> window;      ///< tokens that a token sees in layers that have a window
  std::optional<int> full_every;  ///< every such layer sees everything
  /// Fields of what notes used to say (run_options.hpp). CUDA graphs: Megatron-Core's scopes.
  std::optional<std::vector<std::string>> cuda_graphs;
  std::optional<bool> eight_bit_weights, balanced_experts, overlap_experts;
  std::optional<bool> grouped_experts, fused_permutation, fused_loss;
  std::optional<FusedKernels> fused_kernels;
  std::optional<bool> scatter_gather;  ///< stage boundaries carry 1/tensor of an activation
  std::optional<bool> reshards;        ///< of FSDP: weights are gathered again backward
  std::string fp8_scaling;             ///< tensor, current, row or block; empty: as precision says
  std::optional<int> offloaded_layers;
  std::optional<std::string> pipeline_layout;  ///< as --pipeline-model-parallel-layout
  std::string dispatcher;                      ///< alltoall, deepep or hybridep
  std::optional<int> mtp_layers;
  std::string context_kind;  ///< how context ranks exchange: ring, ulysses, ...; empty: a ring
  /// The same; nothing where the word is not known.
  [[nodiscard]] std::optional<ContextExchange> context_exchange() const;
  std::string zero;
  std::string cpu_offload, activation_offload;  ///< what waits on the host, in the source's words
  bool tiled_mlp = false;                       ///< MLPs take the sequence in pieces
  std::optional<int> micro_batch, global_batch;
  std::optional<double> iteration_s, tokens_per_s_per_gpu, tokens_per_s, tflops_per_gpu, mfu_pct;
  std::optional<double> sequences_per_s, sequences_per_s_per_gpu;
  std::optional<double> parameters_b;                              ///< label size in 1e9
  std::optional<double> memory, memory_reserved, memory_min_rank;  ///< in memory_unit
  std::vector<double> memory_by_rank_gib, memory_by_stage_gib;
  std::string memory_unit, memory_kind;
  bool out_of_memory = false;
  std::optional<FineTuning> fine_tuning;  ///< what was trained; absent: the source family's
  std::optional<Samples> samples;         ///< that rows were made of
  std::vector<PlanKeyValue> plan;         ///< what no field of a record says, as scenarios do
  std::vector<std::string> tags;
  std::vector<std::string> assumptions;  ///< that the reader of a table made for its rows

  /// Text before the first dash of the id: the source family.
  [[nodiscard]] std::string family() const;
  /// Whether it is of training, as far as the source says; not of serving or reinforcement
  /// learning.
  [[nodiscard]] bool trains() const { return kind.empty() || kind == "training"; }
  /// Whether the source says how fast the run was, in whatever unit: a run that ran.
  [[nodiscard]] bool tells_speed() const;
};

/// The first number of a record that is outside its limits; empty where none is.
[[nodiscard]] std::string outside_limits(const RunRecord& record);

/// Which counter a figure of memory is of: of tensors, of what the allocator keeps, or of the
/// device.
enum class MemoryCounter { allocated, reserved, device };

struct RecordedMemory {
  Bytes size;
  MemoryCounter counter = MemoryCounter::allocated;
};
/// Nothing where the record has none.
[[nodiscard]] std::optional<RecordedMemory> recorded_memory(const RunRecord& record);

/// Whether no rank exchanges tokens with others, as far as a source that does not state ranks of
/// experts tells: one GPU, or fine-tuning over replicas alone, as trainers of Hugging Face models
/// do.
[[nodiscard]] bool holds_all_experts(const RunRecord& record);

/// Reads a record. One that is no map or lacks an id, and keys that no record has, become
/// diagnostics at their place.
[[nodiscard]] std::optional<RunRecord> read_run_record(const YamlNode& node,
                                                       Diagnostics& diagnostics);

/// Reads all records of a file in the format of calibration/measured/runs.yaml. Records that are no
/// maps or lack an id become diagnostics under `name`.
[[nodiscard]] std::vector<RunRecord> read_run_records(const YamlNode& document,
                                                      const std::string& name,
                                                      Diagnostics& diagnostics);

/// The limits under which a file of measured records is parsed; larger than a scenario's.
[[nodiscard]] YamlLimits run_record_limits();

}  // namespace foretrain
