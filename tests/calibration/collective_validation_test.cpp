// SPDX-License-Identifier: Apache-2.0
// Size sweeps of NCCL against the choice of algorithm and protocol.
#include "calibration/validate/validations.hpp"

#include <catch2/catch.hpp>

#include <string_view>

#include "calibration/cases/collective_case.hpp"
#include "tests/calibration/measured_records.hpp"

using namespace foretrain;

namespace {

const std::vector<SweepRecord>& records() {
  static const std::vector<SweepRecord> all = [] {
    Diagnostics diagnostics;
    auto read =
        read_sweep_records(measured_file("nccl_sweeps.csv"), "nccl_sweeps.csv", diagnostics);
    diagnostics.throw_if_any();
    return read;
  }();
  return all;
}

const std::vector<RecordCheck>& checks() {
  static const std::vector<RecordCheck> all = check_collectives(records(), shipped_catalog());
  return all;
}

/// Mean size of the errors from 1 MiB on whose item ends like that.
double mean_error(std::string_view item) {
  double sum = 0.0;
  int count = 0;
  for (const RecordCheck& check : checks()) {
    if (check.skipped || check.group != large_group || !check.item.ends_with(item)) continue;
    sum += std::abs(check.error());
    ++count;
  }
  REQUIRE(count > 0);
  return sum / count;
}

}  // namespace

TEST_CASE("collectives: every row is predicted or skipped with a reason",
          "[calibration][collective]") {
  REQUIRE(checks().size() == 2881);
  int predicted = 0;
  for (const RecordCheck& check : checks()) {
    CAPTURE(check.id);
    CHECK(check.quantity == collective_quantity);
    CHECK(check.skipped != check.why.empty());
    if (check.skipped) continue;
    ++predicted;
    CHECK(check.measured > 0.0);
    CHECK(check.low <= check.predicted);
    CHECK(check.predicted <= check.high);
  }
  CHECK(predicted > 2200);
}

TEST_CASE("collectives: from 1 MiB on, by fabric", "[calibration][collective]") {
  CHECK(mean_error("one host") < 0.075);
  CHECK(mean_error("one rack") < 0.075);  // no fit has read them: a B200's constants
  CHECK(mean_error("all_reduce efa-p4d") < 0.06);
  CHECK(mean_error("all_reduce ipoib") < 0.06);
  CHECK(mean_error("all_gather tcpxo") < 0.06);
  CHECK(mean_error("all_gather tcpx") < 0.09);
  CHECK(mean_error("all_reduce ib-ndr") < 0.095);
  CHECK(mean_error("all_reduce efa-p5") < 0.13);
}

TEST_CASE("collectives: a forced algorithm is the one that is priced",
          "[calibration][collective]") {
  int forced = 0;
  for (const SweepRecord& record : records()) {
    const MappedCollective mapped = map_collective(record, shipped_catalog());
    if (!mapped.collective || !mapped.collective->forced) continue;
    ++forced;
    const CollectiveCase& one = *mapped.collective;
    const auto choice =
        collective_choice(one, shipped_catalog().device_profiles.at(one.cluster.host.device.name));
    REQUIRE(choice);
    CHECK(choice->algorithm == *one.forced);
  }
  CHECK(forced > 30);
}

TEST_CASE("collectives: nodes of a rack share NVLink unless the source says otherwise",
          "[calibration][collective][domain]") {
  SweepRecord record;
  record.collective = "all_reduce";
  record.gpu = "GB200";
  record.nodes = 18;
  record.gpus_per_node = 4;
  record.network = "NVLink5 NVL72";
  record.size_bytes = 1e9;
  record.time_us = 2e3;
  const MappedCollective rack = map_collective(record, shipped_catalog());
  REQUIRE(rack.collective);
  CHECK(rack.collective->group.domains() == 1);
  record.network = "RoCE across NVLink domains";
  CHECK(map_collective(record, shipped_catalog()).why == "no fabric preset for " + record.network);
  record.network = "OCI, two topology blocks";
  CHECK(map_collective(record, shipped_catalog()).why == "which nodes share NVLink is not stated");
}
