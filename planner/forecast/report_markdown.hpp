// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "planner/forecast/report.hpp"

namespace foretrain {

/// The forecast as GitHub-flavoured Markdown tables, for pull-request comments.
[[nodiscard]] std::string report_markdown(const Report& report);

/// Text for a table cell: pipes and backslashes escaped, HTML as entities, line ends turned into
/// blanks.
[[nodiscard]] std::string markdown_cell(const std::string& text);

}  // namespace foretrain
