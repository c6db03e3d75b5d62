// SPDX-License-Identifier: Apache-2.0
// Speed of what a search or a GUI calls often.
// usage: foretrain_bench [SCENARIO [PART-OF-NAME]]
#include <fmt/core.h>

#include <cstdio>
#include <exception>
#include <string>
#include <variant>
#include <vector>

#include "models/forecast/closed_form.hpp"
#include "models/forecast/path_forecast.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/memory/memory.hpp"
#include "models/rules/plan_rules.hpp"
#include "models/step/step_time.hpp"
#include "scenarios/resolve/scenario.hpp"
#include "tests/bench/bench_clock.hpp"
#include "tests/models/random_plans.hpp"
#include "topologies/fabrics/clos.hpp"
#include "topologies/routes/routing.hpp"

namespace {

using foretrain::bench::measure;

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
    measure(name,
            [&] { return foretrain::step_path(job, layout, detail).timeline.makespan.value(); });
  }
}

/// A rail-optimized fabric of 16,384 GPUs on 64-port switches: three tiers.
void measure_fabric(const foretrain::Cluster& cluster) {
  foretrain::Cluster large = cluster;
  large.hosts = 16384 / large.host.gpus;
  large.network.kind = foretrain::FabricKind::rail_optimized;
  const auto spec = foretrain::fabric_spec(large);
  measure("build_fabric, 16384 GPUs", [&] {
    return static_cast<double>(std::get<foretrain::Fabric>(build_fabric(spec)).from.size());
  });
  const auto fabric = std::get<foretrain::Fabric>(build_fabric(spec));
  std::vector<foretrain::LinkId> links;
  int pair = 0;
  const auto next_route = [&](const foretrain::RouteChoice& choice) {
    // Steps that share no factor with the GPUs visit all pairs of distances in the end.
    pair = (pair + 7919) % fabric.gpus();
    const bool found = route(fabric, pair, (pair * 5 + 4241) % fabric.gpus(), choice, links);
    return static_cast<double>(links.size()) + (found ? 0.5 : 0.0);
  };
  measure("route, ECMP, 16384 GPUs", [&] { return next_route({}); });
  const std::vector<double> load(fabric.from.size(), 0.0);
  foretrain::RouteChoice adaptive;
  adaptive.load = &load;
  measure("route, adaptive, 16384 GPUs", [&] { return next_route(adaptive); });
  foretrain::LinkSet down(fabric.from.size(), false);
  down[static_cast<std::size_t>(fabric.first_tier)] = true;
  foretrain::RouteChoice around;
  around.down = &down;
  measure("route, one link down, 16384 GPUs", [&] { return next_route(around); });
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
  measure("step_costs", [&] { return foretrain::step_costs(job, layout).constant.value(); });
  measure("a plan of a search: memory and step time", [&] { return score(job); });
  measure_plans();
  measure_path(job);
  measure("closed_form, the whole forecast", [&] {
    const auto prediction = foretrain::closed_form(job);
    return prediction.step ? prediction.step->time.value() : 0.0;
  });
  measure("clos_network, 2048 hosts",
          [&] { return static_cast<double>(foretrain::clos_network(spec).index()); });
  measure_fabric(job.cluster);
  measure("load_scenario, with catalogs from disk",
          [&] { return foretrain::load_scenario(path).job.training.sequence * 1.0; });
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc > 2) foretrain::bench::only = argv[2];
    run(argc > 1 ? argv[1] : "scenarios/llama2-70b-1024xh100.yaml");
  } catch (const std::exception& error) {
    fmt::print(stderr, "foretrain_bench: {}\n", error.what());
    return 2;
  }
  return 0;
}
