// SPDX-License-Identifier: Apache-2.0

#include "planner/exchange/megatron_export.hpp"

#include <fmt/format.h>

#include "planner/exchange/exports.hpp"

namespace foretrain {
namespace {

/// Names and meanings: Megatron-LM, megatron/training/arguments.py.
void add(MegatronArguments& words, const char* name, int value) {
  words[name] = std::to_string(value);
}

void add_mamba(const MambaShape& mamba, ExportBook& book, MegatronArguments& words) {
  add(words, "mamba-num-heads", mamba.heads);
  add(words, "mamba-head-dim", mamba.head_dim);
  add(words, "mamba-num-groups", mamba.groups);
  add(words, "mamba-state-dim", mamba.state_dim);
  const MambaShape usual;
  book.refuse_if(mamba.conv_kernel != usual.conv_kernel || mamba.chunk != usual.chunk ||
                     !mamba.conv_bias || mamba.projection_bias,
                 "Mamba mixers with another convolution, chunk or biases than Megatron-Core's");
}

void add_delta(const DeltaShape& delta, ExportBook& book, MegatronArguments& words) {
  add(words, "linear-num-key-heads", delta.key_heads);
  add(words, "linear-num-value-heads", delta.value_heads);
  add(words, "linear-key-head-dim", delta.key_head_dim);
  add(words, "linear-value-head-dim", delta.value_head_dim);
  add(words, "linear-conv-kernel-dim", delta.conv_kernel);
  book.refuse_if(delta.chunk != DeltaShape{}.chunk, "chunks of delta mixers");
}

/// Layers with both halves: every Nth has attention.
void add_period(const LlmShape& model, ExportBook& book, MegatronArguments& words) {
  const std::string& pattern = model.mixer_pattern;
  const bool regular = pattern.find('*') == pattern.size() - 1 &&
                       pattern.find('M') == std::string::npos &&
                       model.layers % static_cast<int>(pattern.size()) == 0;
  book.refuse_if(!regular, "layers of both halves with this pattern of mixers");
  words["experimental-attention-variant"] = "gated_delta_net";
  add(words, "linear-attention-freq", static_cast<int>(pattern.size()));
}

}  // namespace

void refuse_unwritten(const LlmShape& model, ExportBook& book) {
  book.refuse_if(!model.special_layers.empty(), "layers of several sizes");
  book.refuse_if(model.value_dim > 0 || model.keys_are_values || model.head_gate,
                 "values of another width than keys, or their projection in common, and gates of "
                 "heads");
  book.refuse_if(model.compression || model.hyper_connections > 1 || model.residual_blocks > 0,
                 "compressed attention, hyper-connections and attention over residuals");
  book.refuse_if(model.per_layer_input > 0 || model.layer_scale, "per-layer embeddings and scales");
  book.refuse_if(
      model.mamba_beside || model.convolution || (model.mamba && model.mamba->step_rank > 0),
      "Mamba beside attention, Mamba-1 and short convolutions");
  book.refuse_if(model.delta && model.delta->kind != DeltaKind::gated_delta,
                 "Kimi delta attention and lightning attention");
  if (!model.moe) return;
  book.refuse_if(
      model.moe->identity_experts > 0 || model.moe->dense_beside || model.moe->router_scales,
      "identity experts, and a dense MLP beside experts");
}

std::string_view megatron_program(const LlmShape& model) {
  return model.layer_pattern.empty() ? "pretrain_gpt.py" : "pretrain_mamba.py";
}

void put_hybrid_arguments(const LlmShape& model, ExportBook& book, MegatronArguments& words) {
  refuse_unwritten(model, book);
  book.refuse_if(model.moe && model.moe->latent_hidden > 0, "experts in a latent space");
  book.refuse_if(model.indexer && !model.mla, "an indexer of grouped-query attention");
  book.refuse_if(model.qk_norm_whole, "norms over all heads of queries and keys together");
  if (model.attention_gate) words["attention-output-gate"] = "true";
  if (model.indexer) {
    words["experimental-attention-variant"] = "dsa";
    add(words, "dsa-indexer-n-heads", model.indexer->heads);
    add(words, "dsa-indexer-head-dim", model.indexer->head_dim);
    add(words, "dsa-indexer-topk", model.indexer->top_k);
  }
  if (!model.layer_pattern.empty()) {
    words["is-hybrid-model"] = "true";
    words["hybrid-override-pattern"] = model.layer_pattern;
    words["spec"] = "megatron.core.models.mamba.mamba_layer_specs mamba_stack_spec";
  }
  if (!model.mixer_pattern.empty()) add_period(model, book, words);
  if (model.mamba) add_mamba(*model.mamba, book, words);
  if (model.delta) add_delta(*model.delta, book, words);
}

Exported export_megatron(const Scenario& scenario) {
  const Job& job = scenario.job;
  ExportBook book("Megatron-LM");
  leave_out_machine(job, book);
  refuse_fine_tuning(job, book);
  const std::vector<std::string> words = megatron_words(job, book);
  book.check();
  std::string text = "#!/bin/bash\n" + export_comments(scenario, book) +
                     "set -euo pipefail\n"
                     "export CUDA_DEVICE_MAX_CONNECTIONS=1\n"
                     "LAUNCH_ARGS=(\n";
  text += fmt::format("  --nnodes {}\n  --nproc_per_node {}\n", job.cluster.hosts,
                      job.cluster.host.gpus);
  text +=
      "  --node_rank \"${NODE_RANK:-0}\"\n"
      "  --master_addr \"${MASTER_ADDR:-localhost}\"\n"
      "  --master_port \"${MASTER_PORT:-6000}\"\n"
      ")\nMODEL_ARGS=(\n";
  for (const std::string& word : words) text += "  " + word + "\n";
  text += fmt::format(
      ")\n"
      "# Data, learning rate and checkpoints are yours: append them, or set MORE_ARGS.\n"
      "torchrun \"${{LAUNCH_ARGS[@]}}\" {} \"${{MODEL_ARGS[@]}}\" ${{MORE_ARGS:-}} \"$@\"\n",
      megatron_program(job.model));
  return {std::move(text), book.left_out()};
}

}  // namespace foretrain
