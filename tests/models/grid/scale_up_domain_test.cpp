// SPDX-License-Identifier: Apache-2.0
// Racks whose NVLink joins several hosts: what is priced inside, and what over the network.
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "models/collectives/collective_cost.hpp"
#include "models/collectives/scheme.hpp"
#include "models/forecast/closed_form.hpp"
#include "models/grid/process_grid.hpp"
#include "models/step/step_costs.hpp"
#include "models/step/step_time.hpp"
#include "tests/models/collectives/h100_collectives.hpp"
#include "tests/models/example_job.hpp"
#include "tests/models/random_plans.hpp"

using namespace foretrain;

namespace {

/// The job on trays of four GPUs and four NICs, of which NVLink joins `domain_hosts`.
Job on_trays(Job job, int domain_hosts) {
  job.cluster.host.gpus = job.cluster.host.nics = 4;
  job.cluster.host.domain_hosts = domain_hosts;
  job.cluster.hosts = std::max(1, (job.parallel.gpus() + 3) / 4);
  return job;
}

Job rack_job() { return on_trays(test::llama2_70b_job(), 18); }

constexpr Packing rack{4, 72};

}  // namespace

TEST_CASE("domains: a job uses all it needs of one, or equal parts of several",
          "[models][domain]") {
  CHECK(usual_segment(1, 18) == 1);
  CHECK(usual_segment(18, 18) == 18);
  CHECK(usual_segment(64, 18) == 16);  // 256 GPUs on four racks
  CHECK(usual_segment(36, 18) == 18);
  CHECK(usual_segment(100, 18) == 10);
  CHECK(usual_segment(37, 18) == 18);  // no part divides it: two racks and a tray
  CHECK(usual_segment(22, 18) == 11);
  Cluster cluster = rack_job().cluster;
  cluster.hosts = 64;
  CHECK(cluster.packing().domain == 64);
  cluster.segment = 18;
  CHECK(cluster.packing().domain == 72);
  cluster.host.domain_hosts = 1;
  CHECK(cluster.packing().domain == 4);
}

TEST_CASE("domains: ranks per domain and the hosts of the network are those of the members",
          "[models][domain][grid][property]") {
  const int host = GENERATE(2, 4);
  const int domain = host * GENERATE(2, 4, 8);
  const int ranks = GENERATE(2, 8, 32, 128);
  const int stride = GENERATE(1, 2, 4, 16, 64);
  const Group group = spaced_group(ranks, stride);
  std::set<int> domains, hosts;
  for (const int rank : group.members()) {
    domains.insert(rank / domain);
    hosts.insert(rank / host);
  }
  const CommGroup seated = group.on_hosts({host, domain});
  CAPTURE(host, domain, ranks, stride);
  CHECK(seated.domains() == static_cast<int>(domains.size()));
  CHECK(seated.domain_hosts == domain / host);
  CHECK(seated.span_hosts == (domains.size() == 1 ? 1 : *hosts.rbegin() + 1));
  const Seats seats = seats_of(group.members(), {host, domain});
  CHECK(seats.host_count() == static_cast<int>(domains.size()));
  CHECK(seats.group().ranks_per_domain == seated.ranks_per_domain);
  CHECK(seats.group().span_hosts == seated.span_hosts);
  if (domains.size() > 1)  // hosts from one domain to the next that has members
    CHECK(seated.hosts_apart() == std::max(stride, domain) / domain * domain / host);
}

