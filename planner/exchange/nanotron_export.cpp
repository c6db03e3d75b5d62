// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "models/inputs/recipe.hpp"
#include "planner/exchange/exports.hpp"
#include "planner/exchange/megatron_export.hpp"
#include "scenarios/imports/frameworks/importers.hpp"

namespace foretrain {
namespace {

void refuse_model(const Job& job, ExportBook& book) {
  const LlmShape& model = job.model;
  const bool biases = model.qkv_bias || model.attention_output_bias || model.mlp_bias;
  book.refuse_if(model.moe || model.mla, "experts and latent attention");
  book.refuse_if(model.norm != NormKind::rmsnorm || model.norms_per_layer != 2 || biases ||
                     !model.gated_mlp || model.qk_norm || model.embedding_norm ||
                     model.position != PositionKind::rotary || model.mtp_layers > 0,
                 "models that are not of Llama's form");
  book.refuse_if(model.rotary_scaled || model.attention_sinks || model.mlp_clamp > 0.0,
                 "scaled rotary positions, attention sinks and clamped activations");
  book.refuse_if(model.is_hybrid() || model.attention_gate || model.qk_norm_whole,
                 "layers that differ in their mixers, and gates or norms of attention");
  refuse_unwritten(model, book);
  book.refuse_if(model.window > 0, "attention with a window");
  book.refuse_if(model.head_dim * model.heads != model.hidden,
                 "heads that are not hidden / heads wide");
}

/// With the names of Hugging Face, which nanotron's LlamaConfig has.
void add_numbers(const ModelNumbers& numbers, DialectWords& words) {
  const auto add = [&](const char* key, std::string text) {
    words.push_back({fmt::format("model.model_config.{}", key), std::move(text)});
  };
  if (numbers.norm_epsilon > 0.0) add("rms_norm_eps", fmt::format("{}", numbers.norm_epsilon));
  if (numbers.rope_theta > 0.0) add("rope_theta", fmt::format("{}", numbers.rope_theta));
  if (numbers.rope_scaling == RopeScaling::none) return;
  add("rope_scaling.rope_type", std::string(name_of(numbers.rope_scaling)));
  add("rope_scaling.factor", fmt::format("{}", numbers.rope_factor));
  if (numbers.rope_positions > 0)
    add("rope_scaling.original_max_position_embeddings", fmt::format("{}", numbers.rope_positions));
}

void leave_out_numbers(const ModelNumbers& numbers, ExportBook& book) {
  if (numbers.norm_epsilon == 0.0)
    book.leave_out("norm.epsilon, which the model does not say; nanotron takes 1e-6");
  if (numbers.rope_theta == 0.0)
    book.leave_out(
        "embedding.rope_theta and scaling, which the model does not say; nanotron takes 10000");
  book.refuse_if(numbers.rope_share != 1.0, "rotary positions on a part of a head");
}

DialectWords model_words(const Job& job) {
  const LlmShape& model = job.model;
  DialectWords words{{"model.init_method.std", "0.02"}};
  for (const auto& [key, text] :
       {std::pair{"is_llama_config", std::string("true")},
        std::pair{"hidden_act", std::string("silu")},
        std::pair{"hidden_size", std::to_string(model.hidden)},
        std::pair{"intermediate_size", std::to_string(model.ffn_hidden)},
        std::pair{"max_position_embeddings", std::to_string(job.training.sequence)},
        std::pair{"num_attention_heads", std::to_string(model.heads)},
        std::pair{"num_hidden_layers", std::to_string(model.layers)},
        std::pair{"num_key_value_heads", std::to_string(model.kv_heads)},
        std::pair{"tie_word_embeddings", fmt::format("{}", model.tied_embeddings)},
        std::pair{"vocab_size", std::to_string(model.vocabulary)}})
    words.push_back({fmt::format("model.model_config.{}", key), text});
  add_numbers(model.numbers, words);
  return words;
}

}  // namespace

Exported export_nanotron(const Scenario& scenario) {
  const Job& job = scenario.job;
  ExportBook book("nanotron");
  leave_out_machine(job, book);
  refuse_model(job, book);
  book.refuse_if(job.memory.recompute.kind == RecomputeKind::full &&
                     (job.memory.recompute.method != RecomputeMethod::uniform ||
                      job.memory.recompute.layers != 1),
                 "recomputation other than none and full");
  if (job.stack.name != "nanotron") book.leave_out("the software, " + job.stack.name);
  if (job.parallel.pipeline > 1 &&
      job.parallel.stage_layers != nanotron_stage_layers(job.model, job.parallel.pipeline))
    book.leave_out("layers per stage; nanotron assigns them by their work");
  leave_out_numbers(job.model.numbers, book);
  DialectWords words = model_words(job);
  book.say(*dialect_of(Framework::nanotron), job,
           {"training.global_batch", "training.tokens", "memory.recompute.method",
            "memory.recompute.layers", "parallel.stage_layers"},
           words);
  words.push_back({"tokens.batch_accumulation_per_replica", std::to_string(job.microbatches())});
  if (const auto steps = training_steps(job.training))
    words.push_back({"tokens.train_steps", std::to_string(*steps)});
  book.leave_out("general, checkpoints, data_stages, logging, tokenizer and the learning rate");
  book.check();
  return {export_comments(scenario, book) + as_yaml(words), book.left_out()};
}

}  // namespace foretrain
