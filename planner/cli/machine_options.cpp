// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/machine_options.hpp"

#include <fmt/format.h>

#include <memory>

#include "planner/text/format.hpp"
#include "planner/text/limit_text.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/catalog/machine_names.hpp"
#include "scenarios/catalog/machine_text.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

void add_device_option(CommandRow& command, std::string& device) {
  command.option("--device", device, "DEVICE",
                 "GPU: a name of foretrain show devices; takes the host that comes with it");
}

void add_host_options(CommandRow& command, std::string& host, std::string& device,
                      const std::string& host_help) {
  add_device_option(command, device);
  command.option("--host", host, "HOST", host_help, {.excludes = {"--device"}});
}

std::string host_of_device(const std::string& device, const LoadOptions& options) {
  Diagnostics diagnostics;
  std::vector<SourceFile> files;
  std::vector<ResolvedValue> values;
  CatalogContext context{options.catalogs, {}, diagnostics, files, values};
  const Mark mark{std::make_shared<const std::string>("--device"), 0, 0};
  auto host = host_with_device({device, "device", mark}, context);
  diagnostics.throw_if_any();
  return std::move(*host);
}

ScenarioOptions on_device(ScenarioOptions options, const std::string& device,
                          std::optional<int> gpus) {
  if (device.empty()) return options;
  if (options.file == "-" && !gpus)
    throw UsageError("--device asks the scenario for its GPUs first: give a file, or --gpus");
  const LoadOptions load = load_options(options);
  const std::string name = host_of_device(device, load);
  ClusterTextRequest request;
  request.host = name;
  const ClusterParts parts = cluster_parts(request, load);
  const int wanted = gpus ? *gpus : read_scenario(options).job.cluster.gpus();
  const auto share = share_of(wanted, parts.host.gpus);
  if (!share) throw UsageError("--gpus: " + share_refusal(wanted, name, parts.host.gpus));
  const std::vector<std::string> settings{
      "cluster.host=" + name, "cluster.fabric.preset=" + parts.preset,
      fmt::format("cluster.hosts={}", share->hosts),
      fmt::format("cluster.gpus_per_host={}", share->gpus_per_host)};
  options.overrides.insert(options.overrides.begin(), settings.begin(), settings.end());
  return options;
}

void add_room_options(CommandRow& command, RoomOptions& options, const std::string& what,
                      const OptionRules& rules) {
  command.option("--max-memory-share", options.share, "SHARE",
                 fmt::format("{}Most memory of a GPU, as a share of what is usable (default: {:g}, "
                             "and the band's upper end fits; 1: all of it)",
                             what, default_memory_share),
                 rules);
  command.option("--headroom", options.headroom, "SIZE",
                 what + "Memory of a GPU that stays free: \"4 GiB\"", rules);
}

SearchLimits room_limits(const RoomOptions& options) {
  SearchLimits limits;
  if (options.share && !(*options.share > 0.0 && *options.share <= 1.0))
    throw UsageError(
        fmt::format("--max-memory-share is a share of the usable memory, above 0 and "
                    "at most 1, not {}",
                    *options.share));
  limits.max_memory_share = options.share;
  if (!options.headroom.empty()) limits.headroom = bytes_value("--headroom", options.headroom);
  return limits;
}

}  // namespace foretrain
