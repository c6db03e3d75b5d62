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

/// The machine refused what the program needs: a disk that is full, no processes, no open files.
/// what() is one sentence with the reason. The program ends with exit code 1.
class SystemError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The question needs a plan that runs, and this one does not: illegal, not modelled, or out of
/// memory. The program ends with exit code 3.
class CannotRun : public UsageError {
 public:
  using UsageError::UsageError;
};

}  // namespace foretrain
