// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <iostream>
#include <string>

#include "scenarios/resolve/scenario.hpp"

namespace foretrain::fuzz {

/// Ends the fuzzer, with its input kept, where a reader breaks its word.
inline void require(bool condition, const char* what) {
  if (condition) return;
  std::cerr << "broken promise: " << what << '\n';
  std::abort();
}

/// Messages go to terminals and logs: one line each, no control characters.
inline void check_printable(const std::string& text) {
  for (const char c : text)
    require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F, "a message is printable");
}

inline void check_refusal(const ScenarioError& error) {
  require(!error.diagnostics().empty(), "a refusal names its reason");
  for (const Diagnostic& diagnostic : error.diagnostics()) {
    require(!diagnostic.message.empty(), "an error has a message");
    check_printable(diagnostic.text());
  }
}

}  // namespace foretrain::fuzz
