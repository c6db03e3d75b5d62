// SPDX-License-Identifier: Apache-2.0
#include "calibration/records/run_options.hpp"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <string_view>

#include <fmt/format.h>

#include "calibration/records/internal/words.hpp"
#include "models/base/ranges.hpp"
#include "scenarios/imports/megatron/megatron_arguments.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

constexpr const char* unknown_parts = "unknown";

void add_graph(const std::string& name, RunOptions& options) {
  if (name == unknown_parts)
    options.graphs_why = "which parts were CUDA graphs is not stated";
  else if (const auto part = megatron_graph_part(name))
    options.graphs.add(*part);
  else
    options.graphs_why = fmt::format("CUDA graphs of {} are not modelled", in_quotes(name));
}

bool any_of(const std::string& text, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return has_part(text, part); });
}

/// The words from `at` to the end of the clause: letters and underscores.
std::vector<std::string> clause(const std::string& text, std::size_t at) {
  std::vector<std::string> words(1);
  for (; at < text.size() && !has_part(".;", text.substr(at, 1)); ++at) {
    const char c = text[at];
    if ((c >= 'a' && c <= 'z') || c == '_')
      words.back() += c;
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

/// "cuda graph none full_iteration", "cuda graph transformer_engine ['attn', 'moe_router']",
/// "TE CUDA graphs moe_router + moe_preprocess, EP overlap off".
void read_graphs(const std::string& notes, RunOptions& options) {
  if (has_part(notes, "full_cuda_graph=true")) options.graphs.add(GraphPart::full_iteration);
  constexpr std::string_view name = "cuda graph";
  const auto at = notes.find(name);
  if (at == std::string::npos) return;
  auto words = clause(notes, at + name.size());
  if (!words.empty() && words.front() == "s") words.erase(words.begin());
  if (!words.empty() && (words.front() == "none" || words.front() == "off")) return;
  for (const std::string& word : words)
    if (const auto part = megatron_graph_part(word)) options.graphs.add(*part);
  if (!options.graphs.any()) options.graphs_why = "which parts were CUDA graphs is not stated";
}

void read_experts(const std::string& notes, RunOptions& options) {
  if (any_of(notes, {"forced load balance", "forced balanced", "forced-balanced", "force-balanced",
                     "fake balanced", "capacity factor 1"}))
    options.balanced_experts = true;
  // "tokens dropped" is what the scripts of such records do at a capacity of 1.
  if (any_of(notes, {"capacity factor 1", "tokens dropped"})) options.expert_capacity = 1.0;
  if (has_part(notes, "ep overlap off"))
    options.overlap_experts = false;
  else if (any_of(notes, {"ep overlap", "deepep-1f1b", "ep all-to-all overlapped"}))
    options.overlap_experts = true;
  if (any_of(notes, {"alltoall dispatcher", "dispatcher a2a"}))
    options.dispatch = ExpertDispatch::every_copy;
  else if (has_part(notes, "hybridep"))
    options.dispatch = ExpertDispatch::fused;
  else if (has_part(notes, "dispatcher deepep"))
    options.dispatch = ExpertDispatch::once_per_host;
}

/// Kernels and formats; Megatron-Bridge's configurations are called ..._FP8_CS_... with current
/// scaling, ..._FP8_SC_... with scales of blocks of 128.
void read_kernels(const std::string& text, const std::string& notes, RunOptions& options) {
  if (has_part(notes, "no grouped gemm")) options.grouped_experts = false;
  if (has_part(notes, "moe_permute_fusion off")) options.fused_permutation = false;
  if (has_part(notes, "chunked cross entropy")) options.fused_loss = true;
  if (has_part(notes, "reshard_after_forward never")) options.reshards = false;
  options.expert_tensor_follows = has_part(notes, "etp follows tp");
  if (has_part(text, "_FP8_CS_")) options.fp8_scaling = "current";
  if (has_part(text, "_FP8_SC_")) options.fp8_scaling = "block";
}

/// "Fused kernels for LoRA linear layers, cross entropy, RMS norm, rotary. Loss fused with the
/// projection (Liger)."
void read_fused_kernels(const std::string& notes, RunOptions& options) {
  using enum FusedKernel;
  constexpr std::string_view start = "fused kernels for ";
  const auto at = notes.find(start);
  const auto end = notes.find('.', at);
  const std::string said =
      at == std::string::npos ? "" : notes.substr(at + start.size(), end - at - start.size());
  const auto add_if = [&](std::string_view word, FusedKernel kernel) {
    if (has_part(said, word)) options.fused_kernels.add(kernel);
  };
  add_if("lora", lora);
  add_if("cross entropy", loss);
  add_if("norm", norm);
  add_if("rotary", rope);
  add_if("swiglu", swiglu);
  if (has_part(notes, "loss fused with the projection")) options.fused_kernels.add(linear_loss);
  options.gptq = has_part(notes, "frozen base in 4 bits of gptq");
}

/// The number behind a word; 0 where there is none.
int number_behind(const std::string& text, std::string_view word) {
  const auto at = text.find(word);
  if (at == std::string::npos) return 0;
  int number = 0;
  const char* const from = text.data() + at + word.size();
  std::from_chars(from, text.data() + text.size(), number);
  return number;
}

/// The text behind a word, to the next space, full stop or semicolon.
std::string word_behind(const std::string& text, std::string_view word) {
  const auto at = text.find(word);
  if (at == std::string::npos) return "";
  const auto from = at + word.size();
  return text.substr(from, text.find_first_of(" .;", from) - from);
}

}  // namespace

RunOptions run_options(const RunRecord& record) {
  RunOptions options;
  const std::string notes = lower(record.notes);
  if (record.cuda_graphs)
    for (const std::string& part : *record.cuda_graphs) add_graph(part, options);
  else
    read_graphs(notes, options);
  read_experts(notes, options);
  read_kernels(record.notes, notes, options);
  read_fused_kernels(notes, options);
  if (has_part(notes, "fp8_param_gather=true")) options.eight_bit_weights = true;
  if (has_part(notes, "fp8_dpa=")) options.eight_bit_attention = has_part(notes, "fp8_dpa=1");
  if (has_part(notes, "tp_comm_overlap=true")) options.overlap_tensor = true;
  options.offloaded_layers = number_behind(notes, "cpu offloading ");
  std::string layout = word_behind(record.notes, "pp_layout ");
  const auto take = [](auto& value, const auto& field) {
    if (field) value = *field;
  };
  take(options.eight_bit_weights, record.eight_bit_weights);
  take(options.balanced_experts, record.balanced_experts);
  take(options.overlap_experts, record.overlap_experts);
  take(options.overlap_tensor, record.overlap_tensor);
  take(options.offloaded_layers, record.offloaded_layers);
  take(options.fused_kernels, record.fused_kernels);
  take(options.grouped_experts, record.grouped_experts);
  take(options.fused_permutation, record.fused_permutation);
  take(options.fused_loss, record.fused_loss);
  take(options.scatter_gather, record.scatter_gather);
  take(options.reshards, record.reshards);
  if (!record.fp8_scaling.empty()) options.fp8_scaling = record.fp8_scaling;
  take(layout, record.pipeline_layout);
  if (record.dispatcher == "alltoall") options.dispatch = ExpertDispatch::every_copy;
  if (record.dispatcher == "deepep") options.dispatch = ExpertDispatch::once_per_host;
  if (record.dispatcher == "hybridep") options.dispatch = ExpertDispatch::fused;
  options.chunk_layers = layout.empty() ? std::vector<int>{} : megatron_pipeline_layout(layout);
  return options;
}

}  // namespace foretrain
