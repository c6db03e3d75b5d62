// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/text/text_layout.hpp"

namespace foretrain {

/// What standard output shows: its width, blocks and colour on a terminal; 80 plain columns
/// anywhere else. NO_COLOR (any value but empty) and TERM=dumb turn colour off.
[[nodiscard]] TextStyle output_style();

/// The reader of an output went away; the program ends without a word.
class ClosedPipe : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "the reader went away"; }
};

/// While one lives, what this thread writes is kept here and what it reads comes from `input`: the
/// streams of the process belong to the program that ours is part of. One at a time in a thread.
class TerminalCapture {
 public:
  explicit TerminalCapture(std::string input_text);
  ~TerminalCapture();
  TerminalCapture(const TerminalCapture&) = delete;
  TerminalCapture& operator=(const TerminalCapture&) = delete;

  std::string input;
  std::string output;
  std::vector<std::string> diagnostics;  ///< lines, escaped as on standard error
};

/// Whether standard error is a terminal that somebody looks at while we work.
[[nodiscard]] bool error_is_terminal();

/// Writes all of `text` to standard output. @return false when the reader has gone away.
/// @throws SystemError for any other failure, such as a full disk.
[[nodiscard]] bool write_output(std::string_view text);

/// Writes one line to standard error, with what a terminal or a log would act on escaped; failures
/// there have nobody left to tell.
void write_diagnostic(std::string_view line);

/// Replaces the line that standard error ends with, where that is a terminal without NO_COLOR;
/// empty: clears it. @return false elsewhere
bool write_progress(std::string_view line);

/// All of standard input. @throws UsageError beyond 64 MiB
[[nodiscard]] std::string read_standard_input();

/// Whether somebody sits at a terminal who can be asked.
[[nodiscard]] bool can_ask();

/// Asks until `take` does not throw UsageError; an empty answer is the one in brackets.
/// @throws UsageError when there is nobody left to answer
void ask(const std::string& question, const std::string& usual,
         const std::function<void(const std::string&)>& take);

}  // namespace foretrain
