// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "planner/answer/head.hpp"
#include "planner/forecast/report_text.hpp"

namespace foretrain {

/// How much of an answer is printed.
struct HeadOptions {
  bool brief = false;
  bool full = false;

  [[nodiscard]] ReportLength length() const {
    if (brief) return ReportLength::brief;
    return full ? ReportLength::full : ReportLength::screen;
  }
};

/// What --brief prints.
[[nodiscard]] std::string brief_answer(const AnswerHead& head, bool json, const TextStyle& style);

/// Adds --brief.
void add_brief_option(CLI::App& app, bool& brief);
/// Adds --brief and --full.
void add_head_options(CLI::App& app, HeadOptions& options);

}  // namespace foretrain
