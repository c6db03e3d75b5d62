// SPDX-License-Identifier: Apache-2.0
#include "planner/text/markdown.hpp"

namespace foretrain {

std::string markdown_cell(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '|' || c == '\\') result += '\\';
    if (c == '<')
      result += "&lt;";
    else if (c == '&')
      result += "&amp;";
    else
      result += c == '\n' || c == '\r' ? ' ' : c;
  }
  return result;
}

std::string markdown_row(const std::vector<std::string>& cells) {
  std::string result = "|";
  for (const std::string& cell : cells) result += " " + cell + " |";
  return result + "\n";
}

}  // namespace foretrain
