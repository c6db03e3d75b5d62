// SPDX-License-Identifier: Apache-2.0
#include "planner/text/content_policy.hpp"

#include "scenarios/yaml/sha256.hpp"

namespace foretrain {
namespace {

/// RFC 4648 section 4.
std::string base64(std::string_view bytes) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view three = bytes.substr(at, 3);
    unsigned bits = 0;
    for (std::size_t i = 0; i < 3; ++i)
      bits = bits << 8U | (i < three.size() ? static_cast<unsigned char>(three[i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i)
      text += i <= three.size() ? digits[bits >> (18U - 6U * i) & 63U] : '=';
  }
  return text;
}

}  // namespace

std::string policy_hash(std::string_view text) {
  const std::string hex = sha256_hex(text);
  std::string bytes;
  for (std::size_t at = 0; at < hex.size(); at += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(at, 2), nullptr, 16));
  return "sha256-" + base64(bytes);
}

}  // namespace foretrain
