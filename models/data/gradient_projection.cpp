// SPDX-License-Identifier: Apache-2.0
#include "models/data/gradient_projection.hpp"

#include <algorithm>

#include "models/data/data_parallel.hpp"
#include "models/kernels/kernel_cost.hpp"

namespace foretrain {
namespace {

void add_matrices(const LayerOperator& op, const HeadShape& heads, int layers, FusedMatrices fused,
                  std::vector<MatrixShape>& shapes) {
  const auto add = [&](double rows, double times) {
    const int count = static_cast<int>(times * op.copies) * layers;
    if (rows >= 1.0) shapes.push_back({rows, op.in, count, op.part});
  };
  if (op.part == LayerPart::attention && op.out == heads.all()) {
    for (const double rows : {heads.query, heads.key, heads.value}) add(rows, 1.0);
    return;
  }
  const double pieces = fused == FusedMatrices::none ? op.fused : 1.0;
  add(op.out / pieces, pieces);
}

/// FLOPs a second of a singular value decomposition in fp32, 0.42 to 0.43 at 4160 and 5184 columns
/// (MAGMA's gesdd, PyTorch pull request 1373): half of it goes through memory column by column, so
/// that faster multiplications do not help.
constexpr double svd_rate = 0.43e12;

/// An update that is scaled, added, and decayed by plain kernels reads and writes 5 gradients.
constexpr double plain_passes = 5.0;

bool is_projected(const Job& job, LayerPart part) {
  const EnumSet<ModelPart>& parts = job.training.projection.parts;
  switch (part) {
    case LayerPart::attention:
      return parts.has(ModelPart::attention);
    case LayerPart::mlp:
      return parts.has(ModelPart::mlp);
    case LayerPart::experts:
      return parts.has(ModelPart::experts);
    default:
      return false;
  }
}

std::vector<MatrixShape> projected(const Job& job, const FormCounts& layers) {
  std::vector<MatrixShape> shapes = matrix_shapes(job, layers, FusedMatrices::none);
  std::erase_if(shapes, [&](const MatrixShape& shape) { return !is_projected(job, shape.part); });
  return shapes;
}

struct Sides {
  double large = 0.0;
  double small = 0.0;
  double rank = 0.0;
};

Sides sides_of(const MatrixShape& shape, const GradientProjection& projection) {
  const double small = std::min(shape.rows, shape.columns);
  return {std::max(shape.rows, shape.columns), small,
          std::min(small, static_cast<double>(projection.rank))};
}

/// R-SVD of m x n with m >= n: 6 m n^2 + 20 n^3 (Golub and Van Loan, Matrix Computations, 4th
/// edition, figure 8.6.1).
Seconds decomposition_time(const Sides& sides) {
  const double square = sides.small * sides.small;
  return Seconds{(6.0 * sides.large * square + 20.0 * sides.small * square) / svd_rate};
}

}  // namespace

std::vector<MatrixShape> matrix_shapes(const Job& job, const FormCounts& layers,
                                       FusedMatrices fused) {
  std::vector<MatrixShape> shapes;
  for (std::size_t form = 0; form < layer_forms; ++form) {
    if (layers[form] == 0) continue;
    LayerDescription layer{job, false};
    describe_layer(job.model, layer_types[form], layer_cut(job.parallel), layer);
    for (const LayerOperator& op : layer.operators())
      if (op.is_product() && !op.tied && !op.frozen)
        add_matrices(op, layer.heads, layers[form], fused, shapes);
  }
  return shapes;
}

ProjectedStates projected_states(const Job& job, const FormCounts& layers, bool experts) {
  ProjectedStates states;
  if (!job.training.projection.projects()) return states;
  for (const MatrixShape& shape : projected(job, layers)) {
    if ((shape.part == LayerPart::experts) != experts) continue;
    const Sides sides = sides_of(shape, job.training.projection);
    states.matrices += shape.count * shape.elements();
    states.moments += shape.count * sides.rank * sides.large;
    states.projectors += shape.count * sides.rank * sides.small;
  }
  return states;
}

Seconds projection_time(const Job& job, const FormCounts& layers) {
  const GradientProjection& projection = job.training.projection;
  if (!projection.projects()) return {};
  const KernelDevice device{job.cluster.host.device, job.device_profile, Precision::bf16};
  const bool galore = projection.kind == ProjectionKind::galore;
  Seconds time;
  for (const MatrixShape& shape : projected(job, layers)) {
    const Sides sides = sides_of(shape, projection);
    Seconds each =
        gemm_time({sides.rank, sides.large, sides.small}, device) +
        streaming_time(Bytes{plain_passes * gradient_bytes(job) * shape.elements()}, device);
    if (galore)
      each += gemm_time({sides.small, sides.large, sides.rank}, device) +
              decomposition_time(sides) / projection.gap;
    time += static_cast<double>(shape.count) * each;
  }
  return time;
}

}  // namespace foretrain
