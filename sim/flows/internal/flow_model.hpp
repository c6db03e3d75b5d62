// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/base/quantity.hpp"
#include "sim/flows/event_queue.hpp"
#include "sim/flows/flow_network.hpp"
#include "sim/flows/max_min.hpp"

namespace foretrain {

/// Counts what crosses each link. Bytes count when their flow ends.
class LinkMeter {
 public:
  explicit LinkMeter(std::size_t links) : links_(links), open_(links) {}

  /// @param uses have a link and a share each
  template <class Uses>
  void begin(const Uses& uses, Seconds now) {
    for (const auto& use : uses)
      if (open_[use.link].flows++ == 0) open_[use.link].since = now;
  }
  template <class Uses>
  void end(const Uses& uses, Bytes moved, Seconds now) {
    for (const auto& use : uses) {
      LinkRecord& link = links_[use.link];
      link.bytes += use.share * moved;
      if (--open_[use.link].flows == 0) link.busy += now - open_[use.link].since;
    }
  }
  [[nodiscard]] const std::vector<LinkRecord>& links() const { return links_; }

 private:
  struct Open {
    std::uint32_t flows = 0;
    Seconds since;
  };
  std::vector<LinkRecord> links_;
  std::vector<Open> open_;
};

/// Flows with max-min fair rates and timers on one clock; whoever owns it moves the clock. Not
/// thread-safe, but any number of models may live side by side. The same calls give the same
/// results to the last bit.
class FlowModel {
 public:
  explicit FlowModel(const FlowNetwork& network);

  /// As FlowSimulation::keep and drop.
  [[nodiscard]] std::uint32_t keep(const std::vector<Hop>& route);
  void drop(std::uint32_t kept) { release(kept); }
  /// From now on; `tag` comes back from collect() once all bytes have crossed the route.
  FlowHandle start(const Flow& flow, std::uint64_t tag);
  /// As FlowSimulation::stop.
  Bytes stop(const FlowHandle& flow);
  /// @pre time >= now()
  void at(Seconds time, std::uint64_t tag);
  void set_capacity(std::uint32_t link, BytesPerSecond capacity);

  [[nodiscard]] Seconds now() const { return Seconds{now_}; }
  /// When something happens next if nothing is started before; infinite if nothing is under way.
  [[nodiscard]] Seconds next();
  /// Moves the clock to `time` and ends what is due. @pre now() <= time <= next()
  void advance(Seconds time);
  /// Tags of what has ended since the last call, in the order of their start.
  [[nodiscard]] std::vector<std::uint64_t> collect();

  [[nodiscard]] const std::vector<LinkRecord>& links() const { return meter_.links(); }

 private:
  struct Slot {
    enum class Kind : std::uint8_t { free, timer, waiting, running } kind = Kind::free;
    std::uint64_t number = 0;
    std::uint64_t tag = 0;
    double remaining = 0.0;  ///< bytes, at `updated`
    double updated = 0.0;
    double rate = 0.0;
    double weight = 1.0;
    Bytes bytes;
    BytesPerSecond max_rate;
    std::uint32_t route = Flow::not_kept;  ///< of the sharing; not_kept: no bytes
  };
  struct Ended {
    std::uint64_t number;
    std::uint64_t tag;
  };

  std::uint32_t new_slot(Slot::Kind kind, std::uint64_t tag);
  void begin(std::uint32_t id);
  void end(std::uint32_t id);
  void update_rates();
  /// One holder of a route less: its keeper, or a flow on it.
  void release(std::uint32_t route);
  void take_off(std::uint32_t id, Bytes moved);
  void free_slot(std::uint32_t id);

  double now_ = 0.0;
  std::uint64_t started_ = 0;
  MaxMin sharing_;
  EventQueue queue_;
  bool metered_;
  LinkMeter meter_;
  std::vector<std::uint32_t> holders_;  ///< by route
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::vector<Ended> ended_;
};

}  // namespace foretrain
