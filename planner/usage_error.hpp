// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace foretrain {

/// The user asked for something that does not exist or cannot be understood. what() is one sentence
/// that says what would be right. The program ends with exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace foretrain
