// SPDX-License-Identifier: Apache-2.0
#include "sim/flows/transfer_run.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "models/base/ranges.hpp"
#include "models/base/require.hpp"
#include "sim/flows/flow_network.hpp"
#include "sim/flows/link_load.hpp"

namespace foretrain {
namespace {

/// The flows of one transfer, each at most at its part of the rate. @throws FabricCut
void add_flows(const PoolTransfer& transfer, LoadBuilder& ways, std::vector<Flow>& flows) {
  FORETRAIN_REQUIRE(!transfer.from.empty() && !transfer.to.empty());
  const std::size_t pairs = std::max(transfer.from.size(), transfer.to.size());
  const double each = transfer.bytes.value() / static_cast<double>(pairs);
  for (std::size_t i = 0; i < pairs; ++i)
    ways.send(transfer.from[i * transfer.from.size() / pairs],
              transfer.to[i * transfer.to.size() / pairs], each);
  for (const RoutedFlow& way : ways.take_flows()) {
    Flow flow;
    for (const LinkId link : way.links) flow.route.push_back({static_cast<std::uint32_t>(link)});
    flow.bytes = Bytes{way.bytes};
    flow.max_rate = transfer.most * (way.bytes / transfer.bytes.value());
    flow.latency = transfer.latency;
    flows.push_back(std::move(flow));
  }
}

}  // namespace

std::variant<TransferRun, Infeasible> run_transfers(const Fabric& fabric, FlowNetwork network,
                                                    const Simulation& simulation,
                                                    const std::vector<PoolTransfer>& transfers) {
  LoadBuilder ways{fabric, simulation};
  ways.keep_flows(true);
  std::vector<Flow> flows;
  std::vector<std::size_t> owner;
  try {
    for (std::size_t t = 0; t < transfers.size(); ++t) {
      add_flows(transfers[t], ways, flows);
      owner.resize(flows.size(), t);
    }
  } catch (const FabricCut& cut) {
    return Infeasible{"fabric-connected", "simulation.disturbances", cut.what(),
                      "take a failure out, or use a fabric with more ways"};
  }
  network.metered = true;
  const auto played = make_flow_simulation(network);
  for (std::size_t f = 0; f < flows.size(); ++f) played->start(flows[f], f);
  TransferRun run;
  run.end.resize(transfers.size());
  played->run([&](std::uint64_t tag) {
    run.end[owner[tag]] = played->now();
    run.time = played->now();
  });
  for (const LinkRecord& link : played->links()) run.links.push_back(link.bytes);
  return run;
}

std::optional<LinkId> fullest_link(const TransferRun& run, const FlowNetwork& network) {
  std::optional<LinkId> fullest;
  Seconds longest;
  for (std::size_t link = 0; link < run.links.size(); ++link) {
    const Seconds needs = run.links[link] / network.links[link];
    if (needs <= longest) continue;
    longest = needs;
    fullest = static_cast<LinkId>(link);
  }
  return fullest;
}

}  // namespace foretrain
