// SPDX-License-Identifier: Apache-2.0
#include "sim/flows/internal/flow_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/base/require.hpp"

namespace foretrain {

// Flows that end together differ in the last digits of their dates when they got there in a
// different number of steps; without this their links would be shared anew for every one of them.
constexpr double together = 1e-14;

FlowModel::FlowModel(const FlowNetwork& network)
    : sharing_{network}, meter_{network.links.size()} {}

std::uint32_t FlowModel::new_slot(Slot::Kind kind, std::uint64_t tag) {
  std::uint32_t id = 0;
  if (free_.empty()) {
    id = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  slots_[id].kind = kind;
  slots_[id].tag = tag;
  slots_[id].number = started_++;
  return id;
}

FlowHandle FlowModel::start(const Flow& flow, std::uint64_t tag) {
  FORETRAIN_REQUIRE(flow.bytes >= Bytes{} && is_finite(flow.bytes));
  FORETRAIN_REQUIRE(flow.latency >= Seconds{} && is_finite(flow.latency));
  FORETRAIN_REQUIRE(!flow.route.empty() || flow.bytes == Bytes{});
  const std::uint32_t id = new_slot(Slot::Kind::waiting, tag);
  slots_[id].flow = flow;
  if (flow.latency > Seconds{} || flow.bytes == Bytes{})
    queue_.set({now_ + flow.latency.value(), slots_[id].number, id});
  else
    begin(id);
  return {id, slots_[id].number};
}

Bytes FlowModel::stop(const FlowHandle& flow) {
  Slot& slot = slots_[flow.slot];
  if (slot.kind == Slot::Kind::free || slot.number != flow.number) return Bytes{};
  const bool running = slot.kind == Slot::Kind::running;
  Bytes left = slot.flow.bytes;
  if (running) {
    left = Bytes{std::max(slot.remaining - slot.rate * (now_ - slot.updated), 0.0)};
    sharing_.remove(flow.slot);
    meter_.end(slot.flow, slot.flow.bytes - left, Seconds{now_});
  }
  queue_.erase(flow.slot);
  slot.kind = Slot::Kind::free;
  free_.push_back(flow.slot);
  return left;
}

void FlowModel::at(Seconds time, std::uint64_t tag) {
  FORETRAIN_REQUIRE(time.value() >= now_ && is_finite(time));
  const std::uint32_t id = new_slot(Slot::Kind::timer, tag);
  queue_.set({time.value(), slots_[id].number, id});
}

void FlowModel::set_capacity(std::uint32_t link, BytesPerSecond capacity) {
  sharing_.set_capacity(link, capacity);
}

void FlowModel::begin(std::uint32_t id) {
  Slot& slot = slots_[id];
  slot.kind = Slot::Kind::running;
  slot.remaining = slot.flow.bytes.value();
  slot.updated = now_;
  slot.rate = 0.0;
  sharing_.add(id, slot.flow.route, slot.flow.weight, slot.flow.max_rate.value());
  meter_.begin(slot.flow, Seconds{now_});
}

void FlowModel::end(std::uint32_t id) {
  Slot& slot = slots_[id];
  if (slot.kind == Slot::Kind::running) {
    sharing_.remove(id);
    meter_.end(slot.flow, Seconds{now_});
  }
  ended_.push_back({slot.number, slot.tag});
  slot.kind = Slot::Kind::free;
  free_.push_back(id);
}

void FlowModel::update_rates() {
  for (const std::uint32_t id : sharing_.solve()) {
    Slot& slot = slots_[id];
    slot.remaining = std::max(slot.remaining - slot.rate * (now_ - slot.updated), 0.0);
    slot.updated = now_;
    slot.rate = sharing_.rate(id);
    queue_.set({now_ + slot.remaining / slot.rate, slot.number, id});
  }
}

Seconds FlowModel::next() {
  update_rates();
  return Seconds{queue_.empty() ? std::numeric_limits<double>::infinity() : queue_.top().time};
}

void FlowModel::advance(Seconds time) {
  FORETRAIN_REQUIRE(time.value() >= now_ && time <= next());
  now_ = time.value();
  const double due = now_ * (1.0 + together);
  while (!queue_.empty() && queue_.top().time <= due) {
    const std::uint32_t id = queue_.top().slot;
    queue_.erase(id);
    Slot& slot = slots_[id];
    if (slot.kind == Slot::Kind::waiting && slot.flow.bytes > Bytes{})
      begin(id);
    else
      end(id);
  }
}

std::vector<std::uint64_t> FlowModel::collect() {
  std::sort(ended_.begin(), ended_.end(),
            [](const Ended& a, const Ended& b) { return a.number < b.number; });
  std::vector<std::uint64_t> tags;
  tags.reserve(ended_.size());
  for (const Ended& ended : ended_) tags.push_back(ended.tag);
  ended_.clear();
  return tags;
}

}  // namespace foretrain
