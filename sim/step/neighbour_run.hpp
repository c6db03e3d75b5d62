// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "models/base/prediction.hpp"
#include "models/inputs/job.hpp"
#include "sim/step/event_engine.hpp"
#include "topologies/fabrics/fabric.hpp"

namespace foretrain {

/// Steps of a job while another one trains on the same fabric.
struct BesideSteps {
  Seconds alone;               ///< a step with nobody beside it
  std::vector<Seconds> steps;  ///< beside the other, ascending

  /// How many times as long as alone a step takes that no more than `part` of all steps exceed
  /// from below: 0 the fastest, 0.5 the median, 1 the slowest. @pre steps are not empty
  [[nodiscard]] double slowdown(double part) const;
  /// Of all steps together.
  [[nodiscard]] double mean_slowdown() const;
};

/// A cable that both jobs send over.
struct SharedCable {
  std::string name;
  std::array<double, 2> use{};  ///< share of its datasheet rate, each job over its own step alone
};

struct NeighbourRun {
  std::array<BesideSteps, 2> jobs;
  int shared_cables = 0;             ///< directions of cables between switches
  std::vector<SharedCable> busiest;  ///< of these, by the use of both; at most eight
  bool stopped = false;              ///< by on_progress: the rest is empty
};

struct NeighbourOptions {
  /// The other job is met in so many places of its step, evenly spread, ...
  int phases = 8;
  /// ... and from each on so many steps of the first are played.
  int steps = 4;
  std::function<bool(const ReplayProgress& progress)> on_progress{};
};

/// Plays two jobs on one fabric, each step after step, all replicas of both. The first has the
/// hosts that its simulation places it on; the other those that are left.
/// @return why they cannot be played: they do not fit, differ in what the fabric is made of, or
///   something is not modelled
/// @pre broken_rules() and not_modelled() of both are empty
[[nodiscard]] std::variant<NeighbourRun, Infeasible> run_neighbours(
    const std::array<const Job*, 2>& jobs, const Fabric& fabric,
    const NeighbourOptions& options = {});

}  // namespace foretrain
