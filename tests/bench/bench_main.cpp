// SPDX-License-Identifier: Apache-2.0
// Speed of what a search or a GUI calls often. usage: foretrain_bench [SCENARIO]
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <exception>
#include <string>
#include <vector>

#include "models/closed_form.hpp"
#include "models/memory.hpp"
#include "models/path_forecast.hpp"
#include "models/plan_rules.hpp"
#include "models/stage_layout.hpp"
#include "models/step_time.hpp"
#include "scenarios/scenario.hpp"
#include "tests/models/random_plans.hpp"
#include "topologies/clos.hpp"

namespace {

/// What the benchmarked calls return ends here, so that no call can be optimised away.
volatile double sink = 0.0;

/// CPU time, which other programs on the machine disturb less than wall time; one thread runs.
double seconds_for(const auto& call, int calls) {
  const std::clock_t start = std::clock();
  for (int i = 0; i < calls; ++i) sink = call();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

/// Prints the median of eleven batches of about 50 ms each, and how far the batches differ.
void measure(const char* name, const auto& call) {
  int calls = 1;
  while (seconds_for(call, calls) < 0.05) calls *= 2;

  std::array<double, 11> batches{};
  for (double& batch : batches) batch = seconds_for(call, calls) / calls;
  std::sort(batches.begin(), batches.end());
  const double median = batches[batches.size() / 2];
  fmt::print("{:<42} {:>10.2f} us {:>12.0f} per second   {:>3.0f} % spread\n", name, median * 1e6,
             1.0 / median, 100.0 * (batches.back() - batches.front()) / median);
}

/// What a plan search asks of every candidate: does it fit, how long is a step.
double score(const foretrain::Job& job) {
  const auto layout = foretrain::stage_layout(job.model, job.parallel);
  const foretrain::Bytes peak = foretrain::peak_memory(job, layout);
  return peak.value() + foretrain::step_seconds(foretrain::step_costs(job, layout)).value();
}

bool zero_bubble(foretrain::ScheduleKind kind) {
  using foretrain::ScheduleKind;
  return kind == ScheduleKind::zb_h1 || kind == ScheduleKind::zb_2p || kind == ScheduleKind::zb_v;
}

/// Random legal plans of random models, 1 to 16 stages and 1 to 192 micro-batches. Orders of
/// zero-bubble schedules are fitted to every new set of pass times.
void measure_plans() {
  foretrain::test::RandomPlans plans{1};
  std::vector<foretrain::Job> fixed, fitted;
  while (fixed.size() < 500 || fitted.size() < 500) {
    const foretrain::Job job = plans.next();
    (zero_bubble(job.parallel.schedule) ? fitted : fixed).push_back(job);
  }
  std::size_t next = 0;
  measure("the same, random plans, fixed orders", [&] { return score(fixed[next++ % 500]); });
  measure("the same, random plans, zero-bubble", [&] { return score(fitted[next++ % 500]); });
}

/// 16 stages of the scenario's model with 16 micro-batches: costs, schedule, graph, longest path.
void measure_path(foretrain::Job job) {
  job.parallel.pipeline = 16;
  job.parallel.schedule = foretrain::ScheduleKind::one_f_one_b;
  job.parallel.virtual_stages = 1;
  job.parallel.stage_layers.clear();
  job.training.global_batch = 16 * job.training.micro_batch * job.parallel.data;
  const auto layout = foretrain::stage_layout(job.model, job.parallel);
  for (const auto detail : {foretrain::Detail::pass, foretrain::Detail::layer}) {
    const auto name =
        fmt::format("path, 16 stages x 16 micro-batches, {} detail", foretrain::name_of(detail));
    measure(name.c_str(),
            [&] { return foretrain::step_path(job, layout, detail).timeline.makespan.value(); });
  }
}

void run(const std::string& path) {
  const foretrain::Scenario scenario = foretrain::load_scenario(path);
  const foretrain::Job& job = scenario.job;
  const auto layout = foretrain::stage_layout(job.model, job.parallel);
  const foretrain::ClosSpec spec{foretrain::FabricKind::rail_optimized, 2048, 8, 8, 64, 1.0,
                                 job.cluster.network.nic_link};

  fmt::print("{}\n", path);
  measure("broken_rules", [&] { return static_cast<double>(foretrain::broken_rules(job).size()); });
  measure("peak_memory", [&] { return foretrain::peak_memory(job, layout).value(); });
  measure("forecast_memory, every row of every stage",
          [&] { return foretrain::forecast_memory(job, layout).peak.value(); });
  measure("step_costs", [&] { return foretrain::step_costs(job, layout).transfer.value(); });
  measure("a plan of a search: memory and step time", [&] { return score(job); });
  measure_plans();
  measure_path(job);
  measure("closed_form, the whole forecast", [&] {
    const auto prediction = foretrain::closed_form(job);
    return prediction.step ? prediction.step->time.value() : 0.0;
  });
  measure("clos_network, 2048 hosts",
          [&] { return static_cast<double>(foretrain::clos_network(spec).index()); });
  measure("load_scenario, with catalogs from disk",
          [&] { return foretrain::load_scenario(path).job.training.sequence * 1.0; });
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc > 1 ? argv[1] : "scenarios/llama2-70b-1024xh100.yaml");
  } catch (const std::exception& error) {
    fmt::print(stderr, "foretrain_bench: {}\n", error.what());
    return 2;
  }
  return 0;
}
