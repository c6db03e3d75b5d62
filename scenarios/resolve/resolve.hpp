// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scenarios/fields/field_reader.hpp"
#include "scenarios/resolve/scenario.hpp"

namespace foretrain {

/// The parts of a job that a scenario file says by itself. Keys that were refused keep the default
/// of the struct; the diagnostics of the file say so.
[[nodiscard]] Training training_of(const FieldValues& values);
[[nodiscard]] Parallel parallel_of(const FieldValues& values);
[[nodiscard]] FineTuning fine_tuning_of(const FieldValues& values);
[[nodiscard]] MemoryOptions memory_of(const FieldValues& values);
[[nodiscard]] Communication communication_of(const FieldValues& values);
[[nodiscard]] std::vector<BudgetLine> budget_of(const FieldValues& values);
[[nodiscard]] RunMeasurements measured_of(const FieldValues& values);

/// Checks that span several keys of one file: keys that another key leaves without effect,
/// interleaving without chunks, empty budget lines.
void check_across_keys(const FieldValues& values, Diagnostics& diagnostics);

/// Fills `parallel.data` when it was left out, and checks that the degrees use every GPU and that
/// the shard group fits. @pre gpus >= 1.
void resolve_data_degree(const FieldValues& values, int gpus, Parallel& parallel,
                         Diagnostics& diagnostics);

/// What `foretrain show` lists for the scenario's own keys, in table order, derived values in
/// their places.
[[nodiscard]] std::vector<ResolvedValue> resolved_values(const FieldValues& values,
                                                         const Scenario& scenario);

}  // namespace foretrain
