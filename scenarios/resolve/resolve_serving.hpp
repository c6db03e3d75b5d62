// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "models/inputs/cluster.hpp"
#include "models/serving/serving_plan.hpp"
#include "scenarios/fields/field_reader.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/load_options.hpp"

namespace foretrain {

/// What `serving` says by itself, but for the trace of a file; keys without effect and keys that
/// others need are reported. @pre the section is written
[[nodiscard]] ServingPlan serving_of(const FieldValues& values, Diagnostics& diagnostics);

/// As many replicas as the GPUs beside those that prefill hold.
[[nodiscard]] int replicas_on(const Cluster& cluster, const ServingPlan& plan);

/// What the sections of a scenario ask for.
[[nodiscard]] Work work_of(const FieldValues& values);

/// Reports a scenario that lacks the section it is read for, with what to type instead.
void check_purpose(const FieldValues& values, Purpose purpose, Diagnostics& diagnostics);

/// The rows of a CSV file with the columns at,prompt,output: seconds that do not fall, and tokens
/// of 1 and more. Errors are reported at the file's lines as `name`.
[[nodiscard]] std::vector<TracedRequest> read_request_trace(const std::string& text,
                                                            const std::string& name,
                                                            Diagnostics& diagnostics);

}  // namespace foretrain
