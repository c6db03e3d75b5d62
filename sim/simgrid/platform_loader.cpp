// SPDX-License-Identifier: Apache-2.0
// Loads a platform file with SimGrid itself and prints what it understood: hosts, links, and the
// route from the first host to the last. usage: foretrain_platform_loader PLATFORM.xml
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <vector>

int main(int argc, char** argv) {
  namespace s4u = simgrid::s4u;
  s4u::Engine engine(&argc, argv);
  if (argc != 2) return 2;
  engine.load_platform(argv[1]);
  engine.seal_platform();
  const auto hosts = engine.get_all_hosts();
  const auto links = engine.get_all_links();
  double latency = 0.0;
  std::vector<s4u::Link*> route;
  const s4u::Host* from = engine.host_by_name("gpu0");
  const s4u::Host* to = engine.host_by_name("gpu" + std::to_string(hosts.size() - 1));
  from->route_to(to, route, &latency);
  double slowest = std::numeric_limits<double>::infinity();
  for (const s4u::Link* link : route) slowest = std::min(slowest, link->get_bandwidth());
  std::printf("hosts %zu\nlinks %zu\nroute %zu\nlatency_us %.6g\nslowest_gbps %.6g\n", hosts.size(),
              links.size(), route.size(), latency * 1e6, slowest * 8e-9);
  return 0;
}
