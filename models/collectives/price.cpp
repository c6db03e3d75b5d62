// SPDX-License-Identifier: Apache-2.0
#include "models/collectives/price.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "models/base/require.hpp"
#include "models/collectives/registry.hpp"

namespace foretrain {
namespace {

/// A payload so small that only what does not depend on it is left of a price.

/// Shares of the payload that the busiest member moves in a phase, one way.
struct Busiest {
  double inside = 0.0;
  double in_switch = 0.0;
  double across = 0.0;
};

class Loads {
 public:
  explicit Loads(const Seats& seats)
      : seats_{seats}, loads_(static_cast<std::size_t>(seats.size())) {}

  void add(const Transfer& transfer) {
    if (transfer.from == Transfer::host_switch) {
      at(transfer.to).switch_in += transfer.share;
    } else if (transfer.to == Transfer::host_switch) {
      at(transfer.from).switch_out += transfer.share;
    } else if (seats_.same_host(transfer.from, transfer.to)) {
      at(transfer.from).inside_out += transfer.share;
      at(transfer.to).inside_in += transfer.share;
    } else {
      at(transfer.from).across_out += transfer.share;
      at(transfer.to).across_in += transfer.share;
      // To another rail it crosses NVLink first and leaves over the receiver's NIC number.
      const auto place = [&](int member) { return seats_.place[static_cast<std::size_t>(member)]; };
      if (place(transfer.from) != place(transfer.to))
        at(transfer.from).inside_out += transfer.share;
    }
  }
  [[nodiscard]] Busiest busiest() const {
    Busiest most;
    for (const Load& load : loads_) {
      most.inside = std::max({most.inside, load.inside_out, load.inside_in});
      most.in_switch = std::max({most.in_switch, load.switch_out, load.switch_in});
      most.across = std::max({most.across, load.across_out, load.across_in});
    }
    return most;
  }

 private:
  struct Load {
    double inside_out = 0.0, inside_in = 0.0, across_out = 0.0, across_in = 0.0;
    double switch_out = 0.0, switch_in = 0.0;
  };
  Load& at(int member) { return loads_[static_cast<std::size_t>(member)]; }

