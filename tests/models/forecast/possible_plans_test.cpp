// SPDX-License-Identifier: Apache-2.0
#include "models/forecast/possible_plans.hpp"

#include <catch2/catch.hpp>

#include "models/rules/plan_rules.hpp"
#include "tests/models/example_job.hpp"

namespace foretrain {

TEST_CASE("a job whose recomputation is unknown is three plans and none itself",
          "[models][forecast]") {
  Job job = test::llama2_70b_job();
  job.memory.recompute.kind = RecomputeKind::unknown;
  REQUIRE(broken_rules(job).size() == 1);
  CHECK(broken_rules(job).front().key == "memory.recompute");
  const std::vector<Job> plans = possible_plans(job);
  REQUIRE(plans.size() == 3);
  for (const Job& plan : plans) {
    CHECK(broken_rules(plan).empty());
    CHECK(plan.training.global_batch == job.training.global_batch);
  }
  CHECK(plans[1].memory.recompute.modules.core_attention);
}

TEST_CASE("an unknown recomputation is told as a range over what fits, and what to find out",
          "[models][forecast]") {
  const std::string text = unknown_recompute_text({{"none", Seconds{}, 90.0 * GiB, false},
                                                   {"selective", 8.9 * Seconds{1.0}, 70.0 * GiB},
                                                   {"full", 10.4 * Seconds{1.0}, 40.0 * GiB}});
  CHECK(text ==
        "recomputation unknown: 8.9 to 10.4 s, 40.0 to 70.0 GiB; none would need 90.0 GiB, which "
        "is too much, selective would be 8.9 s with 70.0 GiB, full would be 10.4 s with 40.0 GiB. "
        "Find out what the run recomputes");
  CHECK(unknown_recompute_text({{"full", Seconds{}, 90.0 * GiB, false}}) ==
        "recomputation unknown: nothing fits; full would need 90.0 GiB, which is too much. Find "
        "out what the run recomputes");
}

}  // namespace foretrain
