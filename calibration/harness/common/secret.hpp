// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace foretrain::harness {

/// HMAC with SHA-256 of `text` under `key`, in lower-case hex (RFC 2104).
[[nodiscard]] std::string hmac_hex(std::string_view key, std::string_view text);

/// Whether two texts are the same, in a time that does not tell where they differ.
[[nodiscard]] bool same_secret(std::string_view a, std::string_view b);

/// Sixteen random bytes of the system, in lower-case hex.
[[nodiscard]] std::string nonce_hex();

}  // namespace foretrain::harness
