// SPDX-License-Identifier: Apache-2.0

#include "scenarios/sections/scenario_text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <initializer_list>
#include <sstream>
#include <string_view>

#include "models/base/require.hpp"
#include "scenarios/sections/layer_keys.hpp"
#include "scenarios/sections/model_keys.hpp"
#include "scenarios/sections/parallel_keys.hpp"
#include "scenarios/sections/sections.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

std::string model_text(const WrittenScenario& draft) {
  if (!draft.model.empty()) return "model: " + draft.model + "\n";
  std::string text = "model:\n";
  if (!draft.job.model.name.empty())
    text += "  name: " + in_double_quotes(draft.job.model.name) + "\n";
  std::istringstream lines(model_shape_text(draft.job.model));
  for (std::string line; std::getline(lines, line);) text += "  " + line + "\n";
  return text;
}

}  // namespace

std::vector<std::string> what_scenarios_cannot_say(const Job& job) {
  std::vector<std::string> parts;
  const MemoryOptions& memory = job.memory;
  if (memory.fp8_activation_inputs) parts.emplace_back("8-bit inputs of the activation function");
  if (memory.deferred_outputs > 0)
    parts.emplace_back("gradients of the output layer that wait for the pipeline to drain");
  if (job.parallel.order != data_in_stage && job.parallel.order != stages_in_replica)
    parts.emplace_back("a rank order other than " + rank_order_text(data_in_stage) + " and " +
                       rank_order_text(stages_in_replica));
  return parts;
}

std::string scenario_text(const WrittenScenario& draft) {
  const Job& job = draft.job;
  FORETRAIN_REQUIRE(what_scenarios_cannot_say(job).empty());
  std::string text;
  for (const std::string& comment : draft.comments) text += "# " + escaped(comment) + "\n";
  text += "schema: 1\nname: " + in_double_quotes(job.name) + "\n";
  text += model_text(draft) + cluster_keys().text(job.cluster) +
          training_keys().text(job.training) + fine_tuning_keys().text(job.fine_tuning) +
          parallel_keys().text(job.parallel) + memory_keys().text(job.memory);
  if (job.stack.name != "megatron-core") text += "stack: " + job.stack.name + "\n";
  if (!job.site.name.empty() && job.site.name != "default") text += "site: " + job.site.name + "\n";
  if (job.software_year) text += fmt::format("software_year: {}\n", *job.software_year);
  text += communication_keys().text(job) + measured_keys().text(job);
  if (draft.serving) {
    const std::string serving = serving_keys().text(*draft.serving);
    text += serving.empty() ? "serving: {engine: " + draft.serving->engine + "}\n" : serving;
  }
  if (draft.post_training) text += post_training_keys().text(*draft.post_training);
  return text;
}

namespace {

/// The rows of a model in the order in which files say them: that of the table, but for those
/// named here, which come last of their groups.
KeyRows rows_as_written() {
  KeyRows rows = inline_model_table().rows();
  for (const char* const path :
       {"attention.compression", "attention.value_dim", "attention.keys_are_values",
        "attention.compressed", "attention.head_gate", "attention.window", "attention.full_every",
        "attention.chunked", "attention.qkv_bias", "attention.output_bias", "attention.qk_norm",
        "attention.qk_norm_whole", "attention.gate", "attention.sinks", "mamba.gated_norm",
        "mamba.conv_bias"}) {
    const auto moved = std::find_if(rows.begin(), rows.end(),
                                    [&](const KeyRow& row) { return row.field.path == path; });
    std::rotate(moved, moved + 1, rows.end());
  }
  return rows;
}

/// A line for each of these keys and groups, without those that are what the catalog assumes.
std::string lines_text(std::initializer_list<std::string_view> paths, const LlmShape& shape) {
  static const KeyRows rows = rows_as_written();
  std::string lines;
  for (const std::string_view path : paths) {
    const std::string text = key_text(*inline_model_table().find(path), rows, &shape);
    if (!text.empty()) lines += fmt::format("{}: {}\n", path, text);
  }
  return lines;
}

/// Both say it, and not the same.
bool differ(double a, double b) { return a != 0.0 && b != 0.0 && a != b; }

}  // namespace

std::string model_shape_text(const LlmShape& shape) {
  return lines_text({"layers", "hidden", "attention", "mlp", "moe", "layer_pattern",
                     "mixer_pattern", "mamba", "delta", "convolution", "mamba_beside",
                     "layer_scale", "per_layer_input", "hyper_connections", "residual_blocks"},
                    shape) +
         special_layers_text(shape) +
         lines_text({"mtp_layers", "vision", "embedding", "norm"}, shape);
}

bool may_be_one_model(const LlmShape& a, const LlmShape& b) {
  LlmShape x = a;
  LlmShape y = b;
  x.numbers = y.numbers = {};
  if (model_shape_text(x) != model_shape_text(y)) return false;
  const ModelNumbers& m = a.numbers;
  const ModelNumbers& n = b.numbers;
  if (differ(m.norm_epsilon, n.norm_epsilon) || differ(m.rope_theta, n.rope_theta)) return false;
  if (m.rope_theta == 0.0 || n.rope_theta == 0.0) return true;
  return m.rope_share == n.rope_share && m.rope_scaling == n.rope_scaling &&
         !differ(m.rope_factor, n.rope_factor) && !differ(m.rope_positions, n.rope_positions);
}

}  // namespace foretrain
