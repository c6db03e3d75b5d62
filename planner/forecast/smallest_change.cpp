// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/smallest_change.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "models/grid/stage_layout.hpp"
#include "models/memory/memory.hpp"
#include "models/rules/plan_rules.hpp"

namespace foretrain {
namespace {

constexpr int most_hosts = 1'000'000;  // as the scenario reader allows

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

/// The same data-parallel ranks on twice the machine, whose network may need more switches.
Move more_hosts(const Scenario& scenario, int Parallel::*degree, std::string key) {
  return [&scenario, degree, key = std::move(key)](Candidate& c) {
    Parallel& plan = c.job.parallel;
    if (degree == &Parallel::pipeline && !plan.stage_layers.empty()) return false;
    if (c.job.cluster.hosts > most_hosts / 2) return false;
    try {
      c.job.cluster = cluster_with_hosts(scenario, 2 * c.job.cluster.hosts);
    } catch (const ScenarioError&) {
      return false;  // its network cannot connect that many
    }
    plan.*degree *= 2;
    c.set("cluster.hosts", c.job.cluster.hosts);
    c.set(key, plan.*degree);
    c.set("parallel.data", plan.data);
    return true;
  };
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
          split_more(&Parallel::context, "parallel.context")};
}

/// Peak and step when the candidate is legal and keeps the memory limits.
std::optional<Change> checked(const Candidate& candidate, const SearchLimits& limits) {
  if (!broken_rules(candidate.job).empty()) return std::nullopt;
  const MemoryNeed need =
      memory_need(candidate.job, stage_layout(candidate.job.model, candidate.job.parallel));
  if (memory_excess(limits, candidate.job.cluster.host.device, need)) return std::nullopt;
  Change change{candidate.settings, need.peak, std::nullopt};
  if (not_modelled(candidate.job).empty()) {
    const Prediction forecast = closed_form(candidate.job);
    if (forecast.step) change.step = forecast.step->time;
  }
  return change;
}

/// Tries sequences of `depth` moves; order within a sequence does not matter, repeats may.
void collect(const Candidate& from, std::span<const Move> moves, std::size_t depth,
             const SearchLimits& limits, std::vector<Change>& found) {
  for (std::size_t i = 0; i < moves.size(); ++i) {
    Candidate next = from;
    if (!moves[i](next)) continue;
    if (depth > 1) {
      collect(next, moves.subspan(i), depth - 1, limits, found);
    } else if (const auto change = checked(next, limits)) {
      found.push_back(*change);
    }
  }
}

/// Timed changes by their step, then the others in the order in which they were tried.
void rank(std::vector<Change>& changes) {
  std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.step && (!b.step || *a.step < *b.step);
  });
}

/// Enough is found: something whose time is known, or anything where no time can be known.
bool is_enough(const std::vector<Change>& found, bool timed) {
  return std::any_of(found.begin(), found.end(),
                     [&](const Change& change) { return change.step.has_value() || !timed; });
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
  const Job& job = scenario.job;
  const bool timed = not_modelled(job).empty();
  const std::vector<Move> here = moves_on_this_machine();
  std::vector<Move> larger;
  if (!scenario.source.text.empty())
    larger = {more_hosts(scenario, &Parallel::pipeline, "parallel.pipeline"),
              more_hosts(scenario, &Parallel::tensor, "parallel.tensor")};
  std::vector<Change> found;
  for (std::size_t depth = 1; depth <= 3 && !is_enough(found, timed); ++depth)
    collect(Candidate{job, {}}, here, depth, limits, found);
  // Up to eight times the machine: alone, then with everything recomputed.
  for (std::size_t depth = 1; depth <= 3 && !is_enough(found, timed); ++depth) {
    collect(Candidate{job, {}}, larger, depth, limits, found);
    Candidate frugal{job, {}};
    if (recompute(RecomputeKind::full)(frugal)) collect(frugal, larger, depth, limits, found);
  }
  rank(found);
  return found;
}

}  // namespace foretrain
