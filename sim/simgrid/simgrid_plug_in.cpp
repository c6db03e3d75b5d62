// SPDX-License-Identifier: Apache-2.0
// What foretrain_simgrid.so offers: see sim/flows/internal/simgrid_entry.hpp.
#include "models/base/require.hpp"
#include "sim/flows/internal/simgrid_entry.hpp"
#include "sim/simgrid/internal/simgrid_engine.hpp"

namespace foretrain {
namespace {

class PlugIn final : public FlowSimulation {
 public:
  explicit PlugIn(const FlowNetwork& network) : fabric_{network.fabric}, model_{network} {}

  [[nodiscard]] std::uint32_t keep(const std::vector<Hop>& route) override {
    return model_.keep(route);
  }
  void drop(std::uint32_t kept) override { model_.drop(kept); }
  FlowHandle start(const Flow& flow, std::uint64_t tag) override { return model_.start(flow, tag); }
  FlowHandle send(const GpuFlow& sent, std::uint64_t tag) override {
    FORETRAIN_REQUIRE(fabric_ != nullptr);
    FORETRAIN_REQUIRE(route(*fabric_, sent.from, sent.to, sent.choice, route_));
    Flow flow;
    for (const LinkId link : route_) flow.route.push_back({static_cast<std::uint32_t>(link)});
    flow.bytes = sent.bytes;
    flow.latency = sent.latency;
    return model_.start(flow, tag);
  }
  Bytes stop(const FlowHandle& flow) override { return model_.stop(flow); }
  void at(Seconds time, std::uint64_t tag) override { model_.at(time, tag); }
  void set_capacity(std::uint32_t link, BytesPerSecond capacity) override {
    model_.set_capacity(link, capacity);
  }
  [[nodiscard]] Seconds now() const override { return model_.now(); }
  void run(const OnEvent& on_event) override {
    SimgridEngine::Callbacks callbacks;
    callbacks.on_advance = [&] {
      for (const std::uint64_t tag : model_.collect()) on_event(tag);
    };
    callbacks.on_comm_completed = [](const simgrid::s4u::Comm&) {};
    SimgridEngine::instance().run(model_, callbacks);
  }
  [[nodiscard]] const std::vector<LinkRecord>& links() const override { return model_.links(); }

 private:
  const Fabric* fabric_;
  FlowModel model_;
  std::vector<LinkId> route_;
};

std::unique_ptr<FlowSimulation> make(const FlowNetwork& network, FlowBackend backend) {
  if (backend == FlowBackend::simgrid) return make_reference(network);
  return std::make_unique<PlugIn>(network);
}

}  // namespace
}  // namespace foretrain

foretrain::FlowSimulation* foretrain_simgrid_make(const foretrain::FlowNetwork& network,
                                                  foretrain::FlowBackend backend) {
  return foretrain::make(network, backend).release();
}
