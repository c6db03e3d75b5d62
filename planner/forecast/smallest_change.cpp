// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/smallest_change.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "models/rules/plan_rules.hpp"
#include "planner/forecast/internal/other_layouts.hpp"

namespace foretrain {
namespace {

constexpr int most_hosts = 1'000'000;        // as the scenario reader allows
constexpr int most_times = 8;                // the machine
constexpr double worth_more_settings = 0.8;  // of the step with few

/// A job on its way to fit, with the settings that lead there.
struct Candidate {
  Job job;
  std::vector<std::string> settings;

  void set(const std::string& key, const std::string& value) {
    const std::string prefix = key + "=";
    std::erase_if(settings, [&](const std::string& s) { return s.starts_with(prefix); });
    settings.push_back(prefix + value);
  }
  void set(const std::string& key, int value) { set(key, std::to_string(value)); }
};

/// Applies a change; false when it does not apply to this job.
using Move = std::function<bool(Candidate&)>;

Move recompute(RecomputeKind kind) {
  return [kind](Candidate& c) {
    Recompute& now = c.job.memory.recompute;
    if (static_cast<int>(now.kind) >= static_cast<int>(kind)) return false;
    now = Recompute{kind, RecomputeMethod::uniform, 1};
    c.set("memory.recompute", std::string(name_of(kind)));
    return true;
  };
}

Move zero_stage(int stage) {
  return [stage](Candidate& c) {
    if (c.job.parallel.zero >= stage || c.job.parallel.data < 2) return false;
    c.job.parallel.zero = stage;
    c.set("parallel.zero", stage);
    return true;
  };
}

bool process_per_gpu(Candidate& c) {
  if (c.job.parallel.processes == ProcessKind::per_gpu) return false;
  c.job.parallel.processes = ProcessKind::per_gpu;
  c.set("parallel.processes", "per-gpu");
  return true;
}

bool flash_attention(Candidate& c) {
  if (c.job.memory.attention == AttentionKind::flash) return false;
  c.job.memory.attention = AttentionKind::flash;
  c.set("memory.attention", "flash");
  return true;
}

bool sequence_parallel(Candidate& c) {
  if (c.job.parallel.sequence || c.job.parallel.tensor < 2) return false;
  c.job.parallel.sequence = true;
  c.set("parallel.sequence", "true");
  return true;
}

bool half_micro_batch(Candidate& c) {
  if (c.job.training.micro_batch % 2 != 0) return false;
  c.job.training.micro_batch /= 2;
  c.set("training.micro_batch", c.job.training.micro_batch);
  return true;
}

/// Doubles one way of splitting the model and halves the data-parallel ranks.
Move split_more(int Parallel::*degree, std::string key) {
  return [degree, key = std::move(key)](Candidate& c) {
    Parallel& plan = c.job.parallel;
    if (plan.data % 2 != 0) return false;
    if (degree == &Parallel::pipeline && !plan.stage_layers.empty()) return false;
    plan.*degree *= 2;
    plan.data /= 2;
    c.set(key, plan.*degree);
    c.set("parallel.data", plan.data);
    return true;
  };
}

/// Twice the ranks that share the experts of a layer.
bool spread_experts(Candidate& c) {
  if (!c.job.model.moe) return false;
  c.job.parallel.expert *= 2;
  c.set("parallel.expert", c.job.parallel.expert);
  return true;
}

std::vector<Move> moves_on_this_machine() {
  return {process_per_gpu,
          sequence_parallel,
          flash_attention,
          recompute(RecomputeKind::selective),
          zero_stage(1),
          half_micro_batch,
          recompute(RecomputeKind::full),
          zero_stage(2),
          zero_stage(3),
          split_more(&Parallel::tensor, "parallel.tensor"),
          split_more(&Parallel::pipeline, "parallel.pipeline"),
          split_more(&Parallel::context, "parallel.context"),
          spread_experts};
}

/// Peak and step when the candidate can run, or fits by memory alone, and keeps the memory limits.
std::optional<Change> checked(const Candidate& candidate, const SearchLimits& limits,
                              PlanScope scope) {
  const PlanJudgement judged = judge_plan(candidate.job, limits, scope);
  if (!judged.goes()) return std::nullopt;
  Change change{candidate.settings, judged.need.peak, std::nullopt};
  if (scope == PlanScope::run) change.step = closed_form(candidate.job).step.value().time;
  return change;
}

/// Tries sequences of `depth` moves; order within a sequence does not matter, repeats may.
void collect(const Candidate& from, std::span<const Move> moves, std::size_t depth,
             const SearchLimits& limits, PlanScope scope, std::vector<Change>& found) {
  for (std::size_t i = 0; i < moves.size(); ++i) {
    Candidate next = from;
    if (!moves[i](next)) continue;
    if (depth > 1) {
      collect(next, moves.subspan(i), depth - 1, limits, scope, found);
    } else if (const auto change = checked(next, limits, scope)) {
      found.push_back(*change);
    }
  }
}

/// Single changes, else pairs, else triples.
std::vector<Change> few_changes(const Job& job, const SearchLimits& limits, PlanScope scope) {
  const std::vector<Move> moves = moves_on_this_machine();
  std::vector<Change> found;
  for (std::size_t depth = 1; depth <= 3 && found.empty(); ++depth)
    collect(Candidate{job, {}}, moves, depth, limits, scope, found);
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
  if (std::all_of(found.begin(), found.end(),
                  [&](const Change& change) { return step < worth_more_settings * *change.step; }))
    found.push_back(layouts.front());
}

/// The fewest settings first, then every layout of this machine, then money.
std::vector<Change> cheapest_changes(const Scenario& scenario, const SearchLimits& limits,
                                     PlanScope scope) {
  std::vector<Change> found = few_changes(scenario.job, limits, scope);
  if (!found.empty() && scope == PlanScope::run) add_cheaper_layout(scenario.job, limits, found);
  if (found.empty()) found = layouts_that_fit(scenario.job, scenario.job, limits, scope);
  if (found.empty()) found = on_more_hosts(scenario, limits, scope);
  std::stable_sort(found.begin(), found.end(), [](const Change& a, const Change& b) {
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

std::vector<Change> changes_that_fit(const Scenario& scenario, const SearchLimits& limits) {
  std::vector<Change> found = cheapest_changes(scenario, limits, PlanScope::run);
  if (!found.empty() || not_modelled(scenario.job).empty()) return found;
  return cheapest_changes(scenario, limits, PlanScope::memory_alone);
}

}  // namespace foretrain
