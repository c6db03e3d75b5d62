// SPDX-License-Identifier: Apache-2.0
#include "calibration/harness/common/process_place.hpp"

#include <array>
#include <cstdlib>

#include "calibration/harness/common/flag_reader.hpp"

namespace foretrain::harness {
namespace {

struct Launcher {
  const char* name;
  const char* rank;
  const char* world;
  const char* local_rank;
};

constexpr std::array<Launcher, 4> launchers{
    {{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"},
     {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
     {"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
     {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"}}};

constexpr int default_port = 29517;
constexpr std::size_t least_secret = 16;

/// Reads a number; `wrong` gets the first sentence about one that is missing or no number.
int number(const Environment& environment, const char* name, long long least, long long most,
           std::optional<std::string>& wrong) {
  long long value = least;
  const std::optional<std::string> text = environment(name);
  if (wrong) return static_cast<int>(value);
  if (!text)
    wrong = std::string{name} + " is not set";
  else if (const auto error = read_whole(*text, least, most, value))
    wrong = std::string{name} + ": " + *error;
  return static_cast<int>(value);
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>{value};
  };
}

std::variant<ProcessPlace, std::string> process_place(const Environment& environment) {
  const Launcher* by = nullptr;
  for (const Launcher& launcher : launchers)
    if (by == nullptr && environment(launcher.rank)) by = &launcher;
  ProcessPlace place;
  if (by == nullptr) return place;
  constexpr int most = 1 << 20;
  std::optional<std::string> wrong;
  place.launcher = by->name;
  place.world = number(environment, by->world, 1, most, wrong);
  place.rank = number(environment, by->rank, 0, most, wrong);
  place.local_rank = number(environment, by->local_rank, 0, 1023, wrong);
  if (wrong) return "started by " + place.launcher + ", but " + *wrong;
  if (place.rank >= place.world)
    return std::string{by->rank} + " is " + std::to_string(place.rank) + ", but " + by->world +
           " is " + std::to_string(place.world);
  if (place.world == 1) return place;
  place.port = environment("MASTER_PORT") ? number(environment, "MASTER_PORT", 1, 65535, wrong)
                                          : default_port;
  if (wrong) return *wrong;
  const std::optional<std::string> address = environment("MASTER_ADDR");
  const std::optional<std::string> slurm = environment("SLURM_LAUNCH_NODE_IPADDR");
  if (!address && !slurm)
    return "several processes need MASTER_ADDR, the name or address of rank 0's host";
  place.address = address ? *address : *slurm;
  place.listen = environment("FORETRAIN_LISTEN").value_or("");
  place.secret = environment("FORETRAIN_SECRET").value_or("");
  if (place.secret.size() < least_secret)
    return "several processes need FORETRAIN_SECRET, 16 characters or more that no one else knows: "
           "export FORETRAIN_SECRET=$(openssl rand -hex 16) before the launcher, and let it hand "
           "that "
           "on (mpirun -x FORETRAIN_SECRET)";
  return place;
}

}  // namespace foretrain::harness
