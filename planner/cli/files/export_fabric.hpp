// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace foretrain {

/// "trace.%d.et" with %d replaced by a rank. @throws UsageError where it has no %d, or several
[[nodiscard]] std::string rank_file(const std::string& pattern, int rank);

}  // namespace foretrain
