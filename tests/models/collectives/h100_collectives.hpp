// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/collectives/collective_cost.hpp"
#include "tests/models/example_job.hpp"

namespace foretrain::test {

/// H100 hosts on InfiniBand NDR with the cost lines of their device profile written out, so that
/// tests do not move when it is refitted.
inline Job h100_collectives() {
  Job job = llama2_70b_job();
  job.cluster.host.scale_up = ScaleUpKind::nvswitch;
  job.cluster.host.pcie.bandwidth = 63.0 * GBps;
  job.cluster.host.pcie.achievable = 0.873;
  CollectiveProtocols& lines = job.device_profile.protocols;
  lines.gather = {
      {{4.5 * us, 0.88 * us, 0.017}, {5.5 * us, 0.93 * us, 0.276}, {21.4 * us, 0.23 * us, 0.665}}};
  lines.all_reduce = {
      {{4.6 * us, 0.81 * us, 0.024}, {5.5 * us, 0.89 * us, 0.356}, {20.5 * us, 0.68 * us, 0.714}}};
  lines.exchange = {
      {{6.3 * us, 0.33 * us, 0.032}, {11.3 * us, 0.17 * us, 0.521}, {28.0 * us, 0.79 * us, 0.703}}};
  lines.in_switch = {75.8 * us, Seconds{}, 1.046};
  return job;
}

inline CollectivePath path_of(const Job& job) {
  return {job.cluster, job.device_profile, job.site};
}

}  // namespace foretrain::test
