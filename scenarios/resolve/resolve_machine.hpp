// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scenarios/fields/field_reader.hpp"
#include "scenarios/resolve/scenario.hpp"

namespace foretrain {

/// What a scenario says of its network: kind, ratios, sizes. The preset adds the rest. Refused keys
/// keep harmless values, and a dragonfly or torus without its sizes becomes rail-optimized, so that
/// they hide nothing else that is wrong.
[[nodiscard]] Network network_of(const FieldValues& values);

[[nodiscard]] Simulation simulation_of(const FieldValues& values);

/// Checks that span keys of `cluster.fabric` and of `simulation`: sizes that a kind needs or does
/// not read, and what each kind of disturbance needs or does not read.
void check_machine_keys(const FieldValues& values, Diagnostics& diagnostics);

/// Checks what `simulation` says against the fabric of a resolved cluster: hosts and placement, and
/// names of links, nodes and hosts (with the nearest that there is), and that the fabric stays
/// connected. Builds the fabric where names are to be checked. @pre job.cluster is resolved
void check_simulation(const FieldValues& values, const Job& job, Diagnostics& diagnostics);

/// How many switches the job's fabric has, where a failure rate counts them; says why there is no
/// such fabric.
void count_switches(const FieldValues& values, Job& job, Diagnostics& diagnostics);

}  // namespace foretrain
