// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/smallest_change.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/forecast/closed_form.hpp"
#include "models/grid/process_grid.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/rules/plan_rules.hpp"
#include "models/rules/plan_sizes.hpp"
#include "models/schedules/registry.hpp"
#include "models/step/step_bounds.hpp"
#include "models/step/step_costs.hpp"
#include "planner/forecast/plan_moves.hpp"
#include "planner/forecast/report.hpp"
#include "planner/forecast/search_limits.hpp"

namespace foretrain {

std::vector<std::string> stranded_settings(const Parallel& now, const Parallel& then) {
  std::vector<std::string> settings;
  const bool chunks = traits_of(then.schedule).chunks == chunks_chosen;
  if (now.microbatch_group > 0 && !chunks) settings.emplace_back("parallel.microbatch_group=null");
  if (now.zero_group > 0 && then.zero == 0) settings.emplace_back("parallel.zero_group=null");
  return settings;
}
namespace {

constexpr std::size_t most_layouts = 6;  ///< as many as a report shows

/// A plan that fits and waits to be timed.
struct Fitting {
  Job job;
  Bytes peak;
  Seconds least;  ///< that its step is not below
};

/// Ways to need less memory in the same layout, one more at a time, the cheaper ones first; false
/// where one changes nothing.
template <class Value>
bool lower(Value& value, Value to, bool applies) {
  if (applies) value = std::move(to);
  return applies;
}
bool recompute_all(Job& job) {
  Recompute& now = job.memory.recompute;
  return lower(now, Recompute{RecomputeKind::full, RecomputeMethod::uniform, 1},
               now.kind != RecomputeKind::full);
}
bool one_sequence(Job& job) {
  return lower(job.training.micro_batch, 1, job.training.micro_batch > 1);
}
bool shard_states(Job& job) { return lower(job.parallel.zero, 1, job.parallel.zero < 1); }
bool shard_all(Job& job) { return lower(job.parallel.zero, 3, job.parallel.zero < 3); }
bool offload_states(Job& job) {
  return lower(job.memory.offload, OffloadKind::optimizer, job.memory.offload == OffloadKind::none);
}

constexpr std::array frugality{recompute_all, one_sequence, shard_states, shard_all,
                               offload_states};

/// Chunks and schedule of another number of stages are those that always go.
void lay_out(Job& job, int tensor, int pipeline) {
  Parallel& plan = job.parallel;
  if (pipeline != plan.pipeline) {
    plan.virtual_stages = 1;
    plan.schedule = default_schedule;
  }
  plan.sequence = tensor > 1 && (plan.sequence || plan.tensor == 1);
  plan.tensor = tensor;
  plan.pipeline = pipeline;
}

/// What fits of all layouts.
class Layouts {
 public:
  Layouts(const SearchLimits& limits, PlanScope scope) : limits_{limits}, scope_{scope} {}

  void try_all(const Job& base) {
    const PlanSizes sizes = plan_sizes(base);
    const bool fixed = !base.parallel.stage_layers.empty();
    for (const int tensor : sizes.tensor)
      for (const int pipeline : fixed ? std::vector{base.parallel.pipeline} : sizes.pipeline)
        for (const int context : sizes.context) {
          Job job = base;
          lay_out(job, tensor, pipeline);
          job.parallel.context = context;
          const std::int64_t replica = replica_ranks(job.parallel);
          if (job.cluster.gpus() % replica != 0) continue;
          job.parallel.data = static_cast<int>(job.cluster.gpus() / replica);
          for (const int expert : sizes.expert) {
            job.parallel.expert = expert;
            try_layout(job);
          }
        }
  }

  [[nodiscard]] std::vector<Fitting>& found() { return found_; }

 private:
  void try_layout(Job job) {
    if (!broken_layout_rules(job).empty() || keep_if_it_goes(job)) return;
    for (const auto save : frugality) {
      Job lighter = job;
      if (!save(lighter)) continue;
      if (keep_if_it_goes(lighter)) return;
      if (refusals(lighter).empty() || !refusals(job).empty()) job = std::move(lighter);
    }
  }

  bool keep_if_it_goes(const Job& job) {
    const PlanJudgement judged = judge_plan(job, limits_, scope_, &needs_);
    if (!judged.goes()) return false;
    const Seconds least = scope_ == PlanScope::run
                              ? bounds_.least(job, stage_layout(job.model, job.parallel))
                              : Seconds{};
    found_.push_back({job, judged.need.peak, least});
    return true;
  }

