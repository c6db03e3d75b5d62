// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "models/inputs/job.hpp"
#include "scenarios/fields/field_reader.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// Everything below `operations` except the trace of a file.
[[nodiscard]] Operations operations_of(const FieldValues& values);

/// Forms that exclude each other, keys without effect, order of curves and traces, dates.
void check_operations(const FieldValues& values, Diagnostics& diagnostics);

/// Batch sizes of the ramp against the plan, once the data degree is known.
void check_batch_ramp(const FieldValues& values, const Job& job, Diagnostics& diagnostics);

/// The rows of a CSV file with the columns at,down: times with units; down may be empty. Errors are
/// reported at the file's lines as `name`.
[[nodiscard]] std::vector<Outage> read_trace(const std::string& text, const std::string& name,
                                             Diagnostics& diagnostics);

}  // namespace foretrain