  const Seats& seats_;
  std::vector<Load> loads_;
};

Seconds wire_time(const Busiest& busiest, double network_share, Bytes payload,
                  const HandOver& costs) {
  Seconds time;
  const auto count = [&](double share, BytesPerSecond rate) {
    if (share > 0.0) time = max(time, share * payload / rate);
  };
  count(busiest.inside, costs.inside);
  count(busiest.in_switch, costs.in_switch);
  count(std::max(busiest.across, network_share), costs.across);
  return time;
}

/// A scheme put together from hand-overs.
CollectivePrice composed(const CollectiveScheme& scheme, const CollectiveProblem& problem,
                         Bytes payload, const HandOver& costs) {
  CollectivePrice price;
  price.scheme = &scheme;
  const auto phases = scheme.phases(problem);
  for (std::size_t i = 0; i < phases.size(); ++i) {
    Loads loads{problem.seats};
    scheme.emit(problem, static_cast<int>(i), [&](const Transfer& t) { loads.add(t); });
    const CollectivePhase& phase = phases[i];
    price.phases.push_back({(i == 0 ? costs.base : Seconds{}) +
                                phase.inside_steps * costs.inside_step +
                                phase.across_steps * costs.across_step,
                            wire_time(loads.busiest(), phase.network_share, payload, costs)});
  }
  return price;
}

bool uses_host_switch(const CollectiveScheme& scheme) { return scheme.steps == nullptr; }

struct Offer {
  CollectiveChoice choice;
  Seconds floor;
};

/// NCCL's own ways, with what each costs at no payload.
std::vector<Offer> nccl_offers(const CollectiveProblem& problem, Bytes payload,
                               const CollectivePath& path) {
  const CommGroup group = problem.seats.group();
  const auto choices = collective_choices(problem.op, group, payload, path);
  const auto floors = collective_choices(problem.op, group, next_to_nothing, path);
  std::vector<Offer> offers;
  for (const CollectiveChoice& choice : choices) {
    const auto floor = std::ranges::find_if(floors, [&](const CollectiveChoice& other) {
      return other.algorithm == choice.algorithm && other.protocol == choice.protocol;
    });
    FORETRAIN_REQUIRE(floor != floors.end());
    offers.push_back({choice, min(floor->time, choice.time)});
  }
  return offers;
}

void keep_faster(std::optional<CollectivePrice>& best, CollectivePrice price) {
  if (!best || price.time() < best->time()) best = std::move(price);
}

std::optional<CollectivePrice> own_price(const CollectiveProblem& problem, Bytes payload,
                                         const CollectivePath& path, const CollectiveWish& wish) {
  std::optional<CollectivePrice> best;
  for (const Offer& offer : nccl_offers(problem, payload, path)) {
    const CollectiveScheme& scheme = scheme_of(offer.choice.algorithm);
    if (wish.scheme == nullptr ? offer.choice.on_request : wish.scheme != &scheme) continue;
    if (wish.protocol && *wish.protocol != offer.choice.protocol) continue;
    if (!scheme.refusal(problem).empty()) continue;
    CollectivePrice price;
    price.scheme = &scheme;
    price.protocol = offer.choice.protocol;
    price.phases = {{offer.floor, offer.choice.time - offer.floor}};
    price.measured = true;
    keep_faster(best, std::move(price));
  }
  return best;
}

PricedCollective refused(std::string reason) { return {{}, std::move(reason)}; }

/// What gloo and MPI libraries choose from, by operation (their own defaults: other_library()).
std::vector<std::string_view> usual_schemes(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::all_reduce:
      return {"ring", "halving-doubling"};
    case CollectiveOp::all_gather:
    case CollectiveOp::reduce_scatter:
      return {"ring"};
    case CollectiveOp::broadcast:
    case CollectiveOp::reduce:
      return {"single-tree", "ring"};
    case CollectiveOp::all_to_all:
      return {"direct", "pairwise"};
    default:
      return {"direct"};
  }
}

// Measured over predicted, P10 and P90 over the points of nccl_sweeps.csv: calls that latency
// rules, and those that bandwidth does.
constexpr ResidualBand inside_small{0.91, 1.15};
constexpr ResidualBand inside_large{0.93, 1.14};
constexpr ResidualBand between_small{0.90, 1.23};
constexpr ResidualBand between_large{0.90, 1.21};
constexpr Bytes large = 1.0 * MiB;

constexpr double extrapolated = 0.15;  // share of the time, per layer of constants
constexpr double datasheet = 0.30;
constexpr double per_apart = 2.0;     // libraries change with generations more than kernels do
constexpr double most_hosts = 128.0;  // of the sweeps
constexpr double per_doubling = 0.05;
constexpr int most_in_a_domain = 8;

double part(Trust trust) {
  if (trust == Trust::extrapolated) return extrapolated;
  return trust == Trust::datasheet ? datasheet : 0.0;
}

}  // namespace

Seconds CollectivePrice::time() const {
  Seconds sum = before + after;
  for (const PricedPhase& phase : phases) sum += phase.latency + phase.wire;
  return sum;
}

