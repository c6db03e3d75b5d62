// SPDX-License-Identifier: Apache-2.0
#include "planner/exchange/megatron_hybrid_words.hpp"

#include <fmt/format.h>

namespace foretrain {
namespace {

using Words = std::vector<std::string>;

/// Names and meanings: Megatron-LM, megatron/training/arguments.py.
void add(Words& words, const char* name, int value) {
  words.push_back(fmt::format("--{} {}", name, value));
}

void add_mamba(const MambaShape& mamba, ExportBook& book, Words& words) {
  add(words, "mamba-num-heads", mamba.heads);
  add(words, "mamba-head-dim", mamba.head_dim);
  add(words, "mamba-num-groups", mamba.groups);
  add(words, "mamba-state-dim", mamba.state_dim);
  const MambaShape usual;
  book.refuse_if(mamba.conv_kernel != usual.conv_kernel || mamba.chunk != usual.chunk ||
                     !mamba.conv_bias || mamba.projection_bias,
                 "Mamba mixers with another convolution, chunk or biases than Megatron-Core's");
}

void add_delta(const DeltaShape& delta, ExportBook& book, Words& words) {
  add(words, "linear-num-key-heads", delta.key_heads);
  add(words, "linear-num-value-heads", delta.value_heads);
  add(words, "linear-key-head-dim", delta.key_head_dim);
  add(words, "linear-value-head-dim", delta.value_head_dim);
  add(words, "linear-conv-kernel-dim", delta.conv_kernel);
  book.refuse_if(delta.chunk != DeltaShape{}.chunk, "chunks of delta mixers");
}

/// Layers with both halves: every Nth has attention.
void add_period(const LlmShape& model, ExportBook& book, Words& words) {
  const std::string& pattern = model.mixer_pattern;
  const bool regular = pattern.find('*') == pattern.size() - 1 &&
                       pattern.find('M') == std::string::npos &&
                       model.layers % static_cast<int>(pattern.size()) == 0;
  book.refuse_if(!regular, "layers of both halves with this pattern of mixers");
  words.emplace_back("--experimental-attention-variant gated_delta_net");
  add(words, "linear-attention-freq", static_cast<int>(pattern.size()));
}

}  // namespace

std::string_view megatron_program(const LlmShape& model) {
  return model.layer_pattern.empty() ? "pretrain_gpt.py" : "pretrain_mamba.py";
}

std::vector<std::string> hybrid_words(const LlmShape& model, ExportBook& book) {
  Words words;
  book.refuse_if(model.qk_norm_whole, "norms over all heads of queries and keys together");
  if (model.attention_gate) words.emplace_back("--attention-output-gate");
  if (model.indexer) {
    words.emplace_back("--experimental-attention-variant dsa");
    add(words, "dsa-indexer-n-heads", model.indexer->heads);
    add(words, "dsa-indexer-head-dim", model.indexer->head_dim);
    add(words, "dsa-indexer-topk", model.indexer->top_k);
  }
  if (!model.layer_pattern.empty()) {
    words.emplace_back("--is-hybrid-model");
    words.push_back("--hybrid-override-pattern '" + model.layer_pattern + "'");
    words.emplace_back("--spec megatron.core.models.mamba.mamba_layer_specs mamba_stack_spec");
  }
  if (!model.mixer_pattern.empty()) add_period(model, book, words);
  if (model.mamba) add_mamba(*model.mamba, book, words);
  if (model.delta) add_delta(*model.delta, book, words);
  return words;
}

}  // namespace foretrain
