// SPDX-License-Identifier: Apache-2.0
#include "models/data/matrix_shapes.hpp"

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

}  // namespace foretrain
