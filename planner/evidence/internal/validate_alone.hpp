// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "planner/evidence/validate.hpp"
#include "planner/text/text_layout.hpp"

namespace foretrain {

/// Whether a quantity is the time of a kernel or of a collective run alone.
[[nodiscard]] bool is_alone(const std::string& quantity);

/// "h100-sxm5 gemm: aiconfigurator", of a total "all".
[[nodiscard]] std::string alone_label(const CheckSummary& line);

/// Tables of the errors of kernels and of collectives, with the reasons why some were not
/// predicted; empty where there are none.
[[nodiscard]] std::string alone_tables(const Validation& validation, const TextStyle& style);

/// "why" of the skipped checks of a quantity, the most frequent first.
[[nodiscard]] std::string reasons_text(const Validation& validation, const std::string& quantity,
                                       const TextStyle& style);

}  // namespace foretrain
