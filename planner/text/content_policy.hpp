// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace foretrain {

/// What a Content-Security-Policy names a style sheet or script of a page by, "sha256-...":
/// browsers run an element with this text and no other.
[[nodiscard]] std::string policy_hash(std::string_view text);

}  // namespace foretrain
