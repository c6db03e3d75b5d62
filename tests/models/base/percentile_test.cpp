// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "models/base/percentile.hpp"

using namespace foretrain;

TEST_CASE("percentile: the median of two is their mean", "[models][percentile]") {
  CHECK(median_of(std::vector<double>{0.04, 1.084}) == Approx(0.562));
  CHECK(median_of(std::vector<float>{3.0F, 1.0F, 2.0F}) == 2.0);
  CHECK(median_of(std::vector<double>{7.0}) == 7.0);
}

TEST_CASE("percentile: linear between ranks, as definition 7", "[models][percentile]") {
  // R: quantile(c(1, 2, 4, 8, 16), c(0, .1, .25, .9, 1), type = 7)
  std::vector<double> numbers{16.0, 2.0, 8.0, 1.0, 4.0};
  CHECK(percentile_of(numbers, 0.0) == 1.0);
  CHECK(percentile_of(numbers, 0.1) == Approx(1.4));
  CHECK(percentile_of(numbers, 0.25) == 2.0);
  CHECK(percentile_of(numbers, 0.9) == Approx(12.8));
  CHECK(percentile_of(numbers, 1.0) == 16.0);
  std::vector<double> none;
  CHECK_THROWS(percentile_of(none, 0.5));
}
