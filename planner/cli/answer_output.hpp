// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <initializer_list>
#include <string>

#include "planner/answer/answer.hpp"

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
/// @param files options of the command that name files to write, too
void add_answer_output(CLI::App& app, AnswerOutput& output, const std::string& json,
                       std::initializer_list<const char*> files = {}, const std::string& csv = {});

/// The same without --out, where that is a file or a folder of another kind.
void add_answer_forms(CLI::App& app, AnswerOutput& output, const std::string& json,
                      const std::string& csv = {});

/// Adds --html and --brief alone, where a command has forms of its own.
void add_page_output(CLI::App& app, AnswerOutput& output);

/// Prints the answer as it was asked for, and writes its page.
/// @return exit_ok or exit_closed_pipe
[[nodiscard]] int deliver_answer(const AnswerOutput& output, const AnswerForms& forms,
                                 const std::function<Answer()>& answer);

}  // namespace foretrain
