// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace foretrain {

/// While one lives, the first SIGINT or SIGTERM is noted, so that long work can end in order and
/// tell what it has; the second one ends the program. Work that does not look in time is not waited
/// for: a second after the first signal, or as much later as the machine was busy with others, the
/// program says that it tells nothing, and ends with exit_code(). One within another's life ends
/// that wait when it ends, and leaves signals to the other.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// For a program that ours is part of and that has its own handlers: from now on none is
  /// installed here, and nothing ends the process; it tells what it was asked to stop by, or 0 for
  /// nothing.
  static void tell(int signal);

  /// Turns true at the first signal, and stays so when this is gone.
  [[nodiscard]] static const std::atomic<bool>& noted();
  /// What a program that was interrupted exits with: 128 and the signal's number.
  [[nodiscard]] static int exit_code();
};

/// What `read` gives, with a signal noted rather than ending the program: the work that follows
/// sees it at once, and tells in its own form that it has nothing.
template <class Read>
[[nodiscard]] auto while_noting(const Read& read) {
  const Interruption guard;
  return read();
}

}  // namespace foretrain
