// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

/// States a precondition of the caller. Broken preconditions are programming errors: they throw
/// std::logic_error in every build. User input never reaches one unchecked.
#define FORETRAIN_REQUIRE(condition)                                                \
  do {                                                                              \
    if (!(condition))                                                               \
      throw std::logic_error(std::string(__FILE__ ":") + std::to_string(__LINE__) + \
                             ": precondition failed: " #condition);                 \
  } while (false)
