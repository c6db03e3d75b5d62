// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "planner/answer/answer.hpp"
#include "planner/cli/command_row.hpp"

namespace foretrain {

/// How an answer is printed: options of every command that gives one.
struct AnswerOutput {
  std::string out;   ///< empty: standard output
  std::string html;  ///< page beside it, "-": instead of it; empty: none
  bool json = false;
  bool csv = false;
  bool markdown = false;
  bool brief = false;

  /// Of the terminal, or of a file.
  [[nodiscard]] TextStyle style() const;
};

/// What an answer is in other forms than words.
struct AnswerForms {
  std::string kind;                     ///< of its page: "plan"
  std::function<std::string()> json{};  ///< full; --brief has one of its own
  std::function<std::string()> csv{};
  std::function<std::string()> page{};  ///< absent: answer_page()
  std::string words{};                  ///< on a terminal instead of the answer; empty: the answer
};

/// Adds --json, --markdown, --html, --out and --brief, and --csv where `csv` says what it prints.
/// @param json what is printed, "schema solve/1"
void add_answer_output(CommandRow& command, AnswerOutput& output, const std::string& json,
                       const std::string& csv = {});

/// The same without --out, where that is a file or a folder of another kind.
void add_answer_forms(CommandRow& command, AnswerOutput& output, const std::string& json,
                      const std::string& csv = {});

/// Adds --html and --brief alone, where a command has forms of its own.
void add_page_output(CommandRow& command, AnswerOutput& output);

/// Prints the answer as it was asked for, and writes its page.
/// @return exit_ok or exit_closed_pipe
[[nodiscard]] int deliver_answer(const AnswerOutput& output, const AnswerForms& forms,
                                 const std::function<Answer()>& answer);

}  // namespace foretrain
