// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "models/inputs/job.hpp"
#include "models/layers/layer_description.hpp"

namespace foretrain {

/// What the ends of a model keep of one micro-batch, in bytes on one rank.
struct EndActivations {
  double kept = 0.0;  ///< from the forward to the backward pass
  /// While the loss is computed, and while its gradient is.
  double loss = 0.0;
  double loss_gradient = 0.0;
  double retained_loss = 0.0;    ///< for a loss that is not the last: until its backward pass
  double deferred_output = 0.0;  ///< operands of the output layer's weight gradient, where it waits
};

/// A tensor of an end of the model, in the row that it is booked in.
struct EndTensor {
  double EndActivations::*row = nullptr;
  Keep keep = Keep::element;
  RowKind rows = RowKind::tokens;
  double width = 0.0;  ///< elements per row
};

/// An end of the model as operators, as layers are described (layer_description.hpp).
using EndDescription = OperatorList<EndTensor, 8>;

/// The vocabulary that is computed with (padded or not), and the ranks that it is cut over.
struct EndCut {
  int vocabulary = 0;
  double tensor = 1.0;
  bool scores = false;  ///< the output is one score of a sequence, whole on every rank
  // What is not trained.
  bool frozen_table = false;
  bool frozen_projection = false;
  bool frozen_norms = false;
  bool frozen_prediction = false;  ///< what a prediction module has beside its layer and norms
};
[[nodiscard]] EndCut end_cut(const Job& job);

/// Tables of tokens and positions with the norm behind them. Equations: models/layers/README.md,
/// "Ends of the model".
void describe_embedding(const LlmShape& model, const EndCut& cut, EndDescription& end);
/// Final norm, projection to the vocabulary, loss.
void describe_output(const LlmShape& model, const EndCut& cut, EndDescription& end);
/// What a module of multi-token prediction makes of the hidden state and the next token's embedding
/// before its layer, and the norm after it; its table and its output are the model's own
/// (DeepSeek-V3, arXiv 2412.19437 section 2.2).
void describe_prediction(const LlmShape& model, const EndCut& cut, EndDescription& end);

/// All of them on one rank of the job; no prediction module where the model has none.
struct ModelEnds {
  explicit ModelEnds(const Job& job, bool with_saved = true);

  EndDescription embedding;
  EndDescription output;
  EndDescription prediction;
};

/// The layer of a prediction module.
[[nodiscard]] LayerKind prediction_layer(const LlmShape& model);

/// Whether another stage than the loss's has the prediction modules: their outputs stay with the
/// loss, and get their hidden states (Megatron-Core, `multi_token_prediction.py`).
[[nodiscard]] bool predicts_apart(const Job& job);

/// Whether every stage runs a part of both ends (vocabulary parallelism, arXiv 2411.05288).
[[nodiscard]] bool splits_vocabulary(const Parallel& plan);

}  // namespace foretrain
