// SPDX-License-Identifier: Apache-2.0
#include "calibration/cases/record_scenario.hpp"

#include <catch2/catch.hpp>

#include "calibration/cases/step_case.hpp"
#include "calibration/records/run_job.hpp"
#include "calibration/records/run_source.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/memory/memory.hpp"
#include "models/rules/plan_rules.hpp"
#include "scenarios/resolve/scenario.hpp"
#include "scenarios/sections/scenario_text.hpp"
#include "tests/calibration/measured_records.hpp"

namespace foretrain {
namespace {

Job read_back(const RunRecord& record) {
  const RecordScenario scenario = record_scenario(record, shipped_catalog());
  INFO(record.id << ": " << scenario.why << "\n" << scenario.text);
  REQUIRE(scenario.why.empty());
  return load_scenario_text(scenario.text, record.id, ".").job;
}

/// The plan and machine of a job, without what scenarios name otherwise than records.
std::string plan_text(Job job, const Job& other) {
  job.name = other.name;
  job.model.name = "model";
  job.parallel.framework = PlanFramework::any;
  job.software_year = {};
  job.measured = {};
  return scenario_text({job, "", {}});
}

void check_equal_forecasts(const Job& read, const Job& mapped) {
  const StageLayout layout = stage_layout(mapped.model, mapped.parallel);
  const MemoryForecast a = forecast_memory(read, layout);
  const MemoryForecast b = forecast_memory(mapped, layout);
  CHECK(a.peak.value() == b.peak.value());
  for (std::size_t i = 0; i < b.stages.size(); ++i)
    CHECK(a.stages[i].counted.value() == b.stages[i].counted.value());
  CHECK(predict_step(read).time.value() == predict_step(mapped).time.value());
}

}  // namespace

TEST_CASE("records as scenarios: the text is read back as the same job", "[calibration][job]") {
  int scenarios = 0;
  for (const auto& [records, stride] :
       {std::pair{&shipped_runs(), 40}, std::pair{&newest_runs(), 5}})
    for (std::size_t i = 0; i < records->size(); i += static_cast<std::size_t>(stride)) {
      const RunRecord& record = (*records)[i];
      if (!record_scenario(record, shipped_catalog()).why.empty()) continue;
      const RunJob mapped = run_job(record, shipped_catalog());
      REQUIRE(mapped.job.has_value());
      const Job read = read_back(record);
      CAPTURE(record.id);
      CHECK(plan_text(read, *mapped.job) == plan_text(*mapped.job, *mapped.job));
      // The start of a run is in the mean of its steps, and in no scenario.
      if (run_source(record).start == Seconds{} && refusals(*mapped.job).empty())
        check_equal_forecasts(read, *mapped.job);
      ++scenarios;
    }
  CHECK(scenarios > 50);
}

TEST_CASE("records as scenarios: NICs and rates that are not the catalog's", "[calibration][job]") {
  const Job fewer = read_back(shipped_run("bs-jz-390-200B-tp8pp10dp1-mb1"));
  CHECK(fewer.cluster.host.nics == fewer.cluster.network.nics_per_host);
  CHECK(fewer.cluster.network.nics_per_host > 0);
  const Job slower = read_back(shipped_run("zb-1.5b-zb-2p-m24"));
  CHECK(slower.cluster.network.preset == "roce-400");
  CHECK(slower.cluster.network.nic_link.bandwidth == 200.0 * Gbps);
}

TEST_CASE("records as scenarios: what was measured", "[calibration][job]") {
  const RunRecord& record = shipped_run("sc21-t1-1.7b");
  const Job read = read_back(record);
  CHECK(read.measured.step.value() == Approx(measured_step(record, read)->value()));
  RunRecord tokens = record;
  tokens.iteration_s = {};
  tokens.tokens_per_s_per_gpu = 1000.0;
  tokens.memory = 30.0;
  tokens.memory_unit = "GiB";
  tokens.memory_kind = "max reserved";
  const RunMeasurements measured = read_back(tokens).measured;
  CHECK(measured.step == Seconds{});
  CHECK(measured.tokens_per_s == Approx(1000.0 * *record.gpus));
  CHECK(measured.reserved == 30.0 * GiB);
  CHECK(measured.allocated == Bytes{});
}

TEST_CASE("records as scenarios: what cannot be one says what it lacks", "[calibration][job]") {
  const auto why = [](auto change) {
    RunRecord record = shipped_run("sc21-t1-1.7b");
    change(record);
    return record_scenario(record, shipped_catalog()).why;
  };
  CHECK(why([](RunRecord& r) { r.kind = "inference"; }) ==
        "a record of kind 'inference' is no training run");
  CHECK(why([](RunRecord& r) { r.tensor = {}; }) ==
        "the layout over GPUs is not stated: parallel.tp, pp and dp");
  CHECK(why([](RunRecord& r) { r.micro_batch = {}; }) ==
        "the micro-batch is not stated: micro_batch");
  CHECK(why([](RunRecord& r) { r.gpus = 7; }) ==
        "the layout multiplies to 32 GPUs, the run had 7: correct gpus, or parallel.tp, pp, cp and "
        "dp");
  CHECK(
      why([](RunRecord& r) { r.gpus_per_node = 16; }) ==
      "16 GPUs per node, where dgx-a100 has 8: host names a server type of the catalog (foretrain "
      "show hosts), or gpus_per_node says how many of its GPUs were used");
}

}  // namespace foretrain
