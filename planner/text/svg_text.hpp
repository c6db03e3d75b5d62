// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace foretrain {

/// Text with the characters escaped that XML gives a meaning; what terminals and browsers act on
/// becomes a question mark, bytes that are no UTF-8 become U+FFFD.
[[nodiscard]] std::string xml_text(const std::string& text);

/// Start of an SVG 1.1 document of that many pixels: 12-pixel sans serif, on white or on nothing.
[[nodiscard]] std::string svg_start(double width, double height, bool white = true);

/// A line of text; `anchor` is start, middle or end; `more` goes into the tag as it is.
[[nodiscard]] std::string svg_label(double x, double y, const char* anchor, const std::string& text,
                                    const std::string& more = "");

}  // namespace foretrain
