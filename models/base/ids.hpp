// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>

namespace foretrain {

/// Strong ids: a pipeline stage is not a rank, and neither is a count.
enum class Stage : int {};  ///< pipeline stage, 0 holds the embedding
enum class Chunk : int {};  ///< virtual pipeline chunk within a stage
enum class Rank : int {};   ///< global rank of a GPU in the job

template <class Id>
[[nodiscard]] constexpr int index(Id id) {
  return static_cast<int>(id);
}

}  // namespace foretrain
