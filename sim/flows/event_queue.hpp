// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace foretrain {

/// Events by time, those of the same time by their number, so that a run is the same every time.
/// An event sits in a slot and can be moved in time or taken out; memory is linear in the slots.
class EventQueue {
 public:
  struct Event {
    double time;           ///< seconds
    std::uint64_t number;  ///< unique; the order among equals
    std::uint32_t slot;    ///< whose event it is: one per slot at a time
  };

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  /// @pre not empty
  [[nodiscard]] const Event& top() const { return heap_.front(); }

  /// Inserts the slot's event, or moves it if there is one.
  void set(const Event& event);
  /// Takes out the slot's event, if there is one.
  void erase(std::uint32_t slot);

 private:
  static constexpr std::uint32_t absent = ~0U;

  [[nodiscard]] static bool before(const Event& a, const Event& b) {
    return a.time != b.time ? a.time < b.time : a.number < b.number;
  }
  void place(std::uint32_t position, const Event& event);
  void sift_up(std::uint32_t position, const Event& event);
  void sift_down(std::uint32_t position, const Event& event);

  std::vector<Event> heap_;
  std::vector<std::uint32_t> position_;  ///< by slot
};

}  // namespace foretrain
