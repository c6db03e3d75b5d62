// SPDX-License-Identifier: Apache-2.0
#include "scenarios/yaml/sha256.hpp"

#include <catch2/catch.hpp>

#include <set>

namespace foretrain {
namespace {

// Example messages of FIPS 180-4 (NIST CSRC, "SHA256.pdf") and the long message of RFC 6234.
TEST_CASE("sha256: the published test vectors", "[scenarios]") {
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256_hex(std::string(1000000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("sha256: lengths around the padding borders all differ", "[scenarios]") {
  std::set<std::string> seen;
  for (std::size_t length = 0; length <= 130; ++length) {
    const std::string digest = sha256_hex(std::string(length, 'x'));
    CHECK(digest.size() == 64);
    seen.insert(digest);
  }
  CHECK(seen.size() == 131);
}

}  // namespace
}  // namespace foretrain
