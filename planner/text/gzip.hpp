// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace foretrain {

/// `text` as a gzip file (RFC 1952) without name and time, so that equal input gives equal bytes.
[[nodiscard]] std::string gzip(std::string_view text);

}  // namespace foretrain
