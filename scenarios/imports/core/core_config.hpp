// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "models/inputs/fine_tuning.hpp"
#include "scenarios/imports/frameworks/tree_reader.hpp"
#include "scenarios/imports/megatron/megatron_source.hpp"

namespace foretrain {

/// Where a framework over Megatron-Core keeps the fields of its configuration classes, as dotted
/// paths; empty: it has no such group.
struct CoreGroups {
  std::vector<std::string> model;  ///< TransformerConfig and ModelParallelConfig
  std::string ddp;                 ///< DistributedDataParallelConfig
  std::string optimizer;           ///< OptimizerConfig
  std::string precision;           ///< MixedPrecisionConfig, or the name of one
  std::string overlap;             ///< CommOverlapConfig
  std::string batch;               ///< global_batch_size, micro_batch_size
  std::string data;                ///< seq_length of the dataset
  std::string steps;               ///< optimizer steps of the run
  std::string adapter;             ///< LoRA, or its name
  std::string distributed;         ///< DistributedInitConfig
  std::string tokenizer;
  /// NeMo 2: vocabularies are padded, and mxfp8 does not gather parameters in 8 bits.
  bool nemo = false;
};

/// What such a configuration says, in the arguments of Megatron-LM.
struct CoreConfig {
  MegatronSource found;  ///< `keys` and `lines` of what the configuration states
  FineTuning fine_tuning;
  std::string shape_key;     ///< the first key that states the model's shape; empty: none
  bool whole_shape = false;  ///< layers, width and heads are all stated
  std::vector<std::string> assumed;
};

/// Reads a configuration over the arguments of `config.found` (of a model's shape, or none): what
/// it states replaces them. Fields of Megatron-Core that have an argument of Megatron-LM become
/// that; those that change neither memory nor time are declared harmless; what is left is unknown
/// to TreeReader::finish(). Keys under `left_out` are not read.
void read_core_config(const CoreGroups& groups, const YamlNode& root,
                      const std::vector<std::string>& left_out, TreeReader& in, CoreConfig& config);

/// Puts the notes of the mapping of arguments (plan) to keys of the configuration, into lists that
/// TreeReader::finish() made.
void sort_core_notes(const MegatronSource& found, const PlanNotes& plan, PlanNotes& notes);

}  // namespace foretrain
