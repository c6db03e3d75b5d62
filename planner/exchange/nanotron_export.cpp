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

void refuse_for_nanotron(const Job& job, ExportBook& book) {
  const Parallel& parallel = job.parallel;
  const bool simple =
      parallel.schedule == ScheduleKind::one_f_one_b || parallel.schedule == ScheduleKind::gpipe;
  book.refuse_if(!simple, "schedules other than 1f1b and gpipe");
  book.refuse_if(parallel.zero > 1, "sharding of more than the optimizer states");
  book.refuse_if(parallel.order != data_in_stage,
                 "parallel.order other than replicas of a stage side by side");
  book.refuse_if(parallel.zero_group > 0, "parallel.zero_group");
  book.refuse_if(parallel.expert > 1, "parallel.expert");
  const Recompute& recompute = job.memory.recompute;
  const bool whole = recompute.kind == RecomputeKind::full &&
                     recompute.method == RecomputeMethod::uniform && recompute.layers == 1 &&
                     !recompute.distribute_saved;
  book.refuse_if(recompute.kind != RecomputeKind::none && !whole,
                 "recomputation other than none and full");
  book.refuse_if(job.memory.offload != OffloadKind::none, "memory.offload");
  book.refuse_if(quantised(job.training.precision) || job.training.precision == Precision::tf32,
                 "precision other than bf16, fp16 and fp32");
  if (parallel.pipeline > 1 &&
      parallel.stage_layers != nanotron_stage_layers(job.model, parallel.pipeline))
    book.leave_out("layers per stage; nanotron assigns them by their work");
  leave_out_overlap(job.communication.overlap, {.gradients = true, .parameters = false}, "nanotron",
                    book);
  if (job.stack.name != "nanotron") book.leave_out("the software, " + job.stack.name);
}

/// With the names of Hugging Face, which nanotron's LlamaConfig has.
std::string numbers_text(const ModelNumbers& numbers) {
  std::string text;
  if (numbers.norm_epsilon > 0.0)
    text += fmt::format("    rms_norm_eps: {}\n", numbers.norm_epsilon);
  if (numbers.rope_theta > 0.0) text += fmt::format("    rope_theta: {}\n", numbers.rope_theta);
  if (numbers.rope_scaling == RopeScaling::none) return text;
  text += fmt::format("    rope_scaling:\n      rope_type: {}\n      factor: {}\n",
                      name_of(numbers.rope_scaling), numbers.rope_factor);
  if (numbers.rope_positions > 0)
    text += fmt::format("      original_max_position_embeddings: {}\n", numbers.rope_positions);
  return text;
}

void leave_out_numbers(const ModelNumbers& numbers, ExportBook& book) {
  if (numbers.norm_epsilon == 0.0)
    book.leave_out("norm.epsilon, which the model does not say; nanotron takes 1e-6");
  if (numbers.rope_theta == 0.0)
    book.leave_out(
        "embedding.rope_theta and scaling, which the model does not say; nanotron takes 10000");
  book.refuse_if(numbers.rope_share != 1.0, "rotary positions on a part of a head");
}

std::string model_text(const Job& job) {
  const LlmShape& model = job.model;
  const char* dtype = job.training.precision == Precision::fp32   ? "float32"
                      : job.training.precision == Precision::fp16 ? "float16"
                                                                  : "bfloat16";
  return fmt::format(
             "model:\n  ddp_bucket_cap_mb: {}\n  dtype: {}\n  init_method:\n    std: 0.02\n"
             "  make_vocab_size_divisible_by: {}\n  model_config:\n    is_llama_config: true\n"
             "    hidden_act: silu\n    hidden_size: {}\n    intermediate_size: {}\n"
             "    max_position_embeddings: {}\n    num_attention_heads: {}\n    num_hidden_layers: "
             "{}\n"
             "    num_key_value_heads: {}\n    tie_word_embeddings: {}\n    vocab_size: {}\n",
             static_cast<int>(job.communication.bucket.in(MiB)), dtype,
             job.training.vocabulary_multiple, model.hidden, model.ffn_hidden,
             job.training.sequence, model.heads, model.layers, model.kv_heads,
             model.tied_embeddings, model.vocabulary) +
         numbers_text(model.numbers);
}

std::string plan_text(const Job& job) {
  const Parallel& parallel = job.parallel;
  const Training& training = job.training;
  const bool fp32 = job.communication.gradient_dtype == Precision::fp32;
  std::string text = fmt::format(
      "optimizer:\n  accumulate_grad_in_fp32: {}\n  optimizer_factory:\n    name: adamW\n"
      "  zero_stage: {}\nparallelism:\n  dp: {}\n  pp: {}\n  tp: {}\n  context_parallel_size: {}\n"
      "  expert_parallel_size: 1\n  pp_engine: {}\n  recompute_layer: {}\n"
      "  tp_linear_async_communication: {}\n  tp_mode: {}\n",
      fp32, parallel.zero, parallel.data, parallel.pipeline, parallel.tensor, parallel.context,
      parallel.schedule == ScheduleKind::gpipe ? "afab" : "1f1b",
      job.memory.recompute.kind == RecomputeKind::full,
      job.communication.overlap.tensor && parallel.sequence,
      parallel.sequence ? "REDUCE_SCATTER" : "ALL_REDUCE");
  text += fmt::format(
      "tokens:\n  batch_accumulation_per_replica: {}\n  micro_batch_size: {}\n"
      "  sequence_length: {}\n",
      job.microbatches(), training.micro_batch, training.sequence);
  if (const auto steps = training_steps(training))
    text += fmt::format("  train_steps: {}\n", *steps);
  return text;
}

}  // namespace

Exported export_nanotron(const Scenario& scenario) {
  const Job& job = scenario.job;
  ExportBook book("nanotron");
  leave_out_machine(job, book);
  refuse_fine_tuning(job, book);
  refuse_model(job, book);
  refuse_fine_control(job, book);
  book.refuse_if(job.memory.fp8_parameters, "memory.fp8_parameters");
  refuse_for_nanotron(job, book);
  leave_out_numbers(job.model.numbers, book);
  book.leave_out("general, checkpoints, data_stages, logging, tokenizer and the learning rate");
  book.check();
  return {export_comments(scenario, book) + model_text(job) + plan_text(job), book.left_out()};
}

}  // namespace foretrain
