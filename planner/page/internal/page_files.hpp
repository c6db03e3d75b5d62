// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace foretrain {

/// The files under planner/html: the page with {{title}}, {{style}}, {{data}} and {{script}}.
[[nodiscard]] std::string_view page_template();
[[nodiscard]] std::string_view page_style();
[[nodiscard]] std::string_view page_script();

}  // namespace foretrain
