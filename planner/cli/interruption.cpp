// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/interruption.hpp"

#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string_view>

namespace foretrain {
namespace {

constexpr std::array<int, 2> signals{SIGINT, SIGTERM};
constexpr suseconds_t patience = 900'000;  // microseconds from the signal to the end

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): all a handler can reach
std::atomic<bool> interrupted{false};
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<int> last_signal{0};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<bool> told_by_host{false};

void wake_after(suseconds_t microseconds) {
  const itimerval timer{{0, 0}, {0, microseconds}};
  setitimer(ITIMER_REAL, &timer, nullptr);
}

/// The work did not look: nothing of it can be told from here.
void end_now(int /*signal*/) {
  constexpr std::string_view text =
      "foretrain: interrupted in a part of the work that has nothing to tell yet\n";
  static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
  _exit(Interruption::exit_code());
}

void note(int signal) {
  last_signal = signal;
  interrupted = true;
  std::signal(signal, SIG_DFL);
  wake_after(patience);
}

}  // namespace

Interruption::Interruption() {
  if (told_by_host) return;
  std::signal(SIGALRM, end_now);
  for (const int signal : signals) std::signal(signal, note);
}

Interruption::~Interruption() {
  if (told_by_host) return;
  for (const int signal : signals) std::signal(signal, SIG_DFL);
  wake_after(0);
  std::signal(SIGALRM, SIG_DFL);
}

void Interruption::tell(int signal) {
  told_by_host = true;
  last_signal = signal;
  interrupted = signal != 0;
}

const std::atomic<bool>& Interruption::noted() { return interrupted; }

int Interruption::exit_code() { return 128 + last_signal; }

}  // namespace foretrain
