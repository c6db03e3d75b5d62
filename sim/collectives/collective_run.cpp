// SPDX-License-Identifier: Apache-2.0
#include "sim/collectives/collective_run.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <unordered_map>

#include "models/base/require.hpp"
#include "sim/collectives/internal/collective_flows.hpp"

namespace foretrain {
namespace {

/// What an event of a call means; larger numbers are transfers of its step plan.
enum Event : std::uint32_t { due, copied_out, copied_in, part, first_step };

/// A call step by step.
struct Steps {
  StepPlan plan;
  StepOrder order;
  std::vector<BytesPerSecond> pace;  ///< by transfer
  Seconds latency;                   ///< of one step
};

struct CallState {
  std::size_t missing = 1;             ///< calls it waits for, and its time
  std::vector<std::size_t> followers;  ///< calls that wait for it
  std::size_t phase = 0;
  std::size_t open = 0;  ///< flows of the phase that have not ended
  std::vector<LinkUses> taken;
  std::unique_ptr<Steps> steps;
};

class Player {
 public:
  Player(const CollectiveSetting& setting, const std::vector<CollectiveCall>& calls);
  std::variant<CollectiveRun, Infeasible> play();

 private:
  void link_up();
  [[nodiscard]] bool takes_steps(const CollectiveCall& call) const;
  /// Transfers of a phase.
  [[nodiscard]] std::size_t flows_of(std::size_t id, std::size_t phase) const;
  [[nodiscard]] std::size_t count_flows(std::size_t id, std::size_t phase) const;
  [[nodiscard]] Flow coupled(std::size_t id);
  void on_event(std::uint64_t tag);
  void ready(std::size_t id);
  void begin(std::size_t id);
  void begin_phase(std::size_t id);
  [[nodiscard]] int flows_of(const CollectiveCall& call, const Transfer& transfer,
                             int connections) const;
  void begin_flows(std::size_t id, const PricedPhase& priced);
  void begin_coupled(std::size_t id, const PricedPhase& priced);
  void begin_network(std::size_t id, double share, const PricedPhase& priced);
  void begin_steps(std::size_t id);
  void begin_step(std::size_t id, std::uint32_t transfer);
  void end_part(std::size_t id);
  void end(std::size_t id);
  void start(std::size_t id, Flow flow, BytesPerSecond pace, std::uint32_t event);
  /// In `links_`. @return false where no route is left
  [[nodiscard]] bool find_links(std::size_t id, const Transfer& transfer);
  [[nodiscard]] KnownPhases::Key key(std::size_t id, std::size_t phase) const {
    return {id, calls_[id].price.scheme, phase};
  }
  [[nodiscard]] static std::vector<Hop> hops(const std::vector<LinkId>& links);
  [[nodiscard]] CollectiveProblem problem(std::size_t id) const {
    return {calls_[id].op, calls_[id].seats, calls_[id].root};
  }
  [[nodiscard]] static std::uint64_t tag(std::size_t id, std::uint32_t event) {
    return std::uint64_t{id} << 32U | event;
  }
  void after(Seconds wait, std::size_t id, std::uint32_t event) {
    simulation_->at(simulation_->now() + wait, tag(id, event));
  }

