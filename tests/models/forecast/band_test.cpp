// SPDX-License-Identifier: Apache-2.0
// Bands by what is not known of a plan.
#include "models/forecast/band.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <memory>

#include "models/grid/stage_layout.hpp"
#include "models/step/step_time.hpp"
#include "tests/models/example_job.hpp"
#include "tests/models/layers/moe_jobs.hpp"

namespace foretrain {
namespace {

BandTable table_for(const Job& job) {
  BandTable table;
  for (BandSides& width : table.widths) width = {0.04, 0.05};
  table.reach[job.stack.name] = {
      10, {job.cluster.host.device.name}, job.parallel.gpus(), job.parallel.tensor};
  return table;
}

Job job_with(const BandTable& table, Job job) {
  job.stack.bands = std::make_shared<const BandTable>(table);
  return job;
}

BandByKind facts_of_job(const Job& job) {
  return band_facts(job, step_time(job, stage_layout(job.model, job.parallel)));
}

bool has_part(const Job& job, const std::string& name) {
  const auto parts = band_parts(job, step_time(job, stage_layout(job.model, job.parallel)));
  return std::any_of(parts.begin(), parts.end(),
                     [&](const BandPart& part) { return part.name == name; });
}

}  // namespace

TEST_CASE("band: scale and tensor ranks count by doublings beyond what was fitted",
          "[models][band]") {
  const Job job = test::llama2_70b_job();
  BandTable table = table_for(job);
  CHECK(at(facts_of_job(job_with(table, job)), BandKind::scale).high == 0.0);
  CHECK_FALSE(has_part(job_with(table, job), "scale"));
  StackReach& reach = table.reach.begin()->second;
  reach.gpus = job.parallel.gpus() / 4;
  reach.tensor = std::max(1, job.parallel.tensor / 2);
  const BandByKind facts = facts_of_job(job_with(table, job));
  CHECK(at(facts, BandKind::scale).high == Approx(2.0));
  CHECK(at(facts, BandKind::tensor).low == Approx(1.0));
  CHECK(has_part(job_with(table, job), "scale"));
  reach.gpus = job.parallel.gpus() * 4;  // fewer than fitted is known
  CHECK(at(facts_of_job(job_with(table, job)), BandKind::scale).high == 0.0);
}

TEST_CASE("band: a device without runs of the stack, and a stack without any, are apart",
          "[models][band]") {
  const Job job = test::llama2_70b_job();
  BandTable table = table_for(job);
  table.reach.begin()->second.devices = {"another"};
  const BandByKind device = facts_of_job(job_with(table, job));
  CHECK(at(device, BandKind::device).low == 1.0);
  CHECK(at(device, BandKind::stack).low == 0.0);
  CHECK(at(device, BandKind::residual).high == Approx(job.stack.band_high - 1.0));
  table.reach.clear();
  Job unfitted = job_with(table, job);
  unfitted.stack.provenance.trust = Trust::interpolated;
  const BandByKind stack = facts_of_job(unfitted);
  CHECK(at(stack, BandKind::device).low == 0.0);
  CHECK(at(stack, BandKind::stack).low == 1.0);
  CHECK(at(stack, BandKind::residual).high == 0.0);
}

TEST_CASE("band: software of a year that no fitted run had counts by years, and is told",
          "[models][band]") {
  Job job = test::llama2_70b_job();
  BandTable table = table_for(job);
  StackReach& reach = table.reach.begin()->second;
  job.software_year = 2027;
  const auto years = [&] { return at(facts_of_job(job_with(table, job)), BandKind::release).high; };
  CHECK(years() == 0.0);  // of unknown years: nothing says how far off 2027 is
  reach.first_year = 2024;
  reach.last_year = 2025;
  table.reach[job.stack.name + "-2027"] = reach;
  table.reach[job.stack.name + "-2027"].first_year = 2026;
  table.reach[job.stack.name + "-2027"].last_year = 2027;
  CHECK(years() == 2.0);
  CHECK(has_part(job_with(table, job), "release"));
  CHECK(has_part(job_with(table, job), "software year"));
  job.software_year = 2023;
  CHECK(years() == 1.0);
  job.software_year = 2025;
  CHECK(years() == 0.0);
  job.software_year = 2027;
  const Job asked = job_with(table, job);
  StepForecast step = step_time(asked, stage_layout(asked.model, asked.parallel));
  std::vector<Warning> warnings;
  add_band(asked, step, warnings);
  CHECK(std::any_of(warnings.begin(), warnings.end(), [&](const Warning& warning) {
    return warning.message.find("2024 to 2025") != std::string::npos &&
           warning.message.find(job.stack.name + "-2027") != std::string::npos;
  }));
}

TEST_CASE("band: launches and experts count by what a step takes longer where they are slower",
          "[models][band]") {
  const Job job = test::llama2_70b_job();
  const BandTable table = table_for(job);
  const BandByKind facts = facts_of_job(job_with(table, job));
  CHECK(at(facts, BandKind::experts).high == 0.0);  // a dense model has none
  CHECK(at(facts, BandKind::launch).high < 0.02);   // long kernels hide twice the launches
  Job bound = job;
  bound.stack.times.launch_forward = 100.0 * ms;
  bound.stack.times.launch_backward = 200.0 * ms;
  CHECK(at(facts_of_job(job_with(table, bound)), BandKind::launch).high > 0.5);
}

TEST_CASE("band: an unmeasured processor may launch at half the speed, which bands reach",
          "[models][band]") {
  Job job = test::llama2_70b_job();
  job.stack.times.launch_forward = 100.0 * ms;
  job.stack.times.launch_backward = 200.0 * ms;
  BandTable table = table_for(job);
  table.widths = {};
  at(table.widths, BandKind::launch) = {0.0, 0.6};
  job = job_with(table, std::move(job));
  const double slower = at(facts_of_job(job), BandKind::launch).high;
  const auto upper = [](const Job& of) {
    StepForecast step = step_time(of, stage_layout(of.model, of.parallel));
    std::vector<Warning> warnings;
    add_band(of, step, warnings);
    return step.high / step.time - 1.0;
  };
  job.site.provenance.trust = Trust::measured;
  CHECK(upper(job) == Approx(0.6 * slower));
  CHECK_FALSE(has_part(job, "processor"));
  job.site.provenance.trust = Trust::interpolated;
  CHECK(upper(job) == Approx(slower));
  CHECK(has_part(job, "processor"));
}

TEST_CASE("band: on a cluster without a measured site none is narrower than the least",
          "[models][band]") {
  Job job = test::llama2_70b_job();
  BandTable table = table_for(job);
  table.widths = {};
  table.unmeasured_site = {0.10, 0.15};
  job = job_with(table, std::move(job));
  const auto sides_of = [](const Job& of) {
    StepForecast step = step_time(of, stage_layout(of.model, of.parallel));
    std::vector<Warning> warnings;
    add_band(of, step, warnings);
    return BandSides{step.time / step.low - 1.0, step.high / step.time - 1.0};
  };
  job.site.provenance.trust = Trust::measured;
  CHECK(sides_of(job).high == Approx(0.0).margin(1e-12));
  CHECK_FALSE(has_part(job, "new cluster"));
  job.site.provenance.trust = Trust::interpolated;
  CHECK(sides_of(job).low == Approx(0.10));
  CHECK(sides_of(job).high == Approx(0.15));
  CHECK(has_part(job, "new cluster"));
  for (BandSides& width : table.widths) width = {0.3, 0.3};
  CHECK_FALSE(has_part(job_with(table, job), "new cluster"));
}

TEST_CASE("band: natural routing is in doubt beyond the ranks that it was measured on",
          "[models][band]") {
  Job job = test::deepseek_v3_job();
  const BandTable table = table_for(job);
  job = job_with(table, std::move(job));
  job.training.moe_routing.spread = ExpertSpread::natural;
  job.training.moe_imbalance = 0.0;  // as the spread says
  const auto width_of = [](Job of, int ranks) {
    of.parallel.expert = ranks;
    for (const BandPart& part : band_parts(of, step_time(of, stage_layout(of.model, of.parallel))))
      if (part.name == "routing") return part.width.high;
    return 0.0;
  };
  CHECK(width_of(job, 8) == 0.0);
  CHECK(width_of(job, 16) > 0.0);
  CHECK(width_of(job, 32) > width_of(job, 16));
  job.training.moe_routing.spread = ExpertSpread::forced;
  CHECK(width_of(job, 32) == 0.0);
}

TEST_CASE("band: kin that disagrees widens 16-bit training, and is named", "[models][band]") {
  Job job = test::llama2_70b_job();
  job = job_with(table_for(job), std::move(job));
  job.device_profile.kin_apart = 0.18;
  CHECK(has_part(job, "device family"));
  StepForecast step = step_time(job, stage_layout(job.model, job.parallel));
  std::vector<Warning> warnings;
  add_band(job, step, warnings);
  CHECK(step.high / step.time > 1.18);
  CHECK(std::any_of(warnings.begin(), warnings.end(), [](const Warning& warning) {
    return warning.message.find("kin disagree") != std::string::npos;
  }));
  job.training.precision = Precision::fp8;
  job.device_profile.gemm[Precision::fp8] = job.device_profile.gemm.at(Precision::bf16);
  Device& device = job.cluster.host.device;
  device.peak[Precision::fp8] = device.peak_of(Precision::bf16);
  CHECK_FALSE(has_part(job, "device family"));
}

TEST_CASE("band: parts add up as the root of squares, the widest first", "[models][band]") {
  Job job = test::llama2_70b_job();
  const auto table = table_for(job);
  job = job_with(table, std::move(job));
  job.site.provenance.trust = Trust::interpolated;
  StepForecast step = step_time(job, stage_layout(job.model, job.parallel));
  std::vector<Warning> warnings;
  add_band(job, step, warnings);
  const auto parts = band_parts(job, step);
  REQUIRE(parts.size() >= 3);
  double low = 0.0;
  double high = 0.0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    low = std::hypot(low, parts[i].width.low);
    high = std::hypot(high, parts[i].width.high);
    CHECK_FALSE(parts[i].why.empty());
    if (i > 0)
      CHECK(parts[i].width.low + parts[i].width.high <=
            parts[i - 1].width.low + parts[i - 1].width.high);
  }
  CHECK(step.time / step.low == Approx(1.0 + low));
  CHECK(step.high / step.time == Approx(1.0 + high));
}

}  // namespace foretrain
