// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace foretrain {

/// One thing wrong in a user's file or flag.
struct Diagnostic {
  std::string file;     ///< as the user named it; "--set" for overrides
  int line = 0;         ///< from 1; 0: no place
  int column = 0;       ///< from 1
  std::string path;     ///< dotted key path; empty for the whole file
  std::string message;  ///< what is wrong and what would be right

  /// `file:line:col: key.path: message`
  [[nodiscard]] std::string text() const;
};

/// All errors of a scenario at once. what() holds one line each.
class ScenarioError : public std::runtime_error {
 public:
  explicit ScenarioError(std::vector<Diagnostic> diagnostics);
  [[nodiscard]] const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace foretrain
