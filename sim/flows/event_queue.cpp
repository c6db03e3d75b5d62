// SPDX-License-Identifier: Apache-2.0
#include "sim/flows/event_queue.hpp"

#include <algorithm>
#include <cstddef>

namespace foretrain {
namespace {

constexpr std::uint32_t children = 4;  // a flat heap misses the cache less often

}  // namespace

void EventQueue::place(std::uint32_t position, const Event& event) {
  heap_[position] = event;
  position_[event.slot] = position;
}

void EventQueue::sift_up(std::uint32_t position, const Event& event) {
  while (position > 0) {
    const std::uint32_t parent = (position - 1) / children;
    if (!before(event, heap_[parent])) break;
    place(position, heap_[parent]);
    position = parent;
  }
  place(position, event);
}

void EventQueue::sift_down(std::uint32_t position, const Event& event) {
  const auto size = static_cast<std::uint32_t>(heap_.size());
  for (;;) {
    const std::uint32_t first = position * children + 1;
    if (first >= size) break;
    std::uint32_t best = first;
    for (std::uint32_t child = first + 1; child < std::min(first + children, size); ++child)
      if (before(heap_[child], heap_[best])) best = child;
    if (!before(heap_[best], event)) break;
    place(position, heap_[best]);
    position = best;
  }
  place(position, event);
}

void EventQueue::set(const Event& event) {
  if (event.slot >= position_.size()) position_.resize(std::size_t{event.slot} + 1, absent);
  std::uint32_t position = position_[event.slot];
  if (position == absent) {
    position = static_cast<std::uint32_t>(heap_.size());
    heap_.push_back(event);
    sift_up(position, event);
  } else if (before(event, heap_[position])) {
    sift_up(position, event);
  } else {
    sift_down(position, event);
  }
}

void EventQueue::erase(std::uint32_t slot) {
  if (slot >= position_.size() || position_[slot] == absent) return;
  const std::uint32_t position = position_[slot];
  position_[slot] = absent;
  const Event last = heap_.back();
  heap_.pop_back();
  if (last.slot == slot) return;
  const Event removed = heap_[position];
  if (before(last, removed))
    sift_up(position, last);
  else
    sift_down(position, last);
}

}  // namespace foretrain
