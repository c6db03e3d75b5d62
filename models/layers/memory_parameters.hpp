// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "models/grid/stage_layout.hpp"
#include "models/inputs/job.hpp"
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

[[nodiscard]] RankLayer rank_layer(const Job& job, LayerKind kind, Counted counted = Counted::all);
/// What a list of operators holds.
[[nodiscard]] RankLayer rank_layer(std::span<const LayerOperator> operators,
                                   Counted counted = Counted::all);

/// Parameters of the ends of the model that one rank holds where it has them.
struct RankEnds {
  double table = 0.0;         ///< of tokens
  double beside_table = 0.0;  ///< positions, embedding norm
  double projection = 0.0;    ///< to the vocabulary; the table again where they are tied
  double final_norm = 0.0;
  RankLayer prediction;  ///< one module of multi-token prediction without its layer
};
[[nodiscard]] RankEnds rank_ends(const Job& job, Counted counted = Counted::all);
/// What their descriptions hold.
[[nodiscard]] RankEnds rank_ends(const ModelEnds& described, Counted counted = Counted::all);

/// Layers of both kinds, and the ends; zero where the model has none.
struct RankLayers {
  RankLayer dense;
  RankLayer moe;
  RankEnds ends;
};
[[nodiscard]] RankLayers rank_layers(const Job& job, Counted counted = Counted::all);

/// All of them, and of those what is trained.
struct HeldLayers {
  RankLayers all;
  RankLayers trained;
};
[[nodiscard]] HeldLayers held_layers(const Job& job);

/// Parameters of one pipeline stage on one rank; of two where it holds its mirror's as well.
struct RankParameters {
  double layers = 0.0;  ///< all layers without routed experts, MTP modules included
  double experts = 0.0;
  double embedding = 0.0;       ///< token and position tables, embedding norm
  double output = 0.0;          ///< vocabulary projection and final norm
  double layer_matrices = 0.0;  ///< of `layers`: linear layers' weights
  double vectors = 0.0;         ///< of `layers`: norms and biases
  int dense_layers = 0;         ///< how many of each kind, MTP modules included
  int moe_layers = 0;

  [[nodiscard]] double dense() const { return layers + embedding + output; }
  [[nodiscard]] double total() const { return dense() + experts; }
  friend bool operator==(const RankParameters&, const RankParameters&) = default;
};

/// What a stage holds besides its layers.
struct StageEnds {
  bool embedding = false;
  bool output = false;
};

[[nodiscard]] StageEnds stage_ends(const Job& job, int stage);

[[nodiscard]] RankParameters rank_parameters(const Job& job, const StageLayout& layout, int stage,
                                             Counted counted = Counted::all);
/// The same for one of many stages. `held` is rank_layers(job).
[[nodiscard]] RankParameters rank_parameters(const Job& job, const RankLayers& held,
                                             const StageLayout& layout, int stage);

/// Elements of one tensor per distinct shape among the linear weights of these layers; null: none
/// of that kind.
[[nodiscard]] double distinct_weight_elements(const LayerDescription* dense,
                                              const LayerDescription* moe);

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

}  // namespace foretrain
