// SPDX-License-Identifier: Apache-2.0
#include "models/collectives/library.hpp"

#include <algorithm>

#include "models/base/require.hpp"

namespace foretrain {
namespace {
constexpr Bytes very_much{1e15};

/// What a library would take by that algorithm and protocol; nothing where it cannot.
Seconds time_by(const std::vector<CollectiveChoice>& choices, CollectiveAlgorithm algorithm,
                Protocol protocol) {
  for (const CollectiveChoice& choice : choices)
    if (choice.algorithm == algorithm && choice.protocol == protocol) return choice.time;
  return Seconds{};
}

/// What the switch of one host takes from every member: all of the payload and its reduced part.
BytesPerSecond switch_rate(const CommGroup& group, const CollectivePath& path) {
  const int members = group.ranks_per_domain;
  if (members < 2) return {};
  const Seconds time =
      time_by(collective_choices(CollectiveOp::all_reduce, {members, members, 1}, very_much, path),
              CollectiveAlgorithm::in_switch, Protocol::simple);
  if (time == Seconds{}) return {};
  return (1.0 + 1.0 / members) * very_much / time;
}

/// gloo over TCP from device memory. pytorch/gloo issue 158: an all-reduce of 1 KiB between two
/// processes takes 354 us, two steps; issue 248: one of 20 MB, chunked ring, takes 17.25 ms on 40
/// GbE, bound by the one core that its process has. Nothing was measured within a host, where gloo
/// uses the same sockets.
OtherLibrary gloo(const CollectivePath& path) {
  constexpr Seconds step = 354.0 * us / 2.0;
  constexpr BytesPerSecond per_process = 20.0 * MB / (17.251 * ms);
  const Host& host = path.cluster.host;
  const Link& nic = path.cluster.network.nic_link;
  OtherLibrary library;
  library.hand_over = {Seconds{},
                       step,
                       step + path.cluster.network.path_latency,
                       per_process,
                       min(per_process, nic.bandwidth * nic.achievable),
                       {}};
  library.host_copy = host.pcie.bandwidth * host.pcie.achievable;
  library.through_host = true;
  library.provenance = {Trust::extrapolated,
                        "gloo over TCP: pytorch/gloo issues 158 (354 us for 1 KiB between two "
                        "processes) and 248 (1.16 GB/s per process, one Xeon E5-2620 v4 core); "
                        "device memory copied over PCIe before and after",
                        "2020-02-29", -1.0};
  return library;
}

/// Open MPI with UCX on device memory. open-mpi/ompi pull request 12318: a reduce of small messages
/// over 96 processes of one A100 host takes 46 us, log2(96) steps; EESSI/software-layer pull
/// request 716: 93.1 of 100 GB/s between two A100 over NVLink. Between hosts: the NIC as NCCL
/// reaches it, and the fabric's latencies on top of a step.
OtherLibrary open_mpi(const CollectivePath& path) {
  constexpr Seconds step = 46.0 * us / 6.585;
  constexpr double nvlink_share = 0.931;
  const Cluster& cluster = path.cluster;
  const Network& network = cluster.network;
  OtherLibrary library;
  library.hand_over = {Seconds{},
                       step,
                       step + network.path_latency + network.step_latency,
                       nvlink_share * cluster.host.gpu_link.bandwidth,
                       cluster.inter_host_bandwidth_per_gpu() * network.nic_link.achievable,
                       {}};
  library.provenance = {Trust::extrapolated,
                        "Open MPI with UCX: open-mpi/ompi pull request 12318 (7 us per step within "
                        "a host), EESSI/software-layer pull request 716 (93 % of NVLink); "
                        "NICs as with NCCL, time of the additions not counted",
                        "2024-09-26", -1.0};
  return library;
}

}  // namespace

HandOver nccl_hand_over(CollectiveOp op, Protocol protocol, const CommGroup& group,
                        const CollectivePath& path) {
  const CollectiveProtocols& protocols = path.device.protocols;
  const auto index = static_cast<std::size_t>(protocol);
  const bool sums = op == CollectiveOp::all_reduce || op == CollectiveOp::reduce;
  const ProtocolLine& line = op == CollectiveOp::all_to_all ? protocols.exchange[index]
                             : sums                         ? protocols.all_reduce[index]
                                                            : protocols.gather[index];
  const CommGroup lone{2, 1, std::max(2, group.span_hosts)};
  const auto gather = [&](Bytes payload) {
    return time_by(collective_choices(CollectiveOp::all_gather, lone, payload, path),
                   CollectiveAlgorithm::ring, protocol);
  };
  const Seconds floor = gather(next_to_nothing);
  HandOver costs;
  costs.base = line.base;
  costs.inside_step = line.step;
  costs.across_step = max(Seconds{}, floor - protocols.gather[index].base);
  costs.inside = line.share * path.cluster.host.gpu_link.bandwidth;
  costs.across = 0.5 * very_much / (gather(very_much) - floor);
  if (protocol == Protocol::simple) costs.in_switch = switch_rate(group, path);
  return costs;
}

OtherLibrary other_library(Backend backend, const CollectivePath& path) {
  FORETRAIN_REQUIRE(backend != Backend::nccl);
  return backend == Backend::gloo ? gloo(path) : open_mpi(path);
}

TransportChange with_transport(const Cluster& cluster, Transport transport) {
  const Network& network = cluster.network;
  TransportChange change{cluster, {}, {}};
  if (transport == network.transport) return change;
  const std::string preset = network.preset;
  if (network.transport != Transport::gpudirect_rdma || transport != Transport::rdma) {
    change.refusal = "the figures of " + preset + " were measured over " +
                     std::string(name_of(network.transport)) + "; choose a preset of transport " +
                     std::string(name_of(transport));
    return change;
  }
  const Link& pcie = cluster.host.pcie;
  const double nics_per_gpu = static_cast<double>(cluster.host.nics) / cluster.host.gpus;
  const BytesPerSecond bounced =
      0.5 * pcie.bandwidth * pcie.achievable / std::min(1.0, nics_per_gpu);
  Network& changed = change.cluster.network;
  Link& nic = changed.nic_link;
  const BytesPerSecond direct = nic.bandwidth * nic.achievable * std::max(1.0, nics_per_gpu);
  if (bounced < direct) nic.achievable *= bounced / direct;
  changed.step_latency += 2.0 * pcie.latency;
  changed.transport = transport;
  change.provenance = {Trust::datasheet,
                       "host memory bounce: half of PCIe's measured rate per GPU, two PCIe "
                       "crossings more per step; not measured on this machine",
                       "2026-11-21", -1.0};
  return change;
}

}  // namespace foretrain
