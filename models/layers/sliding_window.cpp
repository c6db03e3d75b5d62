// SPDX-License-Identifier: Apache-2.0
// Attention with a sliding window; models/layers/README.md, "Sliding window".
#include "models/layers/sliding_window.hpp"

#include <algorithm>
#include <cmath>

namespace foretrain {

double attended_keys(double sequence, double window, bool chunked) {
  if (window <= 0.0 || window >= sequence) return sequence;
  if (chunked) {
    const double whole = std::floor(sequence / window);
    const double rest = sequence - whole * window;
    return (whole * window * window + rest * rest) / sequence;
  }
  return window * (2.0 - window / sequence);
}

double attended_keys(double sequence, const HeadShape& heads, bool sees_window) {
  const double near = attended_keys(sequence, sees_window ? heads.window : 0.0, heads.chunked);
  if (heads.both_ways) return sees_window ? 2.0 * near : near;
  if (heads.compressed == 0.0) return near;
  return near + attended_keys(sequence, heads.chosen * heads.compressed) / heads.compressed;
}

double attended_at_end(double sequence, double window, double parts) {
  const double before = sequence * (1.0 - 1.0 / parts);
  const double most = window <= 0.0 ? sequence : std::min(window, sequence);
  if (most <= before) return 2.0 * most;
  const double growing = most * most - before * before;  // tokens that see less than `most`
  return (growing + 2.0 * most * (sequence - most)) / (sequence - before);
}

double attended_at_end(double sequence, const HeadShape& heads, double parts) {
  const double near = attended_at_end(sequence, heads.window, parts);
  if (heads.compressed == 0.0) return near;
  return near +
         attended_at_end(sequence, heads.chosen * heads.compressed, parts) / heads.compressed;
}

}  // namespace foretrain
