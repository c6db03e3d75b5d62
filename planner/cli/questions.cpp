// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/questions.hpp"

#include <unistd.h>

#include <iostream>

#include "planner/cli/terminal.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {

bool can_ask() { return error_is_terminal() && isatty(STDIN_FILENO) == 1; }

void ask(const std::string& question, const std::string& usual,
         const std::function<void(const std::string&)>& take) {
  while (true) {
    std::cerr << question << (usual.empty() ? "" : " [" + usual + "]") << ": " << std::flush;
    std::string answer;
    if (!std::getline(std::cin, answer)) throw UsageError("no answer; nothing is written");
    const std::size_t first = answer.find_first_not_of(" \t\r");
    const std::size_t last = answer.find_last_not_of(" \t\r");
    answer = first == std::string::npos ? usual : answer.substr(first, last - first + 1);
    try {
      take(answer);
      return;
    } catch (const UsageError& error) {
      write_diagnostic(error.what());
    }
  }
}

}  // namespace foretrain
