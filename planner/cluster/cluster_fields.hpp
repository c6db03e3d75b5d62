// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scenarios/fields/field_table.hpp"

namespace foretrain {

/// Every key of a cluster file: a cluster, the jobs that want it, and the policy of its queue.
[[nodiscard]] const FieldTable& cluster_fields();

}  // namespace foretrain
