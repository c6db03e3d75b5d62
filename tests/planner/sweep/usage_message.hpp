// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "planner/text/usage_error.hpp"

namespace foretrain::test {

/// What a call says against its arguments.
template <class Call>
std::string usage_message(Call call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace foretrain::test
