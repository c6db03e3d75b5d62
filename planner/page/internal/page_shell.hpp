// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
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

// Parts of an answer as elements. Titles of sections are headings of `level`; the ids of sections
// are PREFIX-1, ...
[[nodiscard]] std::string head_html(const AnswerHead& head);
[[nodiscard]] std::string block_html(const AnswerBlock& block);
[[nodiscard]] std::string section_html(const AnswerSection& section, const std::string& id,
                                       int level);
[[nodiscard]] std::string sections_html(const Answer& answer, const std::string& prefix, int level);
/// {id, title} of the sections that are not folded.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> section_links(
    const Answer& answer, const std::string& prefix);

/// The files under planner/html: the page with {{title}}, {{style}}, {{data}} and {{script}}.
[[nodiscard]] std::string_view page_template();
[[nodiscard]] std::string_view page_style();
[[nodiscard]] std::string_view page_script();

}  // namespace foretrain
