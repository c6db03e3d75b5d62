// SPDX-License-Identifier: Apache-2.0
// Attention with a sliding window; models/layers/README.md, "Sliding window".
#include "models/layers/sliding_window.hpp"

#include <cmath>
#include <string>

#include <fmt/format.h>

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

std::optional<Infeasible> refuse_windows(const Job& job) {
  const bool rings = job.communication.context_exchange == ContextExchange::ring;
  const int window = job.model.narrowest_window();
  if (job.parallel.context == 1 || !rings || window == 0 || window >= job.training.sequence)
    return std::nullopt;
  return Infeasible{std::string(not_modelled_rule), "parallel.context",
                    fmt::format("{} has attention with a window of {} tokens, which a ring of "
                                "context ranks does not exchange key-value blocks for (sequences "
                                "of {} tokens)",
                                job.model.name, window, job.training.sequence),
                    "communication.context_exchange: all-gather, or parallel.context: 1"};
}

}  // namespace foretrain
