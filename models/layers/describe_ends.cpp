// SPDX-License-Identifier: Apache-2.0
// The ends of a model: embedding, output with its loss, and what prediction modules add to a layer.
#include <optional>

#include "models/layers/internal/describe.hpp"
#include "models/layers/layer_ends.hpp"

namespace foretrain {
namespace {

constexpr Traffic lookup_traffic{4.0, 4.0};
constexpr Traffic loss_traffic{6.0, 12.0};  // of a logit
constexpr double token_arrays = 4.0;        // token, label and position of a token, loss mask

double norm_vectors(const LlmShape& model) {
  return static_cast<double>(model.hidden) * (model.norm_bias ? 2.0 : 1.0);
}

/// A norm whose time is lost in the gaps around it.
LayerOperator end_norm(std::string_view name, const LlmShape& model, const EndCut& cut) {
  return {.name = name,
          .work = LayerWork::unpriced,
          .part = LayerPart::ends,
          .vectors = norm_vectors(model),
          .frozen = cut.frozen_norms};
}

LayerOperator gather(double width) {
  return {
      .name = "gather", .work = LayerWork::tensor_gather, .part = LayerPart::ends, .out = width};
}

/// Residual streams of the rank, kept for the backward pass.
EndTensor streams(double count, const LlmShape& model) {
  return {.row = &EndActivations::kept, .rows = RowKind::residual, .width = count * model.hidden};
}

/// A second table with a row for each token and layer, and a projection of the first one's rows
/// that is added to it (Gemma 3n, Gemma 4).
void add_per_layer_inputs(const LlmShape& model, const EndCut& cut, EndDescription& end) {
  const double width = 1.0 * model.layers * model.per_layer_input;
  end.add({.name = "per-layer embedding",
           .work = LayerWork::lookup,
           .part = LayerPart::ends,
           .out = cut.vocabulary / cut.tensor,
           .in = width,
           .traffic = lookup_traffic,
           .frozen = cut.frozen_table});
  end.add({.name = "per-layer projection",
           .work = LayerWork::product,
           .part = LayerPart::ends,
           .rows = RowKind::residual,
           .out = width,
           .in = static_cast<double>(model.hidden),
           .vectors = static_cast<double>(model.per_layer_input),
           .frozen = cut.frozen_table});
  end.save({.row = &EndActivations::kept, .rows = RowKind::residual, .width = 2.0 * width});
}

/// Weights with which copies of the residual stream are read by the output.
void add_stream_output(const LlmShape& model, EndDescription& end) {
  const double copies = model.hyper_connections;
  const double parameters =
      copies > 1.0 ? copies * copies * model.hidden + copies + 1.0 : 2.0 * model.hidden;
  end.add({.name = "output of streams",
           .work = LayerWork::unpriced,
           .part = LayerPart::ends,
           .vectors = parameters});
}

}  // namespace

EndCut end_cut(const Job& job) {
  const FineTuning& tuning = job.fine_tuning;
  const bool table = tuning.trains(ModelPart::embedding);
  const bool projection = tuning.trains(ModelPart::output);
  const bool scores = tuning.objective == Objective::reward;
  const bool tied = job.model.tied_embeddings && !scores;
  return {.vocabulary = job.vocabulary(),
          .tensor = static_cast<double>(job.parallel.tensor),
          .scores = scores,
          .frozen_table = !(table || (tied && projection)),
          // A score's projection is new; it learns whatever else does.
          .frozen_projection = !(projection || scores || (tied && table)),
          .frozen_norms = !tuning.trains(ModelPart::norms),
          .frozen_prediction = !projection};
}

void describe_embedding(const LlmShape& model, const EndCut& cut, EndDescription& end) {
  const double hidden = model.hidden;
  end.add({.name = "embedding",
           .work = LayerWork::lookup,
           .part = LayerPart::ends,
           .out = cut.vocabulary / cut.tensor,
           .in = hidden,
           .traffic = lookup_traffic,
           .frozen = cut.frozen_table});
  if (model.position == PositionKind::learned)  // added as the table is read
    end.add({.name = "positions",
             .work = LayerWork::unpriced,
             .part = LayerPart::ends,
             .vectors = static_cast<double>(model.positions) * hidden,
             .frozen = cut.frozen_table});
  end.add({.name = "embedding",
           .work = LayerWork::lookup_scatter,
           .part = LayerPart::ends,
           .out = hidden});
  if (model.embedding_norm) end.add(end_norm("embedding norm", model, cut));
  if (model.per_layer_input > 0) add_per_layer_inputs(model, cut, end);
  end.save({.row = &EndActivations::kept,
            .keep = Keep::dropout_mask,
            .rows = RowKind::residual,
            .width = hidden});
}

void describe_output(const LlmShape& model, const EndCut& cut, EndDescription& end) {
  const double hidden = model.hidden;
  const double columns = cut.scores ? 1.0 : cut.vocabulary / cut.tensor;
  if (model.hyper_connections > 1 || model.residual_blocks > 0) add_stream_output(model, end);
  end.add(end_norm("final norm", model, cut));
  end.save(streams(2.0, model));  // its input and output
  end.add(gather(hidden));
  end.add({.name = "vocabulary projection",
           .work = LayerWork::product,
           .part = LayerPart::ends,
           .gathered = Gathered::input,
           .out = columns,
           .in = hidden,
           .tied = model.tied_embeddings && !cut.scores,
           .frozen = cut.frozen_projection});
  end.add({.name = "loss",
           .work = LayerWork::loss,
           .part = LayerPart::ends,
           .out = columns,
           .traffic = loss_traffic});
  end.save({.row = &EndActivations::kept, .keep = Keep::token, .width = token_arrays});
  const auto logits = [&](double EndActivations::*row, Keep keep) {
    end.save({.row = row, .keep = keep, .width = columns});
  };
  logits(&EndActivations::loss, Keep::logit);
  logits(&EndActivations::loss_gradient, Keep::logit_gradient);
  logits(&EndActivations::retained_loss, Keep::softmax_of_loss);
  logits(&EndActivations::deferred_output, Keep::logit_gradient);
  end.save({.row = &EndActivations::deferred_output, .rows = RowKind::residual, .width = hidden});
}

void describe_prediction(const LlmShape& model, const EndCut& cut, EndDescription& end) {
  const double hidden = model.hidden;
  end.add({.name = "prediction norms",
           .part = LayerPart::ends,
           .rows = RowKind::residual,
           .out = 2.0 * hidden,
           .traffic = layer_detail::norm_traffic,
           .eager = layer_detail::eager_norm_traffic(model.norm),
           .vectors = 2.0 * norm_vectors(model),
           .frozen = cut.frozen_norms});
  end.save(streams(4.0, model));  // their inputs and outputs
  end.add(gather(2.0 * hidden));
  end.add({.name = "prediction projection",
           .work = LayerWork::product,
           .part = LayerPart::ends,
           .gathered = Gathered::input,
           .out = hidden / cut.tensor,
           .in = 2.0 * hidden,
           .frozen = cut.frozen_prediction});
  // What it makes; for its weights its input, both streams in a row.
  end.save(streams(cut.frozen_prediction ? 1.0 : 3.0, model));
  end.add(end_norm("prediction final norm", model, cut));
  end.save(streams(2.0, model));
}

ModelEnds::ModelEnds(const Job& job, bool with_saved)
    : embedding{with_saved}, output{with_saved}, prediction{with_saved} {
  const EndCut cut = end_cut(job);
  describe_embedding(job.model, cut, embedding);
  describe_output(job.model, cut, output);
  if (job.model.mtp_layers > 0) describe_prediction(job.model, cut, prediction);
}

LayerKind prediction_layer(const LlmShape& model) {
  return model.moe ? LayerKind::moe : LayerKind::dense;
}

bool predicts_apart(const Job& job) {
  const std::optional<int> stage = job.parallel.prediction_stage;
  return job.model.mtp_layers > 0 && stage && *stage + 1 < job.parallel.pipeline;
}

bool splits_vocabulary(const Parallel& plan) {
  return plan.vocabulary != VocabularyKind::ends && plan.pipeline > 1;
}

}  // namespace foretrain
