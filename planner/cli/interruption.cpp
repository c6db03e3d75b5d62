// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/interruption.hpp"

#include <array>
#include <csignal>

namespace foretrain {
namespace {

constexpr std::array<int, 2> signals{SIGINT, SIGTERM};

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): all a handler can reach
std::atomic<bool> interrupted{false};
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<int> last_signal{0};

void note(int signal) {
  last_signal = signal;
  interrupted = true;
  std::signal(signal, SIG_DFL);
}

}  // namespace

Interruption::Interruption() {
  for (const int signal : signals) std::signal(signal, note);
}

Interruption::~Interruption() {
  for (const int signal : signals) std::signal(signal, SIG_DFL);
}

const std::atomic<bool>& Interruption::noted() { return interrupted; }

int Interruption::exit_code() { return 128 + last_signal; }

}  // namespace foretrain
