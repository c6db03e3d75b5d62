// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "planner/answer/answer.hpp"

namespace foretrain {

/// An answer as one HTML file with everything in it: the first printed page is the head and the
/// sections that come first. It has no script and asks nothing of a network; its content security
/// policy says so. Equal answers give equal bytes. Text of users is data to it and never markup.
/// @param kind what it is, under the program's name: "plan", "queue of a cluster"
[[nodiscard]] std::string answer_page(const Answer& answer, const std::string& kind);

}  // namespace foretrain
