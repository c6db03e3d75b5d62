// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/inputs/job.hpp"
#include "models/layers/layer_activations.hpp"
#include "models/layers/layer_description.hpp"

namespace foretrain {

/// Launches of a layer over those of a dense layer with plain attention, which floors and gaps of
/// stacks are measured on. Operators are launches, those of experts several (and one more for
/// every expert that the library loops over), and so is every stretch of them that CUDA
/// graphs capture (Training::cuda_graphs); 0 where the whole step is one graph.
/// models/layers/README.md, "Time of a layer", Launch.
[[nodiscard]] double relative_launches(const Job& job, const LayerType& type);

/// Products that give gradients of weights in a layer's backward pass, over its linear layers: 1
/// where all is trained.
[[nodiscard]] double weight_launches(const Job& job, const LayerType& type);

/// What selective recomputation launches in a layer's backward pass, over those launches: the
/// operators that run again, and for each module of the list what checkpointing it takes of the
/// processor. 0 where parts of the layer are captured as graphs, and their recomputation with them.
[[nodiscard]] double again_launches(const Job& job, const LayerType& type);

/// Whether the exchanges of experts' rows wait for the processor, which reads how many each rank
/// gets: not inside a graph, nor where every expert's rows are padded to its capacity.
[[nodiscard]] bool waits_for_counts(const Training& training);

/// Whether a row of saved tensors is written by a captured part of such a layer, and so lies in
/// the graphs' pool. Steps that are one graph pool everything (models/memory).
[[nodiscard]] bool saved_in_graph(const CudaGraphs& graphs, const LayerType& type,
                                  double LayerActivations::*row);

}  // namespace foretrain
