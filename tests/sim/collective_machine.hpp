// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>

#include <variant>
#include <vector>

#include "sim/collectives/collective_run.hpp"
#include "sim/flows/shared_links.hpp"
#include "tests/models/collectives/h100_collectives.hpp"
#include "topologies/fabrics/clos.hpp"

namespace foretrain::test {

inline std::vector<int> gpus_from(int first, int count, int stride = 1) {
  std::vector<int> gpus;
  for (int i = 0; i < count; ++i) gpus.push_back(first + i * stride);
  return gpus;
}

/// Hosts of eight H100 on 400 Gbit/s, and collectives on them.
class CollectiveMachine {
 public:
  explicit CollectiveMachine(int hosts, FabricKind kind = FabricKind::rail_optimized,
                             int radix = 64, double oversubscription = 1.0)
      : job_{h100_collectives()} {
    job_.cluster.hosts = hosts;
    job_.cluster.network.kind = kind;
    job_.cluster.network.nic_link.latency = 0.5 * us;
    FabricSpec spec;
    spec.hosts = hosts;
    spec.host = {8, ScaleUpKind::nvswitch, 450.0 * GBps, 63.0 * GBps, 8, 50.0 * GBps, {}};
    ClosShape clos;
    clos.kind = kind;
    clos.switch_radix = radix;
    clos.oversubscription = oversubscription;
    spec.network = clos;
    const auto built = build_fabric(striped(spec));
    REQUIRE(std::holds_alternative<Fabric>(built));
    fabric_ = std::get<Fabric>(built);
    links_ = achievable_links(fabric_, job_.cluster, job_.device_profile);
  }
  CollectiveMachine(const CollectiveMachine&) = delete;
  CollectiveMachine& operator=(const CollectiveMachine&) = delete;

  [[nodiscard]] const Fabric& fabric() const { return fabric_; }
  [[nodiscard]] const FlowNetwork& links() const { return links_; }
  [[nodiscard]] CollectivePath path() const { return path_of(job_); }
  [[nodiscard]] CollectiveSetting setting() const { return {fabric_, links_}; }

  [[nodiscard]] CollectiveCall call(CollectiveOp op, const Seats& seats, Bytes payload,
                                    const CollectiveWish& wish = {}) const {
    CollectiveCall call;
    call.op = op;
    call.seats = seats;
    call.payload = payload;
    const auto priced = nccl_price({op, seats, 0}, payload, path(), wish);
    CAPTURE(priced.refusal);
    REQUIRE(priced.refusal.empty());
    call.price = priced.price;
    return call;
  }
  [[nodiscard]] CollectiveRun run(const std::vector<CollectiveCall>& calls) const {
    return run(calls, setting());
  }
  [[nodiscard]] static CollectiveRun run(const std::vector<CollectiveCall>& calls,
                                         const CollectiveSetting& setting) {
    const auto played = run_collectives(setting, calls);
    REQUIRE(std::holds_alternative<CollectiveRun>(played));
    return std::get<CollectiveRun>(played);
  }

 private:
  Job job_;
  Fabric fabric_;
  FlowNetwork links_;
};

}  // namespace foretrain::test
