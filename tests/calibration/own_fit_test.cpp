// SPDX-License-Identifier: Apache-2.0
// Runs of one's own: a cluster whose network delivers half of what is shipped is found from three
// of its runs, an outlier moves little, and what runs do not tell stays as unknown as it was.
#include "calibration/fit/own_fit.hpp"

#include <catch2/catch.hpp>

#include <cmath>
#include <string>

#include "calibration/cases/step_case.hpp"
#include "tests/calibration/measured_records.hpp"

namespace foretrain {
namespace {

/// Jobs of PyTorch FSDP2 on eight hosts, each with another model or batch.
std::vector<Job> jobs_on_hosts() {
  std::vector<Job> jobs;
  for (const RunRecord& record : shipped_runs()) {
    if (record.family() != "tt" || !record.gpus || *record.gpus != 64) continue;
    StepRun run = step_run(record, shipped_catalog());
    if (run.job && run.job->device_profile.name == "a100-sxm4-80gb") jobs.push_back(*run.job);
  }
  REQUIRE(jobs.size() >= 6);
  return jobs;
}

std::vector<OwnConstant> constants_of(const std::vector<Job>& jobs) {
  std::vector<const Job*> all;
  for (const Job& job : jobs) all.push_back(&job);
  return own_constants(all, {});
}

std::size_t index_of(const std::vector<OwnConstant>& constants, const std::string& text) {
  for (std::size_t i = 0; i < constants.size(); ++i)
    if (constants[i].text() == text) return i;
  FAIL(text);
  return 0;
}

/// What the jobs take on a cluster with these values.
std::vector<OwnRun> runs_on(const std::vector<OwnConstant>& constants,
                            const std::vector<double>& values, const std::vector<Job>& jobs) {
  std::vector<OwnRun> runs;
  for (const Job& job : jobs) runs.push_back({job, seconds_with(constants, values, job)});
  return runs;
}

std::vector<double> shipped(const std::vector<OwnConstant>& constants) {
  std::vector<double> values;
  for (const OwnConstant& constant : constants) values.push_back(constant.shipped);
  return values;
}

double worst_error(const std::vector<OwnConstant>& constants, const std::vector<double>& values,
                   const std::vector<OwnRun>& runs) {
  double worst = 0.0;
  for (const OwnRun& run : runs)
    worst =
        std::max(worst, std::abs(seconds_with(constants, values, run.job) / run.measured - 1.0));
  return worst;
}

}  // namespace

TEST_CASE("Own constants are one number for both 16-bit formats, wide where nobody measured",
          "[calibration][own]") {
  const std::vector<OwnConstant> constants = constants_of(jobs_on_hosts());
  const auto width = [&](const std::string& text) {
    return constants[index_of(constants, text)].width;
  };
  CHECK(width("site/default lone_share") > 0.5);
  CHECK(width("site/default clock") < 0.1);
  const OwnConstant& products = constants[index_of(
      constants, "device/a100-sxm4-80gb gemm.fp16.sustained, gemm.bf16.sustained")];
  CHECK(products.most == 1.0);
  const StatedDeviations stated{{{ProfileLayer::site, "default"}, {{"clock", 0.3}}}};
  std::vector<Job> jobs = jobs_on_hosts();
  const auto told = own_constants({&jobs.front()}, stated);
  CHECK(told[index_of(told, "site/default clock")].width == Approx(std::hypot(0.3, 0.04)));
}

TEST_CASE("A slow cluster is found from three of its runs", "[calibration][own]") {
  const std::vector<Job> jobs = jobs_on_hosts();
  const std::vector<OwnConstant> constants = constants_of(jobs);
  std::vector<double> truth = shipped(constants);
  truth[index_of(constants, "site/default clock")] *= 0.9;
  const std::vector<OwnRun> all = runs_on(constants, truth, jobs);
  const double before = worst_error(constants, shipped(constants), all);
  REQUIRE(before > 0.03);
  const std::vector<OwnRun> three{all.begin(), all.begin() + 3};
  const OwnPosterior posterior = fit_own(constants, three);
  CHECK(worst_error(constants, posterior.values, all) < 0.5 * before);
  const std::size_t clock = index_of(constants, "site/default clock");
  CHECK(posterior.values[clock] < constants[clock].shipped);
  CHECK(deviation_of(posterior, clock) < deviation_of(belief_before(constants), clock));
  for (std::size_t i = 0; i < constants.size(); ++i) {
    CHECK(posterior.values[i] > 0.0);
    CHECK(posterior.values[i] <= constants[i].most * (1.0 + 1e-12));
  }
  CHECK(fit_own(constants, three).values == posterior.values);
}

TEST_CASE("One run moves forecasts part of the way, and an outlier among others little",
          "[calibration][own]") {
  const std::vector<Job> jobs = jobs_on_hosts();
  const std::vector<OwnConstant> constants = constants_of(jobs);
  std::vector<OwnRun> runs = runs_on(constants, shipped(constants), jobs);
  runs.resize(5);
  OwnRun slow = runs.front();
  slow.measured *= 1.1;
  const OwnPosterior one = fit_own(constants, {slow});
  const double moved = seconds_with(constants, one.values, slow.job) / runs.front().measured;
  CHECK(moved > 1.01);
  CHECK(moved < 1.1);
  runs.back().measured *= 5.0;
  const OwnPosterior with_outlier = fit_own(constants, runs);
  runs.pop_back();
  CHECK(worst_error(constants, with_outlier.values, runs) < 0.05);
}

TEST_CASE("Context ranks, experts and launches make a run tell less", "[calibration][own]") {
  Job plain = jobs_on_hosts().front();
  plain.parallel.context = 1;
  const double factor = own_noise_factor(plain);
  CHECK(factor >= 1.0);
  Job ring = plain;
  ring.parallel.data /= 4;
  ring.parallel.context = 4;
  ring.training.global_batch /= 4;
  // Two doublings at two units each are 4; exposed gradients may add to it or leave it.
  CHECK(own_noise_factor(ring) > 4.0);
  Job slow_launches = plain;
  slow_launches.stack.times.launch_forward = slow_launches.stack.times.launch_forward * 300.0;
  slow_launches.stack.times.launch_backward = slow_launches.stack.times.launch_backward * 300.0;
  CHECK(own_noise_factor(slow_launches) > factor);
}

TEST_CASE("A run that scatters moves the constants less than a plain one", "[calibration][own]") {
  // Twice the same surprise: a step a third longer than forecast, of a plain run and of one with
  // context ranks.
  Job plain = jobs_on_hosts().front();
  plain.parallel.context = 1;
  Job ring = plain;
  ring.parallel.data /= 4;
  ring.parallel.context = 4;
  ring.training.global_batch /= 4;
  const auto share_taken = [](const Job& job) {
    const std::vector<OwnConstant> constants = constants_of({job});
    const double before = seconds_with(constants, shipped(constants), job);
    const OwnPosterior posterior = fit_own(constants, {{job, before * 4.0 / 3.0}});
    return std::log(seconds_with(constants, posterior.values, job) / before) / std::log(4.0 / 3.0);
  };
  const double plain_share = share_taken(plain);
  const double ring_share = share_taken(ring);
  CHECK(plain_share > 0.0);
  CHECK(ring_share > 0.0);
  CHECK(ring_share < plain_share);
}

TEST_CASE("Runs as forecast leave the constants and make them surer", "[calibration][own]") {
  const std::vector<Job> jobs = jobs_on_hosts();
  const std::vector<OwnConstant> constants = constants_of(jobs);
  const std::vector<OwnRun> runs = runs_on(constants, shipped(constants), jobs);
  const OwnPosterior posterior = fit_own(constants, runs);
  CHECK(worst_error(constants, posterior.values, runs) < 1e-6);
  CHECK(posterior.noise < OwnNoise{}.median);
  const OwnPosterior before = belief_before(constants);
  const std::vector<double> slopes = slopes_at(constants, posterior.values, jobs.front());
  CHECK(shared_variance(posterior, slopes, slopes) < 0.5 * shared_variance(before, slopes, slopes));
  const std::vector<double> left_out = left_out_own(constants, runs);
  REQUIRE(left_out.size() == runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i)
    CHECK(left_out[i] == Approx(runs[i].measured).epsilon(1e-3));
}

}  // namespace foretrain