TEST_CASE("domains: 72 ranks in one rack talk at NVLink's rate, on two racks they do not",
          "[models][domain][collective]") {
  const Job job = rack_job();
  const CollectivePath path = test::path_of(job);
  const BytesPerSecond nvlink = 450.0 * GBps * job.device_profile.inside.share;
  const CommGroup one = spaced_group(72, 1).on_hosts(rack);
  CHECK(one.domains() == 1);
  CHECK(bus_bandwidth(one, path) / GBps == Approx(nvlink / GBps));
  // Every second GPU of two racks: 36 of each, and as many NICs, which are slower than NVLink.
  const CommGroup two = spaced_group(72, 2).on_hosts(rack);
  CHECK(two.domains() == 2);
  const BytesPerSecond nics = 36.0 * 50.0 * GBps * 0.98 * 0.86;
  CHECK(bus_bandwidth(two, path) / GBps == Approx(std::min(nics, nvlink) / GBps));
  // Eight ranks, one in each rack: a lone NIC. Eight in a rack, on eight trays: NVLink.
  const CommGroup lone = spaced_group(8, 72).on_hosts(rack);
  CHECK(bus_bandwidth(lone, path) < 0.15 * nvlink);
  const CommGroup trays = spaced_group(8, 4).on_hosts(rack);
  CHECK(bus_bandwidth(trays, path) / GBps == Approx(nvlink / GBps));
  const Bytes payload = 256.0 * MiB;
  CHECK(all_gather_time(trays, payload, path) < 0.2 * all_gather_time(lone, payload, path));
  CHECK(all_to_all_time(one, {payload, Bytes{}}, path) <
        0.3 * all_to_all_time(two, {payload, 0.5 * payload}, path));
}

TEST_CASE("domains: a step on trays of one domain takes what it takes on one host of as many GPUs",
          "[models][domain][property]") {
  test::RandomPlans plans{72};
  int several = 0;
  int slower = 0;  // where every tray is its own domain
  for (int i = 0; i < 100; ++i) {
    Job job = plans.next();
    job.stack.times.jitter = 0.0;  // stragglers among hosts stay what they are
    const int gpus = job.parallel.gpus();
    if (gpus % 4 != 0 || gpus > 512) continue;
    several += gpus > 4 ? 1 : 0;
    const Job trays = on_trays(job, gpus / 4);
    Job whole = trays;
    whole.cluster.host.gpus = whole.cluster.host.nics = gpus;
    whole.cluster.host.domain_hosts = whole.cluster.hosts = 1;
    const StageLayout layout = stage_layout(job.model, job.parallel);
    CAPTURE(i, gpus);
    CHECK(step_time(trays, layout).time.value() == Approx(step_time(whole, layout).time.value()));
    slower += step_time(on_trays(job, 1), layout).time > step_time(trays, layout).time ? 1 : 0;
  }
  CHECK(several > 20);
  CHECK(slower > several / 2);  // small payloads start sooner over the network
}

TEST_CASE("domains: stages in one domain hand over by NVLink, those in two by NICs",
          "[models][domain]") {
  Job job = test::llama2_70b_job();
  job.parallel.tensor = 8;
  job.parallel.pipeline = 8;
  job.parallel.virtual_stages = 1;
  job.parallel.data = 1;
  job = on_trays(job, 18);
  const StageLayout layout = stage_layout(job.model, job.parallel);
  const StepCosts inside = step_costs(job, layout);
  job.cluster.segment = 4;  // four trays of a rack hold two stages
  const StepCosts parts = step_costs(job, layout);
  CHECK(parts.stages[0].transfer == inside.stages[0].transfer);
  CHECK(parts.stages[1].transfer > 2.0 * inside.stages[1].transfer);
  CHECK(parts.stages[2].transfer == inside.stages[2].transfer);
}

TEST_CASE("domains: groups that domains do not hold in whole numbers are warned of",
          "[models][domain]") {
  Job job = test::llama2_70b_job();
  job.parallel.tensor = 8;
  job.parallel.pipeline = 1;
  job.parallel.virtual_stages = 1;
  job.parallel.data = 32;
  job.training.global_batch = 64;
  job = on_trays(job, 18);
  const auto warned = [](const Job& of) {
    const Prediction forecast = closed_form(of);
    return std::any_of(forecast.warnings.begin(), forecast.warnings.end(), [](const Warning& one) {
      return one.message.find("cluster.domain") != std::string::npos;
    });
  };
  CHECK_FALSE(warned(job));  // 64 of 72
  job.cluster.segment = 18;
  CHECK_FALSE(warned(job));  // 72 are nine groups of eight
  job.cluster.segment = 17;
  CHECK(warned(job));  // 68 are not
}
