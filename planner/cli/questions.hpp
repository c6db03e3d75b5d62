// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

namespace foretrain {

/// Whether somebody sits at a terminal who can be asked.
[[nodiscard]] bool can_ask();

/// Asks until `take` does not throw UsageError; an empty answer is the one in brackets.
/// @throws UsageError when there is nobody left to answer
void ask(const std::string& question, const std::string& usual,
         const std::function<void(const std::string&)>& take);

}  // namespace foretrain
