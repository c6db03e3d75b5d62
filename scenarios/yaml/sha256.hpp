// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace foretrain {

/// SHA-256 of `bytes` in lower-case hex (FIPS 180-4, section 6.2). For naming inputs, not secrets.
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

}  // namespace foretrain