PricedCollective nccl_price(const CollectiveProblem& problem, Bytes payload,
                            const CollectivePath& path, const CollectiveWish& wish) {
  FORETRAIN_REQUIRE(payload > Bytes{} && problem.seats.size() >= 2);
  if (wish.scheme != nullptr)
    if (std::string why = wish.scheme->refusal(problem); !why.empty()) return refused(why);
  if (auto price = own_price(problem, payload, path, wish)) return {std::move(*price), {}};
  if (wish.scheme == nullptr) return refused("no algorithm of NCCL runs this with that protocol");

  std::optional<CollectivePrice> best;
  for (const auto& [protocol, name] : EnumNames<Protocol>::names) {
    if (wish.protocol && *wish.protocol != protocol) continue;
    const HandOver costs = nccl_hand_over(problem.op, protocol, problem.seats.group(), path);
    if (uses_host_switch(*wish.scheme) &&
        (protocol != Protocol::simple || costs.in_switch == BytesPerSecond{}))
      continue;
    CollectivePrice price = composed(*wish.scheme, problem, payload, costs);
    price.protocol = protocol;
    keep_faster(best, std::move(price));
  }
  if (best) return {std::move(*best), {}};
  if (path.cluster.host.scale_up != ScaleUpKind::nvswitch ||
      !(path.device.protocols.in_switch.share > 0.0))
    return refused("the switches of this host do not add");
  return refused("switches add with the simple protocol, between five members of a host or more");
}

PricedCollective other_price(const CollectiveProblem& problem, Bytes payload,
                             const OtherLibrary& library, Backend backend,
                             const CollectiveWish& wish) {
  FORETRAIN_REQUIRE(payload > Bytes{} && problem.seats.size() >= 2);
  if (wish.protocol)
    return refused("protocols are NCCL's; " + std::string(name_of(backend)) + " has none");
  std::vector<const CollectiveScheme*> schemes;
  if (wish.scheme != nullptr)
    schemes.push_back(wish.scheme);
  else
    for (const std::string_view name : usual_schemes(problem.op))
      schemes.push_back(find_scheme(name));
  std::optional<CollectivePrice> best;
  std::string why;
  for (const CollectiveScheme* scheme : schemes) {
    why = uses_host_switch(*scheme) ? std::string(name_of(backend)) + " does not add in switches"
                                    : scheme->refusal(problem);
    if (!why.empty()) continue;
    CollectivePrice price = composed(*scheme, problem, payload, library.hand_over);
    if (library.host_copy > BytesPerSecond{}) {
      price.before = payload / library.host_copy;
      price.after = payload / library.host_copy;
    }
    keep_faster(best, std::move(price));
  }
  if (best) return {std::move(*best), {}};
  return refused(std::move(why));
}

TimeBand collective_band(CollectiveOp op, const CommGroup& group, Bytes payload, Seconds time,
                         const CollectivePath& path) {
  const bool between = group.domains() > 1;
  const bool big = payload >= large;
  ResidualBand residual = big ? inside_large : inside_small;
  if (between) residual = big ? between_large : between_small;
  const Trust device = path.device.provenance.trust;
  const double generations = device == Trust::extrapolated ? per_apart * path.device.apart : 0.0;
  const Trust fabric = between ? path.cluster.network.provenance.trust : Trust::measured;
  const double outside = std::max(0.0, std::log2(group.domains() / most_hosts)) * per_doubling;
  // Broadcast, reduce and point-to-point were measured at a few sizes only.
  const bool swept = op == CollectiveOp::all_reduce || op == CollectiveOp::all_gather ||
                     op == CollectiveOp::reduce_scatter || op == CollectiveOp::all_to_all;
  // No domain of several hosts was swept when the constants were fitted.
  const bool wide = !between && group.domain_hosts > 1 && group.ranks > most_in_a_domain;
  const double thin = (swept ? 0.0 : extrapolated) + (wide ? extrapolated : 0.0);
  const double extra = part(device) * part(device) + part(fabric) * part(fabric) +
                       generations * generations + outside * outside + thin * thin;
  const auto widened = [extra](double side) { return std::sqrt(side * side + extra); };
  TimeBand band;
  band.low = time / (1.0 + widened(1.0 / residual.low - 1.0));
  band.high = time * (1.0 + widened(residual.high - 1.0));
  band.trust = std::max(device, fabric);
  if (!swept) band.trust = std::max(band.trust, Trust::interpolated);
  if (outside > 0.0 || wide) band.trust = std::max(band.trust, Trust::extrapolated);
  return band;
}

}  // namespace foretrain
