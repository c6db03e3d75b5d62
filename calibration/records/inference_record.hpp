// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain {

/// What a record of post-training says beside its model, machine and engine. Absent: the source
/// does not say.
struct PostTrainingRecord {
  struct Layout {
    std::optional<int> tensor, context, pipeline, expert, expert_tensor;
  };

  std::string algorithm;  ///< in the source's words
  std::string trainer;
  std::string placement;                   ///< "colocated", "separate", with words behind it
  std::optional<double> longest_sequence;  ///< prompt and answer together
  std::optional<double> answers, prompt, answer, longest_answer, batch, prompts, update;
  std::optional<int> generation_gpus, train_gpus;
  std::optional<double> staleness;
  Layout train, generation;
  std::optional<double> tokens_per_s_per_gpu, tokens_per_s, response_tokens_per_s_per_gpu;
};

/// A measured inference or post-training run, as inference_runs.yaml has it. Absent: the source
/// does not say.
struct InferenceRecord {
  struct Model {
    std::string name;
    std::optional<int> layers, hidden, heads, kv_heads, head_dim, ffn_hidden, vocabulary;
    std::optional<bool> gated_mlp;
    std::string attention_note;  ///< words on windows and mixers that no field has
    struct Moe {
      std::optional<int> experts, top_k, expert_ffn, shared, shared_ffn, first_dense, every;
    };
    std::optional<Moe> moe;
    struct Mla {
      std::optional<int> q_lora, kv_lora, qk_nope, qk_rope, v_head;
    };
    std::optional<Mla> mla;
  };
  struct Parallel {
    std::optional<int> tensor, pipeline, expert, expert_tensor, data, attention_data;
    bool disaggregated = false;
  };
  struct Workload {
    std::optional<double> input, output, concurrency, requests, request_rate;
    std::string data;          ///< where lengths are from: "random", "sharegpt"
    bool all_at_once = false;  ///< offline: every request is there at the start
    bool prefix_cache = false;
    bool speculative = false;
  };

  std::string id;
  std::string source;
  std::string group;  ///< of one source and model; rows of a group count as one source
  std::string kind;   ///< "inference" or "rl"
  std::string engine;
  std::string engine_version;
  std::string gpu;
  std::string weights, cache, compute, experts;  ///< precisions, in the source's words
  std::optional<int> gpus, gpus_per_node;
  Model model;
  Parallel parallel;
  Workload workload;
  std::string confidence;
  std::string notes;
  std::optional<double> ttft_s, tpot_s, output_tokens_per_s;
  std::optional<PostTrainingRecord> rl;  ///< of post-training
  bool median_ttft = false;  ///< ttft_s is a median; else a mean, or the source does not say
  std::optional<double> rl_step_s, rl_generation_s, rl_train_s;

  /// The table that the group is of: the text before its slash.
  [[nodiscard]] std::string table() const;
};

/// Reads the list under `runs`; a run without an id is a diagnostic.
[[nodiscard]] std::vector<InferenceRecord> read_inference_records(const YamlNode& document,
                                                                  const std::string& name,
                                                                  Diagnostics& diagnostics);

}  // namespace foretrain
