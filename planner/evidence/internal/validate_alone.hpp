// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "planner/answer/answer.hpp"
#include "planner/evidence/validate.hpp"

namespace foretrain {

/// Whether a quantity is the time of a kernel or of a collective run alone.
[[nodiscard]] bool is_alone(const std::string& quantity);

/// "h100-sxm5 gemm: aiconfigurator", of a total "all".
[[nodiscard]] std::string alone_label(const CheckSummary& line);

/// Adds tables of the errors of kernels and of collectives, with the reasons why some were not
/// predicted.
void add_alone(const Validation& validation, Answer& answer);

/// "why" of the skipped checks of a quantity, the most frequent first.
[[nodiscard]] AnswerTable reasons_table(const Validation& validation, const std::string& quantity);

}  // namespace foretrain
