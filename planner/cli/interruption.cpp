// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/interruption.hpp"

#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <string_view>

namespace foretrain {
namespace {

constexpr std::array<int, 2> signals{SIGINT, SIGTERM};
constexpr suseconds_t patience = 900'000;   // microseconds from the signal to the end
constexpr std::int64_t some_work = 10'000;  // microseconds of a processor, of one that is not stuck

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): all a handler can reach
std::atomic<bool> interrupted{false};
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<int> last_signal{0};
// Of a processor, in microseconds: at the signal, and when it was last looked at.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<std::int64_t> worked_before{0};
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<std::int64_t> worked_last{0};
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<int> nested{0};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free &&
              std::atomic<std::int64_t>::is_always_lock_free);

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<bool> told_by_host{false};

void wake_after(suseconds_t microseconds) {
  const itimerval timer{{0, 0}, {0, microseconds}};
  setitimer(ITIMER_REAL, &timer, nullptr);
}

std::int64_t worked() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::int64_t{time.tv_sec} * 1'000'000 + time.tv_nsec / 1000;
}

/// The work did not look: nothing of it can be told from here. On a busy machine it may not have
/// come to look yet: then it gets more time, as long as it goes on.
void end_now(int /*signal*/) {
  const std::int64_t now = worked();
  const bool goes_on = now - worked_last >= some_work;
  worked_last = now;
  if (goes_on && now - worked_before < patience) return wake_after(patience);
  constexpr std::string_view text =
      "foretrain: interrupted in a part of the work that has nothing to tell yet\n";
  static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
  _exit(Interruption::exit_code());
}

void note(int signal) {
  last_signal = signal;
  interrupted = true;
  std::signal(signal, SIG_DFL);
  worked_before = worked();
  worked_last = worked_before.load();
  wake_after(patience);
}

}  // namespace

Interruption::Interruption() {
  if (told_by_host || nested++ > 0) return;
  std::signal(SIGALRM, end_now);
  for (const int signal : signals) std::signal(signal, note);
}

Interruption::~Interruption() {
  if (told_by_host) return;
  wake_after(0);
  if (--nested > 0) return;
  for (const int signal : signals) std::signal(signal, SIG_DFL);
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