  const SearchLimits& limits_;
  PlanScope scope_;
  MemoryNeeds needs_;
  StepBounds bounds_;
  std::vector<Fitting> found_;
};

/// What leads from one plan to the other, as for --set.
std::vector<std::string> settings_between(const Job& now, const Job& then) {
  std::vector<std::string> settings;
  const auto set = [&](const char* key, const auto& was, const auto& is) {
    if (was != is) settings.push_back(fmt::format("{}={}", key, is));
  };
  const Parallel& from = now.parallel;
  const Parallel& to = then.parallel;
  set("cluster.hosts", now.cluster.hosts, then.cluster.hosts);
  set("cluster.gpus_per_host", now.cluster.host.gpus, then.cluster.host.gpus);
  set("parallel.tensor", from.tensor, to.tensor);
  set("parallel.sequence", from.sequence, to.sequence);
  set("parallel.context", from.context, to.context);
  set("parallel.pipeline", from.pipeline, to.pipeline);
  set("parallel.virtual_stages", from.virtual_stages, to.virtual_stages);
  set("parallel.schedule", name_of(from.schedule), name_of(to.schedule));
  set("parallel.expert", from.expert, to.expert);
  if (!settings.empty()) settings.push_back(fmt::format("parallel.data={}", to.data));
  set("parallel.zero", from.zero, to.zero);
  for (std::string& setting : stranded_settings(from, to)) settings.push_back(std::move(setting));
  set("training.micro_batch", now.training.micro_batch, then.training.micro_batch);
  set("memory.recompute", name_of(now.memory.recompute.kind), name_of(then.memory.recompute.kind));
  set("memory.offload", name_of(now.memory.offload), name_of(then.memory.offload));
  return settings;
}

bool faster(const Change& a, const Change& b) { return a.step && b.step && *a.step < *b.step; }

/// Plans that split the model otherwise, over plan_sizes() of the machine of `job`, each with as
/// little else changed as makes it fit (recomputation, micro-batch, ZeRO stage, offloading, in that
/// order): the fastest few, with the settings that lead there from `now`.
/// @param job `now`, maybe on another machine
std::vector<Change> layouts_that_fit(const Job& now, const Job& job, const SearchLimits& limits,
                                     PlanScope scope) {
  Layouts layouts(limits, scope);
  layouts.try_all(job);
  std::vector<Fitting>& fitting = layouts.found();
  std::ranges::stable_sort(fitting,
                           [](const Fitting& a, const Fitting& b) { return a.least < b.least; });
  std::vector<Change> best;
  for (const Fitting& plan : fitting) {
    const bool full = best.size() == most_layouts;
    if (full && (!best.back().step || plan.least >= *best.back().step)) break;
    Change change{settings_between(now, plan.job), plan.peak, std::nullopt};
    if (scope == PlanScope::run) change.step = closed_form(plan.job).step.value().time;
    best.insert(std::upper_bound(best.begin(), best.end(), change, faster), std::move(change));
    best.resize(std::min(best.size(), most_layouts));
  }
  return best;
}

constexpr int most_hosts = 1'000'000;        // as the scenario reader allows
constexpr int most_times = 8;                // the machine
constexpr double worth_more_settings = 0.8;  // of the step with few

/// Peak and step when the candidate can run, or fits by memory alone, and keeps the memory limits.
std::optional<Change> checked(const Candidate& candidate, const SearchLimits& limits,
                              PlanScope scope) {
  const PlanJudgement judged = judge_plan(candidate.job, limits, scope);
  if (!judged.goes()) return std::nullopt;
  Change change{candidate.settings, judged.need.peak, std::nullopt};
  if (scope == PlanScope::run) change.step = closed_form(candidate.job).step.value().time;
  return change;
}

/// What the moves behind a candidate give up of what is learnt, each once.
std::string joined(const std::string& before, std::string_view more) {
  if (more.empty() || before == more) return before;
  return before.empty() ? std::string(more) : before + "; " + std::string(more);
}

/// Tries sequences of `depth` moves; order within a sequence does not matter, repeats may.
struct Collector {
  const SearchLimits& limits;
  PlanScope scope;
  bool lossy = false;  ///< what gives nothing up is known already
  std::vector<Change> found{};

