// SPDX-License-Identifier: Apache-2.0
#include "planner/network/collective_table.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <sstream>

#include "models/collectives/registry.hpp"
#include "planner/text/usage_error.hpp"

using namespace foretrain;
using Catch::Matchers::Contains;

namespace {

CollectiveRequest h100_request(int hosts, const std::string& sizes) {
  MachineWish wish;
  wish.host = "dgx-h100";
  wish.hosts = hosts;
  CollectiveRequest request;
  request.machine = collective_machine(wish);
  request.sizes = parse_sizes(sizes, 2.0, 4);
  request.groups = parse_groups({hosts, 8, 8, 1, ""});
  return request;
}

CollectiveTable table_of(const CollectiveRequest& request) {
  const auto result = collective_table(request);
  REQUIRE(std::holds_alternative<CollectiveTable>(result));
  return std::get<CollectiveTable>(result);
}

std::string refusal_of(const CollectiveRequest& request) {
  try {
    const auto result = collective_table(request);
    const auto* refused = std::get_if<Infeasible>(&result);
    return refused == nullptr ? "" : refused->message;
  } catch (const UsageError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("collective table: bandwidths are those of nccl-tests", "[planner][collective]") {
  CollectiveRequest request = h100_request(4, "1MiB:4MiB");
  const CollectiveTable table = table_of(request);
  REQUIRE(table.rows.size() == 3);
  for (const CollectiveRow& row : table.rows) {
    CHECK(row.count == row.size.value() / 4.0);
    CHECK(row.algorithm_bandwidth == row.size / row.time);
    CHECK(row.bus_bandwidth / row.algorithm_bandwidth == Approx(2.0 * 31.0 / 32.0));
    CHECK(row.time / row.alone == Approx(1.0).epsilon(1e-9));
    CHECK(row.measured);
  }
  CHECK(table.average_bus_bandwidth() >= table.rows.front().bus_bandwidth);

  request.op = CollectiveOp::all_gather;
  request.sizes = {1.0 * MiB};
  const CollectiveRow gather = table_of(request).rows.front();
  CHECK(gather.count == 1048576.0 / 4.0 / 32.0);
  CHECK(gather.bus_bandwidth / gather.algorithm_bandwidth == Approx(31.0 / 32.0));
}

TEST_CASE("collective table: the text is narrow and speaks like nccl-tests",
          "[planner][collective]") {
  CollectiveRequest request = h100_request(2, "8B:16GiB");
  const std::string text = answer_text(collective_answer(table_of(request)));
  CHECK_THAT(text, Contains("all-reduce, 16 ranks: ") && Contains("nccl over gpudirect-rdma"));
  CHECK_THAT(text, Contains("count in elements"));
  CHECK_THAT(text, Contains(" 17179869184 4294967296 float sum   -1 "));
  CHECK_THAT(text, Contains("Avg bus bandwidth"));
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
  request.op = CollectiveOp::broadcast;
  request.root = 3;
  CHECK_THAT(answer_text(collective_answer(table_of(request))), Contains("float none    3"));
}

TEST_CASE("collective table: JSON and CSV say the same", "[planner][collective]") {
  CollectiveRequest request = h100_request(2, "1MiB:1GiB");
  request.groups = parse_groups({2, 8, 8, 2, ""});
  const CollectiveTable table = table_of(request);
  const auto tree = nlohmann::json::parse(collective_json(table));
  CHECK(tree["schema"] == "collective/1");
  CHECK(tree["machine"]["fabric"] == "ib-ndr");
  CHECK(tree["groups"][1] == std::vector<int>{1, 3, 5, 7, 9, 11, 13, 15});
  REQUIRE(tree["rows"].size() == table.rows.size());
  CHECK(tree["rows"][3]["groups_s"].size() == 2);
  CHECK(tree["rows"][0]["time_s"].get<double>() == table.rows[0].time.value());
  CHECK_FALSE(tree["links"].empty());
  std::istringstream csv{collective_csv(table)};
  std::string header, row;
  std::getline(csv, header);
  std::getline(csv, row);
  CHECK(std::count(header.begin(), header.end(), ',') == std::count(row.begin(), row.end(), ','));
  CHECK_THAT(row, Contains("all-reduce,8,2,1048576,262144,float,-1,"));
}

TEST_CASE("collective table: an oversubscribed fabric shows in an exchange, not in its price",
          "[planner][collective]") {
  CollectiveRequest request = h100_request(64, "256MiB");
  request.op = CollectiveOp::all_to_all;
  request.machine.cluster.network.kind = FabricKind::fat_tree;
  const CollectiveRow even = table_of(request).rows.front();
  request.machine.cluster.network.oversubscription = 4.0;
  const CollectiveRow tight = table_of(request).rows.front();
  CHECK(tight.alone / even.alone == Approx(1.0).epsilon(0.01));
  CHECK(tight.time > 2.0 * even.time);
}

TEST_CASE("collective table: what cannot be run is said in one sentence", "[planner][collective]") {
  CollectiveRequest request = h100_request(2, "1MiB");
  request.groups = {{0, 1, 16}};
  CHECK_THAT(refusal_of(request), Contains("17 ranks, the fabric 16 GPUs"));
  request.groups = {{0}};
  CHECK_THAT(refusal_of(request), Contains("two ranks or more"));
  request.groups = {{0, 1, 2}};
  request.op = CollectiveOp::send;
  CHECK_THAT(refusal_of(request), Contains("--ranks 0,8"));
  request.op = CollectiveOp::all_gather;
  request.wish.scheme = find_scheme("tree");
  CHECK_THAT(refusal_of(request), Contains("a double binary tree does all-reduce"));
  request.wish.scheme = nullptr;
  request.root = 3;
  CHECK_THAT(refusal_of(request), Contains("--root"));
  request.root = 0;
  request.down = {"spine7"};
  CHECK_THAT(refusal_of(request), Contains("--down"));
  request.down.clear();
  request.backend = Backend::gloo;
  request.wish.protocol = Protocol::ll;
  CHECK_THAT(refusal_of(request), Contains("protocols are NCCL's"));
}

TEST_CASE("collective request: sizes, operations and groups as people write them",
          "[planner][collective]") {
  CHECK(parse_sizes("8B:64B", 2.0, 4).size() == 4);
  CHECK(parse_sizes("1MiB,3MB", 2.0, 4) == std::vector<Bytes>{1.0 * MiB, 3.0 * MB});
  CHECK(parse_sizes("1KiB:1MiB", 1024.0, 4).size() == 2);
  for (const char* bad :
       {"", "8", "8B:", "16B:8B", "2B", "0B", "-1B", "1s", "1B:2B:3B", "x", "1TiB"})
    CHECK_THROWS_AS(parse_sizes(bad, 2.0, 4), UsageError);
  CHECK_THROWS_AS(parse_sizes("8B:16GiB", 1.0, 4), UsageError);
  CHECK_THROWS_AS(parse_sizes("8B:16GiB", 1.001, 4), UsageError);

  CHECK(parse_collective_op("all_reduce") == CollectiveOp::all_reduce);
  CHECK(parse_collective_op("alltoall") == CollectiveOp::all_to_all);
  CHECK(parse_collective_op("sendrecv") == CollectiveOp::send);
  CHECK_THROWS_WITH(parse_collective_op("all_redcue"), Contains("did you mean 'all-reduce'"));

  CHECK(parse_groups({2, 8, 8, 1, "0-3,8"}) == std::vector<std::vector<int>>{{0, 1, 2, 3, 8}});
  CHECK(parse_groups({8, 8, 8, 1, "0-63:8"}).front().size() == 8);
  CHECK(parse_groups({2, 8, 8, 1, "size=8"}).size() == 2);
  CHECK(parse_groups({2, 8, 8, 1, "size=2,stride=8"})[3] == std::vector<int>{3, 11});
  CHECK(parse_groups({2, 8, 4, 2, ""})[1] == std::vector<int>{1, 3, 9, 11});
  for (const char* bad : {"7-3", "0,0", "a", "0-", "size=3", "size=x", "0:0", "0-7:0", "width=2"})
    CHECK_THROWS_AS(parse_groups({2, 8, 8, 1, bad}), UsageError);
  CHECK_THROWS_AS(parse_groups({2, 8, 8, 3, ""}), UsageError);
  CHECK_THROWS_AS(parse_groups({2, 8, 9, 1, ""}), UsageError);
}

TEST_CASE("collective machine: transports that were not measured are said to be so",
          "[planner][collective]") {
  MachineWish wish;
  wish.host = "dgx-h100";
  wish.hosts = 2;
  CHECK(collective_machine(wish).transport_note.empty());
  wish.transport = Transport::rdma;
  CHECK_THAT(collective_machine(wish).transport_note, Contains("datasheet"));
  wish.transport = Transport::tcp;
  const CollectiveMachine tcp = collective_machine(wish);
  CHECK(tcp.cluster.network.preset == "ipoib");
  CHECK_THAT(tcp.transport_note, Contains("extrapolated"));
  wish.fabric = "tcp-100g";
  wish.transport = Transport::gpudirect_rdma;
  CHECK_THROWS_AS(collective_machine(wish), UsageError);
  wish.fabric = "ib-ndrr";
  CHECK_THROWS_WITH(collective_machine(wish), Contains("did you mean 'ib-ndr'"));
}

TEST_CASE("collective table: a scenario's disturbances are played, or said not to be",
          "[planner][collective]") {
  CollectiveRequest request = h100_request(2, "1GiB");
  request.wish.scheme = find_scheme("ring");
  const Seconds healthy = table_of(request).rows.front().time;
  Disturbance what;
  what.kind = DisturbanceKind::node_down;
  what.target = "nic0.3";
  request.simulation.disturbances = {what};
  CHECK(table_of(request).rows.front().time > 1.5 * healthy);
  what.kind = DisturbanceKind::link_degraded;
  what.target = "nic0.3-leaf0";
  what.factor = 0.25;
  request.simulation.disturbances = {what};
  CHECK(table_of(request).rows.front().time > 3.0 * healthy);
  what.kind = DisturbanceKind::background;
  request.simulation.disturbances = {what};
  const CollectiveTable table = table_of(request);
  CHECK(table.rows.front().time == healthy);
  CHECK(table.rows.front().flows ==
        48);  // in two hosts 8 edges each inside, 8 out with two flows each
  REQUIRE_FALSE(table.notes.empty());
  CHECK_THAT(table.notes.back(), Contains("not simulated here: background"));
}

TEST_CASE("collective table: scrambled ranks meet on uplinks", "[planner][collective]") {
  CollectiveRequest request = h100_request(128, "1GiB");
  request.machine.cluster.network.oversubscription = 4.0;
  request.wish.scheme = find_scheme("ring");
  const Seconds packed = table_of(request).rows.front().time;
  request.simulation.placement = PlacementKind::scrambled;
  const CollectiveRow scrambled = table_of(request).rows.front();
  CHECK(scrambled.time > 1.2 * packed);
  CHECK(scrambled.alone / packed == Approx(1.0).epsilon(1e-9));
  request.simulation.placement = PlacementKind::packed;
  request.simulation.occupied = {0};
  CHECK_FALSE(refusal_of(request).empty());
}

TEST_CASE("collective table: adaptive routes spread a pair's connections, and beat hashed ones",
          "[planner][collective]") {
  MachineWish wish;
  wish.host = "dgx-h100";
  wish.hosts = 64;
  wish.kind = FabricKind::leaf_spine;
  CollectiveRequest request;
  request.machine = collective_machine(wish);
  request.sizes = {4.0 * GiB};
  request.groups = parse_groups({64, 8, 8, 1, ""});
  request.wish.scheme = find_scheme("ring");
  request.simulation.placement = PlacementKind::scrambled;
  const auto slower = [&](RoutingKind routing, int connections) {
    request.simulation.routing = routing;
    request.simulation.connections = connections;
    const CollectiveRow row = table_of(request).rows.front();
    return row.time / row.alone;
  };
  CHECK(slower(RoutingKind::ecmp, 16) > 1.2);
  CHECK(slower(RoutingKind::adaptive, 16) == Approx(1.0).epsilon(1e-6));
  CHECK(slower(RoutingKind::adaptive, 1) > slower(RoutingKind::adaptive, 16));
}
