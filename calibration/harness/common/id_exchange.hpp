// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "calibration/harness/common/process_place.hpp"

namespace foretrain::harness {

/// HMAC with SHA-256 of `text` under `key`, in lower-case hex (RFC 2104).
[[nodiscard]] std::string hmac_hex(std::string_view key, std::string_view text);

/// Whether two texts are the same, in a time that does not tell where they differ.
[[nodiscard]] bool same_secret(std::string_view a, std::string_view b);

/// Sixteen random bytes of the system, in lower-case hex.
[[nodiscard]] std::string nonce_hex();

/// Hands a short message of rank 0 (NCCL's unique id) to every other rank over TCP: rank 0 listens
/// at the place's address and port, the others connect until it does. Both sides prove that they
/// know the place's secret (HMAC-SHA256 over fresh nonces); a connection that says nothing keeps
/// nobody waiting, and is closed after five seconds. The message itself is not encrypted.
/// @param message of rank 0; its size must be the same on every rank.
/// @return rank 0's message, on every rank.
/// @throws std::runtime_error after `patience_s` seconds, or where an address is wrong.
[[nodiscard]] std::string exchange_id(const ProcessPlace& place, const std::string& message,
                                      double patience_s = 120.0);

}  // namespace foretrain::harness
