// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/layers/layer_description.hpp"

namespace foretrain {

/// Twice the keys that a query attends to on average under the causal mask, the diagonal neglected:
/// the sequence itself, or `window (2 - window / sequence)` where every query sees the `window`
/// tokens up to its own. @param window 0: no window. @param chunked a query sees the tokens before
/// it in its chunk of `window` tokens, the last of which may be shorter. @pre sequence > 0.
[[nodiscard]] double attended_keys(double sequence, double window, bool chunked = false);
/// The same of heads; with compressed keys, those that follow the window's, or the best of them;
/// where tokens see those behind them as well, twice as many.
/// @param sees_window false: unfused kernels, which compute all scores and mask them
[[nodiscard]] double attended_keys(double sequence, const HeadShape& heads,
                                   bool sees_window = true);

/// The same of the last 1/parts of the sequence's queries, which see most. @pre parts >= 1
[[nodiscard]] double attended_at_end(double sequence, double window, double parts);
[[nodiscard]] double attended_at_end(double sequence, const HeadShape& heads, double parts);

}  // namespace foretrain
