// SPDX-License-Identifier: Apache-2.0
// Sizes, groups and machines of measured sweeps: on an idle fabric the engine adds nothing to the
// cost model. How far that is from what was measured: tests/calibration/nccl_sweeps_test.cpp.
#include <catch2/catch.hpp>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "planner/network/collective_table.hpp"

using namespace foretrain;

namespace {

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line)
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      cells.emplace_back();
    else
      cells.back() += c;
  return cells;
}

struct Point {
  std::string collective, gpu, network;
  int nodes = 0, per_node = 0;
  Bytes size;
};

/// Every `nth` row that says what was run.
std::vector<Point> sample(std::size_t nth) {
  std::ifstream file{FORETRAIN_SOURCE_DIR "/calibration/measured/nccl_sweeps.csv"};
  REQUIRE(file.good());
  std::string line;
  std::getline(file, line);
  std::vector<Point> points;
  for (std::size_t row = 0; std::getline(file, line); ++row) {
    if (row % nth != 0) continue;
    const auto cells = cells_of(line);
    REQUIRE(cells.size() == 12);
    points.push_back({cells[2], cells[3], cells[6], std::stoi(cells[4]), std::stoi(cells[5]),
                      Bytes{std::stod(cells[7])}});
  }
  return points;
}

/// The catalog host nearest to what the sweep ran on; its own NICs are the fabric.
const char* host_of(const Point& point) {
  const auto has = [&](const char* word) { return point.network.find(word) != std::string::npos; };
  const auto is = [&](const char* gpu) { return point.gpu.rfind(gpu, 0) == 0; };
  if (is("A100")) return has("EFA") ? "aws-p4d" : "dgx-a100";
  if (is("H100")) return has("EFA") ? "aws-p5" : has("TCPX") ? "gcp-a3-mega" : "dgx-h100";
  if (is("H200")) return has("Ultra") ? "gcp-a3-ultra" : "hgx-h200";
  return is("B200") ? "dgx-b200" : nullptr;
}

std::optional<CollectiveOp> op_of(const std::string& collective) {
  static const std::map<std::string, CollectiveOp> known{
      {"all_reduce", CollectiveOp::all_reduce},
      {"all_gather", CollectiveOp::all_gather},
      {"reduce_scatter", CollectiveOp::reduce_scatter},
      {"alltoall", CollectiveOp::all_to_all},
      {"broadcast", CollectiveOp::broadcast}};
  const auto found = known.find(collective);
  return found == known.end() ? std::nullopt : std::optional{found->second};
}

}  // namespace

TEST_CASE("collective sweeps: an idle fabric adds nothing to the cost model",
          "[planner][collective]") {
  std::map<std::string, CollectiveMachine> machines;
  int compared = 0;
  for (const Point& point : sample(9)) {
    const char* const host = host_of(point);
    const auto op = op_of(point.collective);
    if (host == nullptr || !op || point.nodes * point.per_node < 2 || point.per_node > 8) continue;
    CollectiveRequest request;
    const std::string key = host + std::to_string(point.nodes);
    if (machines.count(key) == 0) {
      MachineWish wish;
      wish.host = host;
      wish.hosts = point.nodes;
      machines.emplace(key, collective_machine(wish));
    }
    request.op = *op;
    request.machine = machines.at(key);
    request.sizes = {point.size};
    request.type = ElementType::int8;
    request.groups = parse_groups({point.nodes, 8, point.per_node, 1, ""});
    const auto result = collective_table(request);
    REQUIRE(std::holds_alternative<CollectiveTable>(result));
    const CollectiveRow& row = std::get<CollectiveTable>(result).rows.front();
    const CommGroup group{point.nodes * point.per_node, point.per_node, point.nodes};
    CAPTURE(host, point.collective, point.nodes, point.per_node, point.size.value());
    CHECK(row.time / row.alone == Approx(1.0).epsilon(1e-9));
    CHECK(row.scheme != nullptr);
    CHECK(row.measured);
    if (point.nodes == 1) {  // between hosts the network's size is the table's to find
      const CollectivePath path{request.machine.cluster, request.machine.device,
                                request.machine.site};
      CHECK(row.time / collective_time(*op, group, point.size, path) == Approx(1.0).epsilon(1e-9));
    }
    ++compared;
  }
  CHECK(compared > 150);
}
