// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "models/grid/stage_layout.hpp"
#include "models/inputs/job.hpp"
#include "models/inputs/llm.hpp"
#include "models/layers/layer_description.hpp"

namespace foretrain {

struct ModelEnds;

/// Parameters of one layer that one rank holds, sharded as Megatron-Core does: biases of
/// column-parallel projections are split, those of row-parallel ones, norms, routers and the
/// latent down-projections are replicated over the tensor ranks.
struct RankLayer {
  double dense = 0.0;           ///< everything but routed experts
  double experts = 0.0;         ///< routed experts of this rank
  double dense_matrices = 0.0;  ///< of `dense`: linear layers' weights
  double vectors = 0.0;         ///< of `dense`: norms and biases
};

/// Which parameters a count is of.
enum class Counted : std::uint8_t { all, trained };

[[nodiscard]] RankLayer rank_layer(const Job& job, const LayerType& type,
                                   Counted counted = Counted::all);
/// What a list of operators holds.
[[nodiscard]] RankLayer rank_layer(std::span<const LayerOperator> operators,
                                   Counted counted = Counted::all);

/// Parameters of the ends of the model that one rank holds where it has them.
struct RankEnds {
  double table = 0.0;         ///< of tokens
  double beside_table = 0.0;  ///< positions, embedding norm
  double tower = 0.0;         ///< vision tower with its projectors, whole on every rank
  double projection = 0.0;    ///< to the vocabulary; the table again where they are tied
  double final_norm = 0.0;
  RankLayer prediction;  ///< one module of multi-token prediction without its layer
};
[[nodiscard]] RankEnds rank_ends(const Job& job, Counted counted = Counted::all);
/// What their descriptions hold.
[[nodiscard]] RankEnds rank_ends(const ModelEnds& described, Counted counted = Counted::all);

/// Layers by form, and the ends; zero where the model has none.
struct RankLayers {
  std::array<RankLayer, layer_forms> forms;  ///< by form_index()
  RankEnds ends;
  int skipped = 0;  ///< first layers of the model that none of these are of (frozen ones)

  [[nodiscard]] const RankLayer& of(const LayerType& type) const { return forms[form_index(type)]; }
  [[nodiscard]] RankLayer& of(const LayerType& type) { return forms[form_index(type)]; }
};
[[nodiscard]] RankLayers rank_layers(const Job& job, Counted counted = Counted::all);

/// All of them, and of those what is trained.
struct HeldLayers {
  RankLayers all;
  RankLayers trained;
};
[[nodiscard]] HeldLayers held_layers(const Job& job);

/// Layers of a model by form, those of its prediction modules counted.
[[nodiscard]] FormCounts held_forms(const LlmShape& model);

/// Parameters of one pipeline stage on one rank; of two where it holds its mirror's as well.
struct RankParameters {
  double layers = 0.0;  ///< all layers without routed experts, MTP modules included
  double experts = 0.0;
  double embedding = 0.0;       ///< token and position tables, embedding norm, vision tower
  double tower = 0.0;           ///< of `embedding`: the vision tower
  double output = 0.0;          ///< vocabulary projection and final norm
  double layer_matrices = 0.0;  ///< of `layers`: linear layers' weights
  double vectors = 0.0;         ///< of `layers`: norms and biases
  FormCounts forms{};           ///< layers by form, MTP modules included

  [[nodiscard]] double dense() const { return layers + embedding + output; }
  [[nodiscard]] double total() const { return dense() + experts; }
  friend bool operator==(const RankParameters&, const RankParameters&) = default;
};

/// What a stage holds besides its layers.
struct StageEnds {
  bool embedding = false;
  bool output = false;
  bool prediction = false;  ///< modules of multi-token prediction
};

[[nodiscard]] StageEnds stage_ends(const Job& job, int stage);

[[nodiscard]] RankParameters rank_parameters(const Job& job, const StageLayout& layout, int stage,
                                             Counted counted = Counted::all);
/// The same for one of many stages. `held` is rank_layers(job).
[[nodiscard]] RankParameters rank_parameters(const Job& job, const RankLayers& held,
                                             const StageLayout& layout, int stage);

/// The shapes of linear layers' weights, each once, with the forms of layers that have it.
class DistinctWeights {
 public:
  void add(const LayerDescription& layer, std::size_t form);
  /// Elements of one tensor per shape that any layer of these has.
  [[nodiscard]] double elements(const FormCounts& layers) const;

 private:
  struct Shape {
    double out = 0.0;
    double in = 0.0;
    unsigned forms = 0;  ///< a bit each
  };
  std::array<Shape, 32> shapes_{};
  std::size_t count_ = 0;
};

/// Bytes that one parameter takes, of the stack's rules and the job's types.
struct ParameterBytes {
  double weight = 2.0;         ///< as a rank keeps it
  double frozen = 2.0;         ///< the same of one that is not trained
  double gathered = 2.0;       ///< as layers compute with it
  double gradient = 4.0;       ///< kept over the micro-batches
  double step_gradient = 0.0;  ///< made for the optimizer and gone after it
};
[[nodiscard]] ParameterBytes parameter_bytes(const Job& job);

/// Whether weights are kept in 32 bits alone.
[[nodiscard]] bool full_precision(Precision precision);

/// Parameters by component. One layer's counts; embeddings and head on their own.
/// Sources of every line: models/layers/README.md, "Parameters".
struct LayerParameters {
  std::int64_t attention = 0;  ///< projections with biases, q/k norms, latent projections
  std::int64_t dense_mlp = 0;  ///< dense MLP or shared experts with their gate
  std::int64_t router = 0;
  std::int64_t routed_experts = 0;  ///< all experts of the layer
  std::int64_t norms = 0;

  [[nodiscard]] std::int64_t total() const {
    return attention + dense_mlp + router + routed_experts + norms;
  }
};

/// What a layer's operators hold. @pre the model has experts where `kind` says so.
[[nodiscard]] LayerParameters layer_parameters(const LlmShape& shape, const LayerType& type);
/// Of a layer with attention.
[[nodiscard]] LayerParameters layer_parameters(const LlmShape& shape, LayerKind kind);

/// Input embedding, learned positions and embedding norm.
[[nodiscard]] std::int64_t embedding_parameters(const LlmShape& shape, int vocabulary);
/// Output projection (0 when tied) and final norm.
[[nodiscard]] std::int64_t head_parameters(const LlmShape& shape, int vocabulary);
/// Extra parameters of all multi-token-prediction modules: one transformer layer, a 2h x h
/// projection and three norms each; embedding and head are shared with the main model
/// (DeepSeek-V3, arXiv 2412.19437 section 2.2).
[[nodiscard]] std::int64_t mtp_parameters(const LlmShape& shape);

/// All parameters with the published vocabulary, without multi-token prediction (as model cards
/// count).
[[nodiscard]] std::int64_t parameters(const LlmShape& shape);
/// Parameters that one token uses: top_k of the routed experts, everything else.
[[nodiscard]] std::int64_t active_parameters(const LlmShape& shape);

}  // namespace foretrain