  void collect(const Candidate& from, const std::string& gives_up, std::span<const PlanMove> moves,
               std::size_t depth) {
    for (std::size_t i = 0; i < moves.size(); ++i) {
      Candidate next = from;
      if (!moves[i].apply(next)) continue;
      const std::string given = joined(gives_up, moves[i].gives_up);
      if (depth > 1) {
        collect(next, given, moves.subspan(i), depth - 1);
      } else if (given.empty() == !lossy) {
        if (auto change = checked(next, limits, scope)) {
          change->gives_up = given;
          found.push_back(std::move(*change));
        }
      }
    }
  }
};

/// Single changes, else pairs, else triples.
std::vector<Change> few_changes(const Job& job, const std::vector<PlanMove>& moves,
                                Collector collector) {
  for (std::size_t depth = 1; depth <= 3 && collector.found.empty(); ++depth)
    collector.collect(Candidate{job, {}}, {}, moves, depth);
  return std::move(collector.found);
}

/// What gives nothing up, then, of fine-tuning, what does.
std::vector<Change> few_changes(const Job& job, const SearchLimits& limits, PlanScope scope) {
  std::vector<PlanMove> moves = moves_on_this_machine();
  if (!fine_tunes(job)) return few_changes(job, moves, {limits, scope});
  for (PlanMove& move : moves_on_one_host(job)) moves.push_back(std::move(move));
  std::vector<Change> found = few_changes(job, moves, {limits, scope});
  for (Change& change : few_changes(job, moves, {limits, scope, true}))
    found.push_back(std::move(change));
  return found;
}

/// Other layouts on the next larger machine, up to eight times this one, on which any fits. Its
/// network may need more switches.
std::vector<Change> on_more_hosts(const Scenario& scenario, const SearchLimits& limits,
                                  PlanScope scope) {
  const Cluster& now = scenario.job.cluster;
  const bool part = now.host.whole_gpus > 0;
  Job larger = scenario.job;
  for (int times = 2; times <= most_times && !scenario.source.text.empty(); ++times) {
    if (now.hosts > most_hosts / times) break;
    // More of a host that is used in part, then more hosts.
    const auto share =
        part ? share_of(times * now.gpus(), now.host.whole_gpus) : HostShare{times * now.hosts, 0};
    if (!share) continue;
    try {
      larger.cluster = cluster_with_hosts(scenario, share->hosts, share->gpus_per_host);
    } catch (const ScenarioError&) {
      break;  // its network cannot connect that many
    }
    auto found = layouts_that_fit(scenario.job, larger, limits, scope);
    if (!found.empty()) return found;
  }
  return {};
}

/// A layout that costs far less than the best of few changes comes before them.
void add_cheaper_layout(const Job& job, const SearchLimits& limits, std::vector<Change>& found) {
  const auto layouts = layouts_that_fit(job, job, limits, PlanScope::run);
  if (layouts.empty()) return;
  const Seconds step = layouts.front().step.value();
  if (std::ranges::all_of(
          found, [&](const Change& change) { return step < worth_more_settings * *change.step; }))
    found.push_back(layouts.front());
}

/// The fewest settings first, then every layout of this machine, then money.
std::vector<Change> cheapest_changes(const Scenario& scenario, const SearchLimits& limits,
                                     PlanScope scope) {
  std::vector<Change> found = few_changes(scenario.job, limits, scope);
  if (!found.empty() && scope == PlanScope::run) add_cheaper_layout(scenario.job, limits, found);
  if (found.empty()) found = layouts_that_fit(scenario.job, scenario.job, limits, scope);
  if (found.empty()) found = on_more_hosts(scenario, limits, scope);
  std::ranges::stable_sort(found, [](const Change& a, const Change& b) {
    if (a.gives_up.empty() != b.gives_up.empty()) return a.gives_up.empty();
    return a.step && (!b.step || *a.step < *b.step);
  });
  return found;
}

}  // namespace

std::string Change::text() const {
  std::string result;
  for (const std::string& setting : settings) {
    if (!result.empty()) result += ' ';
    result += setting;
  }
  return result;
}

namespace {

Seconds step_of(const Job& job) {
  return closed_form_step(job, step_costs(job, stage_layout(job.model, job.parallel)));
}

/// What people say of a move, held against its own forecast: what costs nothing in general may take
/// memory or time here.
std::string costs_here(std::string_view said, bool more_memory, bool longer) {
  if (said != costs_nothing || (!more_memory && !longer)) return std::string(said);
  return more_memory && longer ? "memory and time" : more_memory ? "memory" : "time";
}

}  // namespace

std::vector<TriedChange> one_at_a_time(const Scenario& scenario) {
  constexpr double noticed = 1.005;
  std::vector<TriedChange> tried;
  const Job& job = scenario.job;
  if (job.cluster.hosts > 1 || !not_modelled(job).empty()) return tried;
  const PlanJudgement now = judge_plan(job, {.max_memory_share = 1.0});
  const Seconds step_now = step_of(job);
  for (const PlanMove& move : moves_on_one_host(job)) {
    Candidate next{job, {}};
    if (!move.apply(next)) continue;
    const PlanJudgement judged = judge_plan(next.job, {.max_memory_share = 1.0});
    if (!judged.refused.empty()) continue;
    const Seconds step = step_of(next.job);
    TriedChange row{{next.settings, judged.need.peak, step, std::string(move.gives_up)},
                    std::string(move.name),
                    costs_here(move.costs, judged.need.peak > noticed * now.need.peak,
                               step > noticed * step_now),
                    !judged.excess};
    tried.push_back(std::move(row));
  }
  return tried;
}

std::vector<Change> changes_that_fit(const Scenario& scenario, const SearchLimits& limits) {
  std::vector<Change> found = cheapest_changes(scenario, limits, PlanScope::run);
  if (!found.empty() || not_modelled(scenario.job).empty()) return found;
  return cheapest_changes(scenario, limits, PlanScope::memory_alone);
}

}  // namespace foretrain
