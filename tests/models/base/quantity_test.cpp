// SPDX-License-Identifier: Apache-2.0
#include "models/base/quantity.hpp"

#include <catch2/catch.hpp>

#include <type_traits>

using namespace foretrain;

namespace {

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Comparable = requires(A a, B b) {
  a < b;
};

}  // namespace

TEST_CASE("quantity: unlike dimensions neither add nor compare nor convert", "[models][quantity]") {
  STATIC_REQUIRE(Addable<Bytes, Bytes>);
  STATIC_REQUIRE_FALSE(Addable<Bytes, Seconds>);
  STATIC_REQUIRE_FALSE(Comparable<BytesPerSecond, Bytes>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<Bytes, Seconds>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<double, Bytes>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<Bytes, double>);
}

TEST_CASE("quantity: products and quotients carry the right dimension", "[models][quantity]") {
  STATIC_REQUIRE(std::is_same_v<decltype(Bytes{} / BytesPerSecond{}), Seconds>);
  STATIC_REQUIRE(std::is_same_v<decltype(Flop{} / Seconds{}), FlopPerSecond>);
  STATIC_REQUIRE(std::is_same_v<decltype(Watts{} * Seconds{}), Joules>);
  STATIC_REQUIRE(std::is_same_v<decltype(Bytes{} / Bytes{}), double>);
  // 80 GiB over a 400 Gbit/s NIC: 85.899 GB / 50 GB/s
  CHECK((80.0 * GiB / (400.0 * Gbps)).in(ms) == Approx(1717.98691840));
}

TEST_CASE("quantity: a gibibyte is not a gigabyte, a bit is not a byte", "[models][quantity]") {
  CHECK(GiB / GB == Approx(1.073741824));
  CHECK(Gbps / GBps == Approx(0.125));
}
