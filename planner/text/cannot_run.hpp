// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "planner/text/usage_error.hpp"

namespace foretrain {

/// The question needs a plan that runs, and this one does not: illegal, not modelled, or out of
/// memory. The program ends with exit code 3.
class CannotRun : public UsageError {
 public:
  using UsageError::UsageError;
};

}  // namespace foretrain
