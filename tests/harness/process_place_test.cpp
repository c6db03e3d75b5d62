// SPDX-License-Identifier: Apache-2.0
#include "calibration/harness/common/process_place.hpp"

#include <map>

#include <catch2/catch.hpp>

namespace foretrain::harness {
namespace {

using Variables = std::map<std::string, std::string>;

std::variant<ProcessPlace, std::string> place_with(Variables variables) {
  variables.emplace("FORETRAIN_SECRET", "sixteen or more characters");
  return process_place([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional{found->second};
  });
}

}  // namespace

TEST_CASE("without a launcher there is one process", "[harness]") {
  const auto place = std::get<ProcessPlace>(place_with({{"PATH", "/bin"}}));
  CHECK(place.world == 1);
  CHECK(place.launcher.empty());
}

TEST_CASE("every launcher's variables give the place", "[harness]") {
  const auto torch = std::get<ProcessPlace>(place_with({{"RANK", "9"},
                                                        {"WORLD_SIZE", "16"},
                                                        {"LOCAL_RANK", "1"},
                                                        {"MASTER_ADDR", "node0"},
                                                        {"MASTER_PORT", "1234"}}));
  CHECK(torch.launcher == "torchrun");
  CHECK(torch.rank == 9);
  CHECK(torch.local_rank == 1);
  CHECK(torch.address == "node0");
  CHECK(torch.port == 1234);
  const auto mpi = std::get<ProcessPlace>(place_with({{"OMPI_COMM_WORLD_RANK", "0"},
                                                      {"OMPI_COMM_WORLD_SIZE", "2"},
                                                      {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                                                      {"MASTER_ADDR", "10.0.0.1"}}));
  CHECK(mpi.launcher == "Open MPI");
  CHECK(mpi.port == 29517);
  const auto slurm = std::get<ProcessPlace>(place_with({{"SLURM_PROCID", "3"},
                                                        {"SLURM_NTASKS", "4"},
                                                        {"SLURM_LOCALID", "3"},
                                                        {"SLURM_LAUNCH_NODE_IPADDR", "10.1.1.1"}}));
  CHECK(slurm.launcher == "Slurm");
  CHECK(slurm.address == "10.1.1.1");
}

TEST_CASE("several processes need a secret that is none of a few characters", "[harness]") {
  Variables variables{
      {"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "1"}, {"MASTER_ADDR", "a"}};
  CHECK(std::get<ProcessPlace>(place_with(variables)).secret == "sixteen or more characters");
  CHECK(std::get<ProcessPlace>(place_with(variables)).listen.empty());
  variables["FORETRAIN_LISTEN"] = "10.0.0.1";
  CHECK(std::get<ProcessPlace>(place_with(variables)).listen == "10.0.0.1");
  for (const char* secret : {"", "too short"}) {
    variables["FORETRAIN_SECRET"] = secret;
    CHECK(std::get<std::string>(place_with(variables)).find("FORETRAIN_SECRET") !=
          std::string::npos);
  }
}

TEST_CASE("variables that do not fit together are told", "[harness]") {
  const auto error = [](const Variables& variables) {
    return std::get<std::string>(place_with(variables));
  };
  CHECK(error({{"RANK", "0"}, {"LOCAL_RANK", "0"}}) ==
        "started by torchrun, but WORLD_SIZE is not set");
  CHECK(error({{"RANK", "x"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}}) ==
        "started by torchrun, but RANK: 'x' is not a whole number from 0 to 1048576");
  CHECK(error({{"RANK", "2"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}}) ==
        "RANK is 2, but WORLD_SIZE is 2");
  CHECK(error({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}}) ==
        "several processes need MASTER_ADDR, the name or address of rank 0's host");
}

}  // namespace foretrain::harness
