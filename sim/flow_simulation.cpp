// SPDX-License-Identifier: Apache-2.0
#include "sim/flow_simulation.hpp"

#include "models/require.hpp"
#include "sim/internal/simgrid_engine.hpp"

namespace foretrain {
namespace {

class PlugIn final : public FlowSimulation {
 public:
  explicit PlugIn(const FlowNetwork& network) : model_{network} {}

  FlowHandle start(const Flow& flow, std::uint64_t tag) override { return model_.start(flow, tag); }
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
  FlowModel model_;
};

}  // namespace

std::unique_ptr<FlowSimulation> make_plug_in(const FlowNetwork& network) {
  return std::make_unique<PlugIn>(network);
}

std::unique_ptr<FlowSimulation> make_flow_simulation(const FlowNetwork& network,
                                                     FlowBackend backend) {
  return backend == FlowBackend::plug_in ? make_plug_in(network) : make_reference(network);
}

}  // namespace foretrain
