// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <stdexcept>

namespace foretrain {

/// A fit was told to stop, and computed nothing to the end.
class FitStopped : public std::runtime_error {
 public:
  FitStopped() : std::runtime_error("the fit was stopped") {}
};

/// While it lives, every fit of the program ends with FitStopped once `stop` is true, within the
/// time that a few predictions take. One at a time.
class FitStop {
 public:
  explicit FitStop(const std::atomic<bool>& stop) { stop_ = &stop; }
  ~FitStop() { stop_ = nullptr; }
  FitStop(const FitStop&) = delete;
  FitStop& operator=(const FitStop&) = delete;

  /// @throws FitStopped once the fit was told to stop. Safe from any thread.
  static void check() {
    const std::atomic<bool>* const stop = stop_;
    if (stop != nullptr && *stop) throw FitStopped{};
  }

 private:
  static inline std::atomic<const std::atomic<bool>*> stop_{nullptr};
};

}  // namespace foretrain
