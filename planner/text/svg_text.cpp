// SPDX-License-Identifier: Apache-2.0
#include "planner/text/svg_text.hpp"

#include <fmt/format.h>

#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

std::string xml_text(const std::string& text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    const char c = text[at];
    if (length == 0)
      result += "\xEF\xBF\xBD";  // U+FFFD
    else if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else if (c == '\n')
      result += "&#10;";
    else if (acts_on_reader(code_point(text, at)))
      result += '?';
    else
      result.append(text, at, length);
    at += length > 0 ? length : 1;
  }
  return result;
}

std::string svg_start(double width, double height, bool white) {
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- Drawn by foretrain. -->\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" "
      "font-size=\"12\" fill=\"#222222\">\n{2}",
      width, height, white ? "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n" : "");
}

std::string svg_label(double x, double y, const char* anchor, const std::string& text,
                      const std::string& more) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                     anchor, more, xml_text(text));
}

}  // namespace foretrain
