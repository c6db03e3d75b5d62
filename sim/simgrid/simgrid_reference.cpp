// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <utility>

#include "models/base/require.hpp"
#include "sim/simgrid/internal/simgrid_engine.hpp"

namespace foretrain {
namespace {

/// Flows as SimGrid's own comms. Timers and latencies are a flow model without links: SimGrid's
/// timers of one date come in no fixed order, and its links share in inverse proportion to latency.
class Reference final : public FlowSimulation {
 public:
  explicit Reference(const FlowNetwork& network)
      : links_{network.links.size()},
        network_{network},
        clock_{FlowNetwork{}},
        meter_{links_},
        zone_{SimgridEngine::instance().zone_of(network)} {
    for (const BytesPerSecond capacity : network_.links)
      FORETRAIN_REQUIRE(capacity.value() > 0.0 && is_finite(capacity));
  }

  [[nodiscard]] std::uint32_t keep(const std::vector<Hop>& route) override {
    kept_.push_back(route);
    return static_cast<std::uint32_t>(kept_.size() - 1);
  }
  void drop(std::uint32_t kept) override { kept_[kept].clear(); }
  FlowHandle start(const Flow& kept_flow, std::uint64_t tag) override {
    Flow flow = kept_flow;
    if (flow.kept != Flow::not_kept) flow.route = kept_[flow.kept];
    FORETRAIN_REQUIRE(flow.bytes >= Bytes{} && flow.bytes.value() * units < 1e19);
    FORETRAIN_REQUIRE(flow.latency >= Seconds{} && is_finite(flow.latency));
    FORETRAIN_REQUIRE(!flow.route.empty() || flow.bytes == Bytes{});
    // SimGrid 3.32 offers neither through its installed headers.
    FORETRAIN_REQUIRE(flow.weight == 1.0);
    for (const Hop& use : flow.route) FORETRAIN_REQUIRE(use.link < links_ && use.share == 1.0);
    clock_.at(clock_.now() + flow.latency, add({flow, tag, nullptr, 0}));
    return {};
  }
  FlowHandle send(const GpuFlow& sent, std::uint64_t tag) override {
    zone_->serve(network_);
    return start({zone_->way(sent.from, sent.to, sent.choice), sent.bytes, sent.latency}, tag);
  }
  Bytes stop(const FlowHandle& /*flow*/) override {
    FORETRAIN_REQUIRE(!"the reference cannot stop flows");
    return {};
  }
  void at(Seconds time, std::uint64_t tag) override {
    clock_.at(time, add({Flow{}, tag, nullptr, 0}));
  }
  void set_capacity(std::uint32_t link, BytesPerSecond capacity) override {
    FORETRAIN_REQUIRE(link < links_ && capacity.value() > 0.0 && is_finite(capacity));
    network_.links[link] = capacity;
    if (running_) zone_->set_capacity(link, capacity.value() * units);
  }
  [[nodiscard]] Seconds now() const override { return clock_.now(); }
  void run(const OnEvent& on_event) override;
  [[nodiscard]] const std::vector<LinkRecord>& links() const override { return meter_.links(); }

 private:
  struct Entry {
    Flow flow;
    std::uint64_t tag = 0;
    simgrid::s4u::CommPtr comm;
    std::uint32_t own_link = 0;  ///< of a flow with a rate of its own
  };
  // SimGrid counts whole bytes, so its bytes are our fractions of one.
  static constexpr double units = 1024.0;
  static constexpr double unbounded = 1e24;

  std::size_t add(Entry entry);
  void advanced(const OnEvent& on_event);
  void ended(const simgrid::s4u::Comm& comm, const OnEvent& on_event);
  void stop();
  void begin(std::size_t id);
  std::uint64_t take(std::size_t id);

