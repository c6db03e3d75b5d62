// SPDX-License-Identifier: Apache-2.0
#include "sim/simgrid/internal/simgrid_engine.hpp"

#include <xbt/log.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <map>
#include <simgrid/kernel/resource/Model.hpp>
#include <string>
#include <utility>

#include "models/base/ranges.hpp"
#include "models/base/require.hpp"

namespace foretrain {

FabricZone::FabricZone(const std::string& name, const FlowNetwork& network,
                       const simgrid::kernel::routing::NetZoneImpl& root)
    : NetZoneImpl(name), fabric_{network.fabric} {
  set_network_model(root.get_network_model());
  set_cpu_pm_model(root.get_cpu_pm_model());
  set_cpu_vm_model(root.get_cpu_vm_model());
  set_disk_model(root.get_disk_model());
  set_host_model(root.get_host_model());
  if (fabric_ != nullptr) {
    add_fabric(*fabric_);
  } else {
    for (const char* end : {"from", "to"})
      hosts_.push_back(get_iface()->create_host(name + "." + end, 1e9));
  }
  while (links_.size() < network.links.size()) add_link();
}

/// GPUs come first among the nodes, so that SimGrid's number of a host is its rank.
void FabricZone::add_fabric(const Fabric& fabric) {
  from_ = fabric.from;
  to_ = fabric.to;
  for (NodeId gpu = 0; gpu < fabric.gpus(); ++gpu)
    hosts_.push_back(get_iface()->create_host(node_name(fabric, gpu), 1e9));
  std::map<std::pair<NodeId, NodeId>, int> parallel;
  for (std::size_t link = 0; link < from_.size(); ++link) {
    const int earlier = parallel[{from_[link], to_[link]}]++;
    add_link(node_name(fabric, from_[link]) + ">" + node_name(fabric, to_[link]) +
             (earlier > 0 ? "#" + std::to_string(earlier) : ""));
  }
}

void FabricZone::add_link(const std::string& name) {
  links_.push_back(get_iface()->create_link(name, 1.0)->seal());
}

std::uint32_t FabricZone::add_link() {
  add_link(get_name() + "." + std::to_string(links_.size()));
  return static_cast<std::uint32_t>(links_.size() - 1);
}

bool FabricZone::stands_for(const FlowNetwork& network) const {
  if (network.fabric == nullptr) return from_.empty();
  return network.fabric->from == from_ && network.fabric->to == to_ &&
         network.fabric->gpus() == static_cast<int>(hosts_.size());
}

void FabricZone::serve(const FlowNetwork& network) {
  FORETRAIN_REQUIRE(stands_for(network));
  fabric_ = network.fabric;
  while (links_.size() < network.links.size()) add_link();
}

void FabricZone::set_capacity(std::uint32_t link, double capacity) {
  links_.at(link)->set_bandwidth(capacity);
}

std::vector<Hop> FabricZone::way(int from, int to, const RouteChoice& choice) {
  FORETRAIN_REQUIRE(fabric_ != nullptr);
  struct Asking {
    const RouteChoice*& choice;
    ~Asking() { choice = nullptr; }
  };
  choice_ = &choice;
  const Asking asking{choice_};
  std::vector<simgrid::s4u::Link*> found;
  double latency = 0.0;
  hosts_.at(index(from))->route_to(hosts_.at(index(to)), found, &latency);
  FORETRAIN_REQUIRE(found.size() == route_.size());
  std::vector<Hop> hops;
  for (std::size_t i = 0; i < found.size(); ++i) {
    FORETRAIN_REQUIRE(found[i] == links_[index(route_[i])]);
    hops.push_back({static_cast<std::uint32_t>(route_[i])});
  }
  return hops;
}

FabricZone::HostPair FabricZone::ends(const std::vector<Hop>& links) const {
  const HostPair any{hosts_.front(), hosts_.back()};
  if (from_.empty()) return any;
  NodeId begin = -1;
  NodeId end = -1;
  for (const Hop& hop : links) {
    if (hop.link >= from_.size()) continue;  // a stream of a rank, or the rate of a flow
    if (begin < 0) begin = from_[hop.link];
    if (end >= 0 && end != from_[hop.link]) return any;
    end = to_[hop.link];
  }
  const auto is_gpu = [&](NodeId node) { return node >= 0 && node < fabric_->gpus(); };
  if (!is_gpu(begin) || !is_gpu(end)) return any;
  return {hosts_[index(begin)], hosts_[index(end)]};
}

simgrid::s4u::CommPtr FabricZone::send(const std::vector<Hop>& links, std::uint64_t size,
                                       void* data) {
  const auto [from, to] = ends(links);
  decided_ = &links;
  simgrid::s4u::CommPtr comm = simgrid::s4u::Comm::sendto_init(from, to);
  comm->set_payload_size(size)->set_data(data);
  comm->vetoable_start();
  decided_ = nullptr;
  return comm;
}

void FabricZone::get_local_route(const NetPoint* from, const NetPoint* to,
                                 simgrid::kernel::routing::Route* into, double* /*latency*/) {
  if (decided_ != nullptr) {
    for (const Hop& hop : *decided_) into->link_list_.push_back(links_[hop.link]->get_impl());
    return;
  }
  FORETRAIN_REQUIRE(choice_ != nullptr && fabric_ != nullptr);
  FORETRAIN_REQUIRE(
      route(*fabric_, static_cast<int>(from->id()), static_cast<int>(to->id()), *choice_, route_));
  for (const LinkId link : route_) into->link_list_.push_back(links_[index(link)]->get_impl());
}

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
