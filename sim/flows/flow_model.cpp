// SPDX-License-Identifier: Apache-2.0
#include "sim/flows/internal/flow_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "models/base/require.hpp"

namespace foretrain {

// Flows that end together differ in the last digits of their dates when they got there in a
// different number of steps; without this their links would be shared anew for every one of them.
constexpr double together = 1e-14;

FlowModel::FlowModel(const FlowNetwork& network)
    : sharing_{network},
      metered_{network.metered},
      meter_{network.metered ? network.links.size() : 0} {}

std::uint32_t FlowModel::keep(const std::vector<Hop>& route) {
  const std::uint32_t id = sharing_.add_route(route);
  if (id >= holders_.size()) holders_.resize(std::size_t{id} + 1);
  holders_[id] = 1;
  return id;
}

void FlowModel::release(std::uint32_t route) {
  if (--holders_[route] == 0) sharing_.remove_route(route);
}

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
  slots_[id].route = Flow::not_kept;
  return id;
}

FlowHandle FlowModel::start(const Flow& flow, std::uint64_t tag) {
  const bool kept = flow.kept != Flow::not_kept;
  FORETRAIN_REQUIRE(flow.bytes >= Bytes{} && is_finite(flow.bytes));
  FORETRAIN_REQUIRE(flow.latency >= Seconds{} && is_finite(flow.latency));
  FORETRAIN_REQUIRE(kept ? flow.route.empty() : !flow.route.empty() || flow.bytes == Bytes{});
  const std::uint32_t id = new_slot(Slot::Kind::waiting, tag);
  Slot& slot = slots_[id];
  slot.bytes = flow.bytes;
  slot.weight = flow.weight;
  slot.max_rate = flow.max_rate;
  slot.route = flow.kept;
  if (kept)
    ++holders_[flow.kept];
  else if (!flow.route.empty())
    slot.route = keep(flow.route);
  if (flow.latency > Seconds{} || flow.bytes == Bytes{})
    queue_.set({now_ + flow.latency.value(), slot.number, id});
  else
    begin(id);
  return {id, slots_[id].number};
}

/// A running flow leaves its links.
void FlowModel::take_off(std::uint32_t id, Bytes moved) {
  sharing_.remove(id);
  if (metered_) meter_.end(sharing_.uses(slots_[id].route), moved, Seconds{now_});
}

Bytes FlowModel::stop(const FlowHandle& flow) {
  Slot& slot = slots_[flow.slot];
  if (slot.kind == Slot::Kind::free || slot.number != flow.number) return Bytes{};
  Bytes left = slot.bytes;
  if (slot.kind == Slot::Kind::running) {
    left = Bytes{std::max(slot.remaining - slot.rate * (now_ - slot.updated), 0.0)};
    take_off(flow.slot, slot.bytes - left);
  }
  queue_.erase(flow.slot);
  free_slot(flow.slot);
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
  slot.remaining = slot.bytes.value();
  slot.updated = now_;
  slot.rate = 0.0;
  sharing_.add(id, slot.route, slot.weight, slot.max_rate.value());
  if (metered_) meter_.begin(sharing_.uses(slot.route), Seconds{now_});
}

void FlowModel::free_slot(std::uint32_t id) {
  Slot& slot = slots_[id];
  slot.kind = Slot::Kind::free;
  if (slot.route != Flow::not_kept) release(std::exchange(slot.route, Flow::not_kept));
  free_.push_back(id);
}

void FlowModel::end(std::uint32_t id) {
  const Slot& slot = slots_[id];
  if (slot.kind == Slot::Kind::running) take_off(id, slot.bytes);
  ended_.push_back({slot.number, slot.tag});
  free_slot(id);
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
    if (slot.kind == Slot::Kind::waiting && slot.bytes > Bytes{})
      begin(id);
    else
      end(id);
  }
}

std::vector<std::uint64_t> FlowModel::collect() {
  std::ranges::sort(ended_, [](const Ended& a, const Ended& b) { return a.number < b.number; });
  std::vector<std::uint64_t> tags;
  tags.reserve(ended_.size());
  for (const Ended& ended : ended_) tags.push_back(ended.tag);
  ended_.clear();
  return tags;
}

}  // namespace foretrain
