// SPDX-License-Identifier: Apache-2.0
#include "models/run_forecast.hpp"

#include <catch2/catch.hpp>

#include "tests/models/example_job.hpp"

using namespace foretrain;

TEST_CASE("goodput: Meta's formula at one worked point", "[models][run]") {
  // arXiv 2410.21680: (1 - (u0 + dt/2)/M) / (1 + w/dt) with M 3 h, u0 6 min, dt 30 min, w 18 s
  const double value = goodput({3.0 * hours, 6.0 * minutes, 30.0 * minutes, Seconds{18.0}});
  CHECK(value == Approx((1.0 - 21.0 / 180.0) / 1.01));
}

TEST_CASE("goodput: an interruption that costs more than the time between two leaves nothing",
          "[models][run]") {
  CHECK(goodput({1.0 * hours, 50.0 * minutes, 30.0 * minutes, Seconds{}}) == 0.0);
}

TEST_CASE("run: steps and days follow from tokens", "[models][run]") {
  const Job job = test::llama2_70b_job();
  std::vector<Warning> warnings;
  const RunForecast run = forecast_run(job, Seconds{5.0}, warnings);
  CHECK(run.steps == std::optional<double>{476838.0});  // ceil(2e12 / (1024 * 4096))
  CHECK(run.ideal->in(days) == Approx(476838.0 * 5.0 / 86400.0));
  CHECK_FALSE(run.expected.has_value());
  CHECK_FALSE(run.goodput.has_value());
  CHECK(warnings.empty());
}

TEST_CASE("run: what is missing is named, not invented", "[models][run]") {
  Job job = test::llama2_70b_job();
  job.operations.mean_time_between_interruptions = 3.1 * hours;
  job.operations.checkpoint_every = 30.0 * minutes;
  std::vector<Warning> warnings;
  CHECK_FALSE(forecast_run(job, Seconds{5.0}, warnings).expected.has_value());
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].message == "the expected duration is unknown without operations.restart");
}

TEST_CASE("run: cost is GPU-hours times the user's price, and absent without one",
          "[models][run]") {
  Job job = test::llama2_70b_job();
  std::vector<Warning> warnings;
  RunForecast run = forecast_run(job, Seconds{5.0}, warnings);
  CHECK_FALSE(forecast_cost(job, run).price.has_value());
  job.operations.price_per_gpu = Dollars{2.5} / (1.0 * hours);
  const CostForecast cost = forecast_cost(job, run);
  CHECK(*cost.gpu_hours == Approx(1024.0 * run.ideal->in(hours)));
  CHECK(cost.price->value() == Approx(2.5 * *cost.gpu_hours));
  CHECK_FALSE(cost.energy.has_value());
}
