// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "planner/cluster/internal/cluster_reading.hpp"

namespace foretrain::internal {

void read_moldable(const ClusterReading& reading, const std::string& path, QueueClass& jobs) {
  const FieldValues& values = reading.values;
  const std::string list = path + ".moldable";
  for (int i = 0; i < values.list_size(list); ++i) {
    const std::string at = fmt::format("{}[{}]", list, i);
    if (!reading.has(at + ".hosts")) continue;
    MoldableSize size{values.integer(at + ".hosts")};
    if (reading.has(at + ".speed")) size.speed = values.number(at + ".speed");
    if (!jobs.moldable.empty() && size.hosts <= jobs.moldable.back().hosts)
      reading.report(at + ".hosts",
                     fmt::format("must be above the {} before it", jobs.moldable.back().hosts));
    jobs.moldable.push_back(size);
  }
  if (values.list_size(list) == 0) reading.report(list, "there must be at least one size");
  if (!jobs.moldable.empty()) jobs.sizes = {{jobs.moldable.front().hosts, 1.0}};
}

void check_speeds(const ClusterReading& reading, const std::string& path, const QueueClass& jobs,
                  const char* key) {
  for (std::size_t i = 1; i < jobs.moldable.size(); ++i) {
    const MoldableSize& fewer = jobs.moldable[i - 1];
    if (jobs.moldable[i].speed > fewer.speed) continue;
    reading.report(
        fmt::format("{}.moldable[{}].{}", path, i, key),
        fmt::format("{} hosts are no faster than {} ({:.3g} against {:.3g}); leave them "
                    "out",
                    jobs.moldable[i].hosts, fewer.hosts, jobs.moldable[i].speed, fewer.speed));
  }
}

}  // namespace foretrain::internal
