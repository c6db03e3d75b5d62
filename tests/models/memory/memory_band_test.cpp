// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <cmath>

#include "models/grid/stage_layout.hpp"
#include "models/memory/memory.hpp"
#include "tests/models/example_job.hpp"

using namespace foretrain;

TEST_CASE("memory band: what no record of the stack is like is wider, and says why",
          "[models][memory]") {
  Job job = test::llama2_70b_job();
  job.stack.memory.band = 0.03;
  CHECK(memory_doubts(job).empty());
  CHECK(memory_band(job) == Approx(0.03));
  const Bytes high = forecast_memory(job, stage_layout(job.model, job.parallel)).high;

  Job graphed = job;
  graphed.training.cuda_graphs.add(GraphPart::full_iteration);
  REQUIRE(memory_doubts(graphed).size() == 1);
  CHECK(memory_band(graphed) == Approx(std::hypot(0.03, 0.12)));

  Job four_bits = job;
  four_bits.fine_tuning.frozen_format = FrozenFormat::nf4;
  REQUIRE(memory_doubts(four_bits).size() == 1);
  // The upper end, by which a plan fits or fits barely, follows.
  Job wide = job;
  wide.stack.memory.band = memory_band(four_bits);
  CHECK(forecast_memory(wide, stage_layout(wide.model, wide.parallel)).high > high);

  Job hybrid = job;
  hybrid.model.mixer_pattern = "MA";
  CHECK(memory_band(hybrid) >= 0.21);
}
