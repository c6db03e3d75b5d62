// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>

namespace foretrain::harness {

/// Where a process stands among those that a launcher started together.
struct ProcessPlace {
  int rank = 0;
  int world = 1;
  int local_rank = 0;    ///< among the processes of its host: its GPU
  std::string launcher;  ///< "torchrun", "Open MPI", "MPICH", "Slurm", or "" for one process
  std::string address;   ///< of rank 0
  std::string listen;    ///< the interface that rank 0 listens on; empty: that of `address`
  int port = 0;
  std::string secret;  ///< that all processes got from their launcher, and nobody else knows
};

/// Looks one environment variable up.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

[[nodiscard]] Environment process_environment();

/// Reads the place from what torchrun (RANK, WORLD_SIZE, LOCAL_RANK), Open MPI (OMPI_COMM_WORLD_*),
/// MPICH (PMI_*, MPI_LOCALRANKID) or Slurm (SLURM_PROCID, ...) set, in this order. More than one
/// process needs MASTER_ADDR, which Slurm's SLURM_LAUNCH_NODE_IPADDR replaces; MASTER_PORT is 29517
/// unless given. They need FORETRAIN_SECRET, too, of 16 characters or more; FORETRAIN_LISTEN may
/// name the interface that rank 0 listens on.
/// @return one sentence where variables contradict each other or are missing.
[[nodiscard]] std::variant<ProcessPlace, std::string> process_place(const Environment& environment);

}  // namespace foretrain::harness
