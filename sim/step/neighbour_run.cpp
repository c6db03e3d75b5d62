// SPDX-License-Identifier: Apache-2.0
#include "sim/step/neighbour_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "models/base/ranges.hpp"
#include "models/base/require.hpp"
#include "models/base/too_large.hpp"
#include "models/forecast/path_forecast.hpp"
#include "models/rules/plan_rules.hpp"
#include "sim/step/event_run.hpp"
#include "sim/step/internal/graph_player.hpp"
#include "sim/step/internal/step_traffic.hpp"
#include "topologies/fabrics/placement.hpp"

namespace foretrain {
namespace {

constexpr std::uint64_t other_tags = 1ULL << 62U;
constexpr std::uint64_t first_starts = 1ULL << 61U;
constexpr std::size_t most_tasks = 20'000'000;  ///< of all replicas; some 60 bytes each

Infeasible not_played(std::string where, std::string message, std::string remedy) {
  return {std::string(not_modelled_rule), std::move(where), std::move(message), std::move(remedy)};
}

std::optional<Infeasible> refuse(const Job& job) {
  if (auto refused = refuse_on_fabric(job)) return refused;
  if (!job.simulation.disturbances.empty())
    return not_played(
        "simulation.disturbances",
        "disturbances are not simulated beside a neighbour's steps: " + job.name + " has some",
        "take them out, or simulate the scenario alone");
  return std::nullopt;
}

std::optional<Infeasible> refuse_mixture(const Job& first, const Job& other) {
  const auto differ = [&](const char* what, const std::string& a, const std::string& b) {
    return not_played("cluster",
                      "two jobs on one fabric have the same " + std::string(what) + ": " +
                          first.name + " has " + a + ", " + other.name + " has " + b,
                      "give both the same cluster");
  };
  const Cluster& a = first.cluster;
  const Cluster& b = other.cluster;
  if (a.host.name != b.host.name) return differ("host", a.host.name, b.host.name);
  if (a.network.preset != b.network.preset)
    return differ("fabric", a.network.preset, b.network.preset);
  return std::nullopt;
}

/// One of the two jobs, ready to be played.
class Side {
 public:
  Side(const Job& job, const Fabric& fabric, std::vector<int> gpus, const ReplayOptions& options)
      : job_{uncontended(job)},
        layout_{stage_layout(job_.model, job_.parallel)},
        ranks_{job_.parallel, std::move(gpus)},
        path_{step_path(job_, layout_, event_detail(job))},
        options_{options} {
    StepTrafficOptions how;
    how.changing = true;  // both count links as the fabric does
    if (options.on_progress)
      how.go_on = [this] { return options_.on_progress({0, path_.graph.tasks.size(), {}}); };
    traffic_ = std::make_unique<StepTraffic>(PlacedJob{job_, fabric, ranks_}, path_.graph,
                                             step_channels(job_, path_.graph), how);
    options_.replicas = job_.parallel.data;
    if (path_.graph.tasks.size() * index(options_.replicas) > most_tasks)
      throw TooLarge(job.name + ": " + std::to_string(options_.replicas) + " data replicas of " +
                     std::to_string(path_.graph.tasks.size()) +
                     " tasks each are more than can be played beside another job");
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;
  ~Side() = default;

  [[nodiscard]] GraphPlayer player(FlowSimulation& simulation, std::uint64_t first_tag) {
    return {path_.graph, simulation, *traffic_, options_, first_tag};
  }
  [[nodiscard]] const FlowNetwork& network() const { return traffic_->network(); }
  [[nodiscard]] std::vector<double> link_bytes() const { return traffic_->link_bytes(); }

  /// Plays one step with nobody beside it.
  [[nodiscard]] Seconds alone() {
    const auto simulation = make_flow_simulation(network());
    GraphPlayer one = player(*simulation, 0);
    one.start();
    simulation->run([&](std::uint64_t tag) { one.on_event(tag); });
    return simulation->now();
  }

 private:
  Job job_;
  StageLayout layout_;
  RankMap ranks_;
  StepPath path_;
  ReplayOptions options_;
  std::unique_ptr<StepTraffic> traffic_;
};

using Sides = std::array<std::unique_ptr<Side>, 2>;

/// The first job begins at `from`, when the other is in the midst of a step; that goes on for as
/// long as the first does.
void play_phase(const Sides& sides, Seconds from, int steps, NeighbourRun& run) {
  const auto simulation = make_flow_simulation(sides[0]->network());
  GraphPlayer first = sides[0]->player(*simulation, 0);
  GraphPlayer other = sides[1]->player(*simulation, other_tags);
  Seconds first_began, other_began;
  int left = steps;
  simulation->at(from, first_starts);
  other.start();
  simulation->run([&](std::uint64_t tag) {
    const Seconds now = simulation->now();
    if (tag == first_starts) {
      first_began = now;
      return first.start();
    }
    if (other.owns(tag)) {
      other.on_event(tag);
      if (!other.over() || left == 0) return;
      if (other_began >= from) run.jobs[1].steps.push_back(now - other_began);
      other_began = now;
      return other.start();
    }
    first.on_event(tag);
    if (!first.over()) return;
    run.jobs[0].steps.push_back(now - first_began);
    first_began = now;
    if (--left > 0) first.start();
  });
}

/// @pre each was played alone, once, and nothing since
void find_shared(const Sides& sides, const Fabric& fabric, NeighbourRun& run) {
  constexpr std::size_t listed = 8;
  const std::array bytes{sides[0]->link_bytes(), sides[1]->link_bytes()};
  std::vector<std::pair<double, LinkId>> both;
  const auto use = [&](std::size_t job, LinkId link) {
    return bytes[job][index(link)] / (fabric.capacity[index(link)] * run.jobs[job].alone.value());
  };
  for (LinkId link = 0; link < fabric.links(); ++link)
    if (bytes[0][index(link)] > 0.0 && bytes[1][index(link)] > 0.0)
      both.emplace_back(-(use(0, link) + use(1, link)), link);
  run.shared_cables = static_cast<int>(both.size());
  const std::size_t shown = std::min(listed, both.size());
  std::partial_sort(both.begin(), both.begin() + static_cast<std::ptrdiff_t>(shown), both.end());
  for (std::size_t i = 0; i < shown; ++i) {
    const LinkId link = both[i].second;
    run.busiest.push_back({link_name(fabric, link), {use(0, link), use(1, link)}});
  }
}

NeighbourRun play(const Sides& sides, const Fabric& fabric, const NeighbourOptions& options) {
  NeighbourRun run;
  for (std::size_t i = 0; i < sides.size(); ++i) run.jobs[i].alone = sides[i]->alone();
  find_shared(sides, fabric, run);
  for (int phase = 0; phase < options.phases; ++phase)
    play_phase(sides, (phase + 0.5) / options.phases * run.jobs[1].alone, options.steps, run);
  for (BesideSteps& job : run.jobs) std::ranges::sort(job.steps);
  return run;
}

/// GPUs of both jobs' ranks.
std::variant<std::array<std::vector<int>, 2>, Infeasible> place(
    const std::array<const Job*, 2>& jobs, const Fabric& fabric) {
  std::array<std::vector<int>, 2> gpus;
  std::vector<int> taken;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Simulation& simulation = jobs[i]->simulation;
    std::vector<int> occupied = simulation.occupied;
    occupied.insert(occupied.end(), taken.begin(), taken.end());
    std::ranges::sort(occupied);
    occupied.erase(std::unique(occupied.begin(), occupied.end()), occupied.end());
    auto placed =
        place_ranks(fabric, {jobs[i]->parallel.gpus(), simulation.placement, simulation.seed,
                             occupied, jobs[i]->cluster.segment_hosts()});
    if (const auto* refused = std::get_if<Infeasible>(&placed)) {
      Infeasible named = *refused;
      if (i == 1)
        named.message += "; two jobs need a fabric with hosts for both: cluster.fabric.hosts of " +
                         jobs[0]->name;
      return named;
    }
    gpus[i] = std::get<std::vector<int>>(std::move(placed));
    for (const int gpu : gpus[i]) taken.push_back(gpu / fabric.spec.host.gpus);
  }
  return gpus;
}

}  // namespace

double BesideSteps::slowdown(double part) const {
  FORETRAIN_REQUIRE(!steps.empty() && part >= 0.0 && part <= 1.0);
  const auto last = static_cast<double>(steps.size() - 1);
  return steps[static_cast<std::size_t>(std::lround(part * last))] / alone;
}

double BesideSteps::mean_slowdown() const {
  FORETRAIN_REQUIRE(!steps.empty());
  return std::accumulate(steps.begin(), steps.end(), Seconds{}) /
         (static_cast<double>(steps.size()) * alone);
}

std::variant<NeighbourRun, Infeasible> run_neighbours(const std::array<const Job*, 2>& jobs,
                                                      const Fabric& fabric,
                                                      const NeighbourOptions& options) {
  FORETRAIN_REQUIRE(options.phases >= 1 && options.steps >= 1);
  for (const Job* job : jobs)
    if (auto refused = refuse(*job)) return *refused;
  if (auto refused = refuse_mixture(*jobs[0], *jobs[1])) return *refused;
  auto gpus = place(jobs, fabric);
  if (const auto* refused = std::get_if<Infeasible>(&gpus)) return *refused;
  auto& of_job = std::get<std::array<std::vector<int>, 2>>(gpus);
  ReplayOptions replay;
  replay.on_progress = options.on_progress;
  NeighbourRun stopped;
  stopped.stopped = true;
  try {
    Sides sides;
    for (std::size_t i = 0; i < sides.size(); ++i)
      sides[i] = std::make_unique<Side>(*jobs[i], fabric, std::move(of_job[i]), replay);
    return play(sides, fabric, options);
  } catch (const StepStopped&) {
    return stopped;
  } catch (const GraphPlayer::Stopped&) {
    return stopped;
  } catch (const TooLarge& large) {
    return not_played("parallel.data", large.what(), "ask for fewer replicas");
  } catch (const FabricCut& cut) {
    return Infeasible{"fabric-connected", "cluster.fabric", cut.what(), "use another fabric"};
  }
}

}  // namespace foretrain
