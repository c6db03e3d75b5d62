// SPDX-License-Identifier: Apache-2.0
#include "calibration/records/record_check.hpp"

#include <catch2/catch.hpp>

namespace foretrain {

TEST_CASE("Kendall: the textbook ranking of four with one swap has tau 2/3", "[calibration]") {
  // Ranks 1 2 3 4 against 1 3 2 4: five of six pairs agree, one does not.
  const RankAgreement order = rank_agreement({{1, 1}, {2, 3}, {3, 2}, {4, 4}}, 0.0);
  CHECK(order.pairs == 6);
  CHECK(order.right == 5);
  CHECK(order.wrong == 1);
  CHECK(order.tau() == Approx(2.0 / 3.0));
}

TEST_CASE("Kendall: the same order is 1, the reverse is -1, a constant is 0", "[calibration]") {
  CHECK(rank_agreement({{1, 10}, {2, 11}, {4, 99}}, 0.02).tau() == 1.0);
  CHECK(rank_agreement({{1, 99}, {2, 11}, {4, 10}}, 0.02).tau() == -1.0);
  CHECK(rank_agreement({{1, 5}, {2, 5}, {4, 5}}, 0.02).tau() == 0.0);
}

TEST_CASE("Kendall: measurements closer than the resolution are not ranked", "[calibration]") {
  // 1.00 and 1.01 are 1 % apart, 1.01 and 1.03 are 1.98 %, 1.00 and 1.03 are 3 %.
  const RankAgreement order = rank_agreement({{1.00, 3}, {1.01, 2}, {1.03, 1}}, 0.02);
  CHECK(order.pairs == 1);
  CHECK(order.tau() == -1.0);
  CHECK(rank_agreement({{1.00, 3}}, 0.02).pairs == 0);
}

TEST_CASE("Kendall: agreement adds up over grids, not across them", "[calibration]") {
  RankAgreement order = rank_agreement({{1, 1}, {2, 2}}, 0.02);
  order += rank_agreement({{100, 7}, {50, 8}, {20, 1}}, 0.02);
  CHECK(order.pairs == 4);
  CHECK(order.tau() == Approx((1.0 + 2.0 - 1.0) / 4.0));
}

}  // namespace foretrain
