// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "calibration/training_logs/training_log.hpp"
#include "models/base/names.hpp"

namespace foretrain {

/// What a setting of a framework means for a plan.
enum class PlanField {
  gpus,
  tasks,  ///< of a launcher, which starts small programs before the large one
  nodes,
  gpus_per_node,
  tensor,
  tensor_between,  ///< the part of MaxText's ranks that lies between slices
  pipeline,
  virtual_stages,
  data,
  data_between,  ///< replicas of groups that shard
  context,
  expert,
  micro_batch,
  accumulation,
  global_batch,
  batch_tokens,
  sequence,
  zero,
  layers,
  hidden,
  heads,
  kv_heads,
  ffn_hidden,
  vocabulary,
  experts,
  top_k,
  distributed_optimizer,
  sequence_parallel,
  overlap_gradients,
  overlap_parameters,
  overlap_tensor,
  gated,
  compiled,
  transformer,
  bf16,
  fp16,
  fp8,
  dtype,
  recompute
};
FORETRAIN_ENUM_NAMES(PlanField, {PlanField::gpus, "gpus"}, {PlanField::tasks, "tasks"},
                     {PlanField::nodes, "nodes"}, {PlanField::gpus_per_node, "gpus_per_node"},
                     {PlanField::tensor, "tensor"}, {PlanField::tensor_between, "tensor_between"},
                     {PlanField::pipeline, "pipeline"},
                     {PlanField::virtual_stages, "virtual_stages"}, {PlanField::data, "data"},
                     {PlanField::data_between, "data_between"}, {PlanField::context, "context"},
                     {PlanField::expert, "expert"}, {PlanField::micro_batch, "micro_batch"},
                     {PlanField::accumulation, "accumulation"},
                     {PlanField::global_batch, "global_batch"},
                     {PlanField::batch_tokens, "batch_tokens"}, {PlanField::sequence, "sequence"},
                     {PlanField::zero, "zero"}, {PlanField::layers, "layers"},
                     {PlanField::hidden, "hidden"}, {PlanField::heads, "heads"},
                     {PlanField::kv_heads, "kv_heads"}, {PlanField::ffn_hidden, "ffn_hidden"},
                     {PlanField::vocabulary, "vocabulary"}, {PlanField::experts, "experts"},
                     {PlanField::top_k, "top_k"},
                     {PlanField::distributed_optimizer, "distributed_optimizer"},
                     {PlanField::sequence_parallel, "sequence_parallel"},
                     {PlanField::overlap_gradients, "overlap_gradients"},
                     {PlanField::overlap_parameters, "overlap_parameters"},
                     {PlanField::overlap_tensor, "overlap_tensor"}, {PlanField::gated, "gated"},
                     {PlanField::compiled, "compiled"}, {PlanField::transformer, "transformer"},
                     {PlanField::bf16, "bf16"}, {PlanField::fp16, "fp16"}, {PlanField::fp8, "fp8"},
                     {PlanField::dtype, "dtype"}, {PlanField::recompute, "recompute"});

/// A setting as a log writes it (blank, '-' and '_' are the same), and what it means.
struct PlanWord {
  std::string_view word;
  PlanField field;
  std::string_view only;  ///< format in which alone it means that; empty: in all
};
/// scenarios/dialects/logs.yaml.
[[nodiscard]] std::span<const PlanWord> plan_words();

/// Settings as they were found, the first value of each.
class PlanFinder {
 public:
  /// Takes the value behind a word of plan_words(). @param end behind the word
  /// @return false: no value stands there
  bool take(int word, std::string_view line, std::size_t end);

  /// The plan of a run in a format.
  [[nodiscard]] LoggedPlan plan(std::string_view format) const;

 private:
  struct Setting {
    std::optional<double> number;
    std::string text;
  };
  /// The value behind a word; one without text and number: a value that says nothing.
  [[nodiscard]] static std::optional<Setting> word_setting(const PlanWord& word,
                                                           std::string_view line, std::size_t end);
  [[nodiscard]] static std::optional<Setting> number_setting(PlanField field, std::string_view line,
                                                             std::size_t end);
  [[nodiscard]] const Setting* find(PlanField field, std::string_view format) const;
  [[nodiscard]] std::optional<int> count(PlanField field, std::string_view format) const;
  [[nodiscard]] std::string precision(std::string_view format) const;

  std::map<int, Setting> found_;  ///< by place in plan_words()
};

/// Fills what follows from what the plan says: GPUs from ranks, the batch from its parts.
void complete_plan(LoggedPlan& plan, const std::string& format);

}  // namespace foretrain
