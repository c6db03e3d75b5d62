// SPDX-License-Identifier: Apache-2.0
#include "sim/simgrid/internal/simgrid_engine.hpp"

#include <array>
#include <csignal>
#include <cstddef>
#include <string>
#include <utility>

#include <xbt/log.h>
#include <simgrid/kernel/resource/Model.hpp>

#include "models/base/require.hpp"

namespace foretrain {

/// A flow model as SimGrid sees it. The model keeps its own clock: the engine's is a sum of steps,
/// and goes on from one simulation to the next, so its last digits depend on what ran before.
class FlowModelAdapter final : public simgrid::kernel::resource::Model {
 public:
  FlowModelAdapter() : Model("foretrain") {}

  void set_model(FlowModel* model) { model_ = model; }

  double next_occurring_event(double /*now*/) override {
    if (model_ == nullptr) return -1.0;
    next_ = model_->next();
    if (!is_finite(next_)) return -1.0;
    step_ = (next_ - model_->now()).value();
    return step_;
  }

  void update_actions_state(double /*now*/, double delta) override {
    if (model_ == nullptr) return;
    const bool all_the_way = is_finite(next_) && delta >= step_;
    model_->advance(all_the_way ? next_ : min(model_->now() + Seconds{delta}, next_));
  }

 private:
  FlowModel* model_ = nullptr;
  Seconds next_;
  double step_ = 0.0;
};

namespace {

/// SimGrid takes over signals of the process when its engine is made; this gives them back.
class KeepSignals {
 public:
  KeepSignals() {
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], nullptr, &saved_[i]);
  }
  KeepSignals(const KeepSignals&) = delete;
  KeepSignals& operator=(const KeepSignals&) = delete;
  ~KeepSignals() {
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &saved_[i], nullptr);
  }

 private:
  static constexpr std::array<int, 2> signals{SIGINT, SIGSEGV};
  std::array<struct sigaction, 2> saved_{};
};

/// No factors on bandwidth and latency, no limit by window size, no reverse traffic; dates closer
/// than a picosecond are one.
void configure() {
  using simgrid::s4u::Engine;
  xbt_log_control_set("root.thresh:warning");
  for (const char* setting : {"network/model:CM02", "network/crosstraffic:0",
                              "network/TCP-gamma:1e18", "surf/precision:1e-12"})
    Engine::set_config(std::string(setting));
}

}  // namespace

SimgridEngine& SimgridEngine::instance() {
  static const std::unique_ptr<SimgridEngine> engine = [] {
    const KeepSignals keep;
    return std::unique_ptr<SimgridEngine>(new SimgridEngine);
  }();
  return *engine;
}

SimgridEngine::SimgridEngine() : engine_("foretrain") {
  configure();
  adapter_ = std::make_shared<FlowModelAdapter>();
  root_ = simgrid::s4u::create_empty_zone("root");
  root_->seal();
  engine_.add_model(adapter_);
  simgrid::s4u::Engine::on_time_advance_cb([this](double) {
    if (callbacks_ != nullptr) callbacks_->on_advance();
  });
  simgrid::s4u::Activity::on_completion_cb([this](const simgrid::s4u::Activity& activity) {
    const auto* const comm = dynamic_cast<const simgrid::s4u::Comm*>(&activity);
    if (comm != nullptr && callbacks_ != nullptr) callbacks_->on_comm_completed(*comm);
  });
}

void SimgridEngine::run(FlowModel& model, const Callbacks& callbacks) {
  FORETRAIN_REQUIRE(callbacks_ == nullptr);
  struct Release {
    SimgridEngine& engine;
    ~Release() {
      engine.callbacks_ = nullptr;
      engine.adapter_->set_model(nullptr);
    }
  };
  const Release release{*this};
  callbacks_ = &callbacks;
  adapter_->set_model(&model);
  engine_.run();
}

std::shared_ptr<FabricZone> SimgridEngine::zone_of(const FlowNetwork& network) {
  FORETRAIN_REQUIRE(network.links.size() <= max_links);
  for (const auto& zone : zones_)
    if (zone->stands_for(network)) {
      zone->serve(network);
      return zone;
    }
  std::erase_if(zones_, [](const auto& zone) { return zone.use_count() == 1; });
  zones_.push_back(std::make_shared<FabricZone>("fabric" + std::to_string(zones_made_++), network,
                                                *root_->get_impl()));
  return zones_.back();
}

void SimgridEngine::abandon(simgrid::s4u::CommPtr comm, const std::shared_ptr<FabricZone>& zone) {
  comm->cancel();
  abandoned_.emplace_back(std::move(comm), zone);
}

}  // namespace foretrain
