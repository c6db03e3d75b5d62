// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace foretrain {

/// Number of an element of a container. @pre i >= 0
[[nodiscard]] constexpr std::size_t index(int i) { return static_cast<std::size_t>(i); }

}  // namespace foretrain
