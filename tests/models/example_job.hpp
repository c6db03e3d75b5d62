// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/inputs/job.hpp"
#include "tests/models/example_shapes.hpp"

namespace foretrain::test {

/// Llama-2-70B on 1024 H100, TP8 PP8 DP16, with the constants of the shipped profiles written out,
/// so that unit tests do not move when a profile is refitted.
inline Job llama2_70b_job() {
  Job job;
  job.name = "llama2-70b";
  job.model = llama2_70b();

  Host& host = job.cluster.host;
  host.name = "dgx-h100";
  host.device.name = "h100-sxm5-80gb";
  host.device.memory = 80.0 * GiB;
  host.device.usable_memory = 79.1 * GiB;
  host.device.memory_bandwidth = 3.35 * TBps;
  host.device.multiprocessors = 132;
  host.device.peak[Precision::bf16] = 989.4 * TFLOPS;
  host.gpus = 8;
  host.nics = 8;
  host.gpu_link.bandwidth = 450.0 * GBps;
  job.cluster.hosts = 128;
  job.cluster.network.nic_link.bandwidth = 400.0 * Gbps;
  job.cluster.network.nic_link.achievable = 0.98;
  job.cluster.network.path_latency = 2.0 * us;

  job.training.sequence = 4096;
  job.training.global_batch = 1024;
  job.training.tokens = 2e12;
  job.parallel.tensor = 8;
  job.parallel.sequence = true;
  job.parallel.pipeline = 8;
  job.parallel.data = 16;
  job.parallel.zero = 1;

  DeviceProfile& device = job.device_profile;
  device.gemm[Precision::bf16] = {0.829, 170.0, 1.0, 0.87, 2.4 * us};
  device.attention.rate = 480.0 * TFLOPS;
  device.attention.tiles_half = 230.0;
  device.attention.small_head = 0.9;
  device.memory_efficiency = 0.85;
  device.inside = {10.6 * us, Seconds{}, 3.8e-9 * Seconds{1.0}, 0.79};
  device.provenance.trust = Trust::measured;
  StackTimes& times = job.stack.times;
  times.elementwise = 1.6;
  times.launch_forward = 0.3 * ms;
  times.launch_backward = 0.5 * ms;
  times.tensor_slowdown = 0.43;
  times.step_constant = 25.0 * ms;
  times.jitter = 0.0027;
  job.stack.band_low = 0.9;
  job.stack.band_high = 1.12;
  job.stack.provenance.trust = Trust::measured;
  BandTable bands;
  at(bands.widths, BandKind::residual) = {1.0, 1.0};
  at(bands.widths, BandKind::site) = {0.1, 0.15};
  at(bands.widths, BandKind::network) = {0.5, 1.0};
  at(bands.widths, BandKind::memory) = {0.0, 0.15};
  job.stack.bands = std::make_shared<const BandTable>(std::move(bands));
  job.site.across = {20.0 * us, 5.0 * us, Seconds{}, 0.86};
  job.site.lone_share = 0.86;
  job.site.send_share = 0.86;
  job.site.provenance.trust = Trust::measured;
  return job;
}

}  // namespace foretrain::test
