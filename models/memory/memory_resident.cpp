// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "models/data/gradient_projection.hpp"
#include "models/data/optimizer_update.hpp"
#include "models/inputs/recipe.hpp"
#include "models/memory/internal/memory_context.hpp"
#include "models/schedules/sharded_pipeline.hpp"

namespace foretrain::memory_detail {
namespace {

using Item = MemoryItem;

constexpr double sixteen_bits = 2.0;
constexpr double fp8_layouts = 2.0;  // that MemoryRules::fp8_copy_bytes are of

struct OptimizerBytes {
  double matrix = 12.0;  ///< per parameter of a linear layer inside the transformer
  double other = 12.0;   ///< per embedding, output or vector parameter
};

OptimizerBytes optimizer_bytes(const Job& job) {
  const OptimizerStates states = optimizer_states(job);
  // Weights in 32 bits are their own master.
  const double master = full_precision(job.training.precision) ? 0.0 : states.master;
  return {master + states.matrix, master + states.other};
}

/// FSDP shards its fp32 weights even where the gathered copies outlive the forward pass (zero 2).
bool shards_weights(const Job& job) {
  return job.parallel.zero >= 3 || (job.parallel.zero == 2 && job.rests_wide());
}

/// Share of a stage's layers that are quantised: the ends of the model may stay in bf16.
double quantised_share(const StageContext& context) {
  const double layers = total_layers(context.layers);
  const double at_one_end = context.job.training.bf16_end_layers / 2.0;
  const int ends = (context.ends.embedding ? 1 : 0) + (context.ends.output ? 1 : 0);
  return layers > 0.0 ? std::max(0.0, 1.0 - ends * at_one_end / layers) : 0.0;
}

/// Trained parameters as the stack keeps them, frozen ones as layers compute with them.
double held_bytes(const StageContext& context, double RankParameters::*part) {
  const ParameterBytes per = parameter_bytes(context.job);
  const double trained = context.trained.*part;
  return per.weight * trained + per.frozen * (context.parameters.*part - trained);
}

/// What frozen matrices of layers, or experts, take less where they are packed.
double unpacked_excess(const StageContext& context, double RankParameters::*part) {
  const FineTuning& tuning = context.job.fine_tuning;
  const bool experts = part == &RankParameters::experts;
  if (!(experts ? tuning.packs_experts() : tuning.packs_frozen())) return 0.0;
  return (parameter_bytes(context.job).frozen - packed_bytes(tuning.frozen_format)) *
         (context.parameters.*part - context.trained.*part);
}

/// A frozen copy of all weights beside the model that learns; none where the model without its
/// adapters is the reference.
void add_reference(const StageContext& context, double dense_shards, double expert_shards,
                   MemoryBytes& rows) {
  const FineTuning& tuning = context.job.fine_tuning;
  if (!tuning.has_reference() || tuning.reference != ReferenceKind::copy) return;
  const double frozen = parameter_bytes(context.job).frozen;
  rows[Item::reference_weights] = frozen * context.parameters.dense() / dense_shards +
                                  frozen * context.parameters.experts / expert_shards;
}

/// Of parameters whose gradients are there at once where each weight is updated as soon as its own
/// is made: those of a unit of FSDP on its shard, or of one matrix (hooks of torchtune, LOMO and
/// Hugging Face's layer-wise GaLore are one per parameter).
double updated_at_once(const StageContext& context) {
  if (scatters_every_pass(context.job)) {
    const RankLayers& trained = context.activations.trained;
    return context.most([&](std::size_t form) {
      return trained.forms[form].dense / context.dense_shards +
             trained.forms[form].experts / context.expert_shards;
    });
  }
  double largest = 0.0;
  for (const MatrixShape& shape :
       matrix_shapes(context.job, context.trained.forms, FusedMatrices::none))
    largest = std::max(largest, shape.elements());
  return largest;
}

/// Trained parameters of a rank's shard whose gradients are there together.
double updated_together(const StageContext& context) {
  if (context.job.training.steps_in_backward()) return updated_at_once(context);
  return context.trained.dense() / context.dense_shards +
         context.trained.experts / context.expert_shards;
}

/// What moments of projected gradients take less.
double projection_saves(const StageContext& context, bool experts) {
  const Job& job = context.job;
  return projected_states(job, context.trained.forms, experts)
      .saved(optimizer_states(job).matrix, parameter_bytes(job).gradient);
}

/// A foreach AdamW holds a copy of a moment of all that it updates in one call.
double copies_per_parameter(const StageContext& context) {
  const Training& training = context.job.training;
  const bool foreach = training.optimizer == OptimizerKind::adamw &&
                       !training.projection.projects() &&
                       !training.fused_kernels.has(FusedKernel::optimizer) &&
                       context.job.memory.offload == OffloadKind::none;
  return foreach ? context.rules.step_copies * training.second_moment() : 0.0;
}

}  // namespace

void add_weights(const StageContext& context, MemoryBytes& rows) {
  const RankParameters& parameters = context.parameters;
  const bool sharded = shards_weights(context.job);
  const double dense_shards = sharded ? context.dense_shards : 1.0;
  const double expert_shards = sharded ? context.expert_shards : 1.0;
  const auto bytes_of = [&](double RankParameters::*part) { return held_bytes(context, part); };
  const Recipe recipe = recipe_of(context.job);
  const double share = quantised_share(context);
  const bool kept = context.job.memory.fp8_parameters && recipe.keeps_weights && !sharded;
  // Weights that are kept cast only are there as often as the products need them.
  // Frozen ones are there in one layout, turned for every backward pass: recipes of NeMo and
  // Megatron-Bridge set disable_parameter_transpose_cache for adapters.
  const double narrower = kept ? share * (recipe.weight_copies() - sixteen_bits) : 0.0;
  const double turned = kept ? share * (recipe.weight_copies() - recipe.element) : 0.0;
  const double frozen_matrices = parameters.layer_matrices - context.trained.layer_matrices;
  const double frozen_experts = parameters.experts - context.trained.experts;
  rows[Item::dense_weights] = (bytes_of(&RankParameters::layers) -
                               unpacked_excess(context, &RankParameters::layer_matrices)) /
                                  dense_shards +
                              narrower * parameters.layer_matrices - turned * frozen_matrices;
  rows[Item::expert_weights] =
      (bytes_of(&RankParameters::experts) - unpacked_excess(context, &RankParameters::experts)) /
          expert_shards +
      narrower * parameters.experts - turned * frozen_experts;
  rows[Item::embedding_weights] = bytes_of(&RankParameters::embedding) / dense_shards;
  rows[Item::output_weights] = bytes_of(&RankParameters::output) / dense_shards;
  add_reference(context, dense_shards, expert_shards, rows);
  if (context.job.fine_tuning.packs_frozen())
    rows[Item::unpacked_weights] = sixteen_bits * context.activations.largest_matrix;
  if (recipe.quantised && !kept)
    rows[Item::fp8_weight_copies] = context.rules.fp8_copy_bytes *
                                    (recipe.weight_copies() / fp8_layouts) * share *
                                    (parameters.layer_matrices + parameters.experts);
  // Sharded weights are cast where they are gathered: of the layer in use and the next.
  const double layers = total_layers(context.layers);
  if (context.job.parallel.zero >= 3 && layers > 2.0) rows[Item::fp8_weight_copies] *= 2.0 / layers;
}

void add_gradients(const StageContext& context, MemoryBytes& rows) {
  const ParameterBytes per = parameter_bytes(context.job);
  if (context.job.training.steps_in_backward()) {
    // A tied table has its whole gradient when the embedding's part is there, after all layers.
    const bool tied = context.job.model.tied_embeddings && context.ends.output;
    const double waits = tied ? context.activations.trained.ends.table : 0.0;
    rows[Item::dense_gradients] =
        per.gradient * (updated_at_once(context) + waits / context.dense_shards);
    return;
  }
  if (offloads_gradients(context.job)) return;
  const MemoryBytes shards = sharded_gradients(context);
  for (const Item item : {Item::dense_gradients, Item::expert_gradients}) rows[item] = shards[item];
}

MemoryBytes sharded_gradients(const StageContext& context) {
  const double bytes = parameter_bytes(context.job).gradient;
  const bool sharded = scatters_every_pass(context.job);
  MemoryBytes rows;
  rows[Item::dense_gradients] =
      bytes * context.trained.dense() / (sharded ? context.dense_shards : 1.0);
  rows[Item::expert_gradients] =
      bytes * context.trained.experts / (sharded ? context.expert_shards : 1.0);
  return rows;
}

bool offloads_gradients(const Job& job) {
  const bool whole = job.memory.offload == OffloadKind::optimizer_and_parameters &&
                     job.memory.offload_share == 1.0;
  return (whole || job.offloads_masters()) && scatters_every_pass(job);
}

double main_gradients(const StageContext& context) {
  if (offloads_gradients(context.job)) return 0.0;
  return parameter_bytes(context.job).step_gradient * updated_together(context);
}

double step_copies(const StageContext& context) {
  return copies_per_parameter(context) * updated_together(context);
}

double output_step_copies(const StageContext& context) {
  const Job& job = context.job;
  if (!job.training.steps_in_backward() || job.model.tied_embeddings) return 0.0;
  return copies_per_parameter(context) * context.activations.trained.ends.projection /
         context.dense_shards;
}

void add_optimizer(const StageContext& context, MemoryBytes& rows) {
  const OptimizerBytes per = optimizer_bytes(context.job);
  const RankParameters& parameters = context.trained;
  const double matrices = parameters.layers - parameters.vectors;
  const double dense = per.matrix * matrices + per.other * (parameters.dense() - matrices);
  rows[Item::dense_optimizer] = dense / context.dense_shards - projection_saves(context, false);
  if (context.job.training.whole_tensor_shards && context.dense_shards > 1.0) {
    // The heaviest rank owns the largest tensor, the vocabulary table, whole.
    const double table = context.activations.trained.ends.table;
    if (context.ends.embedding || context.ends.output)
      rows[Item::dense_optimizer] = std::max(rows[Item::dense_optimizer], per.other * table);
  }
  rows[Item::expert_optimizer] =
      per.matrix * parameters.experts / context.expert_shards - projection_saves(context, true);
}

void add_workspaces(const StageContext& context, MemoryBytes& rows) {
  const MemoryRules& rules = context.rules;
  rows[Item::reduce_buffers] = replica_buckets(context);
  const bool hopper = context.job.cluster.host.device.architecture >= Architecture::hopper;
  Bytes cublas = hopper ? rules.cublas_workspace_hopper : rules.cublas_workspace_ampere;
  if (context.job.memory.deterministic) cublas = rules.cublas_workspace_deterministic;
  const bool experts = moe_layers(context.layers) > 0;
  const bool router = experts && context.job.training.router_fp32;
  rows[Item::cublas_workspaces] = (rules.cublas_handles + (router ? 1 : 0)) * cublas.value();
  const Bytes engine = hopper ? rules.te_workspace_hopper : rules.te_workspace_ampere;
  const bool grouped = experts && context.job.training.grouped_experts;
  rows[Item::te_workspaces] = (1 + (grouped ? rules.grouped_gemm_streams : 0)) * engine.value();
  if (!rules.dummy_gradients || !context.job.memory.fused_gradient_accumulation) return;
  rows[Item::dummy_gradients] = 2.0 * context.activations.distinct.elements(context.layers);
}

template <class Rows>
void add_leftovers(const StageContext& context, Rows& rows) {
  const MemoryRules& rules = context.rules;
  const Job& job = context.job;
  const double element = full_precision(job.training.precision) ? 4.0 : 2.0;
  if (rules.score_buffer && job.memory.attention == AttentionKind::unfused)
    rows[Item::score_buffer] += element * context.activations.tokens.scores;
  if (rules.gather_buffer && job.parallel.sequence && job.parallel.tensor > 1)
    rows[Item::gather_buffer] += element * context.activations.tokens.all * job.model.hidden;
  const bool sparse = job.model.indexer || job.model.compression;  // keeps what it gathers
  if (job.parallel.context > 1 && !sparse) {
    const double heads =
        std::max(1.0, static_cast<double>(job.model.kv_heads) / job.parallel.tensor);
    rows[Item::context_buffers] += rules.context_buffers * 2.0 * element *
                                   context.activations.tokens.all * heads * job.model.head_dim;
  }
  if (rules.boundary_tensors > 0.0 && job.parallel.pipeline > 1) {
    const double tensors = rules.boundary_tensors +
                           rules.boundary_tensors_per_chunk * (job.parallel.virtual_stages - 1);
    rows[Item::boundary_tensors] +=
        tensors * element * context.activations.tokens.residual * job.model.boundary_width();
    rows[Item::attention_mask] += context.activations.mask;
  }
}
template void add_leftovers(const StageContext& context, MemoryBytes& rows);
template void add_leftovers(const StageContext& context, MemorySum& rows);

}  // namespace foretrain::memory_detail
