// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <utility>

#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

constexpr int narrowest = 60;
constexpr int widest = 160;
constexpr std::size_t most_input = std::size_t{64} << 20U;

std::string variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): read before any thread
  return value == nullptr ? "" : value;
}

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): streams are global, too
thread_local TerminalCapture* captured = nullptr;

/// Whether a terminal may be written in colour and its lines be replaced.
bool plain_terminal() { return !variable("NO_COLOR").empty() || variable("TERM") == "dumb"; }

bool utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value = variable(name);
    if (value.empty()) continue;
    std::ranges::transform(value, value.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

}  // namespace

TerminalCapture::TerminalCapture(std::string input_text) : input(std::move(input_text)) {
  captured = this;
}

TerminalCapture::~TerminalCapture() { captured = nullptr; }

bool error_is_terminal() { return captured == nullptr && isatty(STDERR_FILENO) == 1; }

TextStyle output_style() {
  TextStyle style;
  if (captured != nullptr || isatty(STDOUT_FILENO) != 1) return style;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    style.width = std::clamp(static_cast<int>(size.ws_col), narrowest, widest);
  style.unicode = utf8_locale();
  style.color = !plain_terminal();
  return style;
}

bool write_output(std::string_view text) {
  if (captured != nullptr) {
    captured->output += text;
    return true;
  }
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EPIPE) {
      return false;
    } else if (errno != EINTR) {
      throw SystemError(std::string("cannot write to standard output: ") + std::strerror(errno));
    }
  }
  return true;
}

void write_diagnostic(std::string_view line) {
  if (captured != nullptr) {
    captured->diagnostics.push_back(escaped(line));
    return;
  }
  const std::string text = escaped(line) + '\n';
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

bool write_progress(std::string_view line) {
  if (!error_is_terminal() || plain_terminal()) return false;
  std::cerr << "\r\x1b[K" << line << std::flush;
  return true;
}

std::string read_standard_input() {
  if (captured != nullptr) return captured->input;
  std::string text;
  std::array<char, 65536> block{};
  while (std::cin.read(block.data(), block.size()) || std::cin.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(std::cin.gcount()));
    if (text.size() > most_input) throw UsageError("the scenario on standard input is too large");
  }
  return text;
}

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