  const CollectiveSetting& setting_;
  const std::vector<CollectiveCall>& calls_;
  CollectiveRoutes routes_;
  std::vector<CallState> states_;
  std::unique_ptr<FlowSimulation> simulation_;
  std::optional<Infeasible> refused_;
  std::vector<LinkId> links_;
  CollectiveRun run_;
};

Player::Player(const CollectiveSetting& setting, const std::vector<CollectiveCall>& calls)
    : setting_{setting}, calls_{calls}, routes_{setting}, states_(calls.size()) {
  FlowNetwork network = setting.network;
  network.fabric = &setting.fabric;
  simulation_ = make_flow_simulation(network, setting.backend);
  run_.start.resize(calls.size());
  run_.end.resize(calls.size());
  link_up();
}

/// Who waits for whom: a call for the last blocking one of each of its members, and for those that
/// it names.
void Player::link_up() {
  std::unordered_map<int, std::size_t> last_blocking;
  for (std::size_t id = 0; id < calls_.size(); ++id) {
    const CollectiveCall& call = calls_[id];
    std::vector<std::size_t> before = call.waits_for;
    for (const int gpu : call.seats.gpu) {
      const auto found = last_blocking.find(gpu);
      if (found != last_blocking.end()) before.push_back(found->second);
      if (call.blocking) last_blocking[gpu] = id;
    }
    std::ranges::sort(before);
    before.erase(std::unique(before.begin(), before.end()), before.end());
    for (const std::size_t earlier : before) {
      FORETRAIN_REQUIRE(earlier < id);
      states_[earlier].followers.push_back(id);
    }
    states_[id].missing += before.size();
  }
}

/// Phases of other schemes are their steps.
bool Player::takes_steps(const CollectiveCall& call) const {
  return setting_.step_by_step && call.price.scheme->steps != nullptr &&
         call.price.phases.size() == 1;
}

std::size_t Player::flows_of(std::size_t id, std::size_t phase) const {
  if (setting_.known == nullptr) return count_flows(id, phase);
  const auto [found, added] = setting_.known->transfers.try_emplace(key(id, phase));
  if (added) found->second = count_flows(id, phase);
  return found->second;
}

std::size_t Player::count_flows(std::size_t id, std::size_t phase) const {
  std::size_t count = 0;
  calls_[id].price.scheme->emit(problem(id), static_cast<int>(phase),
                                [&](const Transfer&) { ++count; });
  return count;
}

std::vector<Hop> Player::hops(const std::vector<LinkId>& links) {
  std::vector<Hop> result;
  result.reserve(links.size());
  for (const LinkId link : links) result.push_back({static_cast<std::uint32_t>(link), 1.0});
  return result;
}

/// A flow that moves at `pace` and never faster. Without a link it meets no one.
void Player::start(std::size_t id, Flow flow, BytesPerSecond pace, std::uint32_t event) {
  if (flow.route.empty() || !is_finite(pace)) {
    if (is_finite(pace)) flow.latency += flow.bytes / pace;
    flow.bytes = Bytes{};
    flow.route.clear();
  } else {
    flow.max_rate = pace;
  }
  ++run_.flows;
  simulation_->start(flow, tag(id, event));
}

bool Player::find_links(std::size_t id, const Transfer& transfer) {
  const bool found = routes_.of(calls_[id], transfer, links_);
  if (!found && !refused_) {
    const Seats& seats = calls_[id].seats;
    const auto gpu = [&](int member) {
      return node_name(setting_.fabric, seats.gpu[static_cast<std::size_t>(member)]);
    };
    refused_ =
        Infeasible{"fabric-connected", "",
                   "no route is left from " + gpu(transfer.from) + " to " + gpu(transfer.to), ""};
  }
  return found;
}

/// What goes between hosts is spread over the connections of a pair of ranks.
int Player::flows_of(const CollectiveCall& call, const Transfer& transfer, int connections) const {
  const bool crosses =
      transfer.from >= 0 && transfer.to >= 0 && !call.seats.same_host(transfer.from, transfer.to);
  return crosses ? flows_between_hosts(setting_.fabric, setting_.routing, connections) : 1;
}

void Player::begin_flows(std::size_t id, const PricedPhase& priced) {
  const CollectiveCall& call = calls_[id];
  call.price.scheme->emit(
      problem(id), static_cast<int>(states_[id].phase), [&](const Transfer& transfer) {
        const int parts = flows_of(call, transfer, setting_.connections);
        for (int i = 0; i < parts; ++i) {
          if (!find_links(
                  id, {transfer.from, transfer.to, transfer.share, transfer.channel * parts + i}))
            return;
          Flow flow;
          flow.route = hops(links_);
          flow.bytes = transfer.share / parts * call.payload;
          flow.latency = priced.latency;
          ++states_[id].open;
          const BytesPerSecond pace = flow.bytes / priced.wire;
          start(id, std::move(flow), pace, part);
        }
      });
}

/// All transfers of a phase together, of a byte of payload.
Flow Player::coupled(std::size_t id) {
  const auto lay_out = [&] {
    CoupledFlow all{setting_.network.links.size()};
    calls_[id].price.scheme->emit(
        problem(id), static_cast<int>(states_[id].phase), [&](const Transfer& transfer) {
          const int parts = flows_of(calls_[id], transfer, 1);
          for (int i = 0; i < parts; ++i)
            if (find_links(
                    id, {transfer.from, transfer.to, transfer.share, transfer.channel * parts + i}))
              all.add(links_, Bytes{transfer.share / parts});
        });
    return all.flow();
  };
  // Adaptive routes depend on what other calls have under way.
  const bool alone = setting_.routing != RoutingKind::adaptive || calls_.size() == 1;
  if (setting_.known == nullptr || !alone) return lay_out();
  const auto [found, added] = setting_.known->coupled.try_emplace(key(id, states_[id].phase));
  if (added) found->second = lay_out();
  return found->second;
}

void Player::begin_coupled(std::size_t id, const PricedPhase& priced) {
  Flow flow = coupled(id);
  flow.bytes *= calls_[id].payload.value();
  flow.latency = priced.latency;
  ++states_[id].open;
  const BytesPerSecond pace = flow.bytes / priced.wire;
  start(id, std::move(flow), pace, part);
}

/// What the switches of the network add is one flow over all cables that it needs: it moves in
/// step.
void Player::begin_network(std::size_t id, double share, const PricedPhase& priced) {
  const auto cables = routes_.climb(calls_[id]);
  if (!cables) {
    refused_ = Infeasible{"fabric-connected", "", "no route is left between the hosts", ""};
    return;
  }
  Flow flow;
  flow.route = hops(*cables);
  flow.bytes = share * calls_[id].payload;
  flow.latency = priced.latency;
  ++states_[id].open;
  const BytesPerSecond pace = flow.bytes / priced.wire;
  start(id, std::move(flow), pace, part);
}

void Player::begin_phase(std::size_t id) {
  const CollectiveCall& call = calls_[id];
  CallState& state = states_[id];
  if (state.phase == call.price.phases.size()) {
    after(call.price.after, id, copied_in);
    return;
  }
  const PricedPhase& priced = call.price.phases[state.phase];
  if (takes_steps(call)) {
    begin_steps(id);
    return;
  }
  state.open = 1;  // held until all are under way
  if (flows_of(id, state.phase) > setting_.most_flows)
    begin_coupled(id, priced);
  else
    begin_flows(id, priced);
  const double share = call.price.scheme->phases(problem(id))[state.phase].network_share;
  if (share > 0.0) begin_network(id, share, priced);
  state.taken = routes_.taken();
  end_part(id);
}

void Player::begin_steps(std::size_t id) {
  const CollectiveCall& call = calls_[id];
  CallState& state = states_[id];
  StepPlan plan = call.price.scheme->steps(problem(id), setting_.chunks);
  StepOrder order{plan, call.seats.size()};
  // Hand-overs over one edge of one channel come one after another: each moves as fast as all of
  // them together in the priced time.
  std::map<std::array<int, 3>, double> edges;
  const auto edge = [&](const StepTransfer& t) -> double& {
    return edges[{t.channel, t.from, t.to}];
  };
  for (const StepTransfer& transfer : plan.transfers)
    edge(transfer) += transfer.blocks * plan.block_share;
  const PricedPhase& priced = call.price.phases.front();
  std::vector<BytesPerSecond> pace;
  for (const StepTransfer& transfer : plan.transfers)
    pace.push_back(edge(transfer) * call.payload / priced.wire);
  state.open = plan.transfers.size();
  const Seconds latency = priced.latency / std::max(1, plan.steps);
  state.steps =
      std::make_unique<Steps>(Steps{std::move(plan), std::move(order), std::move(pace), latency});
  const std::vector<std::uint32_t> first = state.steps->order.first();
  for (const std::uint32_t transfer : first) begin_step(id, transfer);
}

void Player::begin_step(std::size_t id, std::uint32_t number) {
  const Steps& steps = *states_[id].steps;
  const StepTransfer& step = steps.plan.transfers[number];
  const bool found = find_links(id, {step.from, step.to, 0.0, step.channel});
  routes_.release(routes_.taken());  // chosen by what is under way elsewhere
  Flow flow;
  if (found) flow.route = hops(links_);
  flow.bytes = step.blocks * steps.plan.block_share * calls_[id].payload;
  flow.latency = steps.latency;
  start(id, std::move(flow), steps.pace[number], first_step + number);
}

void Player::end_part(std::size_t id) {
  CallState& state = states_[id];
  if (--state.open > 0) return;
  routes_.release(std::exchange(state.taken, {}));
  ++state.phase;
  begin_phase(id);
}

void Player::ready(std::size_t id) {
  if (--states_[id].missing == 0) begin(id);
}

void Player::begin(std::size_t id) {
  run_.start[id] = simulation_->now();
  after(calls_[id].price.before, id, copied_out);
}

void Player::end(std::size_t id) {
  run_.end[id] = simulation_->now();
  for (const std::size_t follower : states_[id].followers) ready(follower);
}

void Player::on_event(std::uint64_t event_tag) {
  const auto id = static_cast<std::size_t>(event_tag >> 32U);
  const auto event = static_cast<std::uint32_t>(event_tag);
  switch (event) {
    case due:
      return ready(id);
    case copied_out:
      return begin_phase(id);
    case copied_in:
      return end(id);
    case part:
      return end_part(id);
    default:
      for (const std::uint32_t next : states_[id].steps->order.ended(event - first_step))
        begin_step(id, next);
      end_part(id);
  }
}

std::variant<CollectiveRun, Infeasible> Player::play() {
  for (std::size_t id = 0; id < calls_.size(); ++id) simulation_->at(calls_[id].at, tag(id, due));
  simulation_->run([this](std::uint64_t event_tag) { on_event(event_tag); });
  if (refused_) return *refused_;
  run_.links.assign(simulation_->links().begin(),
                    simulation_->links().begin() + setting_.fabric.links());
  return std::move(run_);
}

}  // namespace

std::variant<CollectiveRun, Infeasible> run_collectives(const CollectiveSetting& setting,
                                                        const std::vector<CollectiveCall>& calls) {
  FORETRAIN_REQUIRE(setting.network.links.size() ==
                    static_cast<std::size_t>(setting.fabric.links()));
  for (const CollectiveCall& call : calls)
    for (const int gpu : call.seats.gpu) FORETRAIN_REQUIRE(gpu < setting.fabric.gpus());
  return Player{setting, calls}.play();
}

}  // namespace foretrain
