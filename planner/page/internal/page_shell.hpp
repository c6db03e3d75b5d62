// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "planner/answer/answer.hpp"

namespace foretrain {

/// What differs from page to page; elements are markup, all else is text.
struct PageShell {
  std::string kind;  ///< "forecast"
  std::string title;
  std::string main;                                          ///< elements
  std::vector<std::pair<std::string, std::string>> links{};  ///< {id, words} of the contents
  std::vector<std::string> limits{};                         ///< elements of the list of limits
  std::string data{};  ///< JSON; empty: the page has no script
};

[[nodiscard]] std::string shell_html(const PageShell& shell);

/// The head and then the sections, as elements; sections get the ids "section-1", ...
[[nodiscard]] std::string head_html(const AnswerHead& head);
[[nodiscard]] std::string sections_html(const Answer& answer);

}  // namespace foretrain
