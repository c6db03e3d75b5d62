// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain {

/// Reports every key of a measured record that no record has, with the nearest known one, and every
/// word of its fine-tuning that is none of a scenario's. The record's `kind` says which keys it may
/// have: a training run's, `inference`, or `rl` (post-training).
void check_record_keys(const YamlNode& record, Diagnostics& diagnostics);

}  // namespace foretrain
