// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "models/base/enum_set.hpp"
#include "models/base/names.hpp"
#include "models/inputs/fine_tuning.hpp"

namespace foretrain {

/// How gradients of matrices are projected before the optimizer sees them: not at all; onto their
/// first singular vectors, the update being projected back (GaLore, arXiv 2403.03507); or onto
/// random vectors, the update being the gradient scaled channel by channel (APOLLO, arXiv
/// 2412.05270).
enum class ProjectionKind : std::uint8_t { none, galore, apollo };
FORETRAIN_ENUM_NAMES(ProjectionKind, {ProjectionKind::none, "none"},
                     {ProjectionKind::galore, "galore"}, {ProjectionKind::apollo, "apollo"});

/// Moments of matrices in a space of low rank.
struct GradientProjection {
  ProjectionKind kind = ProjectionKind::none;
  int rank = 128;
  int gap = 200;  ///< steps for which a projector is used
  /// Whose matrices: of attention, mlp and experts.
  EnumSet<ModelPart> parts{ModelPart::attention, ModelPart::mlp, ModelPart::experts};

  [[nodiscard]] bool projects() const { return kind != ProjectionKind::none; }
  friend bool operator==(const GradientProjection&, const GradientProjection&) = default;
};

}  // namespace foretrain
