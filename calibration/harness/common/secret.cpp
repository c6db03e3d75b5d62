// SPDX-License-Identifier: Apache-2.0
#include "calibration/harness/common/secret.hpp"

#include <sys/random.h>

#include <array>
#include <stdexcept>

#include "scenarios/yaml/sha256.hpp"

namespace foretrain::harness {
namespace {

constexpr std::size_t block_bytes = 64;
constexpr std::string_view digits = "0123456789abcdef";

std::string bytes_of(std::string_view hex) {
  std::string bytes;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2)
    bytes += static_cast<char>(digits.find(hex[at]) << 4U | digits.find(hex[at + 1]));
  return bytes;
}

}  // namespace

std::string hmac_hex(std::string_view key, std::string_view text) {
  std::string padded = key.size() > block_bytes ? bytes_of(sha256_hex(key)) : std::string{key};
  padded.resize(block_bytes);
  std::string inner = padded;
  std::string outer = padded;
  for (char& c : inner) c = static_cast<char>(c ^ 0x36);
  for (char& c : outer) c = static_cast<char>(c ^ 0x5c);
  return sha256_hex(outer + bytes_of(sha256_hex(inner + std::string{text})));
}

bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned different = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    different |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return different == 0;
}

std::string nonce_hex() {
  std::array<unsigned char, 16> random{};
  if (getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size()))
    throw std::runtime_error{"the system gives no random numbers"};
  std::string hex;
  for (const unsigned char byte : random) {
    hex += digits[byte >> 4U];
    hex += digits[byte & 15U];
  }
  return hex;
}

}  // namespace foretrain::harness