  std::size_t links_;
  FlowNetwork network_;
  FlowModel clock_;
  LinkMeter meter_;
  std::shared_ptr<FabricZone> zone_;
  std::vector<std::uint32_t> spare_;  ///< links of the zone that are none of the network's
  std::vector<std::vector<Hop>> kept_;
  std::vector<Entry> entries_;
  std::vector<std::size_t> free_;
  std::vector<simgrid::s4u::CommPtr> completed_;  ///< must outlive their own completion
  bool running_ = false;
};

std::size_t Reference::add(Entry entry) {
  if (free_.empty()) {
    entries_.push_back(std::move(entry));
    return entries_.size() - 1;
  }
  const std::size_t id = free_.back();
  free_.pop_back();
  entries_[id] = std::move(entry);
  return id;
}

std::uint64_t Reference::take(std::size_t id) {
  free_.push_back(id);
  return entries_[id].tag;
}

void Reference::begin(std::size_t id) {
  Entry& entry = entries_[id];
  meter_.begin(entry.flow.route, now());
  const auto size = static_cast<std::uint64_t>(std::llround(entry.flow.bytes.value() * units));
  // NOLINTNEXTLINE(performance-no-int-to-ptr): SimGrid carries a pointer, which is never followed
  auto* const data = reinterpret_cast<void*>(id);
  std::vector<Hop> route = entry.flow.route;
  if (is_finite(entry.flow.max_rate)) {
    // SimGrid 3.32 does not heed the rate of such a comm: a link of its own holds it back.
    if (spare_.empty()) spare_.push_back(zone_->add_link());
    entry.own_link = spare_.back();
    spare_.pop_back();
    route.push_back({entry.own_link});
  }
  // What its links have at the start would bound the comm for good, also once they have more.
  for (const Hop& hop : route) zone_->set_capacity(hop.link, unbounded);
  entry.comm = zone_->send(route, size, data);
  for (const Hop& hop : entry.flow.route)
    zone_->set_capacity(hop.link, network_.links[hop.link].value() * units);
  if (is_finite(entry.flow.max_rate))
    zone_->set_capacity(entry.own_link, entry.flow.max_rate.value() * units);
}

void Reference::advanced(const OnEvent& on_event) {
  completed_.clear();
  for (const std::uint64_t id : clock_.collect()) {
    if (entries_[id].flow.bytes > Bytes{})
      begin(id);
    else
      on_event(take(id));
  }
}

void Reference::ended(const simgrid::s4u::Comm& comm, const OnEvent& on_event) {
  const auto id = reinterpret_cast<std::size_t>(comm.get_data<void>());
  // Comms of a simulation that was cut short end in the next one.
  if (id >= entries_.size() || entries_[id].comm.get() != &comm) return;
  meter_.end(entries_[id].flow.route, entries_[id].flow.bytes, now());
  completed_.push_back(std::move(entries_[id].comm));
  if (is_finite(entries_[id].flow.max_rate)) spare_.push_back(entries_[id].own_link);
  on_event(take(id));
}

/// Nothing must be left on the links that the next simulation uses.
void Reference::stop() {
  for (Entry& entry : entries_)
    if (entry.comm != nullptr) SimgridEngine::instance().abandon(std::move(entry.comm), zone_);
  completed_.clear();
  running_ = false;
}

void Reference::run(const OnEvent& on_event) {
  zone_->serve(network_);
  for (std::uint32_t id = 0; id < links_; ++id)
    zone_->set_capacity(id, network_.links[id].value() * units);
  spare_.clear();
  for (auto id = static_cast<std::uint32_t>(zone_->links()); id-- > links_;) spare_.push_back(id);
  running_ = true;
  SimgridEngine::Callbacks callbacks;
  callbacks.on_advance = [&] { advanced(on_event); };
  callbacks.on_comm_completed = [&](const simgrid::s4u::Comm& comm) { ended(comm, on_event); };
  try {
    SimgridEngine::instance().run(clock_, callbacks);
  } catch (...) {
    stop();
    throw;
  }
  stop();
}

}  // namespace

std::unique_ptr<FlowSimulation> make_reference(const FlowNetwork& network) {
  return std::make_unique<Reference>(network);
}

}  // namespace foretrain
