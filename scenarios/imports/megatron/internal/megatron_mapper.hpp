// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/imports/megatron/megatron_arguments.hpp"
#include "scenarios/imports/shell/argument_reader.hpp"

namespace foretrain {

/// Builds one mapping; every member function reads one group of arguments. Meanings and defaults:
/// Megatron-LM, megatron/training/arguments.py and core/transformer/transformer_config.py.
class MegatronMapper {
 public:
  MegatronMapper(const MegatronArguments& arguments, const MegatronEnvironment& environment)
      : in_{arguments}, environment_{environment} {}

  MegatronMapping run() {
    if (!check_ranges()) {
      out_.errors = in_.errors();
      return std::move(out_);
    }
    out_.unmodelled = read_dialect(megatron_dialect(), in_, out_.job);
    map_shape();
    map_attention_shape();
    map_hybrid();
    map_moe();
    map_training();
    map_parallel();
    map_layout();
    map_optimizer();
    map_recompute();
    map_kernels();
    map_offload();
    report_rest();
    out_.errors = in_.errors();
    return std::move(out_);
  }

  /// Every argument that a run looks at.
  [[nodiscard]] std::vector<std::string> asked() {
    run();
    return in_.asked();
  }

 private:
  void unmodelled(const std::string& what) { out_.unmodelled.push_back(what); }

  /// What an argument, else its usual word, says in the words of a term; empty: nothing known.
  std::string_view said(const char* term, const std::string& argument) {
    const DialectTerm& words = *megatron_dialect().term(term);
    return meaning_of(words, in_.text(argument, words.usual));
  }
  /// What a list of words says; words that the term does not have are not modelled.
  std::vector<std::string> said_list(const char* term);

  int required(const std::string& name) {
    const auto value = in_.integer(name);
    if (value && *value > 0) return *value;
    in_.error("--" + name + ": a positive number is missing");
    return 1;
  }

  bool check_ranges();
  void map_shape();
  void map_attention_shape();
  void map_numbers();
  void map_window();
  [[nodiscard]] std::string layer_pattern();
  void map_hybrid();
  void map_mamba();
  void map_delta();
  void map_indexer();
  void map_moe();
  void map_training();
  void map_fp8_recipe();
  void map_precision();
  void map_parallel();
  [[nodiscard]] bool map_zero_bubble();
  void map_virtual_stages(int counted, bool zero_bubble);
  void map_layout();
  void map_written_layout(const std::string& layout);
  void map_prediction_stage(std::optional<int> chunk);
  void map_uneven_ends(std::optional<int> first, std::optional<int> last);
  void map_even_layout(bool embedding, bool loss);
  void map_state_dtypes();
  void map_optimizer();
  void map_muon();
  void map_deepspeed();
  void map_fsdp();
  void map_fsdp_dtypes();
  void map_recompute();
  void map_kernels();
  void map_offload();
  void report_rest();
  void map_graphs();
  [[nodiscard]] int tokenizer_vocabulary();
  [[nodiscard]] bool fp8_weights() const { return out_.job.memory.fp8_parameters; }

  ArgumentReader in_;
  const MegatronEnvironment& environment_;
  MegatronMapping out_;
};

}  // namespace foretrain
