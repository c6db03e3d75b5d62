// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "planner/answer/answer.hpp"
#include "scenarios/resolve/scenario.hpp"
#include "topologies/fabrics/fabric.hpp"

namespace foretrain {

/// The fabric of a scenario and what graph algorithms say about it.
struct FabricReport {
  std::string name;   ///< of the scenario
  std::string title;  ///< of the fabric preset
  FabricKind kind = FabricKind::rail_optimized;
  int switch_radix = 0;
  Fabric fabric;
  std::string caption;                ///< of the picture; empty: what it shows
  std::vector<std::string> failures;  ///< of the scenario, then as the user named them
  LinkSet down;                       ///< what they take away
  std::optional<Infeasible> disconnected;
  // The following only while connected.
  int diameter = 0;
  std::optional<BytesPerSecond> bisection;    ///< maximum flow between halves of the hosts
  std::optional<BytesPerSecond> closed_form;  ///< of the whole fabric, worst halving
  int disjoint_paths = 0;                     ///< between the first and the last host; 0: one host
  std::vector<NodeId> single_points;          ///< of failure, switches and NICs
  std::vector<double> use;  ///< share of its rate by link, of a played step; empty: none was
  std::optional<double> least_use;  ///< the least share that is known; others have less
};

/// The fabric of a job, or why it is too small for it or cannot be built.
[[nodiscard]] std::variant<Fabric, Infeasible> fabric_for(const Job& job);
/// The fabric that a scenario describes.
/// @throws UsageError when it is too small for the job or cannot be built
[[nodiscard]] Fabric fabric_of(const Scenario& scenario);

/// Builds and checks the fabric that a scenario describes, without what its disturbances take away
/// for the whole step.
/// @param failures more nodes, cables or directions that are down, as failed_links() names them.
/// @throws UsageError when a failure names nothing, or the fabric is too small or cannot be built
[[nodiscard]] FabricReport judge_fabric(const Scenario& scenario,
                                        const std::vector<std::string>& failures);

[[nodiscard]] Answer fabric_answer(const FabricReport& report);
/// {schema: "fabric/1", ...}
[[nodiscard]] std::string fabric_json(const FabricReport& report);
/// For Graphviz: hosts, leaves, spines and cores in ranks, domains of several hosts as frames with
/// their NVSwitch, one edge per two joined nodes with its cables; what is down is red and dashed.
[[nodiscard]] std::string fabric_dot(const FabricReport& report);

}  // namespace foretrain
