// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace foretrain {

/// Text in GitHub-flavoured Markdown, on one line, without a meaning for its characters.
[[nodiscard]] std::string markdown_cell(const std::string& text);
/// "| a | b |\n" of cells that are escaped already.
[[nodiscard]] std::string markdown_row(const std::vector<std::string>& cells);

}  // namespace foretrain
