// SPDX-License-Identifier: Apache-2.0
#include "calibration/records/run_source.hpp"

#include <catch2/catch.hpp>

#include "tests/calibration/measured_records.hpp"

namespace foretrain {

TEST_CASE("Frameworks without a stack have a nearest one, which is there", "[calibration][own]") {
  const auto nearest = [](const std::string& source) {
    RunRecord record;
    record.id = "own-1";
    record.source = source;
    std::string stack = nearest_stack(record);
    CHECK(shipped_catalog().stacks.count(stack) == 1);
    return stack;
  };
  CHECK(nearest("training log of torchtitan 0.2 (a.log)") == "fsdp2");
  CHECK(nearest("training log of megatron-deepspeed (b.log)") == "megatron-deepspeed");
  CHECK(nearest("training log of Megatron-LM") == "megatron-core");
  CHECK(nearest("MaxText on our cluster") == "jax");
  CHECK(nearest("something of our own") == "megatron-core");
}

}  // namespace foretrain
