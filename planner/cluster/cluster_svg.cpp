// SPDX-License-Identifier: Apache-2.0
#include "planner/cluster/cluster_report.hpp"
#include "planner/cluster/internal/cluster_charts.hpp"
#include "planner/text/svg_text.hpp"

namespace foretrain {

std::string cluster_svg(const ClusterFile& file, const QueueSummary& summary) {
  using namespace internal;
  return svg_start(hosts_and_queue_width, hosts_and_queue_height) +
         svg_label(70.0, 24.0, "start", file.name + ": hosts and queue", " font-size=\"16\"") +
         hosts_and_queue(file, summary) + "</svg>\n";
}

}  // namespace foretrain
